"""Memory operands."""

from __future__ import annotations

from dataclasses import dataclass

from py_builder_kernel.ptx.errors import PtxBuildError
from py_builder_kernel.ptx.operands import Param, Reg, Symbol


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]` in a state space; `offset` in bytes. An empty space is a generic address."""

    space: str
    base: Reg | Symbol | Param
    offset: int = 0

    def __post_init__(self) -> None:
        if not -(1 << 31) <= self.offset < 1 << 31:
            raise PtxBuildError(f"address offset is {self.offset}; allowed: a signed 32-bit number of bytes")

    def __str__(self) -> str:
        return f"[{self.base}+{self.offset}]" if self.offset else f"[{self.base}]"


def at_global(base: Reg, offset: int = 0) -> Address:
    """`offset` bytes past a 64-bit global address."""
    return Address("global", base, offset)


def at_shared(base: Reg | Symbol, offset: int = 0) -> Address:
    """`offset` bytes past a shared variable or a 32-bit shared address."""
    return Address("shared", base, offset)


def at_param(param: Param) -> Address:
    """A kernel parameter."""
    return Address("param", param)

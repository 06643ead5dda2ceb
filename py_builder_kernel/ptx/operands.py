"""What an instruction can be given: registers, predicates, vectors, symbols, labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, Union

from py_builder_kernel.ptx.dtype import DType
from py_builder_kernel.ptx.literal import F32Literal

if TYPE_CHECKING:
    from py_builder_kernel.ptx.address import Address


@dataclass(frozen=True, slots=True)
class Reg:
    """A virtual register, numbered from 1 within its class (`%p`, `%rs`, `%r`, `%rd`, `%f`) as they are created."""

    dtype: DType
    index: int

    def __str__(self) -> str:
        return f"{self.dtype.register_class[0]}{self.index}"

    def __invert__(self) -> Pred:
        """The negation of a predicate register, as a guard or as an operand that may be negated."""
        return Pred(self, negated=True)


@dataclass(frozen=True, slots=True)
class Pred:
    """A predicate register, perhaps negated."""

    reg: Reg
    negated: bool = False

    def __invert__(self) -> Pred:
        return Pred(self.reg, not self.negated)

    def __str__(self) -> str:
        return f"{'!' if self.negated else ''}{self.reg}"


@dataclass(frozen=True, slots=True)
class Vec:
    """`{a, b, …}`: the registers of one vector load, store, pack or unpack."""

    regs: tuple[Reg, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self.regs)) + "}"


@dataclass(frozen=True, slots=True)
class Joined:
    """`d|p`: a destination and the predicate written with it."""

    first: Reg
    second: Reg

    def __str__(self) -> str:
        return f"{self.first}|{self.second}"


@dataclass(frozen=True, slots=True)
class Special:
    """A special register such as `%tid.x`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Label:
    """A place in a function's code."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable in a state space; `size` in bytes, None for shared memory whose size the launch gives."""

    name: str
    space: str
    align: int
    size: int | None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Param:
    """A kernel parameter."""

    name: str
    dtype: DType

    def __str__(self) -> str:
        return self.name


Operand: TypeAlias = Union[
    Reg, Pred, Vec, Joined, Special, Label, Symbol, "Address", F32Literal, int, float
]  # fmt: skip

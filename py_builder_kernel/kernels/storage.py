"""How K and V are stored: the bytes of an element, and how a lane turns loaded words into f32.

To add a storage type, add an entry to STORAGES.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from py_builder_kernel.ptx import B16, B32, F32, DType, Function, Reg, Vec


@dataclass(frozen=True, slots=True)
class Storage:
    """A storage type: `unpack` turns one 32-bit word, a register of type `word`, into `4 / size` f32 registers."""

    name: str
    size: int
    word: DType
    unpack: Callable[[Function, Reg], list[Reg]]


def _unpack_f32(_f: Function, word: Reg) -> list[Reg]:
    return [word]


def _unpack_f16(f: Function, word: Reg) -> list[Reg]:
    halves = f.regs(B16, 2)
    f.emit("mov.b32", Vec(tuple(halves)), word)
    return [f.new("cvt.f32.f16", half) for half in halves]


STORAGES: Final[Mapping[str, Storage]] = MappingProxyType(
    {
        "f32": Storage("f32", 4, F32, _unpack_f32),
        "f16": Storage("f16", 2, B32, _unpack_f16),
    }
)

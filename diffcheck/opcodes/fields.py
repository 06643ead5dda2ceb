"""What a row of a test is made of: fields at fixed places, as the kernel and the host both see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from py_builder_kernel.ptx.dtype import DTYPES

Bits = npt.NDArray[np.uint64]
Columns = dict[str, Bits]


@dataclass(frozen=True)
class Field:
    """One value of a row: the register `%name` holds it. `type` is the PTX type that its bits are read as.

    An 8-bit value has a 32-bit register, whose higher bits are part of the row; `narrow` leaves them out.
    """

    name: str
    type: str
    narrow: bool = False

    @property
    def bits(self) -> int:
        """Width in memory."""
        width = DTYPES[self.type].bits
        return {1: 8, 8: 8 if self.narrow else 32}.get(width, width)

    @property
    def register(self) -> str:
        """The type that its register is declared with."""
        return "pred" if self.type == "pred" else f"b{32 if self.bits == 8 else self.bits}"


@dataclass(frozen=True)
class Layout:
    """The fields of a row in memory, each aligned to its size, the row to the largest."""

    fields: tuple[Field, ...]
    offsets: tuple[int, ...]
    stride: int

    @classmethod
    def of(cls, fields: Sequence[Field]) -> Layout:
        """Lay fields out in their order."""
        offsets = []
        end = 0
        for field in fields:
            size = field.bits // 8
            end = -(-end // size) * size
            offsets.append(end)
            end += size
        largest = max((field.bits // 8 for field in fields), default=1)
        return cls(tuple(fields), tuple(offsets), max(-(-end // largest) * largest, 1))

    @property
    def dtype(self) -> np.dtype[np.void]:
        """The numpy type of a row."""
        return np.dtype(
            {
                "names": [field.name for field in self.fields],
                "formats": [f"<u{field.bits // 8}" for field in self.fields],
                "offsets": list(self.offsets),
                "itemsize": self.stride,
            }
        )

    def pack(self, columns: Mapping[str, Bits], rows: int) -> npt.NDArray[np.void]:
        """Rows from columns; higher bits than a field has are dropped."""
        packed = np.zeros(rows, self.dtype)
        for field in self.fields:
            mask = np.uint64(2**field.bits - 1)
            packed[field.name] = (columns[field.name] & mask).astype(f"<u{field.bits // 8}")
        return packed

    def unpack(self, memory: bytes) -> dict[str, Bits]:
        """Columns from the bytes of rows."""
        rows = np.frombuffer(memory, self.dtype)
        return {field.name: rows[field.name].astype(np.uint64) for field in self.fields}

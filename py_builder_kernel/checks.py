"""Whether arrays are laid out as the kernels read and write them (docs/contract.md, section 2)."""

from __future__ import annotations

import operator
from dataclasses import dataclass

from py_builder_kernel.arrays import View
from py_builder_kernel.errors import ArgumentTypeError, ArgumentValueError

_SIZES = {"f32": 4, "f16": 2}
_ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class Geometry:
    """The shapes that an object was made for, and the device it lives on."""

    num_q_heads: int
    num_kv_heads: int
    head_dim: int
    kv_capacity: int
    storage: str
    device: int

    def check_kv_len(self, kv_len: object) -> int:
        """`kv_len` as an int from 1 to the capacity."""
        return whole_number("kv_len", kv_len, 1, self.kv_capacity)

    def check_q(self, q: View) -> None:
        """`q`: f32 `[num_q_heads, head_dim]`."""
        self._check("q", q, "f32", (self.num_q_heads, self.head_dim))

    def check_kv(self, field: str, array: View, kv_len: int) -> None:
        """K or V: `[rows, num_kv_heads, head_dim]` in the object's storage type, with at least `kv_len` rows."""
        rows = array.shape[0] if len(array.shape) == 3 else 0
        wanted = f"(>= {kv_len}, {self.num_kv_heads}, {self.head_dim})"
        if rows < kv_len:
            raise ArgumentValueError(f"{field}.shape", array.shape, wanted)
        self._check(field, array, self.storage, (rows, self.num_kv_heads, self.head_dim), wanted)

    def check_out(self, out: View) -> None:
        """`out`: f32 `[num_q_heads, head_dim]`, whose rows do not overlap and which may be written to."""
        self._check("out", out, "f32", (self.num_q_heads, self.head_dim))
        if self.num_q_heads > 1 and out.strides[0] < self.head_dim:
            raise ArgumentValueError("out.strides", out.strides, f"at least {self.head_dim} elements between heads")
        if out.read_only:
            raise ArgumentValueError("out", "read-only", "an array that may be written to")

    def _check(self, field: str, array: View, dtype: str, shape: tuple[int, ...], wanted: str = "") -> None:
        if array.dtype != dtype:
            raise ArgumentTypeError(f"{field}.dtype", array.dtype, dtype)
        if array.shape != shape:
            raise ArgumentValueError(f"{field}.shape", array.shape, wanted or str(shape))
        if array.strides[-1] != 1:
            raise ArgumentValueError(f"{field}.strides", array.strides, "1 in the last axis")
        size = _SIZES[dtype]
        if any(stride < 0 or stride * size % _ALIGNMENT for stride in array.strides[:-1]):
            allowed = f"0 or positive multiples of {_ALIGNMENT // size} elements (16 bytes) in every axis but the last"
            raise ArgumentValueError(f"{field}.strides", array.strides, allowed)
        if array.address % _ALIGNMENT:
            raise ArgumentValueError(f"{field}.address", hex(array.address), f"a multiple of {_ALIGNMENT} bytes")
        if array.device != self.device:
            raise ArgumentValueError(f"{field}.device", array.device, f"{self.device}, the device of this object")


def whole_number(field: str, value: object, low: int, high: int) -> int:
    """`value` as an int from `low` to `high`. A bool is no number, though Python takes it for one."""
    try:
        number = operator.index(None if isinstance(value, bool) else value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentTypeError(field, repr(value), f"a whole number from {low} to {high}") from None
    if not low <= number <= high:
        raise ArgumentValueError(field, number, f"{low} to {high}")
    return number

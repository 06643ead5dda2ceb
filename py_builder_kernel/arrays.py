"""Arrays of any library as addresses: CuPy, `__cuda_array_interface__`, or DLPack. Nothing is copied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from py_builder_kernel.errors import ArgumentTypeError, ArgumentValueError

_DTYPES: Final[Mapping[str, tuple[str, int]]] = {"<f4": ("f32", 4), "<f2": ("f16", 2)}
_WANTED: Final = "an array of device memory: CuPy, __cuda_array_interface__ or DLPack"


@dataclass(frozen=True, slots=True)
class View:
    """An array in device memory: its address, and its shape and strides in elements. `dtype` is `f32` or `f16`.

    The stride of an axis that has one element is 0, whatever the library says of it. `read_only`: the array's library
    does not allow that it is written to.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: int
    read_only: bool = False


class ArrayAccess(Protocol):
    """What reading a foreign array takes from the device library."""

    def device_of(self, address: int) -> int | None:
        """The device that an address belongs to, or None for memory of no device."""

    def from_dlpack(self, array: Any) -> Any:
        """A DLPack array as one with `__cuda_array_interface__`, on the same memory."""


def view_of(field: str, array: Any, access: ArrayAccess) -> View:
    """Describe an argument.

    Raises ArgumentTypeError for what is no array of device memory or has another dtype than f32 and f16, and
    ArgumentValueError for strides that are no whole number of elements.
    """
    interface = _interface(field, array, access)
    typestr = str(interface["typestr"])
    if typestr not in _DTYPES:
        raise ArgumentTypeError(f"{field}.dtype", typestr, "float32 ('<f4') or float16 ('<f2')")
    dtype, size = _DTYPES[typestr]
    shape = tuple(int(n) for n in interface["shape"])
    if 0 in shape:
        raise ArgumentValueError(f"{field}.shape", shape, "no empty axis")
    address = int(interface["data"][0])
    device = access.device_of(address)
    if device is None:
        raise ArgumentTypeError(field, "host memory", _WANTED)
    strides = _strides(field, shape, interface.get("strides"), size)
    return View(address, shape, strides, dtype, device, bool(interface["data"][1]))


def _interface(field: str, array: Any, access: ArrayAccess) -> Mapping[str, Any]:
    try:
        # Asked for as an attribute, once: a library may build the mapping, or refuse to, when it is read.
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is None and hasattr(array, "__dlpack__"):
            interface = access.from_dlpack(array).__cuda_array_interface__
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise ArgumentTypeError(field, _line(error), _WANTED) from error
    if not isinstance(interface, Mapping):
        raise ArgumentTypeError(field, f"a {type(array).__name__}", _WANTED)
    if interface.get("mask") is not None:
        raise ArgumentTypeError(field, "a masked array", "an array without a mask")
    return interface


def _strides(field: str, shape: tuple[int, ...], in_bytes: tuple[int, ...] | None, size: int) -> tuple[int, ...]:
    if in_bytes is None:
        dense: list[int] = []
        step = 1
        for extent in reversed(shape):
            dense.insert(0, step)
            step *= extent
        strides = tuple(dense)
    else:
        if any(stride % size for stride in in_bytes):
            raise ArgumentValueError(f"{field}.strides", f"{tuple(in_bytes)} bytes", f"multiples of {size} bytes")
        strides = tuple(int(stride) // size for stride in in_bytes)
    return tuple(0 if extent == 1 else stride for extent, stride in zip(shape, strides, strict=True))


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__

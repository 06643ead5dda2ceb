"""Arrays: what is read in place, what is refused, and that the next launch works."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rust_kernel.decode import SplitKDecode

CUDA, CUDA_MANAGED, CPU = 2, 13, 1


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("axes", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("type_bits", ctypes.c_uint8),
        ("type_lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


class Dlpack:
    """An array that offers DLPack alone, of version 0 (`flags` None) or of `major`."""

    def __init__(self, array: Any, flags: int | None = None, major: int = 1, device: int = CUDA, bits: int = 0) -> None:
        self.device = device
        self.asked: list[dict[str, Any]] = []
        self.shape = (ctypes.c_int64 * len(array.shape))(*array.shape)
        bits = bits or 8 * int(array.typestr[2:])
        # Some way before the data, so that the offset counts.
        tensor = _Tensor(array.address - 64, device, 0, len(array.shape), 2, bits, 1, self.shape, None, 64)
        self.name, self.versioned = (b"dltensor", False) if flags is None else (b"dltensor_versioned", True)
        self.managed = _Managed(tensor) if flags is None else _Versioned(major, 0, None, None, flags, tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        if "max_version" in keywords and not self.versioned:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        return new(ctypes.c_void_p(ctypes.addressof(self.managed)), ctypes.c_char_p(self.name), None)


@pytest.mark.parametrize("flags", [None, 0])
def test_dlpack_is_read_in_place_without_synchronisation(bench: Any, flags: int | None) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    q, k, v, out = (Dlpack(array, flags) for array in (*case.device, case.out))
    assert decode(q, k, v, 100, out=out) is out
    bench.require_equal(case.out, case.expected(decode))
    assert {keywords["stream"] for array in (q, k, v, out) for keywords in array.asked} == {-1}


@pytest.mark.parametrize(
    ("keywords", "error", "line"),
    [
        ({"flags": 2}, TypeError, "^q is a copy that its library made; allowed: an array of device memory"),
        ({"flags": 0, "major": 2}, ValueError, "^q: DLPack version is 2; allowed: 1$"),
        ({"device": CPU}, TypeError, "^q is memory of DLPack device type 1; allowed: an array of device memory"),
        ({"bits": 64}, TypeError, "^q.dtype is DLPack type 2 of 64 bits, 1 lanes; allowed: float32 or float16$"),
    ],
)
def test_dlpack_that_is_refused(bench: Any, keywords: dict[str, int], error: type[Exception], line: str) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    with pytest.raises(error, match=line):
        bench.call(decode, (Dlpack(case.device[0], **keywords), *case.device[1:]), 100, out=case.out)
    bench.require_bits(decode, case)


def test_a_read_only_output_is_refused(bench: Any) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    for out in (replace(case.out, read_only=True), Dlpack(case.out, flags=1)):
        with pytest.raises(ValueError, match=r"^out is read-only; allowed: a writable array$"):
            bench.call(decode, case.device, 100, out=out)
    assert np.isnan(bench.driver.download(case.out)).all()
    # An input may be.
    bench.require_bits(decode, replace(case, device=tuple(replace(array, read_only=True) for array in case.device)))


def test_strides_are_obeyed_and_guard_words_survive(bench: Any) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    upload, download = bench.driver.upload, bench.driver.download
    q, k, v = case.host
    packed = np.full((8, 3, 256), np.nan, dtype=np.float32)
    packed[:, 1] = q
    heads_first = [upload(x.transpose(1, 0, 2)) for x in (k, v)]
    q_view = upload(packed)
    q_view = replace(q_view, address=q_view.address + 1024, shape=(8, 256), strides=(3072, 4))
    kv = [replace(array, shape=(100, 2, 256), strides=(512, 51_200, 2)) for array in heads_first]
    area = upload(np.full((10, 2, 256), -1.0, dtype=np.float32))
    out = replace(area, address=area.address + 2048, shape=(8, 256), strides=(2048, 4))
    bench.call(decode, (q_view, *kv), 100, out=out)
    values = download(area)
    np.testing.assert_array_equal(values[1:9, 0].view(np.uint32), case.expected(decode).view(np.uint32))
    values[1:9, 0] = -1.0
    assert (values == -1.0).all()


class Refusing:
    """An array whose library refuses to hand it over, as torch does for one that requires a gradient."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.\nUse detach().")


class Broken:
    """An array that fails for a reason of its own."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise KeyError("shape")


WANTED = "allowed: an array of device memory: "


@pytest.mark.parametrize(
    ("change", "error", "line"),
    [
        (lambda q, k, v: (None, k, v), TypeError, f"^q is a NoneType; {WANTED}"),
        (lambda q, k, v: (q, [1.0], v), TypeError, f"^k is a list; {WANTED}"),
        (
            lambda q, k, v: (q, k, np.zeros((100, 2, 256), np.float16)),
            TypeError,
            f"^v is memory of DLPack .* 1; {WANTED}",
        ),
        (
            lambda q, k, v: (replace(q, address=0x1000), k, v),
            TypeError,
            "^q is host memory; allowed: an array of device",
        ),
        (
            lambda q, k, v: (Refusing(), k, v),
            TypeError,
            r"^q is Can't get .* requires grad\. Use detach\(\)\.; allowed: ",
        ),
        (lambda q, k, v: (replace(q, typestr="<f8"), k, v), TypeError, "^q.dtype is <f8; allowed: float32 "),
        (lambda q, k, v: (replace(q, extra={"mask": 1}), k, v), TypeError, "^q is a masked array; "),
        (
            lambda q, k, v: (replace(q, extra={"shape": "ab"}), k, v),
            TypeError,
            "^q.__cuda_array_interface__ is not what",
        ),
        (lambda q, k, v: (replace(q, extra={"data": 5}), k, v), TypeError, "^q.__cuda_array_interface__ is not what"),
        (lambda q, k, v: (replace(q, strides=(4,)), k, v), TypeError, "^q.__cuda_array_interface__ is not what"),
        (lambda q, k, v: (q, replace(k, typestr="<f4"), v), TypeError, "^k.dtype is f32; allowed: f16$"),
        (lambda q, k, v: (replace(q, shape=(0, 256)), k, v), ValueError, r"^q.shape is \(0, 256\); allowed: no empty"),
        (
            lambda q, k, v: (replace(q, strides=(1026, 4)), k, v),
            ValueError,
            r"^q.strides is \(1026, 4\) bytes; allowed: ",
        ),
        (
            lambda q, k, v: (replace(q, shape=(4, 256)), k, v),
            ValueError,
            r"^q.shape is \(4, 256\); allowed: \(8, 256\)$",
        ),
        (
            lambda q, k, v: (q, replace(k, shape=(99, 2, 256)), v),
            ValueError,
            r"^k.shape is \(99, 2, 256\); allowed: \(>= ",
        ),
        (
            lambda q, k, v: (q, k, replace(v, address=v.address + 8)),
            ValueError,
            "^v.address is 0x[0-9a-f]*8; allowed: a m",
        ),
    ],
)
def test_arrays_that_are_refused(bench: Any, change: Any, error: type[Exception], line: str) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    launches = bench.driver.counts()["launches"]
    with pytest.raises(error, match=line) as caught:
        bench.call(decode, change(*case.device), 100, out=case.out)
    assert "\n" not in str(caught.value)
    assert bench.driver.counts()["launches"] == launches
    bench.require_bits(decode, case)


def test_an_error_that_is_not_about_arrays_is_passed_on(bench: Any) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    with pytest.raises(KeyError):
        bench.call(decode, (Broken(), *case.device[1:]), 100, out=case.out)


def test_arrays_of_another_device_are_refused(driver: Any, bench: Any, context: int) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    driver.set_current(driver.primary(1))
    k, out = driver.upload(case.host[1]), driver.upload(np.zeros((8, 256), dtype=np.float32))
    driver.set_current(context)
    q, own, v = case.device
    with pytest.raises(ValueError, match=r"^k.device is 1; allowed: 0, the device of this decoder$"):
        decode(q, k, v, 100, out=case.out)
    with pytest.raises(ValueError, match=r"^out.device is 1; allowed: 0, the device of this decoder$"):
        decode(q, own, v, 100, out=out)
    bench.require_bits(decode, case)


@pytest.mark.parametrize(
    ("kv_len", "error", "line"),
    [
        (0, ValueError, "^kv_len is 0; allowed: a whole number from 1 to 64$"),
        (65, ValueError, "^kv_len is 65; allowed: a whole number from 1 to 64$"),
        (1 << 70, ValueError, "^kv_len is 1180591620717411303424; "),
        (5.0, TypeError, "^kv_len is 5.0 of type float; allowed: a whole number"),
        (True, TypeError, "^kv_len is True of type bool"),
    ],
)
def test_a_kv_len_that_is_refused(bench: Any, kv_len: object, error: type[Exception], line: str) -> None:
    decode, case = SplitKDecode(8, 2, 64), bench.case(64)
    with pytest.raises(error, match=line):
        bench.call(decode, case.device, kv_len, out=case.out)
    bench.call(decode, case.device, np.int64(64), out=case.out)
    bench.require_equal(case.out, case.expected(decode))

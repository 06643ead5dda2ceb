"""Arrays of any library as addresses, and the refusals; no device is needed to describe one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from py_builder_kernel import ArgumentTypeError, ArgumentValueError
from py_builder_kernel.arrays import View, view_of
from py_builder_kernel.checks import Geometry

GEOMETRY = Geometry(num_q_heads=16, num_kv_heads=4, head_dim=256, kv_capacity=4096, storage="f16", device=0)
ADDRESS = 0x7F00_0000_0000


@dataclass
class FakeArray:
    """An array of device memory that is not there."""

    shape: tuple[int, ...]
    typestr: str = "<f4"
    strides: tuple[int, ...] | None = None
    address: int = ADDRESS
    mask: object = None
    read_only: bool = False

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        data = (self.address, self.read_only)
        return {"shape": self.shape, "typestr": self.typestr, "data": data, "strides": self.strides, "mask": self.mask,
                "version": 3}  # fmt: skip


class FakeDlpack:
    """An array that offers DLPack alone."""

    def __init__(self, array: FakeArray) -> None:
        self.array = array

    def __dlpack__(self) -> object:
        raise AssertionError("the device library asks for it, not the test")


class RefusingArray:
    """An array whose library refuses to hand it over, as torch does for one that requires a gradient."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.\nUse detach().")


class FakeAccess:
    """A machine with two devices; addresses below 4096 are host memory."""

    def device_of(self, address: int) -> int | None:
        return None if address < 4096 else (address >> 44) & 1

    def from_dlpack(self, array: Any) -> Any:
        return array.array


ACCESS = FakeAccess()


def test_a_dense_array_has_dense_strides() -> None:
    view = view_of("k", FakeArray((8, 4, 256), "<f2"), ACCESS)
    assert view == View(ADDRESS, (8, 4, 256), (1024, 256, 1), "f16", 1)


def test_strides_are_given_in_elements() -> None:
    view = view_of("q", FakeArray((16, 256), strides=(5120 * 4, 4)), ACCESS)
    assert view.strides == (5120, 1)


def test_the_stride_of_an_axis_with_one_element_does_not_matter() -> None:
    assert view_of("k", FakeArray((1, 4, 256), "<f2", strides=(34, 512, 2)), ACCESS).strides == (0, 256, 1)


def test_dlpack_is_taken_where_there_is_no_interface() -> None:
    array = FakeArray((16, 256))
    assert view_of("q", FakeDlpack(array), ACCESS) == view_of("q", array, ACCESS)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3)[0], "q is a float64; allowed: an array of device memory"),
        ([1.0], "q is a list; allowed: an array of device memory"),
        (None, "q is a NoneType; allowed: an array of device memory"),
        (FakeArray((16, 256), address=64), "q is host memory; allowed: an array of device memory"),
        (FakeArray((16, 256), "<f8"), "q.dtype is <f8; allowed: float32 ('<f4') or float16 ('<f2')"),
        (FakeArray((16, 256), "<i4"), "q.dtype is <i4"),
        (FakeArray((16, 256), mask=1), "q is a masked array"),
        (RefusingArray(), "q is Can't get __cuda_array_interface__ on Variable that requires grad. Use detach()."),
    ],
)
def test_what_is_no_array_of_floats_on_a_device_is_a_type_error(array: object, message: str) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        view_of("q", array, ACCESS)
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value, TypeError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (FakeArray((0, 256)), "q.shape is (0, 256); allowed: no empty axis"),
        (FakeArray((16, 256), strides=(1026, 4)), "q.strides is (1026, 4) bytes; allowed: multiples of 4 bytes"),
    ],
)
def test_an_array_that_cannot_be_addressed_is_a_value_error(array: object, message: str) -> None:
    with pytest.raises(ArgumentValueError) as caught:
        view_of("q", array, ACCESS)
    assert str(caught.value) == message


Q = View(ADDRESS, (16, 256), (256, 1), "f32", 0)
K = View(ADDRESS, (100, 4, 256), (1024, 256, 1), "f16", 0)


@pytest.mark.parametrize(
    "q",
    [Q, replace(Q, strides=(5120, 1)), replace(Q, strides=(0, 1)), replace(Q, strides=(260, 1))],
    ids=["dense", "packed", "broadcast", "padded"],
)
def test_layouts_of_q_that_the_contract_allows(q: View) -> None:
    GEOMETRY.check_q(q)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (replace(Q, dtype="f16"), "q.dtype is f16; allowed: f32"),
        (replace(Q, shape=(8, 256)), "q.shape is (8, 256); allowed: (16, 256)"),
        (replace(Q, shape=(16, 1, 256), strides=(256, 0, 1)), "q.shape is (16, 1, 256); allowed: (16, 256)"),
        (replace(Q, strides=(1, 16)), "q.strides is (1, 16); allowed: 1 in the last axis"),
        (replace(Q, strides=(258, 1)), "q.strides is (258, 1); allowed: 0 or positive multiples of 4 elements"),
        (replace(Q, strides=(-256, 1)), "q.strides is (-256, 1); allowed: 0 or positive multiples of 4 elements"),
        (replace(Q, address=ADDRESS + 8), f"q.address is {hex(ADDRESS + 8)}; allowed: a multiple of 16 bytes"),
        (replace(Q, device=1), "q.device is 1; allowed: 0, the device of this object"),
    ],
)
def test_layouts_of_q_that_it_does_not(q: View, message: str) -> None:
    with pytest.raises((ArgumentValueError, ArgumentTypeError)) as caught:
        GEOMETRY.check_q(q)
    assert str(caught.value).startswith(message)


def test_k_may_have_more_rows_than_the_context_and_strides_of_any_16_bytes() -> None:
    GEOMETRY.check_kv("k", K, 100)
    GEOMETRY.check_kv("k", K, 1)
    GEOMETRY.check_kv("k", replace(K, strides=(0, 264, 1)), 37)


@pytest.mark.parametrize(
    ("k", "kv_len", "message"),
    [
        (K, 101, "k.shape is (100, 4, 256); allowed: (>= 101, 4, 256)"),
        (replace(K, shape=(100, 1024), strides=(1024, 1)), 5, "k.shape is (100, 1024); allowed: (>= 5, 4, 256)"),
        (replace(K, shape=(100, 8, 256)), 5, "k.shape is (100, 8, 256); allowed: (>= 5, 4, 256)"),
        (replace(K, dtype="f32"), 5, "k.dtype is f32; allowed: f16"),
        (replace(K, strides=(1028, 256, 1)), 5, "k.strides is (1028, 256, 1); allowed: 0 or positive multiples of 8"),
        (replace(K, address=ADDRESS + 2), 5, "k.address is "),
        (replace(K, device=1), 5, "k.device is 1"),
    ],
)
def test_layouts_of_k_that_the_contract_does_not_allow(k: View, kv_len: int, message: str) -> None:
    with pytest.raises((ArgumentValueError, ArgumentTypeError)) as caught:
        GEOMETRY.check_kv("k", k, kv_len)
    assert str(caught.value).startswith(message)


def test_rows_of_out_may_not_overlap() -> None:
    GEOMETRY.check_out(Q)
    GEOMETRY.check_out(replace(Q, strides=(264, 1)))
    for stride in (0, 128):
        with pytest.raises(ArgumentValueError, match=r"out\.strides is .* at least 256 elements between heads"):
            GEOMETRY.check_out(replace(Q, strides=(stride, 1)))
    one_head = replace(GEOMETRY, num_q_heads=1, num_kv_heads=1)
    one_head.check_out(View(ADDRESS, (1, 256), (0, 1), "f32", 0))


def test_a_read_only_array_may_be_an_input_but_not_out() -> None:
    view = view_of("q", FakeArray((16, 256), read_only=True, address=ADDRESS & ~(1 << 44)), ACCESS)
    GEOMETRY.check_q(view)
    with pytest.raises(ArgumentValueError, match=r"^out is read-only; allowed: an array that may be written to$"):
        GEOMETRY.check_out(view)


@pytest.mark.parametrize("kv_len", [1, np.int64(4096), np.uint8(7)])
def test_a_context_within_the_capacity(kv_len: object) -> None:
    assert GEOMETRY.check_kv_len(kv_len) == int(kv_len)  # type: ignore[call-overload]


@pytest.mark.parametrize("kv_len", [0, -1, 4097, 1 << 40])
def test_a_context_past_the_capacity_or_empty(kv_len: int) -> None:
    with pytest.raises(ArgumentValueError, match=f"kv_len is {kv_len}; allowed: 1 to 4096"):
        GEOMETRY.check_kv_len(kv_len)


@pytest.mark.parametrize("kv_len", [1.0, "7", None, [7], True])
def test_a_context_that_is_no_whole_number(kv_len: object) -> None:
    with pytest.raises(ArgumentTypeError, match=r"kv_len is .*; allowed: a whole number from 1 to 4096"):
        GEOMETRY.check_kv_len(kv_len)

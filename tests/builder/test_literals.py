"""f32 constants: the bits that are asked for are the bits that are written."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from py_builder_kernel.ptx import F32Literal, PtxBuildError, f32_bits


@given(st.integers(0, 0xFFFFFFFF))
def test_every_pattern_is_written_as_eight_digits(bits: int) -> None:
    assert str(F32Literal(bits)) == f"0f{bits:08X}"


@given(st.floats(width=32, allow_nan=False))
def test_a_number_that_f32_holds_keeps_its_bits(value: float) -> None:
    assert f32_bits(value).bits == struct.unpack("<I", struct.pack("<f", value))[0]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_that_f32_does_not_hold_is_refused(value: float) -> None:
    try:
        held = struct.unpack("<f", struct.pack("<f", value))[0] == value
    except OverflowError:
        held = False
    if held:
        assert struct.unpack("<f", struct.pack("<I", f32_bits(value).bits))[0] == value
    else:
        with pytest.raises(PtxBuildError, match="is not an f32"):
            f32_bits(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0f00000000"),
        (-0.0, "0f80000000"),
        (0.0625, "0f3D800000"),
        (float("-inf"), "0fFF800000"),
        (2.0**-149, "0f00000001"),
    ],
)
def test_examples(value: float, text: str) -> None:
    assert str(f32_bits(value)) == text


def test_more_than_32_bits_are_refused() -> None:
    with pytest.raises(PtxBuildError, match="f32 literal bits is 0x100000000; allowed: 0 to 0xFFFFFFFF"):
        F32Literal(1 << 32)

"""The arguments at which a wrong constant of the exponential shows: each constant and rounding, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from diffcheck.generators.exponential import ARGUMENTS

CONSTANTS = {
    "LOG2E": 0x3FB8AA3B,
    "MAGIC": 0x4B400000,
    "-LN2_HI": 0xBF317218,
    "-LN2_LO": 0x3102E308,
    "C6": 0x3AB51E84,
    "C5": 0x3C091C2B,
    "C4": 0x3D2AAC5F,
    "C3": 0x3E2AAA4A,
    "C2": 0x3EFFFFFE,
    "first 1": 0x3F800000,
    "last 1": 0x3F800000,
}
# Over every f32 in the range, one ULP in it changes no result, and neither does rounding its product by itself
# (`cargo run --release -p cpu_twin --example exp_sensitivity`).
WITHOUT_EFFECT = {"-LN2_LO"}
PRODUCTS = ("-LN2_HI", "C5", "C4", "C3", "C2", "first 1", "last 1", "LOG2E")


def number(bits: int) -> Fraction:
    return Fraction(float(np.array(bits, dtype=np.uint32).view(np.float32)))


def rounded(x: Fraction) -> Fraction:
    """The nearest f32, ties to even, of a number in its normal range."""
    if x == 0:
        return x
    exponent = max(abs(x).numerator.bit_length() - abs(x).denominator.bit_length() - 1, -126)
    while abs(x) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - 23)
    return round(x / unit) * unit


def exponential(x: float, constants: dict[str, int], unfused: str = "") -> int:
    """The contract's exponential (section 4), bit pattern, for x in [-87, 0]; `unfused` names a product."""
    c = {name: number(bits) for name, bits in constants.items()}

    def fma(name: str, a: Fraction, b: Fraction, addend: Fraction) -> Fraction:
        return rounded((rounded(a * b) if name == unfused else a * b) + addend)

    argument = Fraction(x)
    t = fma("LOG2E", argument, c["LOG2E"], c["MAGIC"])
    n = rounded(t - c["MAGIC"])
    r = fma("-LN2_HI", n, c["-LN2_HI"], argument)
    r = fma("-LN2_LO", n, c["-LN2_LO"], r)
    p = c["C6"]
    for name in ("C5", "C4", "C3", "C2", "first 1", "last 1"):
        p = fma(name, p, r, c[name])
    bits = [int(np.float32(float(value)).view(np.uint32)) for value in (p, t)]
    return (bits[0] + (bits[1] << 23)) & 0xFFFFFFFF


def shows(changed: Callable[[float], int]) -> list[float]:
    """The arguments in range for which another exponential has another result."""
    inside = [x for x in ARGUMENTS if x >= -87]
    return [x for x in inside if changed(x) != exponential(x, CONSTANTS)]


@pytest.mark.parametrize("name", sorted(CONSTANTS.keys() - WITHOUT_EFFECT))
@pytest.mark.parametrize("by", [1, -1])
def test_one_ulp_in_a_constant_shows(name: str, by: int) -> None:
    other = {**CONSTANTS, name: CONSTANTS[name] + by}
    assert len(shows(lambda x: exponential(x, other))) >= 2, name


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_rounded_by_itself_shows(name: str) -> None:
    assert len(shows(lambda x: exponential(x, CONSTANTS, unfused=name))) >= 2, name


def test_the_exponential_of_the_test_is_the_twins() -> None:
    twin = pytest.importorskip("rust_kernel.twin")
    inside = [x for x in ARGUMENTS if x >= -87]
    expected = twin.exp(np.array(inside, dtype=np.float32)).view(np.uint32)
    assert [exponential(x, CONSTANTS) for x in inside] == expected.tolist()


def test_the_cut_off_and_both_its_neighbours_are_there() -> None:
    cut_off = np.float32(-87)
    wanted = {float(cut_off), float(np.nextafter(cut_off, np.float32(0))), float(np.nextafter(cut_off, -np.inf))}
    assert wanted <= set(ARGUMENTS)
    assert len(set(ARGUMENTS)) == len(ARGUMENTS)

"""Approximate forms: how far a result may lie from the exact one. They have no bits of their own to be held to.

Each opcode has its function in f64, which is exact enough to tell, and its tolerance, from the PTX ISA's section on it.
Next to zero, where results are denormal or flushed, a result may be off by the format's smallest normal number with
`.ftz` and by a denormal's last place without; next to infinity, infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from diffcheck.opcodes.definitions.compare import numbers
from diffcheck.opcodes.definitions.rows import low
from diffcheck.opcodes.fields import Bits
from diffcheck.opcodes.operands.formats import FORMATS, PAIRS, FloatFormat
from py_builder_kernel.ptx.table import Bound

Reals = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]
# The allowed distance, from the operands and the exact results.
Tolerance = Callable[[tuple[Reals, ...], Reals], Reals]


def _relative(power: float) -> Tolerance:
    return lambda operands, exact: np.abs(exact) * 2.0**power


def _absolute(power: float) -> Tolerance:
    return lambda operands, exact: np.full_like(exact, 2.0**power)


def _ulps(count: float, fraction: int) -> Tolerance:
    def allowed(operands: tuple[Reals, ...], exact: Reals) -> Reals:
        return np.asarray(count * np.exp2(np.floor(np.log2(np.abs(exact))) - fraction))

    return allowed


def _logarithm(operands: tuple[Reals, ...], exact: Reals) -> Reals:
    """`lg2`: an absolute error of 2^-22 between 0.5 and 2, a relative one of 2^-22 elsewhere."""
    near = (operands[0] > 0.5) & (operands[0] < 2)
    return np.where(near, 2.0**-22, np.abs(exact) * 2.0**-22)


def _circle(operands: tuple[Reals, ...], exact: Reals) -> Reals:
    """`sin` and `cos`: an absolute error of 2^-20.5 between -pi and pi; PTX states none for larger operands."""
    return np.where(np.abs(operands[0]) <= math.pi, 2.0**-20.5, np.inf)


def _divided(a: Reals, b: Reals) -> Reals:
    """`div.approx`: past 2^126 the reciprocal of the divisor is taken for 0."""
    far = (np.abs(b) > 2.0**126) & (np.abs(b) < 2.0**128)
    return np.asarray(np.where(far, a * 0.0 * np.sign(b), a / b))


FUNCTIONS: Final[Mapping[str, Callable[..., Reals]]] = {
    "div": np.divide,
    "rcp": lambda a: 1 / a,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}
# By opcode and format, from the sections of the PTX ISA that have the opcodes' names. `rcp.approx.ftz.f64` and
# `rsqrt.approx.ftz.f64` have no number there but a significand of 20 bits: one last place of it is allowed. Nor has
# `rsqrt.approx.f64`, which is refined to f64: two last places.
TOLERANCES: Final[Mapping[tuple[str, str], Tolerance]] = {
    ("div", "f32"): _ulps(2, FORMATS["f32"].fraction),
    ("rcp", "f32"): _ulps(1, FORMATS["f32"].fraction),
    ("rcp", "f64"): _ulps(1, 19),
    ("sqrt", "f32"): _relative(-23),
    ("rsqrt", "f32"): _relative(-22.9),
    ("rsqrt", "f64"): _ulps(2, FORMATS["f64"].fraction),
    ("ex2", "f32"): _relative(-22),
    ("ex2", "f16"): _relative(-9.9),
    ("ex2", "bf16"): _relative(-7),
    ("lg2", "f32"): _logarithm,
    ("sin", "f32"): _circle,
    ("cos", "f32"): _circle,
    ("tanh", "f32"): _relative(-11),
    ("tanh", "f16"): _absolute(-10.987),
    ("tanh", "bf16"): _absolute(-8),
}


@dataclass(frozen=True)
class Bounded:
    """The bound of one form."""

    bound: Bound

    @property
    def _name(self) -> str:
        name = self.bound.words["type"]
        return PAIRS.get(name, name)

    @property
    def _format(self) -> FloatFormat:
        return FORMATS[self._name]

    def outside(self, operands: tuple[Bits, ...], result: Bits) -> Truth:
        """Rows whose result is not within the bound."""
        if self.bound.words["type"] in PAIRS:
            half = np.uint64(self._format.bits)
            parts = [self._outside(tuple(c >> at for c in operands), result >> at) for at in (np.uint64(0), half)]
            return np.asarray(parts[0] | parts[1])
        return self._outside(operands, result)

    def _outside(self, operands: tuple[Bits, ...], result: Bits) -> Truth:
        with np.errstate(all="ignore"):
            exact, allowed = self._exact(operands)
            got = numbers(self._name, result, ftz=False)
            same = (got == exact) | (np.isnan(got) & np.isnan(exact))
            near = np.isfinite(exact) & np.isfinite(got) & (np.abs(got - exact) <= allowed)
            past = np.isinf(got) & (np.sign(got) == np.sign(exact)) & (np.abs(exact) + allowed > self._largest)
            return np.asarray(~(same | near | past))

    @property
    def _largest(self) -> float:
        fmt = self._format
        return float(numbers(self._name, np.array([fmt.infinity - 1], np.uint64), ftz=False)[0])

    def _exact(self, operands: tuple[Bits, ...]) -> tuple[Reals, Reals]:
        """The exact results and how far off one may be."""
        fmt, words = self._format, self.bound.words
        ftz = "ftz" in words
        upper = ftz and fmt.bits == FORMATS["f64"].bits
        # PTX ISA, `rcp.approx.ftz.f64`: the lower 32 bits of the operand are not looked at.
        columns = [c >> np.uint64(32) << np.uint64(32) if upper else low(c, fmt.bits) for c in operands]
        taken = tuple(numbers(self._name, column, ftz) for column in columns)
        function = _divided if words["mode"] == "approx" and self.bound.form.opcode == "div" else None
        exact = (function or FUNCTIONS[self.bound.form.opcode])(*taken)
        key = ("rcp" if upper else self.bound.form.opcode, self._name)
        allowed = TOLERANCES[key](taken, exact)
        normal = 2.0 ** (1 - fmt.bias)
        last = normal if ftz or self._name == "bf16" else normal * 2.0**-fmt.fraction
        small = np.abs(exact) < normal * (1 + 2.0**-7)
        return exact, np.asarray(np.where(small, np.maximum(allowed, last), allowed))


def bounded_of(bound: Bound) -> Bounded | None:
    """The bound of a form; None for one with a definition to the bit."""
    if bound.words.get("mode") not in ("approx", "full") or bound.form.opcode not in FUNCTIONS:
        return None
    return Bounded(bound)

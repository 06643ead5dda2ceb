"""Pairs of results about which a comparator must not be wrong, each made of what fooled some comparison before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from diffcheck.compare import CompareError, Verdict, bits_equal, combine, within_bound

F32: TypeAlias = npt.NDArray[np.float32]
F64: TypeAlias = npt.NDArray[np.float64]

# Enough words that one wrong word of a row hardly moves its cosine.
SHAPE = (4, 1024)
RELATIVE_BOUND = 1e-6


@dataclass(frozen=True)
class Comparator:
    """The three ways in which this harness concludes; the fields are what a mutant replaces."""

    bits: Callable[[F32, F32], Verdict] = field(default=bits_equal)
    bound: Callable[[F32, F64, F64], Verdict] = field(default=within_bound)
    combine: Callable[[Sequence[Verdict]], Verdict] = field(default=combine)


@dataclass(frozen=True)
class Item:
    """One question with a known answer. A refusal (`CompareError`) counts as not holding."""

    name: str
    must_hold: bool
    ask: Callable[[Comparator], Verdict]

    def answered_rightly(self, comparator: Comparator) -> bool:
        """Tell whether a comparator gives the known answer."""
        try:
            return self.ask(comparator).holds == self.must_hold
        except CompareError:
            return not self.must_hold


def wrong_answers(comparator: Comparator) -> tuple[str, ...]:
    """Return the names of the items that a comparator gets wrong."""
    return tuple(item.name for item in BATTERY if not item.answered_rightly(comparator))


def _values() -> F64:
    """Outputs whose rows are of very different size."""
    generator = np.random.default_rng(20)
    scale = np.array([[1.0], [1e-3], [1e-2], [1e-4]])
    return np.asarray((generator.standard_normal(SHAPE) * scale).astype(np.float32), dtype=np.float64)


def _changed(head: int, index: int, value: float) -> F32:
    result = _values().astype(np.float32)
    result[head, index] = value
    return result


def _bits(result: F32) -> Callable[[Comparator], Verdict]:
    return lambda comparator: comparator.bits(result, _values().astype(np.float32))


def _bound(result: F32, reference: F64 | None = None) -> Callable[[Comparator], Verdict]:
    reference = _values() if reference is None else reference
    limit = RELATIVE_BOUND * np.abs(reference).max(axis=1)
    return lambda comparator: comparator.bound(result, reference, limit)


def _long_context() -> F64:
    """Averages over a long context: none of them above 1/64, which a tolerance of 2e-2 takes for zero."""
    return np.asarray((_values() / np.abs(_values()).max()).astype(np.float32), dtype=np.float64) * 2.0**-6


def _one_ulp() -> F32:
    result = _values().astype(np.float32)
    result[2, 700] = np.nextafter(result[2, 700], np.float32(np.inf))
    return result


def _signed_zeros() -> Callable[[Comparator], Verdict]:
    plus = _changed(1, 1, 0.0)
    minus = _changed(1, 1, -0.0)
    return lambda comparator: comparator.bits(plus, minus)


def _nan_payloads() -> Callable[[Comparator], Verdict]:
    ours, theirs = _changed(1, 1, np.nan), _changed(1, 1, np.nan)
    ours.view(np.uint32)[1, 1] = 0x7FFFFFFF
    theirs.view(np.uint32)[1, 1] = 0xFFC00000
    return lambda comparator: comparator.bits(ours, theirs)


def _half_holds(comparator: Comparator) -> Verdict:
    same = _values().astype(np.float32)
    return comparator.combine([comparator.bits(same, same), Verdict("bits", False, "planted", 1)])


_EMPTY = np.zeros((0, SHAPE[1]), dtype=np.float32)
_SAME = _values().astype(np.float32)

BATTERY: tuple[Item, ...] = (
    Item("equal results", True, _bits(_SAME)),
    Item("equal results, in a bound", True, _bound(_SAME)),
    Item("NaN payloads", True, _nan_payloads()),
    Item("one ULP", False, _bits(_one_ulp())),
    Item("NaN for a number", False, _bits(_changed(3, 1023, np.nan))),
    Item("NaN in a bound", False, _bound(_changed(3, 1023, np.nan))),
    Item("infinity in a bound", False, _bound(_changed(0, 0, np.inf))),
    Item("signs of zero", False, _signed_zeros()),
    Item("a zeroed word", False, _bound(_changed(0, 17, 0.0))),
    Item("all zeros", False, _bound(np.zeros(SHAPE, dtype=np.float32), _long_context())),
    Item("a small row", False, _bound(_changed(3, 5, float(_values()[3, 5]) + 3e-7))),
    Item("the last row", False, _bits(_changed(3, 1023, 1.0))),
    Item("no words", False, lambda comparator: comparator.bits(_EMPTY, _EMPTY)),
    Item("no verdicts", False, lambda comparator: comparator.combine([])),
    Item("one of two fails", False, _half_holds),
)

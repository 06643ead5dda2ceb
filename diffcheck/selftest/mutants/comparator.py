"""Comparators with a fault, each known from practice. To add one, add it to `mutants`.

Each replaces a part of the comparator and must then give a wrong answer to the item of the battery
(`diffcheck.selftest.battery`) that it is meant for; the comparator itself must answer all of them rightly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffcheck.compare import Verdict, bits_equal, compare, within_bound
from diffcheck.selftest.base import Finding, Mutant
from diffcheck.selftest.battery import F32, F64, Comparator, wrong_answers


@dataclass(frozen=True)
class ComparatorFault:
    """A comparator with a fault."""

    comparator: Comparator

    def __call__(self) -> Finding:
        """Ask both comparators everything."""
        wrong = wrong_answers(self.comparator)
        sound = wrong_answers(Comparator())
        unexpected = f"the comparator itself answers wrongly: {', '.join(sound)}" if sound else ""
        return Finding(wrong, f"answers wrongly: {', '.join(wrong) or 'nothing'}", unexpected)


def _verdict(holds: object, compared: int) -> Verdict:
    return Verdict("bits", bool(holds), "by a planted comparator", compared)


def _nan_passes(a: F32, b: F32) -> Verdict:
    return bits_equal(np.where(np.isnan(a) | np.isnan(b), b, a).astype(np.float32), b)


def _not_greater(a: F32, reference: F64, limit: F64) -> Verdict:
    error = np.abs(a.astype(np.float64) - reference)
    return _verdict(not np.any(error > limit[:, None]), a.size)


def _infinity_passes(a: F32, reference: F64, limit: F64) -> Verdict:
    return within_bound(np.where(np.isinf(a), reference, a).astype(np.float32), reference, limit)


def _cosine(a: F32, reference: F64, _limit: F64) -> Verdict:
    cosine = compare(a, reference.astype(np.float32)).whole.cosine
    return _verdict(cosine is not None and cosine > 0.999, a.size)


def _absolute(a: F32, reference: F64, _limit: F64) -> Verdict:
    return within_bound(a, reference, np.full(a.shape[0], 2e-2))


def _largest_of_all_rows(a: F32, reference: F64, limit: F64) -> Verdict:
    return within_bound(a, reference, np.full(limit.shape, limit.max()))


def _tolerance(a: F32, b: F32) -> Verdict:
    return _verdict(a.size and np.allclose(a, b, rtol=1e-6, atol=0, equal_nan=True), a.size)


def _numeric_equality(a: F32, b: F32) -> Verdict:
    return _verdict(a.size and np.array_equal(a, b, equal_nan=True), a.size)


def _raw_bits(a: F32, b: F32) -> Verdict:
    return _verdict(a.size and np.array_equal(a.view(np.uint32), b.view(np.uint32)), a.size)


def _first_rows(a: F32, b: F32) -> Verdict:
    return bits_equal(a[:-1], b[:-1]) if a.shape[0] > 1 else bits_equal(a, b)


def _nothing_is_equal(a: F32, b: F32) -> Verdict:
    comparison = compare(a, b)
    return _verdict(comparison.whole.equal == comparison.whole.words, a.size)


def _all_of_none(verdicts: Sequence[Verdict]) -> Verdict:
    return _verdict(all(verdict.holds for verdict in verdicts), 0)


def _any_of_them(verdicts: Sequence[Verdict]) -> Verdict:
    return _verdict(any(verdict.holds for verdict in verdicts), len(verdicts))


def mutants() -> tuple[Mutant, ...]:
    """Return the mutants of the comparator."""
    return (
        _mutant("nan-passes", "a NaN passes as any number", "NaN for a number", Comparator(bits=_nan_passes)),
        _mutant(
            "not-greater", "an error passes unless it is greater", "NaN in a bound", Comparator(bound=_not_greater)
        ),
        _mutant("infinity-passes", "an infinity passes", "infinity in a bound", Comparator(bound=_infinity_passes)),
        _mutant("only-cosine", "only the cosine is looked at", "a zeroed word", Comparator(bound=_cosine)),
        _mutant("absolute-tolerance", "the bound is 2e-2 for all", "all zeros", Comparator(bound=_absolute)),
        _mutant(
            "one-scale", "the bound is that of the largest row", "a small row", Comparator(bound=_largest_of_all_rows)
        ),
        _mutant("tolerance-for-bits", "bits are compared within a tolerance", "one ULP", Comparator(bits=_tolerance)),
        _mutant(
            "numeric-equality", "bits are compared as numbers", "signs of zero", Comparator(bits=_numeric_equality)
        ),
        _mutant("payloads-matter", "two NaNs differ by payload", "NaN payloads", Comparator(bits=_raw_bits)),
        _mutant("last-row-skipped", "the last row is not compared", "the last row", Comparator(bits=_first_rows)),
        _mutant("no-words-pass", "comparing nothing holds", "no words", Comparator(bits=_nothing_is_equal)),
        _mutant("no-cases-pass", "a run over nothing holds", "no verdicts", Comparator(combine=_all_of_none)),
        _mutant(
            "one-is-enough", "one check that holds is enough", "one of two fails", Comparator(combine=_any_of_them)
        ),
    )


def _mutant(name: str, what: str, meant_for: str, comparator: Comparator) -> Mutant:
    return Mutant(name, "comparator", what, meant_for, ComparatorFault(comparator))

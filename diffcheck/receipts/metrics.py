"""How far two results are apart, and what a check concluded from it."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

from pydantic import model_validator
from typing_extensions import Self

from diffcheck.receipts.fields import Bits32, Count, Model, Name, Real

if TYPE_CHECKING:
    from diffcheck.compare import RowMetrics, Verdict
    from diffcheck.compare import Word as ComparedWord

_PERCENT_TOLERANCE, _COSINE_ROUNDING, _RELATIVE_ROUNDING = 1e-9, 1e-9, 1e-9
_BOUNDED = ("oracle", "naive", "split-naive")
CheckName = Literal["bits", "oracle", "scratch", "naive", "split-naive", "memory", "executes"]


class Word(Model):
    """The worst word of a comparison."""

    head: Count
    """Query head."""
    index: Count
    """Index in the row: the output dimension."""
    a_bits: Bits32
    """Bit pattern of the result."""
    b_bits: Bits32 | None
    """Bit pattern of what it was compared with."""
    a: str
    """The result as a number."""
    b: str
    """What it was compared with, as a number."""

    @classmethod
    def of(cls, word: ComparedWord) -> Word:
        """Copy a comparator's word."""
        return cls(head=word.head, index=word.index, a_bits=word.a_bits, b_bits=word.b_bits, a=word.a, b=word.b)


class Top(Model):
    """A row whose largest word is another one in the two results."""

    a_index: Count
    """Where it is in the result."""
    b_index: Count
    """Where it is in what the result was compared with."""
    rank: Count
    """What the word at `a_index` has there; 1 is the largest."""
    gap_ulp: int
    """How far below the largest it is there, in representable numbers."""


class Metrics(Model):
    """The comparison of one row, or of all rows together."""

    head: Count | None
    """Query head of the row; null for all rows together."""
    words: Count
    """f32 words compared."""
    equal: Count
    """Words that are equal in the sense of the contract."""
    bitwise_percent: Real
    """100 equal / words."""
    max_ulp: Count | None
    """Largest distance in units in the last place; null when a NaN or infinity meets a number."""
    mismatched: Count
    """Words in which a NaN or infinity meets something else."""
    max_abs: Real | None
    """Largest absolute difference."""
    max_rel: Real | None
    """`max_abs` over the largest finite magnitude of what was compared with, in this row or in all rows together;
    infinite where that is 0 or none."""
    cosine: Real | None
    """Cosine of the two rows."""
    worst: Word | None
    """The word that is furthest off; null when all are equal."""
    top: Top | None = None
    """How the largest word of the row moved; null when it did not, and for all rows together."""

    @model_validator(mode="after")
    def _numbers_are_possible(self) -> Self:
        if self.equal + self.mismatched > self.words:
            raise ValueError(f"equal, mismatched: {self.equal} and {self.mismatched} of {self.words} words")
        percent = 100.0 * self.equal / self.words if self.words else 0.0
        if abs(self.bitwise_percent - percent) > _PERCENT_TOLERANCE:
            raise ValueError(f"bitwise_percent: {self.bitwise_percent} contradicts {self.equal} of {self.words} words")
        for name, value in (("max_abs", self.max_abs), ("max_rel", self.max_rel)):
            if value is not None and value < 0:
                raise ValueError(f"{name}: {value} is no distance")
        if self.cosine is not None and abs(self.cosine) > 1 + _COSINE_ROUNDING:
            raise ValueError(f"cosine: {self.cosine} is no cosine")
        return self

    @model_validator(mode="after")
    def _distances_follow_from_the_words(self) -> Self:
        if self.mismatched and (self.max_ulp is not None or self.cosine is not None):
            raise ValueError(f"mismatched: {self.mismatched} words have no distance, and max_ulp or cosine is a number")
        apart = [name for name in ("max_ulp", "max_abs", "max_rel", "worst") if getattr(self, name) not in {None, 0}]
        if self.equal == self.words and apart:
            raise ValueError(f"{apart[0]}: must be 0 or null where all {self.words} words are equal")
        if self.max_abs is not None and self.max_rel is not None and (self.max_abs == 0) != (self.max_rel == 0):
            raise ValueError(f"max_abs, max_rel: {self.max_abs} and {self.max_rel}; one is 0 where the other is")
        return self

    @property
    def magnitude(self) -> float | None:
        """The largest finite magnitude of what was compared with, which the errors imply; null where they do not."""
        if not self.max_abs or not self.max_rel or math.isnan(self.max_abs) or math.isnan(self.max_rel):
            return None
        return self.max_abs / self.max_rel

    @classmethod
    def of(cls, row: RowMetrics) -> Metrics:
        """Copy a comparator's metrics."""
        return cls(
            head=row.head,
            words=row.words,
            equal=row.equal,
            bitwise_percent=row.bitwise_percent,
            max_ulp=row.max_ulp,
            mismatched=row.mismatched,
            max_abs=row.max_abs,
            max_rel=row.max_rel,
            cosine=row.cosine,
            worst=None if row.worst is None else Word.of(row.worst),
            top=None if row.top is None else Top(**asdict(row.top)),
        )


class Check(Model):
    """One thing that was looked at, and whether it holds."""

    name: CheckName
    """bits: equal bit for bit; oracle: within the derived bound of the f64 oracle, or exact where a case says so;
    scratch: what the splits left is equal bit for bit;
    naive: the same for the naive kernel and its own bound; split-naive: within the sum of the two bounds of the naive
    kernel; memory: guards and inputs unchanged, every output word written; executes: runs without a fault."""
    a: Name
    """The arm whose result is judged."""
    b: Name
    """What it is judged by: an arm, `oracle` or `contract`."""
    holds: bool
    """The conclusion."""
    reason: str
    """One line; of a failure it names the worst row with both bit patterns."""
    compared: Count
    """Words that were compared."""
    ratio: Real | None = None
    """Largest error over its bound, of a check that has a bound."""
    whole: Metrics | None = None
    """All rows together."""
    worst_row: Metrics | None = None
    """The worst row; null when every word is equal."""

    @model_validator(mode="after")
    def _holds_follows_from_the_numbers(self) -> Self:
        if self.holds and not self.compared:
            raise ValueError("holds: nothing was compared")
        if self.holds and self.ratio is not None and not self.ratio <= 1:
            raise ValueError(f"holds: contradicts an error of {self.ratio} of its bound")
        if self.ratio is not None and self.ratio < 0:
            raise ValueError(f"ratio: {self.ratio} is no share of a bound")
        if self.name == "bits" and self.whole and self.holds != (self.whole.equal == self.whole.words > 0):
            raise ValueError(f"holds: contradicts {self.whole.equal} equal words of {self.whole.words}")
        if self.holds and self.name in _BOUNDED and self.ratio is None and not _all_equal(self.whole):
            raise ValueError("holds: words differ, and no ratio says how far they are within a bound")
        return self

    @model_validator(mode="after")
    def _numbers_are_of_what_was_compared(self) -> Self:
        whole, row = self.whole, self.worst_row
        if whole is not None and whole.words != self.compared:
            raise ValueError(f"compared: {self.compared} contradicts {whole.words} words")
        if whole is None or row is None:
            return self
        if row.words - row.equal > whole.words - whole.equal or row.mismatched > whole.mismatched:
            raise ValueError("worst_row: more of its words differ than of all rows together")
        if row.max_abs is not None and whole.max_abs is not None and row.max_abs > whole.max_abs:
            raise ValueError(f"worst_row: an error of {row.max_abs} in it, and of {whole.max_abs} in all rows together")
        # A row's relative error may be the larger one: it is over the row's own largest word.
        ours, all_rows = row.magnitude, whole.magnitude
        if ours is not None and all_rows is not None and ours > all_rows * (1 + _RELATIVE_ROUNDING):
            raise ValueError(f"worst_row: its largest word is {ours} by max_rel, and {all_rows} in all rows together")
        return self

    @classmethod
    def of(cls, name: CheckName, a: str, b: str, verdict: Verdict) -> Check:
        """Copy a comparator's verdict."""
        comparison = verdict.comparison
        return cls(
            name=name,
            a=a,
            b=b,
            # A verdict over nothing is a failure whatever it says of itself.
            holds=verdict.holds and verdict.compared > 0,
            reason=verdict.reason,
            compared=verdict.compared,
            ratio=verdict.ratio,
            whole=None if comparison is None else Metrics.of(comparison.whole),
            worst_row=None if comparison is None or not comparison.worst.worst else Metrics.of(comparison.worst),
        )


def _all_equal(metrics: Metrics | None) -> bool:
    return metrics is None or metrics.equal == metrics.words

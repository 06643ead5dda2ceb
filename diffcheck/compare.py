"""Put two results side by side: by bits, by distance, and against a bound, for each row and as a whole.

A row is one query head (the first axis). A NaN equals any NaN, whatever its payload; a NaN or an infinity against any
other number is a *mismatch*, which has no distance and never passes. Nothing compared is a failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Literal

import numpy as np
import numpy.typing as npt

from diffcheck.bounds import Bound

F32Array = npt.NDArray[np.float32]
F64Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Check = Literal["bits", "bound", "exact", "all"]


class CompareError(ValueError):
    """Two results that cannot be put side by side: another shape or dtype."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of two results. `index` counts within the row, `a` and `b` are the values as text."""

    head: int
    index: int
    a_bits: str
    b_bits: str
    a: str
    b: str

    def __str__(self) -> str:
        return f"query head {self.head}, index {self.index}: {self.a_bits} ({self.a}) against {self.b_bits} ({self.b})"


@dataclass(frozen=True, slots=True)
class Top:
    """A row whose largest word is another one in the two results `a` and `b`.

    `rank` is what the word at `a_index` has in `b` (1 is the largest), `gap_ulp` how far it lies below the largest of
    `b`, in representable numbers: a gap of 1 is a tie that rounding broke, a large one is a wrong word.
    """

    a_index: int
    b_index: int
    rank: int
    gap_ulp: int

    def __str__(self) -> str:
        return (
            f"the largest word is at index {self.a_index} instead of {self.b_index}, "
            f"where it has rank {self.rank}, {self.gap_ulp} ULP below"
        )


@dataclass(frozen=True, slots=True)
class RowMetrics:
    """What separates two rows, or two whole results where `head` is None.

    `max_ulp` is the largest distance in representable numbers (+0 and -0 are 1 apart), None if some word is a mismatch.
    `max_abs` is over words finite in both; `max_rel` is that over the largest finite |b|. `cosine` is None where a word
    is not finite or one side is all zero. `worst` is the word that is furthest off, None where all are equal. `top`
    says how the largest word moved; None where it did not, where a NaN is in the way, and for a whole result.
    """

    head: int | None
    words: int
    equal: int
    mismatched: int
    max_ulp: int | None
    max_abs: float
    max_rel: float
    cosine: float | None
    worst: Word | None
    top: Top | None = None

    @property
    def bitwise_percent(self) -> float:
        """Words with the same bits, in per cent; 0 where there are none."""
        return 100.0 * self.equal / self.words if self.words else 0.0

    def describe(self) -> str:
        """One line that names the worst word."""
        if self.worst is None:
            return f"{self.words} words, all equal"
        distance = f"{self.mismatched} NaN or inf mismatches" if self.max_ulp is None else f"max {self.max_ulp} ULP"
        moved = "" if self.top is None else f"; {self.top}"
        return f"{self.worst}; {self.bitwise_percent:.4f} % of {self.words} words equal, {distance}{moved}"

    def to_json(self) -> dict[str, object]:
        """All fields as JSON types; numbers that JSON has not are strings."""
        return {
            "head": self.head,
            "words": self.words,
            "equal": self.equal,
            "bitwise_percent": self.bitwise_percent,
            "mismatched": self.mismatched,
            "max_ulp": self.max_ulp,
            "max_abs": json_number(self.max_abs),
            "max_rel": json_number(self.max_rel),
            "cosine": self.cosine,
            "worst": None if self.worst is None else asdict(self.worst),
            "top": None if self.top is None else asdict(self.top),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rows of two results, and the two results as a whole."""

    rows: tuple[RowMetrics, ...]
    whole: RowMetrics

    @property
    def worst(self) -> RowMetrics:
        """The row that is furthest off: most mismatches first, then most ULP; the whole where there are no rows."""
        return max(self.rows, key=lambda row: (row.mismatched, row.max_ulp or 0), default=self.whole)

    def to_json(self, rows: bool = True) -> dict[str, object]:
        """The whole, and each row if `rows`."""
        data: dict[str, object] = {"whole": self.whole.to_json()}
        if rows:
            data["rows"] = [row.to_json() for row in self.rows]
        return data


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a check holds, over how many words, and in one line why.

    `ratio` is the largest error as a share of its bound (of the "bound" check only): at most 1 where it holds, and near
    0 where the bound says little.
    """

    check: Check
    holds: bool
    reason: str
    compared: int
    comparison: Comparison | None = None
    ratio: float | None = None

    def to_json(self, rows: bool = True) -> dict[str, object]:
        """All fields as JSON types."""
        return {
            "check": self.check,
            "holds": self.holds,
            "reason": self.reason,
            "compared": self.compared,
            "ratio": None if self.ratio is None else json_number(self.ratio),
            "comparison": None if self.comparison is None else self.comparison.to_json(rows),
        }


def json_number(value: float) -> float | str:
    """`value`, or its name where JSON has no number for it: "nan", "inf", "-inf"."""
    return value if isfinite(value) else str(value)


def ordered(bits: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    """f32 bits as whole numbers in the order of their values, neighbours 1 apart; -0 is -1 and +0 is 0."""
    wide = bits.astype(np.int64)
    return np.where(wide >= 1 << 31, (1 << 31) - 1 - wide, wide)


def compare(a: F32Array, b: F32Array, *, zero_signs_equal: bool = False) -> Comparison:
    """Measure how far `a` is from `b`, both f32 of one shape with a row along the first axis.

    `zero_signs_equal` lets +0 equal -0, as the contract does for running maxima in the scratch. Raises `CompareError`
    for another shape or dtype.
    """
    left, right = _rows(a, b)
    words = _Words(left, right, zero_signs_equal)
    return Comparison(tuple(words.measure(head) for head in range(left.shape[0])), words.measure(None))


def bits_equal(a: F32Array, b: F32Array, *, zero_signs_equal: bool = False) -> Verdict:
    """Whether all words have the same bits."""
    return _bitwise("bits", compare(a, b, zero_signs_equal=zero_signs_equal))


def exact_rows(result: F32Array, expected: F32Array) -> Verdict:
    """Whether `result` is, word for word, what the generator knows it to be (NaN: any NaN)."""
    return _bitwise("exact", compare(result, expected))


def within_bound(result: F32Array, reference: F64Array, bound: Bound | F64Array) -> Verdict:
    """Whether every word of `result` is within `bound` of the oracle's `reference`.

    `bound` is a `Bound`, or f64 of one number a row or a word. Where the reference is NaN or infinite, the result must
    be the same. Raises `CompareError` for another shape or dtype, and for a bound that is negative, infinite or NaN.
    """
    if reference.dtype != np.float64 or result.shape != reference.shape:
        raise CompareError(f"result {result.dtype}{result.shape} against oracle {reference.dtype}{reference.shape}")
    limit = _limit(bound, reference.shape)
    with np.errstate(over="ignore"):
        rounded = reference.astype(np.float32)
    comparison = compare(result, rounded)
    finite = np.isfinite(reference)
    same = np.where(np.isnan(reference), np.isnan(result), result == reference)
    with np.errstate(invalid="ignore"):
        error = np.abs(result.astype(np.float64) - reference)
    share = np.full(reference.shape, np.inf)
    # A NaN error fails `<=`, so it keeps the infinite share.
    fits = np.where(finite, error <= limit, same)
    np.divide(error, limit, out=share, where=finite & np.isfinite(error) & (limit > 0))
    share[np.where(finite, error == 0, same)] = 0
    return _bound_verdict(comparison, result, rounded, fits, share)


def combine(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict that holds if all do, and fails if there are none or if they compared no word."""
    failed = [v for v in verdicts if not v.holds]
    compared = sum(v.compared for v in verdicts)
    if failed:
        return Verdict("all", False, f"{len(failed)} of {len(verdicts)} fail: {failed[0].reason}", compared)
    if not compared:
        return Verdict("all", False, "nothing was compared", 0)
    return Verdict("all", True, f"{len(verdicts)} hold", compared)


def storage_error(narrow: F64Array, wide: F64Array) -> F64Array:
    """What storing K and V in f16 cost, a row: max |Δ| of two oracle results over the row's largest |wide|."""
    if narrow.shape != wide.shape:
        raise CompareError(f"oracle results of {narrow.shape} and {wide.shape}")
    return np.asarray(np.abs(narrow - wide).max(axis=1) / np.abs(wide).max(axis=1))


class _Words:
    """Two results word by word, `[rows, words]`, from which rows and the whole are summed up."""

    def __init__(self, a: F32Array, b: F32Array, zero_signs_equal: bool) -> None:
        self.a, self.b = a, b
        a_bits, b_bits = a.view(np.uint32), b.view(np.uint32)
        self.equal: BoolArray = (a_bits == b_bits) | (np.isnan(a) & np.isnan(b))
        if zero_signs_equal:
            self.equal |= (a == 0) & (b == 0)
        finite = np.isfinite(a) & np.isfinite(b)
        self.mismatch: BoolArray = ~self.equal & ~finite
        comparable = finite & ~self.equal
        self.ulp = np.where(comparable, np.abs(ordered(a_bits) - ordered(b_bits)), 0)
        self.difference = np.zeros(a.shape)
        # Converting a signalling NaN is an invalid operation, even where its difference is not asked for.
        with np.errstate(invalid="ignore"):
            np.subtract(a, b, out=self.difference, where=comparable, dtype=np.float64)
        np.abs(self.difference, out=self.difference)

    def measure(self, head: int | None) -> RowMetrics:
        """The metrics of one row, or of all (None)."""
        rows = slice(None) if head is None else slice(head, head + 1)
        equal, mismatch, ulp = self.equal[rows], self.mismatch[rows], self.ulp[rows]
        max_abs = float(self.difference[rows].max(initial=0.0))
        mismatched = int(np.count_nonzero(mismatch))
        return RowMetrics(
            head=head,
            words=int(equal.size),
            equal=int(np.count_nonzero(equal)),
            mismatched=mismatched,
            max_ulp=None if mismatched else int(ulp.max(initial=0)),
            max_abs=max_abs,
            max_rel=_relative(max_abs, self.b[rows]),
            cosine=_cosine(self.a[rows], self.b[rows]),
            worst=self._worst(head or 0, equal, mismatch, ulp),
            top=None if head is None else _moved_top(self.a[head], self.b[head]),
        )

    def _worst(self, first: int, equal: BoolArray, mismatch: BoolArray, ulp: npt.NDArray[np.int64]) -> Word | None:
        if equal.all():
            return None
        at = int(np.argmax(np.where(mismatch, np.iinfo(np.int64).max, ulp)))
        row, index = divmod(at, equal.shape[1])
        return word(self.a, self.b, first + row, index)


def _moved_top(a: F32Array, b: F32Array) -> Top | None:
    if not a.size or np.isnan(a).any() or np.isnan(b).any():
        return None
    left, right = int(np.argmax(a)), int(np.argmax(b))
    if left == right:
        return None
    order = ordered(b.view(np.uint32))
    rank = 1 + int(np.count_nonzero(order > order[left]))
    return Top(left, right, rank, int(order[right] - order[left]))


def word(a: F32Array, b: F32Array, head: int, index: int) -> Word:
    """Name one word of two results `[rows, words]`."""
    left, right = a[head, index], b[head, index]
    return Word(
        head=head,
        index=index,
        a_bits=f"0x{int(left.view(np.uint32)):08x}",
        b_bits=f"0x{int(right.view(np.uint32)):08x}",
        a=str(left),
        b=str(right),
    )


def _rows(a: F32Array, b: F32Array) -> tuple[F32Array, F32Array]:
    if a.dtype != np.float32 or b.dtype != np.float32 or a.shape != b.shape or a.ndim < 1:
        raise CompareError(f"{a.dtype}{a.shape} against {b.dtype}{b.shape}: two f32 arrays of one shape are needed")
    rows = a.shape[0]
    words = int(np.prod(a.shape[1:]))
    return np.ascontiguousarray(a).reshape(rows, words), np.ascontiguousarray(b).reshape(rows, words)


def _limit(bound: Bound | F64Array, shape: tuple[int, ...]) -> F64Array:
    limit = bound.absolute if isinstance(bound, Bound) else np.asarray(bound, dtype=np.float64)
    if limit.ndim == 1 and len(shape) == 2:
        limit = limit[:, None]
    if limit.shape[:1] != shape[:1] or limit.ndim != len(shape) or limit.shape[1] not in (1, shape[1]):
        raise CompareError(f"a bound of shape {limit.shape} for a result of {shape}")
    if not np.all((limit >= 0) & np.isfinite(limit)):
        raise CompareError("a bound that is negative, infinite or NaN")
    return np.broadcast_to(limit, shape)


def _bitwise(check: Check, comparison: Comparison) -> Verdict:
    whole = comparison.whole
    if not whole.words:
        return Verdict(check, False, "nothing was compared", 0, comparison)
    holds = whole.equal == whole.words
    return Verdict(check, holds, whole.describe() if holds else comparison.worst.describe(), whole.words, comparison)


def _bound_verdict(
    comparison: Comparison, result: F32Array, rounded: F32Array, fits: BoolArray, share: F64Array
) -> Verdict:
    words = comparison.whole.words
    if not words:
        return Verdict("bound", False, "nothing was compared", 0, comparison)
    ratio = float(share.max())
    head, index = divmod(int(np.argmax(np.where(fits, share, np.inf))), share.shape[1])
    holds = bool(fits.all())
    text = f"largest error is {ratio:.3g} of its bound" if holds else f"{int((~fits).sum())} of {words} words past it"
    return Verdict("bound", holds, f"{text}: {word(result, rounded, head, index)}", words, comparison, ratio)


def _relative(max_abs: float, reference: F32Array) -> float:
    if max_abs == 0:
        return 0.0
    finite = reference[np.isfinite(reference)]
    largest = float(np.abs(finite).max(initial=0.0))
    return max_abs / largest if largest else float("inf")


def _cosine(a: F32Array, b: F32Array) -> float | None:
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return None
    left, right = a.ravel().astype(np.float64), b.ravel().astype(np.float64)
    size = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / size if size else None

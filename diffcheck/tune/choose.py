"""From results to a tile table: the fastest choice of each kind of call, in ranges of lengths.

A choice takes the incumbent's place only where the interval of its ratio excludes 1: it must be faster in at least one
of the rows of its kind (arms, numbers of KV heads), slower in none, and timed in all. Among those that are, the least
geometric mean of the ratios decides. Between two measured lengths the choice changes at their geometric mean.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from diffcheck.errors import BadInputError
from diffcheck.receipts.ab.samples import Interval
from diffcheck.tune.model import TunedRow, TuneResult
from diffcheck.tune.ratio import ratio_of
from diffcheck.tune.table_text import LAST, Span, TableRow, rows_of
from diffcheck.tune.variants import Choice
from diffcheck.version import CONTRACT
from rust_kernel.plan import TileTable


@dataclass(frozen=True)
class Measured:
    """A result with the SHA-256 of its file."""

    result: TuneResult
    sha256: str


@dataclass(frozen=True)
class Kind:
    """What a table tells apart besides lengths."""

    arch: int
    head_dim: int
    storage: str
    group_size: int


@dataclass(frozen=True)
class Chosen:
    """The choice for calls of one kind and length, and what it rests on."""

    choice: Choice
    ground: str
    result: str


def table_of(results: Sequence[Measured], base: TileTable) -> tuple[TableRow, ...]:
    """Return the rows of `base` with what was measured in their places.

    Raises `BadInputError` for a result that fails, for one of another contract, for one whose incumbents come from
    another table than `base`, for rows of one kind with unlike arms or incumbents, and for two results that measured
    the same calls.
    """
    rows = tuple(rows_of(base))
    found: dict[Kind, dict[int, Chosen]] = {}
    for measured in results:
        _require_of(measured, base)
        for kind, kv_len, tuned in _cells(measured.result):
            lengths = found.setdefault(kind, {})
            if kv_len in lengths:
                raise BadInputError("results", f"two of {_words(kind)} at {kv_len} keys", "one result of each call")
            lengths[kv_len] = _chosen(tuned, measured)
    for kind, lengths in found.items():
        rows = _displaced(rows, kind, lengths)
    return tuple(sorted(rows, key=_order))


def _require_of(measured: Measured, base: TileTable) -> None:
    result = measured.result
    if result.status != "holds":
        raise BadInputError("result", f"of {result.host.device}, status {result.status}", "a result that holds")
    if result.contract != CONTRACT:
        raise BadInputError("result", f"of contract {result.contract}", f"one of contract {CONTRACT}")
    if result.table_sha256 != base.sha256:
        # By name and text: what is built in has one name, whatever it says.
        given, allowed = (
            f"{name} ({sha256[:12]})"
            for name, sha256 in ((result.table, result.table_sha256), (base.name, base.sha256))
        )
        raise BadInputError("result", f"measured against the table {given}", f"one against {allowed}")


def _cells(result: TuneResult) -> Iterator[tuple[Kind, int, list[TunedRow]]]:
    """Yield the timed rows of each kind and length."""
    arch = int(result.profile_arch.removeprefix("sm_"))
    cells: dict[tuple[Kind, int], list[TunedRow]] = {}
    for row in result.rows:
        if row.rounds:
            kind = Kind(arch, row.case.head_dim, row.case.storage, row.case.group_size)
            cells.setdefault((kind, row.case.kv_len), []).append(row)
    for (kind, kv_len), rows in cells.items():
        yield kind, kv_len, rows


def _chosen(rows: Sequence[TunedRow], measured: Measured) -> Chosen:
    """Return the choice for the rows of one kind and length."""
    device = measured.result.host.device
    kept = _incumbent(rows)
    where = f"{device}, {rows[0].case.kv_len} keys, {' and '.join(_timed_arms(rows[0]))}"
    best: tuple[float, Choice] | None = None
    for choice, ratios in _ratios(rows).items():
        if any(one.low > 1.0 for one in ratios) or not any(one.high < 1.0 for one in ratios):
            continue
        mean = math.exp(statistics.fmean(math.log(one.estimate) for one in ratios))
        if mean < 1.0 and (best is None or mean < best[0]):
            best = mean, choice
    if best is None:
        return Chosen(kept, f"{where}: nothing that was tried beats {kept}", measured.sha256)
    return Chosen(best[1], f"{where}: {best[0]:.3f} of the time of {kept}", measured.sha256)


def _timed_arms(row: TunedRow) -> list[str]:
    return sorted({one.arm for one in row.variants if one.samples_us})


def _incumbent(rows: Sequence[TunedRow]) -> Choice:
    """Return what the calls of one kind and length get now. Raises `BadInputError` where rows or arms differ."""
    first = rows[0]
    for row in rows:
        if _timed_arms(row) != _timed_arms(first):
            raise BadInputError(
                "result",
                f"{row.case.name} with the arms {', '.join(_timed_arms(row))}",
                f"the arms of {first.case.name}, a call of the same kind: {', '.join(_timed_arms(first))}",
            )
    found = {
        Choice(one.warps, one.rows, one.policy): f"{one.name} of {row.case.name}"
        for row in rows
        for one in row.variants
        if one.incumbent and one.samples_us
    }
    if len(found) > 1:
        raise BadInputError("result", f"incumbents {' and '.join(found.values())}", "one for calls of one kind")
    return next(iter(found))


def _ratios(rows: Sequence[TunedRow]) -> Mapping[Choice, list[Interval]]:
    """Return, for each choice that every arm of every row was timed with, its intervals, from the samples."""
    found: dict[Choice, list[Interval]] = {}
    wanted = sum(len({one.arm for one in row.variants if one.samples_us}) for row in rows)
    for row in rows:
        for one in row.variants:
            if one.samples_us and not one.incumbent and one.ratio is not None:
                choice = Choice(one.warps, one.rows, one.policy)
                found.setdefault(choice, []).append(ratio_of(row, one, one.ratio.seed))
    return {choice: ratios for choice, ratios in found.items() if len(ratios) == wanted}


def _displaced(rows: Sequence[TableRow], kind: Kind, lengths: Mapping[int, Chosen]) -> tuple[TableRow, ...]:
    """Return the rows with those of one kind replaced, in ranges about the measured lengths."""
    made: list[TableRow] = []
    for row in rows:
        if (row.head_dim, row.storage) != (kind.head_dim, kind.storage) or not _holds(row.arch, kind.arch):
            made.append(row)
            continue
        made += [replace(row, arch=arch) for arch in _without(row.arch, kind.arch)]
        own = replace(row, arch=(kind.arch, kind.arch))
        made += [replace(own, group_size=groups) for groups in _without(row.group_size, kind.group_size)]
    made += [_row(kind, kv_len, chosen) for kv_len, chosen in _alike(lengths)]
    return tuple(made)


def _alike(lengths: Mapping[int, Chosen]) -> Iterator[tuple[Span, Chosen]]:
    """Yield ranges of lengths and what was chosen for them, neighbours of one choice and result together."""
    measured = sorted(lengths)
    pairs = zip(ranges(measured), (lengths[one] for one in measured), strict=True)
    for _, group in groupby(pairs, key=lambda pair: (pair[1].choice, pair[1].result)):
        spans, chosen = zip(*group, strict=True)
        ground = "; ".join(one.ground for one in chosen)
        yield (spans[0][0], spans[-1][1]), Chosen(chosen[0].choice, ground, chosen[0].result)


def _row(kind: Kind, kv_len: Span, chosen: Chosen) -> TableRow:
    return TableRow(
        arch=(kind.arch, kind.arch),
        head_dim=kind.head_dim,
        storage=kind.storage,
        group_size=(kind.group_size, kind.group_size),
        kv_len=kv_len,
        warps=chosen.choice.warps,
        rows=chosen.choice.rows,
        policy=chosen.choice.policy,
        source="measured",
        ground=chosen.ground,
        result=chosen.result,
    )


def ranges(lengths: Sequence[int]) -> list[Span]:
    """Return the lengths that each measured one stands for: up to the geometric mean with the next, both ends open."""
    ends = [math.isqrt(a * b) for a, b in pairwise(lengths)]
    return list(zip([0, *(end + 1 for end in ends)], [*ends, LAST], strict=True))


def _holds(span: Span, value: int) -> bool:
    return span[0] <= value <= span[1]


def _without(span: Span, value: int) -> list[Span]:
    """Return what is left of a range beside one number."""
    if not _holds(span, value):
        return [span]
    parts = [(span[0], value - 1), (value + 1, span[1])]
    return [(first, last) for first, last in parts if first <= last]


def _order(row: TableRow) -> tuple[object, ...]:
    return (row.head_dim, row.storage, row.arch, row.group_size, row.kv_len)


def _words(kind: Kind) -> str:
    return f"sm_{kind.arch}, {kind.storage}, group of {kind.group_size}"

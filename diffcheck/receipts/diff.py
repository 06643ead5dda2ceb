"""What two receipts of one kind say differently."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from diffcheck.errors import BadInputError
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.samples import Interval
from diffcheck.receipts.fields import Count, Model, Name

# Samples, and what is derived of them, differ in every run; intervals are compared by whether they overlap.
_MEASURED = frozenset(
    {
        *("blocks", "samples_us", "median_us", "baseline_us", "candidate_us", "ratio", "stop", "dropped_blocks"),
        *("seconds", "host_seconds", "interpreter_seconds", "launch_seconds", "spread_percent", "bytes_per_second"),
        "raw",
    }
)
# Lists of records are compared by what names a record, so that one more does not make all that follow differ.
_KEYS = ("name", "entry", "arm", "build", "kind", "case")


class Difference(Model):
    """One field that the two state differently; null where one has it not."""

    path: Name
    a: str | None
    b: str | None


class RowComparison(Model):
    """One row that both timed: candidate over baseline with its 95 % interval."""

    row: Name
    a: Interval
    b: Interval
    overlap: bool


class ReceiptDiff(Model):
    """Two receipts side by side. Samples are left out."""

    schema_of_both: Name
    differences: tuple[Difference, ...]
    rows: tuple[RowComparison, ...]
    """Rows that both timed, of A/B receipts."""
    overlapping: Count
    """How many of these have intervals that overlap."""


def diff_receipts(a: BaseModel, b: BaseModel) -> ReceiptDiff:
    """Compare two receipts field by field. Raises `BadInputError` for two of different kinds."""
    left, right = a.model_dump(mode="json", by_alias=True), b.model_dump(mode="json", by_alias=True)
    if left["schema"] != right["schema"]:
        raise BadInputError("receipt", right["schema"], f"two of one kind; the first is {left['schema']}")
    found = tuple(_differences(left, right, ""))
    rows = tuple(_rows(a, b)) if isinstance(a, AbReceipt) and isinstance(b, AbReceipt) else ()
    return ReceiptDiff(
        schema_of_both=left["schema"],
        differences=found,
        rows=rows,
        overlapping=sum(row.overlap for row in rows),
    )


def _rows(a: AbReceipt, b: AbReceipt) -> Iterator[RowComparison]:
    others = {row.case.name: row.timing for row in b.rows if row.timing}
    for row in a.rows:
        other = others.get(row.case.name)
        if row.timing and other:
            one, two = row.timing.ratio, other.ratio
            overlap = one.low <= two.high and two.low <= one.high
            yield RowComparison(row=row.case.name, a=one, b=two, overlap=overlap)


def _differences(a: Any, b: Any, path: str) -> Iterator[Difference]:
    if isinstance(a, list) and isinstance(b, list) and any(isinstance(value, dict) for value in [*a, *b]):
        a, b = _by_key(a), _by_key(b)
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            if key not in _MEASURED:
                where = f"{path}.{key}" if path else str(key)
                yield from _differences(a.get(key, _ABSENT), b.get(key, _ABSENT), where)
    elif a != b:
        yield Difference(path=path, a=_text(a), b=_text(b))


class _Absent:
    """Stands for a key that one of the two has not."""


_ABSENT = _Absent()


def _by_key(values: list[Any]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for index, value in enumerate(values):
        key = _name_of(value) or str(index)
        named[key if key not in named else f"{key}#{index}"] = value
    return named


def _name_of(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    inner = value.get("case")
    if isinstance(inner, dict):
        return str(inner.get("name"))
    parts = [str(value[key]) for key in (*_KEYS, "a", "b", "planted_percent") if key in value]
    return " ".join(parts)


def _text(value: Any) -> str | None:
    if isinstance(value, _Absent):
        return None
    if isinstance(value, dict):
        return f"a record of {len(value)} fields"
    text = " ".join(str(value).split())
    return text if len(text) <= 100 else text[:97] + "..."

"""A run's cases as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from diffcheck import terminal
from diffcheck.receipts.cases import InterpretedCase, MeasuredCase, StorageError
from diffcheck.receipts.metrics import Check

AnyCase: TypeAlias = InterpretedCase | MeasuredCase


@dataclass(frozen=True)
class Column:
    """A column: its title, its cell, whether it is a number, and whether a narrow terminal has it too."""

    title: str
    cell: Callable[[AnyCase], object]
    numeric: bool = True
    narrow: bool = True


def _named(case: AnyCase, name: str) -> list[Check]:
    return [check for check in case.checks if check.name == name]


def _lowest_percent(bits: Sequence[Check]) -> str:
    found = [check.whole.bitwise_percent for check in bits if check.whole]
    return f"{min(found):.4f}" if found else "-"


def _largest_ulp(bits: Sequence[Check]) -> str:
    found = [check.whole.max_ulp for check in bits if check.whole]
    if not found:
        return "-"
    known = [ulp for ulp in found if ulp is not None]
    return str(max(known)) if len(known) == len(found) else "not finite"


def _largest_ratio(checks: Sequence[Check]) -> str:
    ratios = [check.ratio for check in checks if check.ratio is not None]
    if ratios:
        return f"{max(ratios):.3f}"
    return "exact" if checks else "-"


def _seconds(case: AnyCase) -> str:
    if isinstance(case, InterpretedCase):
        times = [arm.interpreter_seconds for arm in case.arms]
    else:
        times = [arm.launch_seconds for arm in case.arms]
    return f"{sum(time for time in times if time is not None):.2f}"


# The largest error of each kind is shown as a share of its bound.
_COLUMNS = (
    Column("case", lambda case: case.case.name, numeric=False),
    Column("chunk", lambda case: case.case.plan.chunk, narrow=False),
    Column("splits", lambda case: case.case.plan.n_splits, narrow=False),
    Column("tile", lambda case: case.case.plan.tile, numeric=False, narrow=False),
    Column("bits %", lambda case: _lowest_percent(_named(case, "bits"))),
    Column("ULP", lambda case: _largest_ulp(_named(case, "bits"))),
    Column("oracle", lambda case: _largest_ratio(_named(case, "oracle"))),
    Column("naive", lambda case: _largest_ratio(_named(case, "naive"))),
    Column("split-naive", lambda case: _largest_ratio(_named(case, "split-naive")), narrow=False),
    Column("checks", lambda case: f"{sum(check.holds for check in case.checks)}/{len(case.checks)}", narrow=False),
    Column("s", _seconds, narrow=False),
    Column("", lambda case: terminal.status_text(case.status == "holds"), numeric=False),
)


def show_cases(title: str, cases: Sequence[InterpretedCase] | Sequence[MeasuredCase]) -> None:
    """Print one row a case, then one line for every check that does not hold."""
    out = terminal.console()
    columns = [column for column in _COLUMNS if column.narrow or out.width >= terminal.WIDE]
    rows = [[column.cell(case) for column in columns] for case in cases]
    numeric = [column.title for column in columns if column.numeric]
    out.print(terminal.table(title, [column.title for column in columns], rows, numeric))
    for case in cases:
        for check in case.checks:
            if not check.holds:
                line = f"{case.case.name}: {check.name}: {check.a} against {check.b}: {check.reason}"
                out.print(line, style="red", markup=False, soft_wrap=True)


def show_storage_errors(errors: Iterable[StorageError]) -> None:
    """Print what f16 storage of K and V costs, one row a pair of cases; nothing when there is no pair."""
    rows = [(error.family, error.kv_len, f"{error.max_rel:.3e}", error.head) for error in errors]
    if rows:
        columns = ("family", "L", "max |f16 - f32| / max |row|", "head")
        terminal.console().print(terminal.table("error of f16 storage, by the oracle", columns, rows, columns[1:]))

"""A run's cases as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diffcheck import terminal
from diffcheck.receipts.cases import InterpretedCase, MeasuredCase, StorageError
from diffcheck.receipts.metrics import Check

_COLUMNS = (
    *("case", "heads", "L", "KV", "chunk", "splits", "tile", "bits %", "max ULP"),
    *("oracle err/bound", "naive err/bound", "split-naive err/bound", "checks", "s", ""),
)


def show_cases(title: str, cases: Sequence[InterpretedCase] | Sequence[MeasuredCase]) -> None:
    """Print one row a case, then one line for every check that does not hold."""
    out = terminal.console()
    out.print(
        terminal.table(title, _COLUMNS, [_row(case) for case in cases], _COLUMNS[2:3] + _COLUMNS[4:6] + _COLUMNS[7:14])
    )
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


def _row(case: InterpretedCase | MeasuredCase) -> tuple[object, ...]:
    facts, checks = case.case, case.checks
    bits = [check for check in checks if check.name == "bits"]
    return (
        facts.name,
        f"{facts.num_q_heads}/{facts.num_kv_heads}",
        facts.kv_len,
        facts.storage,
        facts.plan.chunk,
        facts.plan.n_splits,
        facts.plan.tile,
        _lowest_percent(bits),
        _largest_ulp(bits),
        *(_largest_ratio(checks, name) for name in ("oracle", "naive", "split-naive")),
        f"{sum(check.holds for check in checks)}/{len(checks)}",
        _seconds(case),
        terminal.status_text(case.status == "holds"),
    )


def _lowest_percent(bits: Sequence[Check]) -> str:
    found = [check.whole.bitwise_percent for check in bits if check.whole]
    return f"{min(found):.4f}" if found else "-"


def _largest_ulp(bits: Sequence[Check]) -> str:
    found = [check.whole.max_ulp for check in bits if check.whole]
    if not found:
        return "-"
    known = [ulp for ulp in found if ulp is not None]
    return str(max(known)) if len(known) == len(found) else "not finite"


def _largest_ratio(checks: Sequence[Check], name: str) -> str:
    found = [check for check in checks if check.name == name]
    ratios = [check.ratio for check in found if check.ratio is not None]
    if ratios:
        return f"{max(ratios):.3f}"
    return "exact" if found else "-"


def _seconds(case: InterpretedCase | MeasuredCase) -> str:
    if isinstance(case, InterpretedCase):
        times = [arm.interpreter_seconds for arm in case.arms]
    else:
        times = [arm.launch_seconds for arm in case.arms]
    return f"{sum(time for time in times if time is not None):.2f}"

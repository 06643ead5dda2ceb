"""What the PTX machine and compute-sanitizer say of the same kernels, as tables."""

from __future__ import annotations

from diffcheck import terminal
from diffcheck.sanitize.model import ArmsResult, PlantedResult, SanitizeReceipt, ToolVerdict, names_faults, what_fails

_PLANTED_COLUMNS = ("planted", "fault", "machine", "right", "tool", "report", "right ", "")
_WIDE_ONLY = ("fault", "report")


def show_sanitize(made: SanitizeReceipt) -> None:
    """Print a sanitizer run."""
    out = terminal.console()
    if made.planted:
        columns = [column for column in _PLANTED_COLUMNS if column not in _WIDE_ONLY or out.width >= terminal.WIDE]
        cells = [_cells(result) for result in made.planted]
        out.print(terminal.table("planted faults", columns, [[row[column] for column in columns] for row in cells]))
    if made.arms:
        title = "arms" if made.device is None else f"arms on {made.device.device}"
        numbers = ("launched", "findings", "s")
        out.print(terminal.table(title, ("tool", *numbers, ""), [_arms_row(result) for result in made.arms], numbers))
    for result in made.arms:
        for report in (*result.verdict.reports, *filter(None, [result.verdict.problem])):
            out.print(f"{result.verdict.tool}: {report}", style="red", markup=False, soft_wrap=True)
    for line in what_fails(made.planted, made.arms, asked=made.device is not None, named=names_faults(made.command)):
        out.print(line, style="red", markup=False, soft_wrap=True)
    if made.missing:
        out.print(f"compute-sanitizer was not asked: {made.missing}", markup=False, soft_wrap=True)
    counted = f"{len(made.planted)} planted faults, {made.agreements} agreed on, {len(made.arms)} tools on the arms: "
    out.print(counted, terminal.status_text(made.status == "holds"), sep="")


def _cells(result: PlantedResult) -> dict[str, object]:
    yes, no = ("agree", "DIFFER") if result.agreement in ("agree", "differ") else (result.agreement, "FAILS")
    holds = result.machine_holds and result.agreement != "differ"
    return {
        "planted": result.name,
        "fault": result.fault,
        "machine": result.machine_faulty.fault or "nothing",
        "right": result.machine_right.fault or "clean",
        "tool": result.tool or "none",
        "report": _said(result.tool_faulty) or result.because,
        "right ": _said(result.tool_right),
        "": terminal.status_text(holds, yes, no),
    }


def _said(verdict: ToolVerdict | None) -> str:
    if verdict is None:
        return ""
    return verdict.problem or (verdict.reports[0] if verdict.reports else "clean")


def _arms_row(result: ArmsResult) -> tuple[object, ...]:
    found = "?" if result.verdict.findings is None else result.verdict.findings
    seconds = f"{result.verdict.seconds:.1f}"
    return (result.verdict.tool, len(result.launched), found, seconds, terminal.status_text(result.status == "holds"))

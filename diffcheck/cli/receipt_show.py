"""Printing receipts, one function a kind."""

from __future__ import annotations

from diffcheck import terminal
from diffcheck.cli.parity_table import show_cases, show_storage_errors
from diffcheck.cli.profile import show_profile
from diffcheck.cli.sanitize_table import show_sanitize
from diffcheck.cli.timing_table import show_timing
from diffcheck.cli.toolchain_table import show_toolchain
from diffcheck.cli.tune_table import show_tune
from diffcheck.profile.model import Profile
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.rows import Control, Row
from diffcheck.receipts.ab.samples import Interval
from diffcheck.receipts.imported.model import Imported, ImportedRecord
from diffcheck.receipts.kinds import AnyReceipt
from diffcheck.receipts.model import Receipt
from diffcheck.sanitize.model import SanitizeReceipt
from diffcheck.timing.model import Timing
from diffcheck.toolchain.model import Toolchain
from diffcheck.tune.model import TuneResult

_AB_COLUMNS = ("row", "baseline µs", "candidate µs", "ratio", "95 % interval", "blocks", "dropped", "parity")
_IMPORTED_COLUMNS = ("heads", "keys", "storage", "baseline µs", "candidate µs", "ratio", "vs f64", "parity")


def show_receipt(receipt: AnyReceipt) -> bool:
    """Print a receipt; return whether it concludes that all holds; an import does not, and a profile could not fail."""
    if isinstance(receipt, Imported):
        _show_imported(receipt)
        return False
    if isinstance(receipt, Profile):
        show_profile(receipt)
        return True
    if isinstance(receipt, AbReceipt):
        _show_ab(receipt)
        return receipt.status != "fails"
    if isinstance(receipt, SanitizeReceipt):
        show_sanitize(receipt)
    elif isinstance(receipt, Timing):
        show_timing(receipt)
    elif isinstance(receipt, Toolchain):
        show_toolchain(receipt)
    elif isinstance(receipt, TuneResult):
        show_tune(receipt)
    else:
        _show_parity(receipt)
    return receipt.status == "holds"


def _show_parity(receipt: Receipt) -> None:
    out = terminal.console()
    tree = receipt.tool.tree
    out.print(
        f"diffcheck {receipt.tool.version}, contract {receipt.contract}, "
        f"commit {tree.commit or 'unknown'}{' (dirty)' if tree.dirty else ''}"
    )
    if receipt.interpreted:
        show_cases(f"interpreted ({receipt.interpreted.target})", receipt.interpreted.cases)
    if receipt.measured:
        measured = receipt.measured
        show_cases(f"measured ({measured.device}, {measured.arch}, {measured.build})", measured.cases)
    show_storage_errors(receipt.storage_errors)
    out.print(f"self-test: {receipt.selftest.status}")
    out.print("receipt: ", terminal.status_text(receipt.status == "holds"), sep="")


def _show_ab(receipt: AbReceipt) -> None:
    out = terminal.console()
    source, host, arms = receipt.tool.source, receipt.host, receipt.experiment.content.arms
    out.print(
        f"{receipt.experiment.name}: {arms.candidate} over {arms.baseline}, {receipt.experiment.content.relation}"
    )
    out.print(
        f"host {host.id or 'not named'}, {host.device}, {host.arch}, driver {host.driver or 'unknown'}; "
        f"commit {source.commit or 'unknown'}{' (dirty)' if source.dirty else ''}"
    )
    out.print(terminal.table("rows", _AB_COLUMNS, [_ab_row(row) for row in receipt.rows], _AB_COLUMNS[1:7]))
    out.print(
        terminal.table(
            "controls",
            ("control", "row", "ratio", "95 % interval", "found"),
            [_control_row(control) for control in receipt.controls],
            ("ratio", "95 % interval"),
        )
    )
    users = (receipt.gpu_users.before, receipt.gpu_users.after)
    out.print("others on the GPU:", ", ".join("unknown" if one is None else str(len(one)) for one in users))
    for warning in receipt.warnings:
        out.print(f"warning: {warning}", markup=False, style="yellow")
    out.print(f"self-test: {receipt.selftest.status}")
    out.print("receipt: ", terminal.status_text(receipt.status == "complete", "complete", receipt.status), sep="")


def _ab_row(row: Row) -> tuple[object, ...]:
    parity = terminal.status_text(row.status == "timed")
    if row.timing is None:
        return (row.case.name, "-", "-", "-", "-", "-", "-", parity)
    timing = row.timing
    return (
        row.case.name,
        f"{timing.baseline_us:.2f}",
        f"{timing.candidate_us:.2f}",
        *_ratio(timing.ratio),
        len(timing.blocks),
        timing.dropped_blocks,
        parity,
    )


def _control_row(control: Control) -> tuple[object, ...]:
    name = "A/A" if control.kind == "a/a" else f"{control.planted_percent:g} % more work"
    return (name, control.case, *_ratio(control.timing.ratio), terminal.status_text(control.passed, "yes", "NO"))


def _ratio(ratio: Interval) -> tuple[str, str]:
    return f"{ratio.estimate:.4f}", f"{ratio.low:.4f} to {ratio.high:.4f}"


def _show_imported(imported: Imported) -> None:
    out = terminal.console()
    out.print(f"imported from {imported.source_file} ({imported.source_schema}, {imported.shape})", markup=False)
    for record in imported.records:
        title = " ".join(word for word in (record.kernel, record.variant) if word) or "kernel not named"
        out.print(
            f"{title}: {record.candidate} over {record.baseline}, host {record.host or 'not named'}, "
            f"{record.arch or 'architecture unknown'}; {record.timing_method or 'timing not described'}",
            markup=False,
        )
        out.print(terminal.table("rows", _IMPORTED_COLUMNS, _imported_rows(record), _IMPORTED_COLUMNS[1:7]))
        out.print(f"lacks: {', '.join(lack.value for lack in record.lacks)}", markup=False)
    if imported.required_hosts:
        out.print(f"requires receipts of: {', '.join(imported.required_hosts)}", markup=False)
    if imported.not_understood:
        out.print(f"not understood: {', '.join(imported.not_understood)}", markup=False, style="yellow")
    out.print("an import never counts for a verdict")


def _imported_rows(record: ImportedRecord) -> list[tuple[object, ...]]:
    return [
        (
            "-" if row.num_q_heads is None else f"{row.num_q_heads}/{row.num_kv_heads}",
            _shown(row.kv_len),
            row.storage or "-",
            _shown(row.baseline_us),
            _shown(row.candidate_us),
            "-" if row.ratio is None else f"{row.ratio:.4f}",
            "-" if row.candidate_vs_f64_max_rel is None else f"{row.candidate_vs_f64_max_rel:.2e}",
            "-" if row.parity_passed is None else "stated" if row.parity_passed else "FAILS",
        )
        for row in record.rows
    ]


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"

"""Times of arms and floors as a table."""

from __future__ import annotations

from diffcheck import terminal
from diffcheck.timing.model import Timing

_COLUMNS = ("case", "variant", "median µs", "± %", "GB/s of K and V", "of read-only", "calls", "sets")


def show_timing(timing: Timing) -> None:
    """Print a timing."""
    out = terminal.console()
    rows: list[tuple[object, ...]] = []
    for case in timing.cases:
        reads = [variant.median_us for variant in case.variants if variant.name.startswith("read only")]
        for variant in case.variants:
            speed = "-" if variant.bytes_per_second is None else f"{variant.bytes_per_second / 1e9:.0f}"
            share = f"{min(reads) / variant.median_us:.3f}" if reads and variant.kind != "floor" else "-"
            spread = f"{variant.spread_percent:.1f}"
            name, sets = case.case.name, case.buffer_sets
            rows.append((name, variant.name, f"{variant.median_us:.2f}", spread, speed, share, variant.calls, sets))
    out.print(terminal.table(f"{timing.device}, {timing.arch}, PTX for {timing.target}", _COLUMNS, rows, _COLUMNS[2:]))
    for case in timing.cases:
        for check in case.parity:
            if not check.holds:
                out.print(f"{case.case.name}, {check.a}: {check.reason}", style="red", markup=False)
    out.print(
        f"{len(timing.cases)} cases timed, bits of the twin: ", terminal.status_text(timing.status == "holds"), sep=""
    )

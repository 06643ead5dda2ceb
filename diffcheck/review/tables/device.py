"""The device during a run: controls, kernels as assembled, who else was there."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from diffcheck.receipts.ab.host import ForeignProcess
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.rows import Control
from diffcheck.receipts.ab.samples import Comparison, Reading
from diffcheck.review.numbers import NONE, interval, microseconds, ratio_text, size
from diffcheck.review.tables.base import Cell, Table, table, yes


def control_name(control: Control) -> str:
    """Return what was done to one side."""
    return "A/A" if control.kind == "a/a" else f"{control.planted_percent:g} % planted"


def controls(receipt: AbReceipt) -> Table:
    """Return one row for each control."""
    columns = ("control", "row", "baseline µs", "other side µs", "ratio", "interval", "confidence", "blocks", "result")
    rows = [
        (
            control_name(control),
            control.case,
            microseconds(control.timing.baseline_us),
            microseconds(control.timing.candidate_us),
            ratio_text(control.timing.ratio.estimate),
            interval(control.timing.ratio),
            f"{control.timing.ratio.confidence:.0%}",
            str(len(control.timing.used())),
            yes(control.passed, "passed", "NOT PASSED"),
        )
        for control in receipt.controls
    ]
    return table(columns, rows, columns[2:8])


def kernels(receipt: AbReceipt) -> Table | None:
    """Return registers, spills and occupancy of each kernel; None where no assembler was there."""
    if receipt.ptxas is None:
        return None
    rows = [
        (
            *(build.entry, build.arm, str(build.registers)),
            Cell(
                f"{build.spill_stores}/{build.spill_loads}", "warn" if build.spill_stores or build.spill_loads else ""
            ),
            Cell(str(build.stack), "warn" if build.stack else ""),
            str(build.blocks_per_sm) if build.blocks_per_sm is not None else NONE,
        )
        for build in sorted(receipt.ptxas.kernels, key=lambda build: build.entry)
    ]
    columns = ("kernel", "arm", "registers", "spill stores/loads", "stack bytes", "blocks an SM")
    return table(columns, rows, columns[2:])


def users(receipt: AbReceipt) -> Table:
    """Return who else had a context on the GPU."""
    rows: list[Sequence[Cell | str]] = []
    for moment, found in (("before", receipt.gpu_users.before), ("after", receipt.gpu_users.after)):
        if found is None:
            rows.append((moment, Cell("unknown: NVML did not say", "warn"), NONE, NONE))
        elif not found:
            rows.append((moment, Cell("nobody", "good"), NONE, NONE))
        else:
            rows += [_user(moment, one) for one in found]
    return table(("when", "who", "state", "memory"), rows, ("memory",))


def readings(receipt: AbReceipt) -> Table:
    """Return the range of each thing that NVML read."""
    found = [reading for timing in timings(receipt) for block in timing.blocks for reading in block.readings]
    fields = (
        ("SM clock, MHz", [reading.sm_mhz for reading in found]),
        ("memory clock, MHz", [reading.memory_mhz for reading in found]),
        ("temperature, °C", [reading.temperature_c for reading in found]),
        ("power, W", [reading.power_w for reading in found]),
    )
    columns = ("reading", "least", "median", "most", "readings")
    rows = [_range(name, [value for value in values if value is not None]) for name, values in fields]
    return table(columns, [*rows, _throttled(found)], columns[1:])


def timings(receipt: AbReceipt) -> list[Comparison]:
    """Return every comparison of a receipt in the order it ran: each row, then the controls on its inputs."""
    made: list[Comparison] = []
    for row in receipt.rows:
        made += [row.timing] if row.timing else []
        made += [control.timing for control in receipt.controls if control.case == row.case.name]
    return made


def _user(moment: str, one: ForeignProcess) -> Sequence[Cell | str]:
    foreign = one.kind == "compute" and one.state == "live"
    return (moment, Cell(f"{one.kind} process", "bad" if foreign else ""), one.state, size(one.memory_bytes))


def _range(name: str, values: Sequence[float]) -> Sequence[Cell | str]:
    if not values:
        return (name, *(NONE,) * 3, Cell("not supported", "dim"))
    return (name, f"{min(values):,.0f}", f"{median(values):,.0f}", f"{max(values):,.0f}", f"{len(values):,}")


def _throttled(found: Sequence[Reading]) -> Sequence[Cell | str]:
    known = [reading.throttle for reading in found if reading.throttle is not None]
    if not known:
        return ("reasons for a lowered clock", *(NONE,) * 3, Cell("not supported", "dim"))
    counts: dict[str, int] = {}
    for names in known:
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    text = ", ".join(f"{name} in {count:,}" for name, count in sorted(counts.items())) or "none met"
    return ("reasons for a lowered clock", *(NONE,) * 2, text, f"{len(known):,}")

"""The roofline in numbers: what a call must move and compute, and how near each arm comes to what the device could."""

from __future__ import annotations

from collections.abc import Sequence

from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.review.numbers import NONE, length, percent, rate, size
from diffcheck.review.roofline import fp32_peak, work_of
from diffcheck.review.rows import RowView, views
from diffcheck.review.tables.base import Cell, Table, table


def roofline(receipt: AbReceipt) -> Table:
    """Return bytes, operations and intensity of each row, the read floor's rate and each arm's, and their shares."""
    arms = receipt.experiment.content.arms
    sides = (arms.baseline, arms.candidate)
    columns = (
        *("row", "keys", "K and V", "scratch", "GFLOP", "FLOP/byte", "read GB/s", "of peak"),
        *(column for arm in sides for column in (f"{arm} GB/s", f"{arm}: of peak", f"{arm}: of f32 peak")),
    )
    compute = fp32_peak(receipt)
    rows = [_row(row, receipt.host.peak_memory_bytes_per_second, compute) for row in views(receipt)]
    return table(columns, rows, columns[1:])


def _row(row: RowView, memory: float | None, compute: float | None) -> Sequence[Cell | str]:
    work, read = work_of(row.row), row.floor("read")
    timing = row.timing
    cells: list[str] = []
    for us in (timing.baseline_us, timing.candidate_us) if timing else (None, None):
        flops = None if us is None else work.flops_per_second(us)
        cells += [rate(row.rate(us)), _of(row.rate(us), memory), _of(flops, compute)]
    return (
        *(row.family, length(row.kv_len), size(work.kv_bytes), size(work.scratch_bytes)),
        *(f"{work.flops / 1e9:,.3f}", f"{work.intensity:g}", rate(row.rate(read)), _of(row.rate(read), memory)),
        *cells,
    )


def _of(value: float | None, peak: float | None) -> str:
    return NONE if value is None or peak is None else percent(value / peak)

"""What a call must move and compute, and what its device could: both from a receipt, none of it measured here."""

from __future__ import annotations

from dataclasses import dataclass

from diffcheck.cases import F32_BYTES
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.rows import Row
from diffcheck.receipts.fields import Target

FP32_LANES: dict[Target, int] = {"sm_80": 64, "sm_86": 128, "sm_89": 128, "sm_90": 128, "sm_120": 128, "sm_121": 128}
"""Fused multiply-adds in f32 that a multiprocessor issues in a cycle: the table of arithmetic throughput in NVIDIA's
CUDA C++ Programming Guide, "Maximize Instruction Throughput"."""


@dataclass(frozen=True)
class Work:
    """What one call of a row needs, whoever computes it."""

    kv_bytes: int
    """Bytes of K and V, each read once."""
    scratch_bytes: int
    """Bytes of partial results that the splits write and the reduction reads again: one accumulator, maximum and sum a
    split and query head, in f32. They fit the L2, so the memory need not see them."""
    flops: int
    """Of the two products alone: two operations for each query head, key and dimension in q·K, and in p·V."""

    @property
    def intensity(self) -> float:
        """Operations a byte of K and V."""
        return self.flops / self.kv_bytes

    def flops_per_second(self, us: float) -> float:
        """Return the rate of the two products at a time in µs."""
        return self.flops / (us * 1e-6)


def work_of(row: Row) -> Work:
    """Return what a call of a row needs, by its case and its baseline's plan."""
    case, plan = row.case, row.baseline.plan
    return Work(
        kv_bytes=row.kv_bytes,
        scratch_bytes=plan.n_splits * case.num_q_heads * (case.head_dim + 2) * F32_BYTES,
        flops=4 * case.num_q_heads * case.kv_len * case.head_dim,
    )


def fp32_peak(receipt: AbReceipt) -> float | None:
    """Return f32 operations a second of all multiprocessors at the highest clock that the run read.

    None where no clock was read, or the architecture is not in `FP32_LANES`.
    """
    lanes = FP32_LANES.get(receipt.host.arch)
    clocks = [
        reading.sm_mhz
        for _, timing in receipt.comparisons()
        for block in timing.blocks
        for reading in block.readings
        if reading.sm_mhz
    ]
    if lanes is None or not clocks:
        return None
    return 2.0 * lanes * receipt.host.sms * max(clocks) * 1e6

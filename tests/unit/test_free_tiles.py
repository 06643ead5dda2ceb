"""Tiles that no shipped table has, as `diffcheck tune` tries them: the builder's kernels are made for any.

Where a warp's ring is smaller than its accumulators, a warp that is done must not write over another one's ring.
"""

from __future__ import annotations

import pytest

from diffcheck.arms import BuilderArm, reference_arm
from diffcheck.cases import Case, Storage
from diffcheck.executors import get_executor
from diffcheck.parity.judge_case import run_case
from diffcheck.parity.prepare import prepare
from diffcheck.tune.variants import Choice
from py_builder_kernel.kernels.spec import PartialSpec
from py_builder_kernel.kernels.staging import dynamic_shared_bytes, part_bytes, ring_shape
from py_builder_kernel.ptx import target_named

SMALL_RINGS: list[tuple[int, int, int, Storage]] = [
    (16, 1, 8, "f16"),
    (16, 2, 8, "f16"),
    (16, 1, 8, "f32"),
    (32, 1, 6, "f32"),
    (32, 2, 6, "f16"),
]
OTHERS: list[tuple[int, int, int, Storage]] = [(1, 4, 1, "f16"), (4, 8, 6, "f16"), (4, 2, 4, "f32"), (16, 4, 6, "f16")]


@pytest.mark.parametrize(("warps", "rows", "group", "storage"), SMALL_RINGS + OTHERS)
def test_any_tile_has_the_twins_bits(warps: int, rows: int, group: int, storage: Storage) -> None:
    case = Case(
        name=f"w{warps}r{rows}-g{group}-{storage}",
        num_q_heads=group,
        num_kv_heads=1,
        kv_len=333,
        storage=storage,
        generator="random",
        expect="bound",
        policy="fixed:2",
    )
    tiles = Choice(warps, rows, "one-wave").table()
    prepared = prepare(case, "h200", reference_arm(), threads=1, tiles=tiles)
    assert prepared.plan.tile.name == f"w{warps}r{rows}"
    ran = run_case(prepared, get_executor("machine"), "sm_90", (BuilderArm(),))
    assert ran.holds, [check.reason for check in ran.checks if not check.holds]


@pytest.mark.parametrize(("warps", "rows", "group", "storage"), SMALL_RINGS)
def test_a_part_holds_the_greater_of_ring_and_accumulators(warps: int, rows: int, group: int, storage: Storage) -> None:
    spec, target = PartialSpec(storage, group, 256, warps, rows), target_named("sm_90")
    ring = ring_shape(spec, target)
    assert ring is not None
    assert ring.bytes // warps < spec.acc_bytes == part_bytes(spec, ring)
    assert warps * (spec.acc_bytes + spec.sums_bytes) <= dynamic_shared_bytes(spec, target) <= target.shared_per_block

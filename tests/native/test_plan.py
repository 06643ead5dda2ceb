"""The planner's bindings: values, types, and what bad input is told. The rules themselves are tested in the crate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rust_kernel.plan import (
    CONTRACT,
    DeviceProfile,
    Plan,
    PlanError,
    make_plan,
    max_splits,
    policies,
    profiles,
    scratch_layout,
    tile_table,
)

SHAPE: dict[str, Any] = {"kv_len": 4096, "num_q_heads": 16, "num_kv_heads": 4}


def plan(**changes: Any) -> Plan:
    return make_plan(**{**SHAPE, **changes})


def test_a_plan_tells_everything_that_decides_the_bits() -> None:
    made = plan()
    assert (made.kv_len, made.num_q_heads, made.num_kv_heads, made.group_size, made.head_dim) == (4096, 16, 4, 4, 256)
    assert (made.storage, made.policy, made.profile.name, made.arch) == ("f16", "one-wave", "h200", 90)
    assert (made.s_target, made.chunk, made.n_splits) == (33, 125, 33)
    assert made.tile.name == f"w{made.tile.warps}r{made.tile.rows}"
    assert made.tile.vec == 8
    assert made.key.split("|")[:3] == [CONTRACT, "h200", "one-wave"]
    assert made.partial_entry == f"splitk_partial_f16_g4_d256_{made.tile.name}"
    assert (made.reduce_entry, made.naive_entry) == ("splitk_reduce_d256", "naive_decode_f16_d256")
    assert made.partial_launch == ((4, 33, 1), (32 * made.tile.warps, 1, 1))
    assert made.reduce_launch == ((16, 8, 1), (256, 1, 1))
    assert made.naive_launch == ((16, 1, 1), (256, 1, 1))


def test_splits_cover_the_keys_once() -> None:
    made = plan(kv_len=203, policy="chunk:7")
    ranges = [made.split_range(split) for split in range(made.n_splits)]
    assert [key for first, end in ranges for key in range(first, end)] == list(range(203))


def test_plans_are_values() -> None:
    assert plan() == plan()
    assert hash(plan()) == hash(plan())
    assert plan() != plan(kv_len=4097)
    assert plan().tile == plan(num_q_heads=4, num_kv_heads=1).tile
    assert len({plan(), plan(), plan(storage="f32")}) == 2
    with pytest.raises(AttributeError):
        plan().chunk = 3  # type: ignore[misc]


def test_numbers_may_be_numpys_and_a_profile_may_be_given_as_such() -> None:
    by_name = {profile.name: profile for profile in profiles()}
    given = plan(kv_len=np.uint32(4096), num_q_heads=np.int64(16), profile=by_name["rtx4090"])
    assert given == plan(profile="rtx4090")
    assert isinstance(given.profile, DeviceProfile)


def test_registries_are_listed() -> None:
    assert {"h200", "rtx4090", "gb10", "generic"} <= {profile.name for profile in profiles()}
    assert {"note", "one-wave", "three-quarter-wave", "fixed:N", "chunk:N"} == set(policies())
    for row in tile_table():
        low, high = row["kv_len"]
        assert low <= high
        low = max(1, low)
        shape: dict[str, Any] = {"num_q_heads": row["group_size"][1], "num_kv_heads": 1, "head_dim": row["head_dim"]}
        first, last = row["arch"]
        of_arch = [profile.name for profile in profiles() if first <= profile.arch <= last]
        for profile in of_arch:
            assert make_plan(kv_len=low, storage=row["storage"], profile=profile, **shape).tile == row["tile"]


def test_scratch_holds_every_call_within_the_capacity() -> None:
    layout = scratch_layout(kv_capacity=4096, num_q_heads=16, num_kv_heads=4)
    splits = max_splits(kv_capacity=4096, num_kv_heads=4)
    assert layout.max_splits == splits == max(plan(kv_len=kv_len).n_splits for kv_len in range(1, 4097))
    assert layout.part_m_bytes == layout.part_s_bytes == 16 * splits * 4
    assert layout.part_acc_bytes == 16 * splits * 256 * 4
    assert layout.part_s_offset >= layout.part_m_offset + layout.part_m_bytes
    assert layout.part_acc_offset >= layout.part_s_offset + layout.part_s_bytes
    assert layout.total_bytes == layout.part_acc_offset + layout.part_acc_bytes


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"kv_len": 0}, "kv_len", "0"),
        ({"kv_len": -1}, "kv_len", "-1"),
        ({"kv_len": 1 << 40}, "kv_len", "1099511627776"),
        ({"kv_len": 1 << 200}, "kv_len", "16069380442589902755419620923411626025222029937827…"),
        ({"num_q_heads": 15}, "num_q_heads", "15"),
        ({"num_q_heads": 36}, "num_q_heads", "36"),
        ({"num_kv_heads": 0}, "num_kv_heads", "0"),
        ({"head_dim": 128}, "head_dim", "128"),
        ({"storage": "bf16"}, "storage", '"bf16"'),
        ({"policy": "fixed:0"}, "policy", '"fixed:0"'),
        ({"policy": "chunk:"}, "policy", '"chunk:"'),
        ({"profile": "h100"}, "profile", '"h100"'),
        ({"kv_len": 70_000, "policy": "chunk:1"}, "n_splits", "70000"),
    ],
)
def test_what_is_not_allowed_is_named(changes: dict[str, Any], field: str, value: str) -> None:
    with pytest.raises(PlanError) as raised:
        plan(**changes)
    error = raised.value
    assert error.field == field
    assert error.value.startswith(value.rstrip("…"))
    assert str(error) == f"{error.field} is {error.value}; allowed: {error.allowed}"
    assert error.allowed
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kv_len": 5.0}, "kv_len is 5.0 of type float; allowed: a whole number from 1 to 4294967295"),
        ({"kv_len": "5"}, "kv_len is '5' of type str; allowed: a whole number from 1 to 4294967295"),
        ({"num_kv_heads": True}, "num_kv_heads is True of type bool; allowed: a whole number from 1 to 4294967295"),
        ({"storage": 16}, "storage is 16 of type int; allowed: a str"),
        ({"profile": 90}, "profile is 90 of type int; allowed: a str or a DeviceProfile"),
    ],
)
def test_a_wrong_type_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        plan(**changes)
    assert str(raised.value) == message


def test_there_is_no_split_past_the_last() -> None:
    with pytest.raises(PlanError, match=r"^split is 33; allowed: 0 to 32$"):
        plan().split_range(33)

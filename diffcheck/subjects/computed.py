"""Hashes that take the native module to compute."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from diffcheck import digest
from diffcheck.suites import GEOMETRIES, RUNG_LENGTHS

if TYPE_CHECKING:
    from rust_kernel.plan import TileTable

_POLICIES = ("table", "note", "one-wave", "three-quarter-wave")


_DECISIVE = ("arch", "head_dim", "storage", "group_size", "kv_len", "policy")


def tile_table_sha256(tiles: TileTable | None = None) -> str:
    """Return the digest of what a tile table decides, without its grounds; None stands for the one that is built in."""
    from rust_kernel import plan

    rows = (plan.TileTable.built_in() if tiles is None else tiles).rows
    decisive = [
        {**{key: value for key, value in row.items() if key in _DECISIVE}, "tile": row["tile"].name} for row in rows
    ]
    return digest.of_text(json.dumps(decisive, sort_keys=True))


def tile_table_text() -> str:
    """Return the tile table that is built in."""
    from rust_kernel import plan

    return plan.TileTable.built_in().text


def plans_sha256() -> str:
    """Return the digest of what the planner answers: every profile and policy at the rungs' lengths and geometries."""
    from rust_kernel import plan

    keys = [
        f"{heads}x{kv_heads} {kv_len} {storage} {made.key} {made.n_splits}"
        for profile in plan.profiles()
        for policy in _POLICIES
        for heads, kv_heads in GEOMETRIES
        for storage in ("f16", "f32")
        for kv_len in RUNG_LENGTHS
        for made in [
            plan.make_plan(
                kv_len=kv_len,
                num_q_heads=heads,
                num_kv_heads=kv_heads,
                head_dim=256,
                storage=storage,
                policy=policy,
                profile=profile.name,
            )
        ]
    ]
    return digest.of_text("\n".join(keys))


def builder_ptx_sha256() -> dict[str, str]:
    """Return, for each target, the digest of the builder's module with all its kernels."""
    import py_builder_kernel

    targets = py_builder_kernel.TARGETS
    return {target: digest.of_text(py_builder_kernel.build_module(None, target).text) for target in targets}


def profile_constants() -> list[dict[str, str | int]]:
    """Return, for each device that the planner knows, what decides its splits and tiles."""
    from rust_kernel import plan

    return [
        {"name": one.name, "arch": f"sm_{one.arch}", "sms": one.sms, "blocks_per_sm": one.blocks_per_sm}
        for one in plan.profiles()
    ]

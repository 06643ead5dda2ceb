"""Hashes that take the native module to compute."""

from __future__ import annotations

import json

from diffcheck import digest
from diffcheck.suites import GEOMETRIES, RUNG_LENGTHS

_POLICIES = ("note", "one-wave", "three-quarter-wave")


def tile_table_sha256() -> str:
    """Return the digest of the planner's tile table."""
    from rust_kernel import plan

    rows = [{**row, "tile": row["tile"].name} for row in plan.tile_table()]
    return digest.of_text(json.dumps(rows, sort_keys=True))


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

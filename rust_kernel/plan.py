"""The planner: where a call's context is cut, and with which tile it is walked (`docs/contract.md`, section 3).

Everything here is a pure function of numbers. Splits and tile decide the bits of a result, so a plan is made once and
handed to every arm; two results may be compared to the bit only when their plans have the same `Plan.key`. Which tile
and which policy a call gets is data, a `TileTable`: the contract's is built in, and another may be given in its place.

    >>> plan = make_plan(kv_len=4096, num_q_heads=16, num_kv_heads=4)
    >>> plan.chunk, plan.n_splits
    (125, 33)

Whole numbers may be given as anything with `__index__`. A wrong type raises `TypeError`, anything else that is not
allowed `PlanError`, with one line that names the field, the value and what is allowed.
"""

from rust_kernel._native import (
    CONTRACT,
    SOURCE_STAMP,
    DeviceProfile,
    Plan,
    PlanError,
    ScratchLayout,
    Tile,
    TileTable,
    make_plan,
    max_splits,
    policies,
    profiles,
    scratch_layout,
    tile_table,
)

__all__ = [
    "CONTRACT",
    "SOURCE_STAMP",
    "DeviceProfile",
    "Plan",
    "PlanError",
    "ScratchLayout",
    "Tile",
    "TileTable",
    "make_plan",
    "max_splits",
    "policies",
    "profiles",
    "scratch_layout",
    "tile_table",
]

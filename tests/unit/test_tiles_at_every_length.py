"""Tiles that the table has for long calls only, at every length: no small case would meet them.

The rows are the table's own for sm_90, so a row that comes to it or moves is followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from diffcheck.arms import BuilderArm, OxideArm, reference_arm
from diffcheck.cases import Case, select
from diffcheck.executors import get_executor
from diffcheck.kernel_cases import kernel_cases
from diffcheck.parity.judge_case import run_case
from diffcheck.parity.prepare import prepare
from diffcheck.tune.table_text import ANY, TableRow, rows_of, table_text
from rust_kernel.plan import TileTable

ARCH = 90
# The group of the project's own model.
GROUP = 4


def rows_of_long_calls() -> list[TableRow]:
    rows = rows_of(TileTable.built_in())
    return [row for row in rows if row.arch[0] <= ARCH <= row.arch[1] and row.kv_len[0] > 1]


@cache
def at_every_length(row: TableRow) -> TileTable:
    """The built-in table, but for one row that takes the place of those of other lengths."""
    others = [
        other
        for other in rows_of(TileTable.built_in())
        if (other.arch, other.storage, other.group_size) != (row.arch, row.storage, row.group_size)
    ]
    return TileTable.parse(table_text([replace(row, kv_len=ANY), *others]))


def small_cases(row: TableRow) -> Iterator[Case]:
    """The quick cases of the row's calls, and for one group those that have every rule of the kernel in them."""
    first, last = row.group_size
    for case in select("quick"):
        if case.stage != "reduce" and case.storage == row.storage and first <= case.group_size <= last:
            yield case
    if first <= GROUP <= last:
        yield from kernel_cases("f16" if row.storage == "f16" else "f32", GROUP)


@pytest.mark.parametrize(
    ("row", "case"),
    [
        pytest.param(row, case, id=f"{row.tile}-{case.name}")
        for row in rows_of_long_calls()
        for case in small_cases(row)
    ],
)
def test_the_tile_of_long_calls_has_the_twins_bits_in_small_cases(row: TableRow, case: Case) -> None:
    prepared = prepare(case, "h200", reference_arm(), threads=1, tiles=at_every_length(row))
    assert prepared.plan.tile.name == row.tile
    ran = run_case(prepared, get_executor("machine"), "sm_90", (BuilderArm(), OxideArm()))
    assert {arm.name for arm in ran.arms} == {"builder", "oxide"}
    assert ran.holds, [check.reason for check in ran.checks if not check.holds]


def test_twelve_warps_are_the_tile_of_long_calls() -> None:
    assert {row.tile for row in rows_of_long_calls()} == {"w12r4"}

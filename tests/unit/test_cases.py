"""The registry holds what the workspace promises, and refuses what it cannot run."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from diffcheck.cases import SUITES, Case, all_cases, collect, get_case, select
from diffcheck.errors import BadInputError
from diffcheck.generators import generators, merge_generators
from diffcheck.layouts import layouts
from diffcheck.planning import plan_for
from rust_kernel.plan import tile_table


def has(suite: str, **fields: object) -> bool:
    return any(all(getattr(case, name) == value for name, value in fields.items()) for case in select(suite))


@pytest.mark.parametrize("storage", ["f32", "f16"])
@pytest.mark.parametrize("heads", [(8, 2), (16, 4), (24, 4)])
@pytest.mark.parametrize("kv_len", [1, 5, 37, 64, 65, 4096, 4097, 8192])
def test_the_device_matrix_is_complete(kv_len: int, heads: tuple[int, int], storage: str) -> None:
    assert has("matrix", kv_len=kv_len, num_q_heads=heads[0], num_kv_heads=heads[1], storage=storage, policy="table")


@pytest.mark.parametrize("storage", ["f32", "f16"])
@pytest.mark.parametrize("kv_len", [5, 65, 203])
@pytest.mark.parametrize("group_size", range(1, 9))
def test_every_group_size_is_in_the_matrix(group_size: int, kv_len: int, storage: str) -> None:
    assert has("matrix", group_size=group_size, kv_len=kv_len, storage=storage)


@pytest.mark.parametrize("storage", ["f32", "f16"])
@pytest.mark.parametrize("heads", [(16, 4), (24, 4)])
@pytest.mark.parametrize("kv_len", [4096, 8192, 20000, 60000, 148000, 262144])
def test_every_rung_is_there(kv_len: int, heads: tuple[int, int], storage: str) -> None:
    assert has("rungs", kv_len=kv_len, num_q_heads=heads[0], num_kv_heads=heads[1], storage=storage)


@pytest.mark.parametrize("storage", ["f32", "f16"])
def test_split_edges_that_are_no_multiple_of_the_warps_are_in_the_matrix(storage: str) -> None:
    assert has("matrix", kv_len=203, policy="chunk:7", storage=storage)
    assert has("matrix", policy="chunk:61", storage=storage)


def test_every_tile_that_the_planner_has_runs_in_the_matrix() -> None:
    tiles = {(row["storage"], row["tile"].name) for row in tile_table()}
    planned = {(case.storage, plan_for(case).tile.name) for case in select("matrix")}
    assert planned == tiles


def test_the_quick_suite_has_every_generator_and_layout() -> None:
    quick = select("quick")
    assert {case.generator for case in quick} == {*generators(), *merge_generators()}
    assert {case.layout for case in quick} == set(layouts())
    assert all(case.kv_len <= 256 for case in quick)


def test_each_rung_is_there_in_both_storages_under_one_family() -> None:
    families: dict[str, set[str]] = {}
    for case in select("rungs"):
        families.setdefault(case.family, set()).add(case.storage)
    assert all(storages == {"f32", "f16"} for storages in families.values())


def test_a_suite_keeps_the_order_of_the_registry_and_all_suites_have_cases() -> None:
    names = [case.name for case in all_cases()]
    for suite in SUITES:
        chosen = [case.name for case in select(suite)]
        assert chosen == [name for name in names if name in set(chosen)]
        assert chosen


def test_bytes_are_those_of_the_arrays() -> None:
    case = get_case("random-16x4-L4096-f16")
    assert case.kv_bytes == 2 * 4096 * 4 * 256 * 2
    assert case.q_bytes == case.out_bytes == 16 * 256 * 4
    assert case.scratch_bytes(33) == 16 * 33 * (256 + 2) * 4
    assert case.bytes_moved(33) == case.kv_bytes + 2 * 16 * 256 * 4 + 2 * case.scratch_bytes(33)


def test_a_case_that_only_merges_moves_its_scratch_once() -> None:
    case = get_case("merge-kept-8x2-S9")
    assert (case.kv_bytes, case.q_bytes) == (0, 0)
    assert case.bytes_moved(9) == case.scratch_bytes(9) + case.out_bytes


def test_a_chain_moves_what_two_decodes_move() -> None:
    case, single = get_case("hops-8x2-L65-f16-padded"), get_case("random-8x2-L65-f16-padded")
    assert (case.decodes, single.decodes) == (2, 1)
    assert case.bytes_moved(4) == 2 * single.bytes_moved(4)


def test_a_case_is_json() -> None:
    data = get_case("random-8x2-L203-f16-chunk7").to_json()
    assert json.loads(json.dumps(data)) == data
    assert data["policy"] == "chunk:7"


def test_names_select_and_an_unknown_one_gets_near_ones() -> None:
    assert [case.name for case in select(names=["random-8x2-L5-f16"])] == ["random-8x2-L5-f16"]
    with pytest.raises(BadInputError, match="random-8x2-L5-f16"):
        get_case("random-8x2-L5-f15")


def test_a_choice_without_cases_is_refused() -> None:
    with pytest.raises(BadInputError, match="a case of the suite rungs"):
        select("rungs", ["random-8x2-L5-f16"])
    with pytest.raises(BadInputError, match="quick, matrix, rungs, kernels, faults"):
        select("everything")


def test_two_cases_of_one_name_are_refused() -> None:
    case = get_case("random-8x2-L5-f16")
    with pytest.raises(BadInputError, match="no other case"):
        collect([case, case])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"storage": "bf16"}, "storage: 'bf16'"),
        ({"layout": "sparse"}, "layout: 'sparse'"),
        ({"generator": "noise"}, "generator: 'noise'"),
        ({"expect": "exact"}, "bound for the generator random"),
        ({"stage": "merge"}, "stage: 'merge'"),
        ({"stage": "reduce"}, "generator: 'random' is not allowed; allowed: merge-empty"),
        ({"stage": "reduce", "generator": "merge-random", "layout": "packed"}, "scratch is always dense"),
        ({"stage": "chain"}, "generator: 'random' is not allowed; allowed: hops"),
        ({"generator": "hops", "expect": "exact"}, "generator: 'hops' is not allowed; allowed: "),
        ({"suites": ()}, "suites"),
        ({"suites": ("nightly",)}, "suite: 'nightly'"),
        ({"num_q_heads": 7}, "a multiple of num_kv_heads"),
        ({"kv_len": 0}, "kv_len: 0"),
        ({"seed": -1}, "seed: -1"),
        ({"generator": "v-one", "expect": "exact", "layout": "shared-row"}, "strides of 0"),
    ],
)
def test_a_case_that_cannot_run_is_refused(change: dict[str, object], message: str) -> None:
    broken: Case = replace(get_case("random-8x2-L5-f16"), **change)  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match=message):
        collect([broken])

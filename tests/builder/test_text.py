"""The text of every kernel: the same bytes each time, and no arithmetic that an assembler may change."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from py_builder_kernel import TARGETS, PtxBuildError, build_module, emit, entry_names
from py_builder_kernel.kernels.registry import kernel_named
from py_builder_kernel.kernels.spec import PartialSpec
from py_builder_kernel.kernels.staging import has_ring
from rust_kernel.plan import make_plan

ROOT = Path(__file__).parents[2]
_DIGEST = (
    "import hashlib, py_builder_kernel as b;"
    "print(hashlib.sha256(b.build_module(target='sm_90').text.encode()).hexdigest())"
)


def lines(entry: str, target: str = "sm_90") -> list[str]:
    return [line.strip() for line in emit(entry, target).splitlines()]


def test_another_process_builds_the_same_bytes() -> None:
    here = hashlib.sha256(build_module(target="sm_90").text.encode()).hexdigest()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", _DIGEST], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == here


def test_equal_calls_return_the_same_module() -> None:
    entry = "splitk_reduce_d256"
    assert build_module([entry], "sm_89") is build_module((entry,), target="sm_89")


def test_a_kernel_is_the_same_in_a_module_of_its_own() -> None:
    entry = "splitk_partial_f16_g3_d256_w12r4"
    alone = emit(entry).partition(".visible")[2]
    assert alone.strip() in build_module(target="sm_90").text


def test_targets_differ_only_in_the_header_and_in_where_rows_wait() -> None:
    bodies = {target: build_module(target=target).text.partition(".address_size")[2] for target in TARGETS}
    # By the shared memory of a block: 227 KB on sm_90, 99 KB on the others (sm_80's PTX runs on sm_86 too).
    assert len({body for target, body in bodies.items() if target != "sm_90"}) == 1
    assert len(set(bodies.values())) == 2
    for entry in ("splitk_reduce_d256", "naive_decode_f16_d256", "splitk_partial_f16_g4_d256_w12r4"):
        assert len({emit(entry, target).partition(".address_size")[2] for target in TARGETS}) == 1


@pytest.mark.parametrize("entry", entry_names("sm_90"))
def test_arithmetic_is_rounded_as_written(entry: str) -> None:
    code = [line.partition("@")[2].partition(" ")[2] if line.startswith("@") else line for line in lines(entry)]
    arithmetic = [line for line in code if re.match(r"(fma|add|sub|mul|div|sqrt|rcp|mad)\.(\S*\.)?f(16|32|64)", line)]
    assert arithmetic
    assert all(re.match(r"\w+\.rn\.f32 ", line) for line in arithmetic)
    text = "\n".join(code)
    assert not re.search(r"\.(ftz|approx|full|sat)\b", text)
    assert ".local" not in text
    assert "trap" not in text
    assert "%clock" not in text


PARTIALS = [e for e in entry_names("sm_90") if e.startswith("splitk_partial")]


@pytest.mark.parametrize("target", ["sm_89", "sm_90"])
@pytest.mark.parametrize("entry", PARTIALS)
def test_a_step_requests_all_its_rows_in_16_byte_vectors_before_it_uses_one(entry: str, target: str) -> None:
    found = re.fullmatch(r"splitk_partial_(f16|f32)_g\d_d256_w\d+r(\d+)", entry)
    assert found is not None
    vectors = int(found[2]) * (1 if found[1] == "f16" else 2)
    body = emit(entry, target)
    request = r"(ld\.global\.nc\S*\.v4\.\S+ |cp\.async\.cg\.shared\.global .*, 16;)"
    for name in ("k", "v"):
        pattern = rf"// phase: load {name}\n(.*?)// phase: load {name}, masked\n(.*?)loaded_{name}"
        whole = re.findall(pattern, body, re.DOTALL)
        assert len(whole) == 2
        for full, masked in whole:
            assert len(re.findall(rf"^ +{request}", full, re.MULTILINE)) == vectors
            assert len(re.findall(rf"@%p\d+ {request}", masked)) == vectors
            assert "fma" not in full + masked


@pytest.mark.parametrize("target", TARGETS)
def test_the_shared_memory_of_a_launch_is_what_a_block_of_the_target_may_use(target: str) -> None:
    limit = TARGETS[target].shared_per_block
    for entry, info in build_module(target=target).entries.items():
        assert info.dynamic_shared_bytes <= limit
        if info.kind == "partial":
            kernel = kernel_named(entry)[1]
            assert isinstance(kernel, PartialSpec)
            assert ("cp.async" in emit(entry, target)) == has_ring(kernel, TARGETS[target])


def test_phases_are_marked_for_tools_that_edit_kernels() -> None:
    phases = re.findall(r"// phase: (.+)", emit("splitk_partial_f16_g1_d256_w12r4"))
    assert phases == [
        "place", "start", "addresses",
        "load k", "load k, masked", "load v", "load v, masked", "load q",
        "wait", "load k", "load k, masked", "load v", "load v, masked",
        "scores", "mask", "maximum", "rescale", "weights", "values",
        "drained", "sum of the row slots", "exchange", "merge", "write",
    ]  # fmt: skip


def test_entries_take_what_the_contract_says() -> None:
    module = build_module(target="sm_90")
    split = "q k v part_m part_s part_acc kv_len chunk n_splits"
    strides = "q_stride_head k_stride_row k_stride_head v_stride_row v_stride_head"
    wanted = {
        "partial": f"{split} {strides}",
        "reduce": "part_m part_s part_acc out n_splits out_stride_head",
        "naive": f"q k v out kv_len group_size {strides} out_stride_head",
    }
    for entry, info in module.entries.items():
        counts = {"kv_len", "chunk", "n_splits", "group_size"}
        expected = [(name, "u32" if name in counts else "u64") for name in wanted[info.kind].split()]
        assert list(info.params) == expected
        warps = re.search(r"_w(\d+)r", entry)
        assert info.block == (32 * int(warps[1]) if warps else 256, 1, 1)


def test_the_plan_of_a_call_names_kernels_that_exist() -> None:
    plan = make_plan(kv_len=20_000, num_q_heads=24, num_kv_heads=4, storage="f32", profile="gb10")
    module = build_module([plan], "sm_121")
    assert list(module.entries) == [plan.partial_entry, plan.reduce_entry]
    # No room for a ring: the merge's share of each warp and head.
    assert module.entries[plan.partial_entry].dynamic_shared_bytes == plan.tile.warps * 6 * (256 + 2) * 4


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("splitk_partial_f16_g9_d256_w8r8", "group is 9; allowed: 1 to 8"),
        ("splitk_partial_f16_g4_d128_w8r8", "head_dim is 128; allowed: 256"),
        ("splitk_partial_bf16_g4_d256_w8r8", "storage is 'bf16'; allowed: f32, f16"),
        ("splitk_partial_f16_g4_d256_w8r3", "rows is 3; allowed: 1, 2, 4, 8 or 16"),
        ("splitk_partial_f16_g4_d256_w33r8", "warps is 33; allowed: 1 to 32"),
        ("splitk_reduce_d0256", "entry is 'splitk_reduce_d0256'; allowed: splitk_partial_"),
        ("", "entry is ''; allowed: splitk_partial_"),
    ],
)
def test_an_entry_that_no_kernel_has_is_refused(entry: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        build_module([entry])


def test_no_kernel_and_no_target_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one entry name or plan"):
        build_module([])
    with pytest.raises(PtxBuildError, match="target is 'sm_70'; allowed: sm_80"):
        entry_names("sm_70")

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
from py_builder_kernel.kernels.staging import ring_shape
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


def alike(texts: dict[str, str]) -> list[list[str]]:
    """The targets whose texts differ in the header only, together."""
    bodies = {target: text.partition(".address_size")[2] for target, text in texts.items()}
    return [[target for target in bodies if bodies[target] == body] for body in dict.fromkeys(bodies.values())]


def test_targets_differ_only_in_the_header_in_where_rows_wait_and_in_early_starts() -> None:
    # By the shared memory of a block: 227 KB on sm_90, 99 KB on the others (sm_80's PTX runs on sm_86 too).
    modules = {target: build_module(target=target).text for target in TARGETS}
    assert alike(modules) == [["sm_80", "sm_89"], ["sm_90"], ["sm_120", "sm_121"]]
    early = ["sm_90", "sm_120", "sm_121"]
    for entry, together in (
        ("splitk_reduce_d256", [["sm_80", "sm_89"], early]),
        ("naive_decode_f16_d256", [list(TARGETS)]),
        ("splitk_partial_f16_g4_d256_w8r4", [["sm_80", "sm_89"], early]),
        ("splitk_partial_f16_g4_d256_w12r4", [["sm_80", "sm_89"], early]),
        ("splitk_partial_f32_g4_d256_w8r4", [["sm_80", "sm_89"], ["sm_90"], ["sm_120", "sm_121"]]),
    ):
        assert alike({target: emit(entry, target) for target in TARGETS}) == together


@pytest.mark.parametrize("target", TARGETS)
def test_a_kernel_may_start_early_from_sm_90_on_and_waits_before_it_reads_what_others_write(target: str) -> None:
    for entry in (entry for entry in entry_names(target) if entry.startswith("splitk_")):
        code = [line for line in lines(entry, target) if line and not line.startswith("//")]
        if TARGETS[target].sm < 90:
            assert not any("griddepcontrol" in line or "prefetch" in line for line in code)
            continue
        assert code.count("griddepcontrol.launch_dependents;") == code.count("griddepcontrol.wait;") == 1
        at = code.index("griddepcontrol.wait;")
        before, after = code[:at], code[at:]
        assert "griddepcontrol.launch_dependents;" in before
        touching = r"(@!?%p\d+ )?(ld|st|cp|red|atom)\.(?!param)|bar\.|(@!?%p\d+ )?(bra|ret)"
        # Half of the reduce kernel's warps go to its barrier without a wait; behind it they touch nothing.
        passing = 1 if entry.startswith("splitk_reduce") else 0
        assert [line.split()[-1] for line in before if re.match(touching, line)] == ["classes;"] * passing
        assert not any("prefetch" in line for line in after)
        assert any("prefetch.global.L2" in line for line in before)


def test_warps_of_the_reduce_kernel_that_do_not_wait_touch_nothing_but_the_barrier() -> None:
    code = [line for line in lines("splitk_reduce_d256") if line and not line.startswith("//")]
    behind = code[code.index("classes:") + 1 :]
    assert behind[0] == "bar.sync 0;"
    first_warp = re.fullmatch(r"setp\.ne\.u32 (%p\d+), (%r\d+), 0;", behind[1])
    assert first_warp is not None
    assert behind[2] == f"@{first_warp[1]} bra.uni written;"
    assert behind[behind.index("written:") + 1 :] == ["ret;", "}"]
    # The same register says who goes past the wait: none that is the first warp.
    (passing,) = (line for line in code if re.fullmatch(rf"setp\.ge\.u32 %p\d+, {first_warp[2]}, 4;", line))
    assert f"@{passing.split()[1].rstrip(',')} bra.uni classes;" in code


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
    kernel = kernel_named(entry)[1]
    assert isinstance(kernel, PartialSpec)
    if ring_shape(kernel, TARGETS[target]) is not None:
        # One place requests: K's rows, then V's, each vector whole or, of a row that there is not, no byte of it. They
        # are a group each, so that K can be waited for without V.
        (request,) = re.findall(r"// phase: request\n(.*?)// phase: wait\n", body, re.DOTALL)
        (policy,) = re.findall(r"createpolicy\.fractional\.L2::evict_first\.b64 (%rd\d+);", body)
        address = r"\[%rd?\d+(?:\+\d+)?\]"
        copies = rf"cp\.async\.cg\.shared\.global\.L2::cache_hint {address}, {address}, 16, (%r\d+), {policy};"
        assert body.count("cp.async.cg") == request.count("cp.async.cg") == 2 * vectors
        bytes_of = re.findall(copies, request)
        assert len(bytes_of) == 2 * vectors
        assert all(re.search(rf"selp\.b32 {count}, 16, 0, %p\d+;", request) for count in bytes_of)
        groups = request.split("cp.async.commit_group;")
        assert [group.count("cp.async.cg") for group in groups] == [vectors, vectors, 0]
        assert "fma" not in request
        return
    request = r"ld\.global\.nc\S*\.v4\.\S+ "
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
            assert (2 * info.dynamic_shared_bytes >= TARGETS[target].shared_per_sm) or TARGETS[target].sm < 90
            assert ("cp.async" in emit(entry, target)) == (ring_shape(kernel, TARGETS[target]) is not None)


def test_phases_are_marked_for_tools_that_edit_kernels() -> None:
    phases = re.findall(r"// phase: (.+)", emit("splitk_partial_f16_g1_d256_w12r4"))
    assert phases == [
        "let the next kernel start", "place", "addresses", "prefetch", "start", "wait for the previous kernel",
        "load q", "request", "wait",
        "scores", "mask", "maximum", "rescale", "weights", "wait", "values",
        "drained", "sum of the row slots", "exchange", "read", "merge", "write",
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
    # No room for a ring: the merge's share of each warp and head, and where a kernel may start early, so much that no
    # second block fits beside it.
    merge = plan.tile.warps * 6 * (256 + 2) * 4
    assert merge == 49_536
    assert module.entries[plan.partial_entry].dynamic_shared_bytes == 51_200
    assert build_module([plan], "sm_89").entries[plan.partial_entry].dynamic_shared_bytes == merge


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

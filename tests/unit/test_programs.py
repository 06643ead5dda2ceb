"""Programs: what an executor is told to allocate and to pass, and what it must give back."""

from __future__ import annotations

import numpy as np
import pytest

from diffcheck.arms import BuilderArm, NaiveArm, Problem, TwinArm, select_arms
from diffcheck.cases import get_case
from diffcheck.errors import BadInputError
from diffcheck.executors import EXECUTORS, select_executors
from diffcheck.executors.gpu import arguments
from diffcheck.executors.program import Address, Outcome, Program, Word, end_of, first_of
from diffcheck.parity.judge_case import check_memory
from diffcheck.parity.prepare import prepare

PADDED = "random-8x2-L65-f16-padded"
PACKED = "random-8x2-L65-f32-packed"


def problem(name: str) -> Problem:
    return prepare(get_case(name), "h200", TwinArm(), threads=1).problem(name)


def untouched(program: Program) -> Outcome:
    memory = {region.buffer.name: region.buffer.raw.copy() for region in program.regions()}
    out = program.outputs.out
    return Outcome(out.over(memory[out.buffer.name]), memory, 0.0)


def test_launches_follow_the_plan() -> None:
    made = problem(PADDED)
    partial, reduce = BuilderArm().program(made, "sm_90").steps
    plan = made.plan
    assert (partial.entry, reduce.entry) == (plan.partial_entry, plan.reduce_entry)
    assert partial.grid == (plan.num_kv_heads, plan.n_splits, 1)
    assert partial.block == (32 * plan.tile.warps, 1, 1)
    assert reduce.grid == (plan.num_q_heads, plan.head_dim // 32, 1)


def test_a_chain_runs_both_kernels_twice_and_the_first_result_is_the_second_query() -> None:
    made = problem("hops-8x2-L65-f16-padded")
    steps = BuilderArm().program(made, "sm_90").steps
    plan, outputs = made.plan, made.outputs
    assert [step.entry for step in steps] == [plan.partial_entry, plan.reduce_entry] * 2
    assert [step.args[0] for step in steps[::2]] == [Address(made.decode_inputs.q), Address(outputs.results[0])]
    assert [step.args[3] for step in steps[1::2]] == [Address(result) for result in outputs.results]
    assert steps[0].args[1:9] == steps[2].args[1:9]
    # The padding of a result is not that of q.
    assert [step.args[9] for step in steps[::2]] == [Word("u64", 256 + 12), Word("u64", 256 + 20)]


def test_strides_are_passed_in_elements_as_the_contract_orders_them() -> None:
    made = problem(PADDED)
    partial, reduce = BuilderArm().program(made, "sm_90").steps
    words = [arg.value for arg in partial.args if isinstance(arg, Word)]
    q, k, v = (array.view for array in (made.decode_inputs.q, made.decode_inputs.k, made.decode_inputs.v))
    strides = [q.strides[0] // 4, k.strides[0] // 2, k.strides[1] // 2, v.strides[0] // 2, v.strides[1] // 2]
    assert words == [made.plan.kv_len, made.plan.chunk, made.plan.n_splits, *strides]
    assert reduce.args[-1] == Word("u64", made.outputs.out.view.strides[0] // 4)


def test_a_region_is_what_its_arrays_span() -> None:
    program = BuilderArm().program(problem(PACKED), "sm_90")
    (fused,) = (region for region in program.regions() if region.role == "input")
    inputs = program.decode_inputs
    assert fused.first == min(first_of(a) for a in (inputs.q, inputs.k, inputs.v))
    assert fused.end == max(end_of(a) for a in (inputs.q, inputs.k, inputs.v))
    restored = fused.whole(fused.live)
    assert np.array_equal(restored.view(np.uint32), fused.buffer.raw.view(np.uint32))
    roles = {region.buffer.name: region.role for region in program.regions()}
    assert roles == {"qkv": "input", "part_m": "scratch", "part_s": "scratch", "part_acc": "scratch", "out": "output"}


def test_gpu_arguments_are_addresses_and_words_of_their_types() -> None:
    program = BuilderArm().program(problem(PADDED), "sm_90")
    bases = {region.buffer.name: 1 << 40 for region in program.regions()}
    step = program.steps[0]
    values = arguments(step, bases)
    for arg, value in zip(step.args, values, strict=True):
        if isinstance(arg, Address):
            assert value == np.uint64((1 << 40) + arg.array.byte_offset)
        else:
            assert value.dtype.name == {"u32": "uint32", "u64": "uint64"}[arg.type]


def test_naive_reads_the_same_values_widened() -> None:
    made = problem(PADDED)
    program = NaiveArm().program(made, "sm_90")
    assert program.steps[0].entry == "naive_decode_f32_d256"
    assert program.decode_inputs.k.view.dtype == np.float32
    assert np.array_equal(program.decode_inputs.k.view, made.decode_inputs.k.view.astype(np.float32))


def test_untouched_memory_is_reported_as_unwritten() -> None:
    program = BuilderArm().program(problem(PADDED), "sm_90")
    check = check_memory("builder", program, untouched(program))
    assert not check.holds
    assert f"{8 * 256} output words were never written" in check.reason


@pytest.mark.parametrize("name", ["out", "part_acc", "k"])
def test_damaged_guards_and_inputs_are_reported(name: str) -> None:
    program = BuilderArm().program(problem(PADDED), "sm_90")
    outcome = untouched(program)
    outcome.out[...] = 1.0
    assert check_memory("builder", program, outcome).holds
    outcome.memory[name][0] = 1.0
    check = check_memory("builder", program, outcome)
    assert not check.holds
    assert name in check.reason


def test_selections() -> None:
    assert [arm.name for arm in select_arms(["builder", "builder", "twin"])] == ["builder"]
    with pytest.raises(BadInputError, match="machine, gpu, auto"):
        select_executors("cpu")
    chosen, notes = select_executors("auto")
    assert len(chosen) + len(notes) == len(EXECUTORS)

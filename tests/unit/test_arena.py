"""Where buffers lie: layouts drawn at random, and what kernels find and leave there."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffcheck.arms import DeviceArm, Problem, get_arm
from diffcheck.cases import Case
from diffcheck.executors.gpu import GpuExecutor, launch, load_module
from diffcheck.executors.program import Program
from diffcheck.generators import Inputs
from diffcheck.layouts import allocate_outputs
from diffcheck.planning import plan_for
from diffcheck.timing.arena import MIN_ROOM, ROOM_SHARE, STEP, Arena, draw_offsets, room_for
from diffcheck.timing.sets import timing_inputs

SIZES = st.lists(st.integers(1, 1 << 20), min_size=1, max_size=30)


@given(sizes=SIZES, spare=st.integers(0, 1 << 20), seed=st.integers(0, 2**32 - 1))
def test_buffers_lie_apart_and_within(sizes: list[int], spare: int, seed: int) -> None:
    room = sum(-(-size // STEP) * STEP for size in sizes) + spare
    offsets = draw_offsets(sizes, room, np.random.default_rng(seed))
    spans = sorted((offset, offset + size) for offset, size in zip(offsets, sizes, strict=True))
    assert spans[0][0] >= 0
    assert spans[-1][1] <= room
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert all(offset % STEP == 0 for offset in offsets)


@given(sizes=SIZES)
def test_what_does_not_fit_is_refused(sizes: list[int]) -> None:
    needed = sum(-(-size // STEP) * STEP for size in sizes)
    with pytest.raises(ValueError, match=f"room: {needed - 1} bytes; {needed} are needed"):
        draw_offsets(sizes, needed - 1, np.random.default_rng(0))


def test_a_buffer_goes_everywhere() -> None:
    rng = np.random.default_rng(5)
    sizes = [8 << 20, 4096, 8 << 20]
    room = room_for(sizes)
    drawn = np.array([draw_offsets(sizes, room, rng) for _ in range(400)])
    orders = {tuple(np.argsort(one).tolist()) for one in drawn}
    assert len(orders) == 6
    for size, starts in zip(sizes, drawn.T, strict=True):
        # Ten equal parts of what it may start in: none is avoided.
        parts = np.bincount((starts * 10 // (room - size + 1)).astype(int), minlength=10)
        assert parts.min() >= 10


def test_room_grows_with_what_lies_in_it() -> None:
    assert room_for([1]) == STEP + MIN_ROOM
    large = 4 << 30
    assert room_for([large, large]) == 2 * large + 2 * large // ROOM_SHARE


@pytest.mark.gpu
def test_kernels_find_their_inputs_wherever_they_lie(cupy: Any) -> None:
    inputs = timing_inputs(Case("arena", 8, 2, 700, "f16", "random", "bound"))
    arms = {"one": "builder", "same": "builder", "other": "oxide"}
    programs = {name: _program(arm, inputs) for name, arm in arms.items()}
    want = GpuExecutor().run(programs["one"]).out
    arena = Arena(programs, 3, np.random.default_rng(1))
    layouts = [arena.place() for _ in range(2)]
    before, after = layouts
    k, q, result = (array.buffer.name for array in (inputs.k, inputs.q, programs["one"].outputs.out))
    assert [one[k] for one in before["one"].bases] != [one[k] for one in after["one"].bases]
    assert [one[k] for one in after["one"].bases] == [one[k] for one in after["other"].bases]
    assert len({one[k] for one in after["one"].bases}) == 3
    for own in (q, result):
        assert len({one[own] for sets in after.values() for one in sets.bases}) == len(programs)
    for name, program in programs.items():
        module = load_module(program.ptx)
        sets = after[name]
        for index in range(3):
            for step in program.steps:
                launch(module.get_function(step.entry), step, sets.bases[index])
            cupy.cuda.get_current_stream().synchronize()
            out = program.outputs.out
            words = sets.arrays[index][out.buffer.name].get().view(out.buffer.raw.dtype)
            np.testing.assert_array_equal(out.over(words).view(np.uint32), want.view(np.uint32))


def _program(arm_name: str, inputs: Inputs) -> Program:
    executor = GpuExecutor()
    plan = plan_for(inputs.case, executor.default_profile())
    arm = get_arm(arm_name)
    assert isinstance(arm, DeviceArm)
    problem = Problem(inputs.case.name, inputs, allocate_outputs(inputs.case, plan.n_splits), plan)
    return arm.program(problem, executor.default_target())

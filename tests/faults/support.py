"""What the properties share: how many examples, cases drawn at random, and running both arms on one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hypothesis import settings
from hypothesis import strategies as st

from diffcheck.arms import BuilderArm, DeviceArm, OxideArm, Problem, TwinArm
from diffcheck.cases import STORAGES, Case
from diffcheck.executors import Executor
from diffcheck.executors.program import Outcome, Program
from diffcheck.generators import expectation
from diffcheck.parity.judge_case import run_case
from diffcheck.parity.prepare import Prepared, prepare

F32 = npt.NDArray[np.float32]
ARMS: tuple[DeviceArm, ...] = (BuilderArm(), OxideArm())
STORED = st.sampled_from(STORAGES)
SEEDS = st.integers(0, 2**32)
EDGES = (1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513)
"""Lengths next to which others went wrong: rows of a warp, keys of a chunk, steps of the reduce kernel."""


def budget(examples: int) -> settings:
    """Settings for a property that costs `examples` of its kind in CI; a profile of more examples multiplies them."""
    return settings(max_examples=max(1, examples * settings().max_examples // 100))


@st.composite
def heads(draw: st.DrawFn, largest_group: int = 8, most_kv_heads: int = 3) -> tuple[int, int]:
    """Query heads and KV heads, of any group size that has a kernel."""
    kv_heads = draw(st.integers(1, most_kv_heads))
    return draw(st.integers(1, largest_group)) * kv_heads, kv_heads


def lengths(most: int, least: int = 1) -> st.SearchStrategy[int]:
    """Numbers of keys: anywhere, and at the edges."""
    near = [edge for edge in EDGES if least <= edge <= most]
    return st.one_of(st.integers(least, most), *([st.sampled_from(near)] if near else []))


def policies(kv_len: int) -> st.SearchStrategy[str]:
    """Split policies; those that cut a context of this length into few keys a split stay affordable."""
    chunks = st.integers(max(1, kv_len // 100), max(1, kv_len + 1))
    return st.one_of(
        st.sampled_from(("note", "one-wave", "three-quarter-wave")),
        st.integers(1, 40).map(lambda splits: f"fixed:{splits}"),
        chunks.map(lambda keys: f"chunk:{keys}"),
    )


@dataclass(frozen=True)
class Bounds:
    """What cases may be drawn from."""

    most: int = 600
    least: int = 1
    most_kv_heads: int = 3
    layouts: Sequence[str] = ("dense",)


@st.composite
def decodes(draw: st.DrawFn, generators: Sequence[str], bounds: Bounds = Bounds()) -> Case:
    """Cases of whole decodes: any heads, length, policy, storage, layout and seed."""
    query_heads, kv_heads = draw(heads(most_kv_heads=bounds.most_kv_heads))
    kv_len = draw(lengths(bounds.most, bounds.least))
    generator = draw(st.sampled_from(list(generators)))
    return Case(
        name="drawn",
        num_q_heads=query_heads,
        num_kv_heads=kv_heads,
        kv_len=kv_len,
        storage=draw(STORED),
        generator=generator,
        expect=expectation("decode", generator),
        policy=draw(policies(kv_len)),
        layout=draw(st.sampled_from(list(bounds.layouts))),
        seed=draw(SEEDS),
    )


@st.composite
def merges(draw: st.DrawFn, generators: Sequence[str], most: int = 600) -> Case:
    """Cases of the reduce kernel alone: any heads and number of splits."""
    query_heads, kv_heads = draw(heads(most_kv_heads=2))
    generator = draw(st.sampled_from(list(generators)))
    return Case(
        name="drawn",
        num_q_heads=query_heads,
        num_kv_heads=kv_heads,
        kv_len=draw(lengths(most)),
        storage="f32",
        generator=generator,
        expect=expectation("reduce", generator),
        policy="chunk:1",
        seed=draw(SEEDS),
        stage="reduce",
    )


def prepared(case: Case, executor: Executor) -> Prepared:
    """Inputs, plan, oracle and the twin's result of a case, planned for the executor's device."""
    return prepare(case, executor.default_profile(), TwinArm(), threads=1)


def assert_holds(case: Case, executor: Executor, arms: Sequence[DeviceArm] = ARMS) -> Prepared:
    """Run both arms: every check of the harness has to hold, those by the twin, the oracle and the guards."""
    ready = prepared(case, executor)
    run = run_case(ready, executor, executor.default_target(), arms)
    failed = [f"{check.name}: {check.a} against {check.b}: {check.reason}" for check in run.checks if not check.holds]
    assert run.holds, "\n".join([str(case), *failed])
    assert ready.record.status == "holds", ready.record.checks[0].reason
    return ready


def program(arm: DeviceArm, problem: Problem, executor: Executor) -> Program:
    """An arm's launches for the executor's device."""
    return arm.program(problem, executor.default_target())


def outcome(arm: DeviceArm, problem: Problem, executor: Executor) -> Outcome:
    """What an arm leaves of a problem."""
    return executor.run(program(arm, problem, executor))


def assert_same(got: F32, want: F32, what: str) -> None:
    """The contract's meaning of equal: the same bits, any NaN equals any NaN."""
    same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    assert same.all(), f"{what}: {np.count_nonzero(~same)} of {same.size} words differ"

"""Prefetches name nothing but memory of the arrays, in both arms.

A prefetch has no result and is no access, so the machine does not look at its address. Here each is made a load.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from diffcheck.arms import BuilderArm, OxideArm, TwinArm
from diffcheck.cases import STORAGES, Case
from diffcheck.executors import ExecutionError
from diffcheck.executors.machine import MachineExecutor
from diffcheck.executors.program import Program
from diffcheck.parity.prepare import prepare
from diffcheck.suites import case, merge_case

_PREFETCH = re.compile(r"((?:@!?%?\w+ )?)prefetch\.global\.L2 (\[[^\]]+\]);")
ARMS = [BuilderArm(), OxideArm()]
# Fewer splits than classes, so that some have none, up to some in which every class has one or two.
MERGES = [merge_case("merge-counted", (3, 1), n_splits) for n_splits in (1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 203)]
# Warps without rows, masked rows, full steps; a split that is not the context's last ends in another's rows.
DECODES = [
    case("random", heads, kv_len, storage, policy=policy)
    for storage in STORAGES
    for heads in ((2, 2), (14, 2))
    for kv_len, policy in ((1, "table"), (31, "table"), (65, "table"), (203, "chunk:61"))
]


def program_of(arm: BuilderArm | OxideArm, of: Case) -> Program:
    return arm.program(prepare(of, "h200", TwinArm(), threads=1).problem(of.name), "sm_90")


def looked_at(program: Program, *, unguarded: str = "") -> Program:
    """The program with a load in place of each prefetch, without its guard in the kernel named so; no early start."""
    header, *kernels = re.split(r"(?=\.visible \.entry )", program.ptx)
    made = [header]
    for kernel in kernels:
        guard = "" if unguarded and kernel.startswith(f".visible .entry {unguarded}") else r"\1"
        made.append(_PREFETCH.sub(rf"{{ .reg .b32 %looked; {guard}ld.global.u8 %looked, \2; }}", kernel))
    text = "".join(made)
    assert "prefetch." not in text
    assert "%looked" in text
    return replace(program, ptx=text, steps=tuple(replace(step, programmatic=False) for step in program.steps))


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
@pytest.mark.parametrize("of", [*MERGES, *DECODES], ids=lambda of: of.name)
def test_every_prefetch_is_of_memory_that_may_be_read(arm: BuilderArm | OxideArm, of: Case) -> None:
    MachineExecutor(threads=1).run(looked_at(program_of(arm, of)))


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
@pytest.mark.parametrize(
    ("of", "unguarded", "array"),
    [(MERGES[6], "splitk_reduce_", r"`part_\w+`"), (DECODES[1], "splitk_partial_", "`[kv]`")],
)
def test_a_prefetch_without_its_guard_is_found(
    arm: BuilderArm | OxideArm, of: Case, unguarded: str, array: str
) -> None:
    with pytest.raises(ExecutionError, match=rf"in {unguarded}.* {array}"):
        MachineExecutor(threads=1).run(looked_at(program_of(arm, of), unguarded=unguarded))

"""The program that Nsight Compute watches: `python -m diffcheck.profile.target`.

    target TARGET PROFILE ARM,ARM… Q:KV:LENGTH:STORAGE…

Each arm makes two calls of each case, on copies of K and V of their own. The first one loads what is loaded once; the
second is watched. It prints one JSON line for each watched launch, in order.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from diffcheck import digest, suites
from diffcheck.ab.graph_row import queued_calls
from diffcheck.arms import Problem, select_arms
from diffcheck.cases import STORAGES, Case
from diffcheck.executors.program import Program
from diffcheck.layouts import allocate_outputs
from diffcheck.planning import plan_for
from diffcheck.profile.model import Launched
from diffcheck.timing.sets import timing_inputs, upload


def spec_of(case: Case) -> str:
    """Return a case as this program is told it."""
    return f"{case.num_q_heads}:{case.num_kv_heads}:{case.kv_len}:{case.storage}"


def case_of(spec: str) -> Case:
    """Return the case of a spec."""
    query, kv, kv_len, name = spec.split(":")
    storage = next(one for one in STORAGES if one == name)
    return suites.case("random", (int(query), int(kv)), int(kv_len), storage, suites=())


def main(arguments: Sequence[str]) -> None:
    """Make the calls that the arguments name."""
    target, profile, arms, *specs = arguments
    for case in map(case_of, specs):
        for launched in _call_arms(case, target, profile, arms.split(",")):
            print(launched.model_dump_json(), flush=True)


def _call_arms(case: Case, target: str, profile: str, arms: Sequence[str]) -> Iterator[Launched]:
    plan = plan_for(case, profile, None)
    problem = Problem(case.name, timing_inputs(case), allocate_outputs(case, plan.n_splits), plan)
    for arm in select_arms(arms):
        program = arm.program(problem, target)
        _watched_call(program)
        for step in program.steps:
            yield Launched(
                case=case.name,
                num_q_heads=case.num_q_heads,
                num_kv_heads=case.num_kv_heads,
                kv_len=case.kv_len,
                storage=case.storage,
                arm=arm.name,
                entry=step.entry,
                ptx_sha256=digest.of_text(program.ptx),
            )


def _watched_call(program: Program) -> None:
    from cupy.cuda import get_current_stream
    from cupyx.profiler import profile

    sets = upload(program, 2)
    enqueue = queued_calls(program, sets)
    enqueue(0)
    get_current_stream().synchronize()
    with profile():
        enqueue(1)
        get_current_stream().synchronize()


if __name__ == "__main__":
    main(sys.argv[1:])

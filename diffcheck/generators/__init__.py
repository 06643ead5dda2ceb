"""Inputs of a case, by name of its generator. The same case and plan give the same words, always."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diffcheck.cases import Case, Expect, Stage
from diffcheck.errors import choose

# Each of these fills the registry as it is imported.
from diffcheck.generators import (  # noqa: F401
    chain,
    close,
    counting,
    denormal,
    exponential,
    needles,
    normal,
    rising,
    special,
)
from diffcheck.generators.base import (
    CaseInputs,
    GeneratorInfo,
    Inputs,
    Partials,
    Request,
    decode_inputs,
    registered,
    stream_rng,
)
from diffcheck.generators.merges import MergeRequest, merges
from diffcheck.layouts import allocate_inputs, allocate_partials
from diffcheck.planning import PlanLike

__all__ = [
    "CaseInputs",
    "GeneratorInfo",
    "Inputs",
    "Partials",
    "decode_inputs",
    "expectation",
    "generate",
    "generate_for",
    "generate_partials",
    "generator_info",
    "generators",
    "merge_generators",
    "stream_rng",
    "widened",
]


def generators() -> tuple[str, ...]:
    """The names of all generators of q, K and V."""
    return tuple(registered())


def merge_generators() -> tuple[str, ...]:
    """The names of all generators of partials."""
    return tuple(merges())


def expectation(stage: Stage, name: str) -> Expect:
    """What the generator called `name` of a stage knows of the result; raises `BadInputError` that lists them all."""
    if stage == "reduce":
        return merges()[choose("generator", name, merge_generators())].expect
    of_stage = [info.name for info in registered().values() if info.stage == stage]
    return generator_info(choose("generator", name, of_stage)).expect


def generator_info(name: str) -> GeneratorInfo:
    """The generator called `name`; raises `BadInputError` that lists them all."""
    return registered()[choose("generator", name, generators())]


def generate(case: Case, plan: PlanLike) -> Inputs:
    """Make the inputs of `case`. Only generators that place keys at split and warp edges look at `plan`."""
    placed = allocate_inputs(case)
    request = Request(case, plan, placed.q.view, placed.k.view, placed.v.view)
    exact = generator_info(case.generator).fill(request)
    if exact is not None:
        exact.flags.writeable = False
    return Inputs(case, case.storage, placed.q, placed.k, placed.v, exact)


def generate_partials(case: Case, plan: PlanLike) -> Partials:
    """Make the partials that a case of the stage "reduce" merges."""
    m, s, acc = allocate_partials(case, plan.n_splits)
    info = merges()[choose("generator", case.generator, merge_generators())]
    exact = info.fill(MergeRequest(case, m.view, s.view, acc.view))
    if exact is not None:
        exact.flags.writeable = False
    return Partials(case, m, s, acc, exact)


def generate_for(case: Case, plan: PlanLike) -> CaseInputs:
    """Make what the kernels of the case's stage read."""
    return generate_partials(case, plan) if case.stage == "reduce" else generate(case, plan)


def widened(inputs: Inputs) -> Inputs:
    """The same values with K and V in f32, in the same layout; f32 inputs are returned as they are.

    An f32 kernel on widened inputs differs from an f16 kernel on the originals by the order of operations only: the
    rounding that storing in f16 cost is in both.
    """
    if inputs.storage == "f32":
        return inputs
    placed = allocate_inputs(inputs.case, "f32")
    for to, source in ((placed.q, inputs.q), (placed.k, inputs.k), (placed.v, inputs.v)):
        np.copyto(to.view, source.view)
    return replace(inputs, storage="f32", q=placed.q, k=placed.k, v=placed.v)

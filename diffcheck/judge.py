"""The check that a case asks for: exact words where its generator knows them, otherwise oracle and bound."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from diffcheck.bounds import naive_bound, split_bound
from diffcheck.compare import Verdict, exact_rows, within_bound
from diffcheck.generators.base import CaseInputs, Inputs, Partials
from diffcheck.merge_oracle import merge
from diffcheck.oracle import OracleResult, oracle_for
from diffcheck.planning import PlanLike

F32Array = npt.NDArray[np.float32]


def attention_oracle(inputs: CaseInputs) -> OracleResult | None:
    """The oracle's result where the judges look at it: not where every word is known, nor of partials."""
    return oracle_for(inputs) if isinstance(inputs, Inputs) and inputs.exact is None else None


def judge_split(inputs: CaseInputs, plan: PlanLike, out: F32Array, reference: OracleResult | None = None) -> Verdict:
    """Judge a split-K result, or one of the reduce kernel alone, f32 `[num_q_heads, D]`.

    `reference` saves computing the oracle again.
    """
    if inputs.exact is not None:
        return exact_rows(out, inputs.exact)
    if isinstance(inputs, Partials):
        merged = merge(inputs.part_m.view, inputs.part_s.view, inputs.part_acc.view)
        return within_bound(out, merged.out, merged.bound)
    reference = reference or oracle_for(inputs)
    return within_bound(out, reference.out, split_bound(inputs.case, plan, reference))


def judge_naive(inputs: Inputs, out: F32Array, reference: OracleResult | None = None) -> Verdict:
    """Judge a result of the naive kernel, whose bound grows with `kv_len`."""
    if inputs.exact is not None:
        return exact_rows(out, inputs.exact)
    reference = reference or oracle_for(inputs)
    return within_bound(out, reference.out, naive_bound(inputs.case, reference))

"""Oracles with a fault. To add one, add it to `mutants`.

Each is straight attention with one thing wrong. Three checks look at an oracle: a second one that shares nothing with
it (`diffcheck.selftest.second_oracle`), the words that exact generators know, and the reference arm, whose result must
lie in the bound around it. The oracle itself must pass all three.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from diffcheck.bounds import split_bound
from diffcheck.buffers import FloatArray
from diffcheck.compare import exact_rows, within_bound
from diffcheck.generators import Inputs
from diffcheck.oracle import oracle
from diffcheck.selftest.base import Finding, Mutant, StaleMutantError
from diffcheck.selftest.ptx_run import prepared_case
from diffcheck.selftest.second_oracle import AGREE, second_oracle

Keys = tuple[int | None, int | None]
Result = npt.NDArray[np.float64]

RANDOM = "random-8x2-L65-f16"
LARGE = "large-logits-8x2-L203-f32"
# The last one's scores are past what an exponential of f64 holds.
EXACT = ("kept-values-8x2-L203-f32", "v-head-index-8x2-L203-f32", "rising-steep-8x2-L203-f32-chunk61")
SECOND, WORDS, BOUND = "second oracle", "exact words", "reference in its bound"


@dataclass(frozen=True)
class Attention:
    """Straight attention; every field that is not the usual one is a fault.

    `root` is what scores are divided by, given D; `shifted` subtracts the maximum, `dtype` is that of every operation,
    `heads` says which KV head a query head reads, given (query head, query heads, KV heads), and `keys` and
    `value_keys` which rows of K and V there are.
    """

    dtype: type[np.float64 | np.float32] = np.float64
    root: Callable[[int], float] = lambda dim: float(np.sqrt(dim))
    shifted: bool = True
    normalised: bool = True
    heads: Callable[[int, int, int], int] = lambda head, q_heads, kv_heads: head // (q_heads // kv_heads)
    keys: Keys = (None, None)
    value_keys: Keys = (None, None)
    exponential: Callable[[Result], Result] = np.exp

    def __call__(self, q: FloatArray, k: FloatArray, v: FloatArray) -> Result:
        """Return attention `[num_q_heads, D]`."""
        out = np.empty(q.shape, dtype=self.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            for head in range(q.shape[0]):
                kv_head = self.heads(head, q.shape[0], k.shape[1])
                rows = np.asarray(k[slice(*self.keys), kv_head], dtype=self.dtype)
                scores = (rows @ q[head].astype(self.dtype)) / self.dtype(self.root(q.shape[1]))
                weights = self.exponential(scores - scores.max() if self.shifted else scores)
                values = np.asarray(v[slice(*self.value_keys), kv_head], dtype=self.dtype)
                total = weights.sum() if self.normalised else self.dtype(1)
                out[head] = np.dot(weights, values) / total
        return out.astype(np.float64)


@lru_cache(maxsize=1)
def _second() -> tuple[Result, Result]:
    inputs = _inputs(RANDOM)
    return second_oracle(inputs.q.view, inputs.k.view, inputs.v.view)


def _inputs(case: str) -> Inputs:
    inputs = prepared_case(case).inputs
    if not isinstance(inputs, Inputs):
        raise StaleMutantError(f"case {case} has no q, K and V")
    return inputs


def _run(attention: Callable[[FloatArray, FloatArray, FloatArray], Result], case: str) -> Result:
    inputs = _inputs(case)
    return attention(inputs.q.view, inputs.k.view, inputs.v.view)


def failed_checks(attention: Callable[[FloatArray, FloatArray, FloatArray], Result]) -> dict[str, str]:
    """Return the checks of an oracle that fail, and what each says."""
    found: dict[str, str] = {}
    out, size = _second()
    difference = np.abs(_run(attention, RANDOM) - out)
    with np.errstate(invalid="ignore"):
        wrong = ~(difference <= AGREE * size)
    if wrong.any():
        found[SECOND] = f"{RANDOM}: {int(wrong.sum())} of {wrong.size} words differ, by {difference.max():.3g} at most"
    for case in EXACT:
        exact = _inputs(case).exact
        if exact is None:
            raise StaleMutantError(f"case {case} does not know its result")
        verdict = exact_rows(_run(attention, case).astype(np.float32), exact)
        if not verdict.holds:
            found.setdefault(WORDS, f"{case}: {verdict.reason}")
    for case in (RANDOM, LARGE):
        prepared, result = prepared_case(case), _run(attention, case)
        if prepared.oracle is None:
            raise StaleMutantError(f"case {case} has no oracle")
        bound = split_bound(prepared.case, prepared.plan, prepared.oracle)
        verdict = within_bound(prepared.expected, result, bound)
        if not verdict.holds:
            found.setdefault(BOUND, f"{case}: {verdict.reason}")
    return found


@dataclass(frozen=True)
class OracleMutant:
    """A faulty attention in the oracle's place."""

    attention: Attention

    def __call__(self) -> Finding:
        """Look at the faulty oracle and at the real one."""
        found = failed_checks(self.attention)
        sound = failed_checks(lambda q, k, v: oracle(q, k, v).out)
        unexpected = "; ".join(f"the oracle itself: {said}" for said in sound.values())
        return Finding(tuple(found), next(iter(found.values()), "every check held"), unexpected)


def _flushed(x: Result) -> Result:
    return np.where(x < -5, 0, np.exp(x))


def mutants() -> tuple[Mutant, ...]:
    """Return the mutants of the oracle; none where the native module, which makes plans, is not built."""
    try:
        import rust_kernel.plan  # noqa: F401
    except ImportError:
        return ()
    last, rest = (None, -1), (1, None)
    return (
        _oracle("wrong-scale", "scores are divided by D instead of its root", SECOND, Attention(root=float)),
        _oracle("unscaled", "scores are not divided", BOUND, Attention(root=lambda _dim: 1.0)),
        _oracle("dropped-last-key", "the last key is not there", SECOND, Attention(keys=last, value_keys=last)),
        _oracle("dropped-first-key", "the first key is not there", WORDS, Attention(keys=rest, value_keys=rest)),
        _oracle(
            "value-of-the-next",
            "each weight goes to the next key's value",
            WORDS,
            Attention(keys=last, value_keys=rest),
        ),
        _oracle("single-precision", "everything is computed in f32", SECOND, Attention(dtype=np.float32)),
        _oracle(
            "unshifted", "the maximum is not subtracted, so that large scores overflow", WORDS, Attention(shifted=False)
        ),
        _oracle("not-normalised", "the sum of weights does not divide", WORDS, Attention(normalised=False)),
        _oracle(
            "interleaved-heads",
            "query head h reads KV head h mod num_kv_heads",
            WORDS,
            Attention(heads=lambda h, _q, kv: h % kv),
        ),
        _oracle(
            "first-kv-head", "every query head reads the first KV head", WORDS, Attention(heads=lambda _h, _q, _kv: 0)
        ),
        _oracle("small-weights-lost", "weights below e^-5 count as 0", SECOND, Attention(exponential=_flushed)),
        _oracle("base-two", "weights are powers of 2", SECOND, Attention(exponential=np.exp2)),
    )


def _oracle(name: str, what: str, meant_for: str, attention: Attention) -> Mutant:
    return Mutant(f"oracle-{name}", "oracle", what, meant_for, OracleMutant(attention))

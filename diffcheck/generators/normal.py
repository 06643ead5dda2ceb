"""Random inputs: independent N(0,1), and the same with logits of large magnitude."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from diffcheck.buffers import FloatArray
from diffcheck.generators.base import Request, generator

BLOCK_ELEMENTS = 1 << 20


def fill_normal(array: FloatArray, rng: np.random.Generator) -> None:
    """Fill `array` with N(0,1), drawn in f32 row by row, so that neither layout nor storage changes the draws."""
    rows = max(1, BLOCK_ELEMENTS // max(1, int(np.prod(array.shape[1:]))))
    for first in range(0, array.shape[0], rows):
        part = array[first : first + rows]
        part[...] = rng.standard_normal(part.shape, dtype=np.float32)


def fill_keys_and_values(request: Request) -> None:
    """Fill K and V with N(0,1); both at once, as numpy draws without holding the interpreter's lock."""
    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(fill_normal, array, request.rng(name)) for name, array in _kv(request)]
    for each in done:
        each.result()


def _kv(request: Request) -> tuple[tuple[str, FloatArray], ...]:
    return ("k", request.k), ("v", request.v)


@generator("random", "q, K and V independent N(0,1)", expect="bound", statistics="normal")
def random(request: Request) -> None:
    """The plain case, on which the 1e-6 bound is stated."""
    fill_normal(request.q, request.rng("q"))
    fill_keys_and_values(request)


@generator("large-logits", "N(0,1) with q 64 times as large: nearly one key takes all", expect="bound")
def large_logits(request: Request) -> None:
    """Scores of standard deviation 64, so that most weights underflow and rescales are large."""
    fill_normal(request.q, request.rng("q"))
    np.multiply(request.q, np.float32(64), out=request.q)
    fill_keys_and_values(request)


@generator("v-one-random", "V = 1 under random weights: numerator and denominator must agree", expect="bound")
def v_one_random(request: Request) -> None:
    """Every result is 1 up to the rounding of two sums of the same weights."""
    fill_normal(request.q, request.rng("q"))
    fill_normal(request.k, request.rng("k"))
    request.v[...] = 1

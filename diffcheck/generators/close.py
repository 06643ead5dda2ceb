"""Scores that differ by the least that f32 can tell."""

from __future__ import annotations

from diffcheck.generators.base import Request, generator
from diffcheck.generators.normal import fill_normal

KEY = 16
"""With head_dim 256 a product of 16 is a score of 1, and the last place of 16 is that of 1 times 16."""


@generator("one-ulp", "scores 1 and 1 + 2^-23 in turn: one ULP apart", expect="bound")
def one_ulp(request: Request) -> None:
    """Two dimensions that one lane holds, so that the score's last place is exact in every lane map."""
    request.q[...] = 0
    request.q[:, 0] = 1
    request.q[:, 1] = 2.0**-23
    request.k[...] = 0
    request.k[:, :, 0] = KEY
    request.k[1::2, :, 1] = KEY
    fill_normal(request.v, request.rng("v"))

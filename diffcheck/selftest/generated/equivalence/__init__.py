"""Proofs that a mutant is the kernel in other words. docs/mutants.md lists the rules."""

from __future__ import annotations

from diffcheck.selftest.generated.equivalence import known, nan, order, shuffles, unused, values  # noqa: F401
from diffcheck.selftest.generated.equivalence.base import registered
from diffcheck.selftest.generated.population import GeneratedMutant

__all__ = ["proven_by", "registered"]


def proven_by(mutant: GeneratedMutant) -> str:
    """Return the name of the first rule that proves a mutant equivalent; empty where none does."""
    return next((name for name, proves in registered().items() if proves(mutant)), "")

"""What a rule of equivalence is, and the registry that the other modules of this package fill.

A rule proves, from the kernel's text alone, that a mutant computes what the kernel computes: the same stores of the
same bits, with the same barriers between them. Its docstring is the proof. Adding a rule is one function with
`@rule(...)` in a module that `diffcheck.selftest.generated.equivalence` imports. A mutant that a check catches and a
rule calls equivalent refutes the rule; `diffcheck mutants` looks for that and fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from diffcheck.selftest.generated.population import GeneratedMutant

Rule = Callable[[GeneratedMutant], bool]

_RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    """Register a rule under `name`."""

    def register(proves: Rule) -> Rule:
        if name in _RULES:
            raise ValueError(f"two rules are called {name}")
        if not proves.__doc__:
            raise ValueError(f"the rule {name} has no proof")
        _RULES[name] = proves
        return proves

    return register


def registered() -> Mapping[str, Rule]:
    """The registry, by name."""
    return _RULES

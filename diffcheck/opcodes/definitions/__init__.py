"""What each form computes, defined in Python without the machine. One registry of families, each a module with a rule
for each of its opcodes; the first family that covers a form defines it.

The values that these give stand in for a measurement where no GPU at hand runs a form, and are held against the
measured values and against the machine everywhere else. A form that none covers has no definition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from diffcheck.opcodes.definitions import (
    arithmetic,
    atomic,
    bits,
    carries,
    compare,
    convert,
    extremes,
    integers,
    lanes,
    memory,
)
from diffcheck.opcodes.definitions.apply import carry_results, plain_results
from diffcheck.opcodes.definitions.bounded import bounded_of
from diffcheck.opcodes.fields import Columns
from diffcheck.opcodes.probe import Probe
from py_builder_kernel.ptx.table import Bound

__all__ = ["FAMILIES", "Definition", "Family", "bounded_of", "definition_of"]


@dataclass(frozen=True)
class Family:
    """Rules by opcode, which forms of these opcodes they cover, and how they are applied to a test."""

    name: str
    rules: Mapping[str, Callable[..., Any]]
    covers: Callable[[Bound], bool]
    results: Callable[[Probe, Callable[..., Any]], Columns] = plain_results


def _whole(probe: Probe, rule: Callable[[Probe], Columns]) -> Columns:
    return rule(probe)


FAMILIES: Final[tuple[Family, ...]] = (
    Family("carries", carries.RULES, carries.covers, carry_results),
    Family("memory", memory.RULES, memory.covers, _whole),
    Family("atomic", atomic.RULES, atomic.covers, _whole),
    Family("lanes", lanes.RULES, lanes.covers, _whole),
    Family("integers", integers.RULES, integers.covers),
    Family("bits", bits.RULES, bits.covers),
    Family("compare", compare.RULES, compare.covers),
    Family("arithmetic", arithmetic.RULES, arithmetic.covers),
    Family("extremes", extremes.RULES, extremes.covers),
    Family("convert", convert.RULES, convert.covers),
)


@dataclass(frozen=True)
class Definition:
    """The definition of a form: the family and opcode that name it, and what it gives."""

    name: str
    probe: Probe
    family: Family

    def results(self) -> Columns:
        """The outputs of the form's test, by field."""
        return self.family.results(self.probe, self.family.rules[self.probe.opcode])


def definition_of(probe: Probe) -> Definition | None:
    """The definition of a form; None where it has none."""
    for family in FAMILIES:
        if probe.opcode in family.rules and family.covers(probe.bound):
            return Definition(f"{family.name}.{probe.opcode}", probe, family)
    return None

"""What a form's results have to be: the bits of its definition, or a place within the bound of an approximation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from diffcheck.opcodes.definitions import Definition, bounded_of, definition_of
from diffcheck.opcodes.definitions.bounded import Bounded
from diffcheck.opcodes.fields import Bits
from diffcheck.opcodes.judge import Difference, differences, operands
from diffcheck.opcodes.probe import Probe
from diffcheck.opcodes.store import Value


@dataclass(frozen=True)
class Expectation:
    """What is known of a form: at most one of a definition and a bound, and a measured value."""

    probe: Probe
    definition: Definition | None
    bound: Bounded | None
    value: Value | None

    def of_value(self) -> list[Difference]:
        """Where the measured value is not what the definition gives, or not within the bound."""
        if self.value is None or self.value.status != "measured":
            return []
        got = self.value.columns(self.probe)
        if self.bound is not None:
            return _outside(self.probe, self.bound, got)
        return differences(self.probe, self.definition.results(), got) if self.definition is not None else []

    def of_result(self, got: Mapping[str, Bits]) -> list[Difference]:
        """Where results are not the measured ones (without those: the definition's), or not within the bound."""
        if self.bound is not None:
            return _outside(self.probe, self.bound, got)
        if self.value is not None and self.value.status == "measured":
            return differences(self.probe, self.value.columns(self.probe), got)
        return differences(self.probe, self.definition.results(), got) if self.definition is not None else []


def expectation(probe: Probe, value: Value | None) -> Expectation:
    """What is known of a form, with the measured value that the caller has."""
    return Expectation(probe, definition_of(probe), bounded_of(probe.bound), value)


def _outside(probe: Probe, bound: Bounded, got: Mapping[str, Bits]) -> list[Difference]:
    given = tuple(probe.columns[field.name] for field in probe.body.inputs)
    (result,) = probe.outputs.fields
    column = got[result.name]
    return [
        Difference(probe.name, int(row), operands(probe, int(row)), result.name, "a value within the bound", hex(bits))
        for row in np.flatnonzero(bound.outside(given, column))
        for bits in (int(column[row]),)
    ]

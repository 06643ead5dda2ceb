"""What a result is held to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from diffcheck.opcodes.fields import Bits
from diffcheck.opcodes.probe import Probe
from diffcheck.opcodes.rules import is_unspecified


@dataclass(frozen=True)
class Difference:
    """A row whose result is not the expected one."""

    form: str
    row: int
    operands: str
    field: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.form} row {self.row} ({self.operands}): {self.field} expected {self.expected}, got {self.got}"


def differences(probe: Probe, expected: Mapping[str, Bits], got: Mapping[str, Bits]) -> list[Difference]:
    """Every field of every row that differs, but for rows that PTX leaves open."""
    return list(_differences(probe, expected, got))


def _differences(probe: Probe, expected: Mapping[str, Bits], got: Mapping[str, Bits]) -> Iterator[Difference]:
    held = ~is_unspecified(probe)
    for item in probe.outputs.fields:
        wrong = (expected[item.name] != got[item.name]) & held
        digits = item.bits // 4
        for row in np.flatnonzero(wrong):
            want, have = int(expected[item.name][row]), int(got[item.name][row])
            yield Difference(
                probe.name,
                int(row),
                operands(probe, int(row)),
                item.name,
                f"{want:#0{digits + 2}x}",
                f"{have:#0{digits + 2}x}",
            )


def operands(probe: Probe, row: int) -> str:
    """The operands of a row, as hexadecimal bits."""
    values = (
        f"{item.name}={int(probe.columns[item.name][row]) & (2**item.bits - 1):#0{item.bits // 4 + 2}x}"
        for item in probe.body.inputs
    )
    return ", ".join(values) or "no operands"

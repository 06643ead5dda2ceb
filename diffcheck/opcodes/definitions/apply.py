"""From a rule, which knows operands and results, to the outputs of a test, which knows registers and rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from diffcheck.opcodes.definitions import carries
from diffcheck.opcodes.definitions.rows import Rule, low
from diffcheck.opcodes.fields import Bits, Columns
from diffcheck.opcodes.probe import Probe
from diffcheck.opcodes.templates.plain import Choice, shapes


def plain_results(probe: Probe, rule: Rule) -> Columns:
    """The outputs of a test of the plain template: the rule applied to each way to write the operands."""
    found: Columns = {}
    for shape in shapes(probe.bound):
        operands = [_read(probe, choice) for choice in shape.choices if choice.inputs or choice.immediate is not None]
        results = rule(probe.bound, *operands)
        written = [
            choice
            for word, choice in zip(probe.bound.form.operands, shape.choices, strict=True)
            if word.strip("|").startswith(("out", "pout"))
        ]
        for choice, column in zip(written, results, strict=True):
            found |= _parts(choice, column, {field.name: shape.name(field) for field in choice.outputs})
    return found


def _read(probe: Probe, choice: Choice) -> Bits:
    """The column of an operand; the parts of a packed one put together, the first lowest."""
    if choice.immediate is not None:
        return np.full(probe.rows, choice.immediate, np.uint64)
    value = np.zeros(probe.rows, np.uint64)
    place = 0
    for field in choice.inputs:
        value |= low(probe.columns[field.name], 1 if field.type == "pred" else field.bits) << np.uint64(place)
        place += field.bits
    return value ^ np.uint64(1) if choice.negated else value


def _parts(choice: Choice, column: Bits, names: Mapping[str, str]) -> Columns:
    """A result as the fields of its operand: none where it is left out, several where it is packed."""
    found = {}
    place = 0
    for field in choice.outputs:
        found[names[field.name]] = low(column >> np.uint64(place), field.bits)
        place += field.bits
    return found


def carry_results(probe: Probe, rule: Rule) -> Columns:
    """The outputs of a test of the carry template: the result, and what the carry left becomes."""
    columns = [low(probe.columns[field.name], field.bits) for field in probe.body.inputs]
    result, carry = rule(probe.bound, *columns)
    found = {"d": result, "left": carries.left(probe.opcode, carry)}
    return {field.name: found[field.name] for field in probe.body.outputs}

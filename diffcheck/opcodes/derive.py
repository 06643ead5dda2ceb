"""Values for the forms that no measurement has: from their definitions."""

from __future__ import annotations

from diffcheck.opcodes import archive, store
from diffcheck.opcodes.definitions import bounded_of, definition_of
from diffcheck.opcodes.probe import Probe, all_probes
from diffcheck.opcodes.rules import is_unspecified
from diffcheck.opcodes.store import Value, Values
from diffcheck.opcodes.tree import DERIVED, MEASURED, expected_file


def derived_values() -> Values:
    """The value of every form that has a definition and no measured value; the `run` of each names its definition.

    A tree without measured values has no derived ones either: everything would be.
    """
    measured = archive.read(expected_file(MEASURED))
    values = Values()
    if not measured.forms:
        return values
    for probe in all_probes():
        value = measured.fresh(probe)
        if value is None or value.status != "measured":
            _derive(values, probe)
    return values


def _derive(values: Values, probe: Probe) -> None:
    definition = definition_of(probe)
    if definition is None or bounded_of(probe.bound) is not None:
        return
    columns = definition.results()
    # What PTX leaves open has no value of its own: zeros stand there.
    for column in columns.values():
        column[is_unspecified(probe)] = 0
    values.runs[definition.name] = {"definition": f"diffcheck.opcodes.definitions.{definition.family.name}"}
    data = store.join(probe.outputs, columns)
    values.forms[probe.name] = Value(probe.digest, definition.name, "derived", data)


def is_stale() -> bool:
    """Whether the derived values of the tree are not what the definitions give."""
    return archive.read(expected_file(DERIVED)).forms != derived_values().forms


def write_derived() -> int:
    """Write the derived values; return how many there are."""
    values = derived_values()
    archive.write(expected_file(DERIVED), values)
    return len(values.forms)

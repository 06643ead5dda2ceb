"""Holding the PTX machine, the measured values and the definitions to each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from diffcheck.opcodes import archive
from diffcheck.opcodes.executors import MachineProbes, ProbeFaultError, ProbeRefusedError
from diffcheck.opcodes.expect import Expectation, expectation
from diffcheck.opcodes.forms import all_bound
from diffcheck.opcodes.probe import Probe, all_probes, groups
from diffcheck.opcodes.store import Value, Values
from diffcheck.opcodes.templates import untestable
from diffcheck.opcodes.tree import DERIVED, MEASURED, expected_file

_REMEDY: Final = "run: diffcheck opcodes write"


@dataclass(frozen=True)
class Status:
    """Where the expected value of a form comes from; `word` is one of these, `why` says more.

    - measured: a device gave it; `why` names the definition that gives the same, where there is one.
    - derived: no device at hand runs the form; `why` names the definition that gave it.
    - bounded: an approximation, which has no bits of its own; `why` says whether a device was measured.
    - refused, fault: the device's driver did not take the form, or the launch ended with an error.
    - stale: the form's text or operands changed after it was measured.
    - unmeasured: none of these, so there is nothing to hold the machine to.
    - untestable: the form has no test.
    """

    word: str
    why: str = ""
    value: Value | None = None


@dataclass
class Held:
    """What holding them to each other found."""

    counts: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    defined: int = 0


def load_values() -> tuple[Values, Values]:
    """The measured and the derived values of the tree."""
    return archive.read(expected_file(MEASURED)), archive.read(expected_file(DERIVED))


def status_of(known: Expectation, measured: Values, derived: Values) -> Status:
    """Where the value of a form comes from: a measurement, if there is one; else its definition."""
    probe, value = known.probe, measured.fresh(known.probe)
    if probe.name in measured.forms and value is None:
        return Status("stale", "its text or operands changed after it was measured")
    is_measured = value is not None and value.status == "measured"
    if known.bound is not None:
        return Status("bounded", "measured" if is_measured else "not measured", value)
    if is_measured:
        return Status("measured", known.definition.name if known.definition else "no definition", value)
    return _without_measurement(probe, value, derived)


def _without_measurement(probe: Probe, value: Value | None, derived: Values) -> Status:
    own = derived.fresh(probe)
    if own is not None:
        return Status("derived", own.run, own)
    if probe.name in derived.forms:
        return Status("stale", "its text or operands changed after it was derived")
    if value is not None:
        return Status(value.status, value.why)
    return Status("unmeasured", f"sm_{probe.sm}, PTX {probe.ptx[0]}.{probe.ptx[1]}")


def list_forms() -> Iterator[tuple[str, Status]]:
    """Every form with its status, untestable ones last."""
    measured, derived = load_values()
    for probe in all_probes():
        yield probe.name, status_of(expectation(probe, measured.fresh(probe)), measured, derived)
    for bound in all_bound():
        why = untestable(bound)
        if why is not None:
            yield bound.mnemonic, Status("untestable", why)


def hold(probes: Sequence[Probe]) -> Held:
    """Run forms in the machine and hold results, values and definitions to each other."""
    measured, derived = load_values()
    found = Held()
    members = groups(all_probes())
    machine = MachineProbes()
    for probe in probes:
        known = expectation(probe, measured.fresh(probe))
        status = status_of(known, measured, derived)
        found.counts[status.word] = found.counts.get(status.word, 0) + 1
        found.defined += known.definition is not None
        if status.word == "stale":
            found.lines.append(f"{probe.name}: {status.why}; {_REMEDY}")
        found.lines += [f"the measured value is not the definition's: {line}" for line in known.of_value()]
        try:
            memory = machine.run(probe, members[probe.group])
        except (ProbeRefusedError, ProbeFaultError) as error:
            found.lines.append(f"{probe.name}: the machine says: {error}")
            continue
        found.lines += [str(line) for line in known.of_result(probe.outputs.unpack(memory))]
    return found

"""Holding the PTX machine to the values in the tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from diffcheck.opcodes import store
from diffcheck.opcodes.executors import MachineProbes, ProbeFaultError, ProbeRefusedError
from diffcheck.opcodes.forms import all_bound
from diffcheck.opcodes.judge import Difference, differences
from diffcheck.opcodes.probe import Probe, all_probes, groups
from diffcheck.opcodes.store import Value, Values
from diffcheck.opcodes.templates import untestable
from diffcheck.opcodes.tree import DERIVED, MEASURED, expected_file


@dataclass(frozen=True)
class Status:
    """Where the expected value of a form comes from; `word` is measured, derived, refused, fault, stale or unmeasured
    (these four with `why` and nothing to hold the machine to), or untestable."""

    word: str
    why: str = ""
    value: Value | None = None


@dataclass
class Held:
    """What holding the machine to the values found."""

    counts: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)


def load_values() -> tuple[Values, Values]:
    """The measured and the derived values of the tree."""
    return store.read(expected_file(MEASURED)), store.read(expected_file(DERIVED))


def status_of(probe: Probe, measured: Values, derived: Values) -> Status:
    """Where the value of a form comes from: a measurement, if there is one; else its definition."""
    value = measured.fresh(probe)
    if value is not None and value.status == "measured":
        return Status("measured", value=value)
    own = derived.fresh(probe)
    if own is not None:
        return Status("derived", own.run, own)
    if value is not None:
        return Status(value.status, value.why)
    if probe.name in measured.forms or probe.name in derived.forms:
        return Status("stale", "the form's text or operands changed after the measurement")
    return Status("unmeasured", f"sm_{probe.sm}, PTX {probe.ptx[0]}.{probe.ptx[1]}")


def list_forms() -> Iterator[tuple[str, Status]]:
    """Every form with its status, untestable ones last."""
    measured, derived = load_values()
    for probe in all_probes():
        yield probe.name, status_of(probe, measured, derived)
    for bound in all_bound():
        why = untestable(bound)
        if why is not None:
            yield bound.mnemonic, Status("untestable", why)


def hold(probes: Sequence[Probe]) -> Held:
    """Run forms in the machine and hold the results to the values of the tree."""
    measured, derived = load_values()
    found = Held()
    members = groups(all_probes())
    machine = MachineProbes()
    for probe in probes:
        status = status_of(probe, measured, derived)
        found.counts[status.word] = found.counts.get(status.word, 0) + 1
        if status.word == "stale":
            found.lines.append(f"{probe.name}: {status.why}; measure it again")
        try:
            memory = machine.run(probe, members[probe.group])
        except (ProbeRefusedError, ProbeFaultError) as error:
            found.lines.append(f"{probe.name}: the machine says: {error}")
            continue
        if status.value is not None:
            found.lines += [str(difference) for difference in _held_to(probe, status.value, memory)]
    return found


def _held_to(probe: Probe, value: Value, memory: bytes) -> list[Difference]:
    return differences(probe, value.columns(probe), probe.outputs.unpack(memory))

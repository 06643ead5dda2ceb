"""Measuring: every form on the device, held against the values in the tree and against the machine."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from diffcheck.errors import BadInputError
from diffcheck.opcodes import archive, store
from diffcheck.opcodes.device import device_facts, gpu_factory
from diffcheck.opcodes.executors import Factory, MachineProbes, ProbeFaultError, ProbeRefusedError
from diffcheck.opcodes.expect import expectation
from diffcheck.opcodes.judge import Difference, differences
from diffcheck.opcodes.probe import Probe, all_probes, groups
from diffcheck.opcodes.store import Value, Values
from diffcheck.opcodes.tree import MEASURED, expected_file
from diffcheck.opcodes.workers import LIMIT_S, Answer, run_all
from diffcheck.receipts.write import check_writable

# How often a measurement that is under way is written down.
_CHECKPOINT_S: Final = 10.0
_MOST_WORKERS: Final = 6


@dataclass
class Measured:
    """What a run of the measurement found."""

    count: int = 0
    refused: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    against_data: list[Difference] = field(default_factory=list)
    against_definition: list[Difference] = field(default_factory=list)
    against_machine: list[Difference] = field(default_factory=list)
    machine_errors: list[str] = field(default_factory=list)


def select(pattern: str | None) -> tuple[Probe, ...]:
    """The probes whose name matches a pattern such as `fma.*`, or all. Raises `BadInputError` where none does."""
    chosen = tuple(probe for probe in all_probes() if pattern is None or fnmatchcase(probe.name, pattern))
    if not chosen:
        raise BadInputError("--only", pattern, "a pattern that matches a form that `diffcheck opcodes list` prints")
    return chosen


def measure_device(out: Path | None, only: str | None, missing: bool, command: Sequence[str]) -> Measured:
    """Measure on the current CUDA device; see `measure`. Raises `MissingRequirementError` where there is none."""
    probes = select(only)
    if out is not None:
        check_writable(out)
    facts = {**device_facts(), **run_facts(command)}
    capability = int(str(facts["arch"]).removeprefix("sm_"))
    runnable = tuple(probe for probe in probes if probe.sm <= capability)
    found = measure(runnable, gpu_factory, facts, out, missing=missing, workers=min(_MOST_WORKERS, os.cpu_count() or 1))
    found.skipped = [f"{probe.name} needs sm_{probe.sm}" for probe in probes if probe.sm > capability]
    return found


def run_facts(command: Sequence[str]) -> dict[str, Any]:
    """When, with what command and from what tree."""
    commit: str | None = None
    dirty: bool | None = None
    try:
        from diffcheck.receipts.provenance import recorded_command, source_tree
    except ImportError:  # a machine with a GPU may have CuPy and NumPy only
        words = tuple(Path(word).name if Path(word).is_absolute() else word for word in command)
    else:
        words = recorded_command(command)
        tree = source_tree()
        commit, dirty = tree.commit, tree.dirty
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"date": now, "command": " ".join(words), "commit": commit, "dirty": dirty}


def measure(
    probes: Sequence[Probe],
    factory: Factory,
    facts: dict[str, Any],
    out: Path | None,
    *,
    missing: bool = False,
    workers: int = 1,
    limit_s: float = LIMIT_S,
) -> Measured:
    """Run probes on a factory's executor and compare with the tree's values and with the machine.

    `out` is updated: values of other forms stay. It is written as the measurement goes on, each time whole, so that
    one that is broken off can go on with `missing`, which leaves out the forms that `out` has a value for.
    """
    values = store.read(out) if out is not None else Values()
    run = f"{len(values.runs)}-{facts['date']}"
    values.runs[run] = facts
    wanted = [probe for probe in probes if not (missing and values.fresh(probe))]
    found = Measured(count=len(wanted))
    written = time.monotonic()

    def done(probe: Probe, answer: Answer) -> None:
        nonlocal written
        values.forms[probe.name] = _value(probe, answer, run)
        _note(found, probe, answer)
        if out is not None and time.monotonic() - written > _CHECKPOINT_S:
            store.write(out, values)
            written = time.monotonic()

    with _counter(len(wanted)) as step:
        run_all(wanted, factory, lambda probe, answer: step(done, probe, answer), workers, limit_s)
    if out is not None:
        store.write(out, values)
    _compare(found, wanted, values)
    return found


class _counter:  # noqa: N801 (a context manager that reads as a word)
    """Counts on standard error, where that is a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._count = 0

    def __enter__(self) -> Callable[..., None]:
        return self._step

    def _step(self, done: Callable[[Probe, Answer], None], probe: Probe, answer: Answer) -> None:
        done(probe, answer)
        self._count += 1
        if sys.stderr.isatty():
            print(f"\r{self._count}/{self._total} {probe.name:50.50}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if sys.stderr.isatty():
            print("\r" + " " * 70, end="\r", file=sys.stderr, flush=True)


def _value(probe: Probe, answer: Answer, run: str) -> Value:
    if answer.status != "measured":
        return Value(probe.digest, run, answer.status, why=answer.why)
    columns = probe.outputs.unpack(answer.memory)
    return Value(probe.digest, run, "measured", store.join(probe.outputs, columns))


def _note(found: Measured, probe: Probe, answer: Answer) -> None:
    if answer.status == "refused":
        found.refused.append(f"{probe.name}: {answer.why}")
    elif answer.status == "fault":
        found.faults.append(f"{probe.name}: {answer.why}")


def _compare(found: Measured, probes: Sequence[Probe], values: Values) -> None:
    known = archive.read(expected_file(MEASURED))
    machine = MachineProbes()
    members = groups(all_probes())
    for probe in probes:
        value = values.forms[probe.name]
        if value.status != "measured":
            continue
        got = value.columns(probe)
        now = expectation(probe, value)
        found.against_definition += now.of_value()
        before = known.fresh(probe)
        if before is not None and before.status == "measured" and now.bound is None:
            found.against_data += differences(probe, before.columns(probe), got)
        try:
            memory = machine.run(probe, members[probe.group])
        except (ProbeRefusedError, ProbeFaultError) as error:
            found.machine_errors.append(f"{probe.name}: {error}")
        else:
            found.against_machine += now.of_result(probe.outputs.unpack(memory))


def accept(file: Path) -> tuple[int, list[str]]:
    """Take the values of a file into the tree; return how many, and the forms that are not those of the tree.

    Values of other forms stay, if their forms still are what they were. Raises `BadInputError` for a damaged file.
    """
    if not file.is_file():
        raise BadInputError("FILE", str(file), "a file that `diffcheck opcodes measure --out FILE` wrote")
    given, kept = store.read(file), archive.read(expected_file(MEASURED))
    taken = _fresh(given)
    archive.write(expected_file(MEASURED), Values({**kept.runs, **given.runs}, {**_fresh(kept), **taken}))
    return len(taken), sorted(set(given.forms) - set(taken))


def drop_stale(check: bool = False) -> list[str]:
    """Drop the values in the tree of forms that are not any more what was measured; return their names.

    A form that has a definition gets its value from there until it is measured again. With `check`, only names them.
    """
    kept = archive.read(expected_file(MEASURED))
    fresh = _fresh(kept)
    stale = sorted(set(kept.forms) - set(fresh))
    if stale and not check:
        archive.write(expected_file(MEASURED), Values(kept.runs, fresh))
    return stale


def _fresh(values: Values) -> dict[str, Value]:
    probes = {probe.name: probe for probe in all_probes()}
    return {name: value for name, value in values.forms.items() if name in probes and values.fresh(probes[name])}

"""What `diffcheck opcodes …` does. Prints with nothing but the standard library, so that a machine with a GPU needs
CuPy and NumPy only: `python -m diffcheck.opcodes measure`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from diffcheck.opcodes import derive
from diffcheck.opcodes.hold import hold, list_forms
from diffcheck.opcodes.measure import Measured, accept, drop_stale, measure_device, select
from diffcheck.opcodes.tree import DERIVED, MEASURED, stale_files, suite_folder, write_files

_SHOWN: Final = 40


def list_command(only: str | None = None) -> int:
    """Print every form with the status of its value."""
    names = {probe.name for probe in select(only)}
    counts: Counter[str] = Counter()
    for name, status in list_forms():
        if name in names or (only is None and status.word == "untestable"):
            counts[status.word] += 1
            print(f"{name:55} {status.word:10} {status.why}".rstrip())
    print(_counted(counts))
    return 0


def write_command(check: bool = False) -> int:
    """Write the PTX files from the table; with `check`, only say which are stale."""
    if check:
        stale = [str(path.relative_to(suite_folder())) for path in stale_files()]
        stale += [f"expected/{MEASURED}: {name}" for name in drop_stale(check=True)]
        stale += [f"expected/{DERIVED}"] if derive.is_stale() else []
        for path in stale:
            print(f"stale: {path}")
        return 1 if stale else 0
    written, removed = write_files()
    for name in drop_stale():
        print(f"dropped: the measured value of {name}, which is not the form any more that was measured")
    print(f"{written} files written, {removed} removed, {derive.write_derived()} values derived")
    return 0


def accept_command(file: Path) -> int:
    """Take the values of a file that `measure --out` wrote into the tree, and derive the others anew."""
    taken, left = accept(file)
    for name in left:
        print(f"left out: {name} is no form of this tree, or another one than was measured")
    print(f"{taken} values taken, {len(left)} left out, {derive.write_derived()} derived")
    return 0


def run_command(only: str | None = None) -> int:
    """Hold the machine to the values; one line for each difference."""
    stale = stale_files()
    for path in stale:
        print(f"{path.relative_to(suite_folder())} is not what the table gives; run: diffcheck opcodes write")
    found = hold(select(only))
    for line in found.lines:
        print(line)
    print(f"{_counted(Counter(found.counts))}; {found.defined} have a definition")
    return 1 if found.lines or stale else 0


def measure_command(out: Path | None, only: str | None, missing: bool) -> int:
    """Measure on the GPU, print what differs, and write the values where asked to."""
    words = [word for word in sys.argv[1:] if word != "opcodes"]
    found = measure_device(out, only, missing, ["diffcheck", "opcodes", *words])
    _show("differs from the value in the tree", found.against_data)
    _show("differs from the definition", found.against_definition)
    _show("the machine differs", found.against_machine)
    _show("the machine says", found.machine_errors)
    _show("refused by the driver", found.refused)
    _show("ended with an error", found.faults)
    _show("left out", found.skipped)
    print(_summary(found))
    failed = (
        found.against_data,
        found.against_definition,
        found.against_machine,
        found.machine_errors,
        found.refused,
        found.faults,
    )
    return 1 if any(failed) else 0


def _show(title: str, lines: Sequence[object]) -> None:
    for line in lines[:_SHOWN]:
        print(f"{title}: {line}")
    if len(lines) > _SHOWN:
        print(f"{title}: … {len(lines) - _SHOWN} more")


def _summary(found: Measured) -> str:
    forms = sorted({difference.form for difference in found.against_machine})
    return (
        f"{found.count} forms, {len(found.refused)} refused, {len(found.faults)} errors, "
        f"{len(found.skipped)} left out; "
        f"{len(found.against_data)} differences from the tree's values, "
        f"{len(found.against_definition)} from definitions, "
        f"{len(found.against_machine)} from the machine in {len(forms)} forms: {', '.join(forms[:_SHOWN])}"
    )


def _counted(counts: Counter[str]) -> str:
    return f"{sum(counts.values())} forms: " + ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))

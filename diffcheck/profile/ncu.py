"""NVIDIA's Nsight Compute: where it is, how it is run, and what it prints."""

from __future__ import annotations

import csv
import math
import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from diffcheck.errors import DiffcheckError, MissingRequirementError
from diffcheck.profile.model import Cache, Metric
from diffcheck.toolkit import find_in_toolkit, output_of, run_to_end

PROGRAM = "ncu"
# Sections and no metrics by name: which metrics there are depends on the architecture, and one that is not there ends
# the tool. A section takes those that are.
SECTIONS = (
    *("SpeedOfLight", "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "SchedulerStats", "WarpStateStats"),
    *("InstructionStats", "LaunchStats", "Occupancy"),
)
# Clocks are left alone: numbers are to be those of a device in use. The process says what is to be watched.
_OPTIONS = (
    *("--target-processes", "all", "--profile-from-start", "off", "--clock-control", "none"),
    *("--csv", "--page", "raw", "--print-units", "base"),
)
_KERNEL = "Kernel Name"
_NO_COUNTERS = "ERR_NVGPUCTRPERM"


@dataclass(frozen=True)
class Counted:
    """One launch in the tool's table."""

    kernel: str
    metrics: dict[str, Metric]


@cache
def find_ncu() -> Path:
    """Return the path of ncu. Raises `MissingRequirementError` when it is neither on PATH nor in the named toolkit."""
    found = find_in_toolkit(PROGRAM)
    if found is None:
        raise MissingRequirementError(
            f"{PROGRAM} (Nsight Compute) is not here", "put it on PATH, or set CUDA_HOME to a CUDA toolkit"
        )
    return found


@cache
def ncu_version() -> str:
    """Return the version that the program states, such as `2025.3.1.0`."""
    text = output_of(find_ncu(), "--version")
    match = re.search(r"Version (\S+)", text)
    return match[1] if match else " ".join(text.split()) or "unknown"


def run_under_ncu(kernels: str, control: Cache, command: Sequence[str], timeout_s: float) -> tuple[str, list[Counted]]:
    """Run a command under ncu; return what it printed, and its launches whose kernels' names fit a regular expression.

    Only launches between the command's own start and stop of the profiler are watched. Raises `DiffcheckError` when
    nothing was counted, with what the tool says, and `MissingRequirementError` where it may not count.
    """
    with tempfile.TemporaryDirectory(prefix="diffcheck-") as folder:
        log = Path(folder) / "log"
        sections = [word for section in SECTIONS for word in ("--section", section)]
        options = [*_OPTIONS, *sections, "--kernel-name", f"regex:{kernels}", "--cache-control", control]
        whole = [str(find_ncu()), *options, "--log-file", str(log), *command]
        # Numbers without a locale's separators.
        stdout, problem = run_to_end(whole, timeout_s, {"LC_ALL": "C"})
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return stdout, _checked(text, problem)


def _checked(text: str, problem: str) -> list[Counted]:
    """Return the launches, or raise in the words of the tool."""
    if _NO_COUNTERS in text:
        remedy = "run as root, or let users read GPU counters (NVreg_RestrictProfilingToAdminUsers=0)"
        raise MissingRequirementError(f"{PROGRAM} may not read this GPU's counters ({_NO_COUNTERS})", remedy)
    said = re.findall(r"^==(?:ERROR|WARNING)== (.*)$", text, re.MULTILINE)
    if problem:
        raise DiffcheckError(": ".join([f"{PROGRAM}: {problem}", *said][:4]))
    counted = read_raw_page(text)
    if not counted:
        raise DiffcheckError(": ".join([f"{PROGRAM} counted no launch", *said][:4]))
    return counted


def read_raw_page(text: str) -> list[Counted]:
    """Return the launches of what `ncu --csv --page raw` prints, in order, among lines of its own.

    A line of names, a line of their units, and a line for each launch. What is no finite number is left out.
    """
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    while rows and _KERNEL not in rows[0]:
        rows.pop(0)
    # Anything but a row of as many cells is no row of this table.
    rows = [row for row in rows if len(row) == len(rows[0])]
    if len(rows) < 3:
        return []
    names, units, *launches = rows
    kernel = names.index(_KERNEL)
    return [Counted(row[kernel], _metrics(names, units, row)) for row in launches]


def _metrics(names: Sequence[str], units: Sequence[str], row: Sequence[str]) -> dict[str, Metric]:
    found: dict[str, Metric] = {}
    for name, unit, cell in zip(names, units, row, strict=True):
        # Other columns tell of the process and of where the launch ran; a metric's name has two underscores.
        with suppress(ValueError):
            value = float(cell.replace(",", ""))
            if "__" in name and math.isfinite(value):
                found[name] = Metric(value=value, unit=unit)
    return found

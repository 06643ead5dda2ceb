"""NVIDIA's compute-sanitizer: where it is, how it is run, and what its log says."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path

from diffcheck.assemble.ptxas import program_of
from diffcheck.errors import MissingRequirementError
from diffcheck.sanitize.model import ToolVerdict
from diffcheck.sanitize.registry import ToolName
from diffcheck.toolkit import find_in_toolkit, output_of, run_to_end

PROGRAM = "compute-sanitizer"
PACKAGE = "nvidia-cuda-sanitizer-api"
_ADDRESS_SPACE = "--initcheck-address-space"
# Each report is listed once a thread; a few are enough to see what it is.
_PRINT_LIMIT = 20
# Beyond what is printed of a report: where, by whom, at which address.
_KEPT_REPORTS = 4

# Common: the tools' own words go to a file, apart from the program's; a faulting kernel ends alone, so that the program
# can report and the summary is written.
_COMMON = ("--print-limit", str(_PRINT_LIMIT), "--show-backtrace", "no", "--destroy-on-device-error", "kernel")
_OPTIONS: dict[ToolName, tuple[str, ...]] = {
    # A gap behind each allocation, so that the next one does not hide a step past the end. CUDA's own probing for
    # functions that an older driver lacks fails by design and is no finding.
    "memcheck": ("--padding", "64", "--report-api-errors", "no"),
    "racecheck": ("--racecheck-report", "analysis"),
    "initcheck": (),
    "synccheck": (),
}


@dataclass(frozen=True)
class Child:
    """What a process under the tool left: its own standard output, and the tool's verdict."""

    stdout: str
    verdict: ToolVerdict


@cache
def find_sanitizer() -> Path:
    """Return the path of compute-sanitizer: on PATH, in the toolkit that CUDA_HOME or CUDA_PATH names, or from PyPI.

    Raises `MissingRequirementError` when it is in none of them.
    """
    found = find_in_toolkit(PROGRAM)
    if found is not None:
        return found
    try:
        return program_of(PACKAGE, PROGRAM, "sanitizer")
    except MissingRequirementError:
        remedy = f"put it on PATH, set CUDA_HOME, or: python -m pip install {PACKAGE}"
        raise MissingRequirementError(f"{PROGRAM} is not here", remedy) from None


@cache
def sanitizer_version() -> str:
    """Return the version that the program states, such as `2026.4.0.0`."""
    text = output_of(find_sanitizer(), "--version")
    match = re.search(r"Version (\S+)", text)
    return match[1] if match else " ".join(text.split()) or "unknown"


@cache
def watches_shared_memory() -> bool:
    """Return whether initcheck can look at shared memory, which came with a later version."""
    return _ADDRESS_SPACE in output_of(find_sanitizer(), "--help")


def run_under(tool: ToolName, command: Sequence[str], timeout_s: float, *, shared: bool = False) -> Child:
    """Run a command under a tool, and return what both said. A run that does not end in time is ended.

    `shared`: initcheck looks at shared memory instead of global memory.
    """
    options = [*_COMMON, *_OPTIONS[tool], *((_ADDRESS_SPACE, "shared") if shared else ())]
    with tempfile.TemporaryDirectory(prefix="diffcheck-") as folder:
        log = Path(folder) / "log"
        whole = [str(find_sanitizer()), "--tool", tool, "--log-file", str(log), *options, *command]
        start = time.perf_counter()
        stdout, problem = run_to_end(whole, timeout_s)
        seconds = time.perf_counter() - start
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return Child(stdout, read_log(tool, text, seconds, problem))


def read_log(tool: ToolName, text: str, seconds: float = 0.0, problem: str = "") -> ToolVerdict:
    """Return what a tool's log says. `problem` is why the run itself tells nothing, if it does not."""
    lines = [match[1].strip() for match in re.finditer(r"^=========[ \t]?(.*)$", text, re.MULTILINE)]
    findings = _summary(lines)
    if not problem and findings is None:
        problem = f"{tool} wrote no summary"
    if problem:
        # What the tool itself says of a run that came to nothing, such as a program that it could not attach to.
        problem = ": ".join([problem, *(line for line in lines if line.startswith("Error: "))][:3])
    reports = tuple(_reports(lines))
    return ToolVerdict(tool=tool, findings=findings, reports=reports, problem=problem, seconds=round(seconds, 3))


def _summary(lines: Sequence[str]) -> int | None:
    """The number of errors and warnings that the last lines name."""
    for line in reversed(lines):
        # `RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)`, `ERROR SUMMARY: 2 errors`
        match = re.search(r"SUMMARY: (?:\d+ hazards? displayed \((\d+) errors?, (\d+) warnings?\)|(\d+) errors?)", line)
        if match:
            return sum(int(number) for number in match.groups() if number)
    return None


# What the first line of a report looks like; anything else that a tool says is a banner, a detail or a notice.
_REPORT = re.compile(
    r"^(?:(?:ERROR|WARNING|Error|Warning|Fatal|FATAL): )?"
    r"(?:Invalid __\w+__|Potential (?:invalid|RAW|WAR|WAW)|Uninitialized|Host API|Race reported|Barrier error|"
    r"Malloc/Free|Warpgroup|Program hit|Hardware exception|Internal Sanitizer Error)",
)


def _reports(lines: Sequence[str]) -> list[str]:
    """Each different report once, with the line behind it, which says where."""
    kept: list[str] = []
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        report = " ".join(f"{line} {following}".split())
        if _REPORT.match(line) and report not in kept and len(kept) < _KEPT_REPORTS:
            kept.append(report)
    return kept

"""The planted faults, asked of the PTX machine and, where there are a GPU and compute-sanitizer, of its tools."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence

from diffcheck import digest
from diffcheck.sanitize.compute_sanitizer import run_under, watches_shared_memory
from diffcheck.sanitize.machine import run_in_machine
from diffcheck.sanitize.model import Agreement, PlantedResult, ToolVerdict
from diffcheck.sanitize.registry import VERSIONS, Planted, ToolName, Version
from diffcheck.workers import in_threads

# Most of it is Python's and CUDA's start under the tool.
_TIMEOUT_S = 90.0


def run_planted(
    faults: Sequence[Planted], *, missing: str, workers: int, done: Callable[[str], None]
) -> tuple[PlantedResult, ...]:
    """Run every planted fault in both versions and return what machine and tools say.

    `missing` says why no tool can be asked (empty: they can); `workers` processes run at a time. `done` is called with
    each name.
    """

    def one(planted: Planted) -> PlantedResult:
        result = _result(planted, missing)
        done(planted.name)
        return result

    results = dict(in_threads(one, faults, workers))
    return tuple(results[index] for index in range(len(faults)))


def _result(planted: Planted, missing: str) -> PlantedResult:
    uncovered = planted.because or ("" if missing else _unable(planted))
    machine = {version: run_in_machine(planted, version) for version in VERSIONS}
    tool: dict[Version, ToolVerdict] = {}
    if planted.tool is not None and not (uncovered or missing):
        tool = {version: _under(planted.tool, planted, version) for version in VERSIONS}
    holds = (machine["faulty"].fault, machine["right"].fault) == (planted.machine, None)
    agreement: Agreement = "not-covered" if uncovered else "not-run" if missing else "differ"
    if tool and holds and _reported(planted, tool["faulty"]) and tool["right"].is_clean:
        agreement = "agree"
    return PlantedResult(
        name=planted.name,
        fault=planted.fault,
        ptx_sha256=digest.of_text(planted.ptx),
        expected=planted.machine,
        machine_faulty=machine["faulty"],
        machine_right=machine["right"],
        tool=planted.tool,
        expected_report=planted.reports,
        because=uncovered or missing,
        tool_faulty=tool.get("faulty"),
        tool_right=tool.get("right"),
        agreement=agreement,
    )


def _reported(planted: Planted, verdict: ToolVerdict) -> bool:
    return any(re.search(planted.reports, report) for report in verdict.reports)


def _unable(planted: Planted) -> str:
    """Why the installed tool cannot report the fault; empty where it can."""
    if _is_about_shared(planted) and not watches_shared_memory():
        return "this version of initcheck watches global memory only"
    return ""


def _is_about_shared(planted: Planted) -> bool:
    return planted.tool == "initcheck" and "__shared__" in planted.reports


def _under(tool: ToolName, planted: Planted, version: Version) -> ToolVerdict:
    command = [sys.executable, "-m", "diffcheck.sanitize.run_one", "planted", planted.name, version]
    child = run_under(tool, command, _TIMEOUT_S, shared=_is_about_shared(planted))
    if '{"planted"' in child.stdout or child.verdict.problem:
        return child.verdict
    return child.verdict.model_copy(update={"problem": "the kernel was not launched"})

"""The arms under every tool of compute-sanitizer: nothing may be reported."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence

from diffcheck.sanitize.compute_sanitizer import run_under
from diffcheck.sanitize.model import ArmsResult, LaunchedCase
from diffcheck.sanitize.registry import TOOLS, ToolName
from diffcheck.workers import in_threads

# One case of each kind: single keys, tails behind the last whole step, masked rows with other values behind them,
# splits that are no multiple of a step, every way that K and V may lie, groups that are no power of two, full tiles.
DEFAULT_CASES = (
    "random-8x2-L1-f16",
    "random-8x2-L37-f32",
    "random-8x2-L65-f16",
    "random-14x2-L65-f32",
    "random-24x4-L203-f16-chunk7",
    "random-4x1-L1000-f16-chunk333",
    "inf-rows-8x2-L201-f16-fixed1",
    "nan-value-8x2-L203-f32",
    "random-8x2-L65-f16-packed",
    "random-8x2-L65-f16-padded",
    "random-8x2-L65-f32-kv-head-major",
    "random-16x4-L4096-f16",
)
DEFAULT_ARMS = ("builder", "oxide", "naive")
# Racecheck makes a kernel a hundred times slower.
_TIMEOUT_S = 400.0


def run_arms(
    cases: Sequence[str],
    arms: Sequence[str],
    *,
    target: str,
    profile: str,
    workers: int,
    done: Callable[[str], None],
) -> tuple[ArmsResult, ...]:
    """Run cases on arms under every tool, a process a tool; `done` is called with each tool's name as it ends."""

    def one(tool: ToolName) -> ArmsResult:
        result = _under(tool, cases, arms, target, profile)
        done(tool)
        return result

    results = dict(in_threads(one, TOOLS, workers))
    return tuple(results[index] for index in range(len(TOOLS)))


def _under(tool: ToolName, cases: Sequence[str], arms: Sequence[str], target: str, profile: str) -> ArmsResult:
    program = [sys.executable, "-m", "diffcheck.sanitize.run_one"]
    child = run_under(tool, [*program, "arms", target, profile, ",".join(cases), ",".join(arms)], _TIMEOUT_S)
    launched = read_launched(child.stdout)
    wrong = any(case.bits is False for case in launched)
    status = "holds" if child.verdict.is_clean and launched and not wrong else "fails"
    return ArmsResult.model_validate({"launched": launched, "verdict": child.verdict, "status": status})


def read_launched(stdout: str) -> tuple[LaunchedCase, ...]:
    """Return what a watched process says that it launched: its JSON lines that name a case."""
    lines = [json.loads(line) for line in stdout.splitlines() if line.startswith('{"case"')]
    return tuple(LaunchedCase.model_validate(line) for line in lines)

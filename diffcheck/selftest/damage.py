"""1-ULP damage at three places of one result, which must move that result by exactly that much and no other.

The fault is planted in the reduce kernel's PTX, just before its store, so that it passes through the whole harness.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from diffcheck.arms import DeviceArm
from diffcheck.executors.machine import MachineExecutor
from diffcheck.parity.judge_case import run_arm
from diffcheck.receipts.metrics import Check
from diffcheck.selftest.base import Finding, Mutant
from diffcheck.selftest.edit import Edit, Place, substitute, within
from diffcheck.selftest.ptx_run import TARGET, MutatedArm, checks_of, prepared_case

OFFSETS = (5, 1024, 2047)
# The first has 8 heads of 256, so 2048 outputs; the others run undamaged beside it.
DAMAGED = "random-8x2-L65-f16"
UNDAMAGED = ("random-8x2-L65-f32", "random-8x2-L203-f32-chunk7")
OUTPUTS = 2048


def damage_mutant(
    name: str = "one-ulp-damage", arm: Callable[[Edit], DeviceArm] = MutatedArm, edit: Edit | None = None
) -> Mutant:
    """Return the mutant of an arm; the check that is meant to catch it is `bits`, by exactly 3 words of 2048.

    `edit` damages the outputs at `OFFSETS`; without one, `damage_edit` does it in the builder's PTX.
    """
    what = f"1 ULP off at the offsets {', '.join(map(str, OFFSETS))} of {OUTPUTS}"
    return Mutant(name, "ptx", what, "bits", Damage(edit or damage_edit(), arm))


def damage_edit() -> Edit:
    """Return the edit that adds one to the bit pattern of the outputs at `OFFSETS` (of a dense output)."""
    store = r"^ *st\.global\.f32 \[(%rd\d+)\], (%f\d+);"
    return within(
        Place("splitk_reduce_", "write"),
        substitute(store, lambda match: damaged_store(match[0], match[1], match[2], "out")),
    )


def damaged_store(store: str, address: str, value: str, out: str) -> str:
    """Return a store of `value` to `address` with the damage before it; `out` is the parameter's name."""
    lines = [
        ".reg .b32 %mutant_r<2>;",
        ".reg .b64 %mutant_rd<2>;",
        ".reg .pred %mutant_p;",
        f"ld.param.u64 %mutant_rd0, [{out}];",
        "cvta.to.global.u64 %mutant_rd0, %mutant_rd0;",
        f"sub.s64 %mutant_rd1, {address}, %mutant_rd0;",
        "cvt.u32.u64 %mutant_r0, %mutant_rd1;",
        f"mov.b32 %mutant_r1, {value};",
    ]
    for offset in OFFSETS:
        lines.append(f"setp.eq.u32 %mutant_p, %mutant_r0, {4 * offset};")
        lines.append("@%mutant_p add.u32 %mutant_r1, %mutant_r1, 1;")
    lines.append(f"mov.b32 {value}, %mutant_r1;")
    return "\n".join(f"    {line}" for line in lines) + "\n" + store


@dataclass(frozen=True)
class Damage:
    """The damage in one arm's kernels; two more cases run beside it, undamaged."""

    edit: Edit
    arm: Callable[[Edit], DeviceArm]

    def __call__(self) -> Finding:
        """Run the damaged kernels and see exactly the damage."""
        prepared = prepared_case(DAMAGED)
        run = run_arm(prepared, MachineExecutor(), TARGET, self.arm(self.edit))
        if run.outcome is None:
            return Finding((), run.checks[0].reason, f"{DAMAGED} did not run: {run.checks[0].reason}")
        (bits,) = (check for check in run.checks if check.name == "bits")
        problems = _problems(bits, np.flatnonzero(run.outcome.out.view(np.uint32) != prepared.expected.view(np.uint32)))
        for name in UNDAMAGED:
            failed = [check for check in checks_of(name, self.arm(_unchanged)) if not check.holds]
            problems += [f"{name}, which is undamaged: {check.name}: {check.reason}" for check in failed]
        percent = bits.whole.bitwise_percent if bits.whole else 0.0
        evidence = f"{DAMAGED}, {percent:.4f} % of all: {bits.reason}"
        return Finding(("bits",) if not bits.holds else (), evidence, "; ".join(problems))


def _unchanged(text: str) -> str:
    return text


def _problems(bits: Check, moved: npt.NDArray[np.intp]) -> list[str]:
    if bits.whole is None:
        return [f"no comparison: {bits.reason}"]
    problems: list[str] = []
    if tuple(moved) != OFFSETS:
        problems.append(f"the outputs at {', '.join(map(str, moved)) or 'none'} moved")
    if f"{bits.whole.bitwise_percent:.4f}" != "99.8535":
        problems.append(f"{bits.whole.bitwise_percent:.4f} % bitwise, not 99.8535 %")
    if bits.whole.max_ulp != 1:
        problems.append(f"{bits.whole.max_ulp} ULP, not 1")
    return problems

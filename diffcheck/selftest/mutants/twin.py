"""Faults in the twin. They are planted in Rust (crates/cpu_twin, `faults`), where adding one adds it here too."""

from __future__ import annotations

from dataclasses import dataclass

from diffcheck.arms import BuilderArm, TwinArm
from diffcheck.cases import get_case
from diffcheck.compare import bits_equal
from diffcheck.executors.machine import MachineExecutor
from diffcheck.parity.judge_case import run_arm
from diffcheck.selftest.base import Finding, Mutant
from diffcheck.selftest.ptx_run import PROFILE, TARGET, prepared_case

# Together they have full and single-key splits, many splits, moving maxima, and an infinity in V past a split's end.
CASES = (
    "random-8x2-L65-f16",
    "random-8x2-L203-f32-chunk7",
    "rising-8x2-L203-f16-fixed1",
    "inf-value-6x2-L250-f16-chunk7",
)


@dataclass(frozen=True)
class TwinFault:
    """A fault of the twin: the kernels, which have none, must then differ from it."""

    fault: str

    def __call__(self) -> Finding:
        """Compare the unchanged kernels with the faulty twin, case by case, until the bits differ."""
        for case in CASES:
            prepared = prepared_case(case)
            faulty = TwinArm(self.fault).compute(prepared.problem(case))
            run = run_arm(prepared, MachineExecutor(), TARGET, BuilderArm())
            if run.outcome is None:
                return Finding((), f"{case}: {run.checks[0].reason}", f"{case}: the kernel without a fault did not run")
            sound = bits_equal(run.outcome.out, prepared.expected)
            if not sound.holds:
                return Finding((), sound.reason, f"{case} without a fault: {sound.reason}")
            verdict = bits_equal(run.outcome.out, faulty.out)
            if not verdict.holds:
                return Finding(("bits",), f"{get_case(case).name}, {PROFILE}: {verdict.reason}")
        return Finding((), f"the kernels equal the faulty twin on {', '.join(CASES)}")


def mutants() -> tuple[Mutant, ...]:
    """Return one mutant for every fault that the twin can be given; none where the native module is not built."""
    try:
        from rust_kernel import twin
    except ImportError:
        return ()
    return tuple(
        Mutant(f"twin-{fault}", "twin", fault.replace("-", " "), "bits", TwinFault(fault)) for fault in twin.faults()
    )

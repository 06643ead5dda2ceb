"""One sanitizer run, from what was asked to its receipt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from diffcheck.errors import MissingRequirementError
from diffcheck.executors.gpu import GpuExecutor
from diffcheck.receipts.provenance import recorded_command, source_tree
from diffcheck.sanitize.arms import run_arms
from diffcheck.sanitize.compute_sanitizer import find_sanitizer, sanitizer_version
from diffcheck.sanitize.model import ArmsResult, Device, SanitizeReceipt, names_faults, what_fails
from diffcheck.sanitize.planted import run_planted
from diffcheck.sanitize.registry import TOOLS, Planted
from diffcheck.version import tool_version


@dataclass(frozen=True)
class Asked:
    """What a run is to do. Empty `planted` or `cases`: not that part. `workers` processes run at a time."""

    planted: Sequence[Planted]
    cases: Sequence[str]
    arms: Sequence[str]
    target: str | None
    profile: str | None
    workers: int

    def steps(self, missing: str) -> int:
        """Return how many times `run_sanitize` calls its `done`."""
        return len(self.planted) + (len(TOOLS) if self.cases and not missing else 0)


def what_is_missing() -> str:
    """Return in one line why no tool of compute-sanitizer can run here; empty where they can."""
    availability = GpuExecutor().available()
    if not availability:
        return availability.reason
    try:
        find_sanitizer()
    except MissingRequirementError as error:
        return str(error)
    return ""


def run_sanitize(asked: Asked, missing: str, command: Sequence[str], done: Callable[[str], None]) -> SanitizeReceipt:
    """Run the planted faults and the arms, and return the receipt. `missing` is what `what_is_missing` returned."""
    from rust_kernel import ptx

    planted = run_planted(asked.planted, missing=missing, workers=asked.workers, done=done)
    arms: tuple[ArmsResult, ...] = ()
    if asked.cases and not missing:
        gpu = GpuExecutor()
        target, profile = asked.target or gpu.default_target(), asked.profile or gpu.default_profile()
        arms = run_arms(asked.cases, asked.arms, target=target, profile=profile, workers=asked.workers, done=done)
    fails = what_fails(planted, arms, asked=not missing, named=names_faults(command))
    return SanitizeReceipt(
        version=tool_version(),
        tree=source_tree(),
        command=recorded_command(command),
        machine_version=ptx.machine_version(),
        device=None if missing else _device(),
        missing=missing,
        planted=planted,
        arms=arms,
        status="fails" if fails else "holds",
    )


def _device() -> Device:
    facts = {**GpuExecutor().device_facts(), "sanitizer_version": sanitizer_version()}
    return Device.model_validate(facts)

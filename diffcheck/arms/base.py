"""What an arm is: one implementation of the decode, which knows how to run it and nothing of verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from diffcheck.cases import Case, Stage, Storage
from diffcheck.executors.base import Availability
from diffcheck.executors.program import Outcome, Program
from diffcheck.generators import CaseInputs, Inputs, decode_inputs
from diffcheck.layouts import Outputs

if TYPE_CHECKING:
    from rust_kernel.plan import Plan

# reference: what the others must equal bit for bit. bits: must equal the reference. bounded: compared within a bound.
Role: TypeAlias = Literal["reference", "bits", "bounded"]


@dataclass(frozen=True)
class Problem:
    """One decode to compute: the arrays of a case, where its results go, and the plan that fixes the order of sums."""

    name: str
    inputs: CaseInputs
    outputs: Outputs
    plan: Plan

    @property
    def decode_inputs(self) -> Inputs:
        """q, K and V. Raises `TypeError` for a problem that only merges partials, which no arm without splits has."""
        return decode_inputs(self.inputs, self.name)


@dataclass(frozen=True)
class Kernel:
    """One kernel of an arm as PTX text that holds it and nothing else.

    `threads` is the size of a block, `dynamic_shared` the bytes of dynamic shared memory that a launch gives it, and
    `blocks_per_sm` how many blocks its tile wants resident at a time.
    """

    entry: str
    ptx: str
    threads: int
    dynamic_shared: int
    blocks_per_sm: int = 1


class Arm(Protocol):
    """What every arm states about itself; `storages` and `stages` are those of the cases that it can compute."""

    name: str
    role: Role
    title: str
    storages: tuple[Storage, ...]
    stages: tuple[Stage, ...]

    def available(self) -> Availability:
        """Tell whether the arm's package can be used on this machine."""
        ...

    def sources(self) -> Mapping[str, str]:
        """Return named SHA-256 digests (hex) of what the arm is made from."""
        ...


def computes(arm: Arm, case: Case) -> bool:
    """Tell whether an arm has what a case asks for."""
    return case.storage in arm.storages and case.stage in arm.stages


@runtime_checkable
class HostArm(Arm, Protocol):
    """An arm that computes on the CPU, with no kernel and no executor."""

    def compute(self, problem: Problem, threads: int = 0) -> Outcome:
        """Compute a problem on `threads` host threads (0: all), and write what splits leave into its scratch."""
        ...


@runtime_checkable
class DeviceArm(Arm, Protocol):
    """An arm made of PTX kernels, which any executor can run."""

    def program(self, problem: Problem, target: str) -> Program:
        """Return the buffers, the PTX for `target` and the launches that compute a problem."""
        ...

    def entries(self, target: str) -> tuple[str, ...]:
        """Return the names of all kernels that the arm has for a target."""
        ...

    def kernel(self, entry: str, target: str) -> Kernel:
        """Return one kernel. Raises `BadInputError` for an entry that does not exist."""
        ...

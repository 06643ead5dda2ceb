"""The arm `twin`: the contract in Rust on the CPU. What every bit-exact arm must equal."""

from __future__ import annotations

import time
from collections.abc import Mapping

from diffcheck.arms.base import Problem, Role
from diffcheck.cases import STORAGES, Storage
from diffcheck.executors.base import Availability
from diffcheck.executors.program import Outcome


class TwinArm:
    """`rust_kernel.twin`; `fault` names one of its planted faults, for the self-test only."""

    name: str = "twin"
    role: Role = "reference"
    title: str = "the contract on the CPU, in Rust"
    storages: tuple[Storage, ...] = STORAGES

    def __init__(self, fault: str | None = None) -> None:
        self.fault = fault

    def available(self) -> Availability:
        """Tell whether the native module is built."""
        try:
            from rust_kernel import twin  # noqa: F401
        except ImportError as error:
            return Availability(False, f"the native module of rust_kernel is not built ({error})")
        return Availability(True)

    def sources(self) -> Mapping[str, str]:
        """Return the digest of the twin's and the planner's Rust sources that the native module was built from."""
        from rust_kernel import twin

        return {"cpu_twin": twin.source_sha256()}

    def compute(self, problem: Problem, threads: int = 0) -> Outcome:
        """Compute a problem; see `HostArm.compute`."""
        from rust_kernel import twin

        inputs = problem.inputs
        start = time.perf_counter()
        out = twin.decode(
            inputs.q.view,
            inputs.k.view,
            inputs.v.view,
            problem.plan,
            threads=threads,
            path="auto" if self.fault is None else "portable",
            fault=self.fault,
        )
        return Outcome(out, {}, time.perf_counter() - start)

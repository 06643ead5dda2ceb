"""The arm `twin`: the contract in Rust on the CPU. What every bit-exact arm must equal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Literal

import numpy as np

from diffcheck.arms.base import Problem, Role
from diffcheck.cases import STAGES, STORAGES, Stage, Storage
from diffcheck.executors.base import Availability
from diffcheck.executors.program import Outcome
from diffcheck.generators import Partials


class TwinArm:
    """`rust_kernel.twin`; `fault` names one of its planted faults, for the self-test only."""

    name: str = "twin"
    role: Role = "reference"
    title: str = "the contract on the CPU, in Rust"
    storages: tuple[Storage, ...] = STORAGES
    stages: tuple[Stage, ...] = STAGES

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
        path: Literal["auto", "portable"] = "auto" if self.fault is None else "portable"
        start = time.perf_counter()
        if isinstance(inputs, Partials):
            parts = (inputs.part_m.view, inputs.part_s.view, inputs.part_acc.view)
        else:
            q, k, v = (array.view for array in (inputs.q, inputs.k, inputs.v))
            parts = twin.partial(q, k, v, problem.plan, threads=threads, path=path, fault=self.fault)
            next_q = problem.outputs.next_q
            if next_q is not None:
                next_q.view[...] = twin.reduce(*parts, threads=threads, path=path, fault=self.fault)
                parts = twin.partial(next_q.view, k, v, problem.plan, threads=threads, path=path, fault=self.fault)
        out = twin.reduce(*parts, threads=threads, path=path, fault=self.fault)
        seconds = time.perf_counter() - start
        if not isinstance(inputs, Partials):
            outputs = problem.outputs
            for part, values in zip((outputs.part_m, outputs.part_s, outputs.part_acc), parts, strict=True):
                np.copyto(part.view, values)
        return Outcome(out, {}, seconds)

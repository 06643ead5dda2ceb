"""Executors that stand for a GPU in the tests of the measurement; a worker process finds them by their names."""

from __future__ import annotations

import os
import time

from diffcheck.opcodes.executors import MachineProbes, ProbeExecutor, ProbeFaultError, ProbeRefusedError
from diffcheck.opcodes.probe import Probe

HANGS, DIES, REFUSED, FAULTS = "add.u32", "add.s32", "add.u64", "add.s64"


class Unreliable(MachineProbes):
    """The machine, except that some forms hang, end the process, are refused or fault, and one gives other bits."""

    def run(self, probe: Probe, siblings: tuple[Probe, ...]) -> bytes:
        if probe.name == HANGS:
            time.sleep(600)
        if probe.name == DIES:
            os._exit(3)
        if probe.name == REFUSED:
            raise ProbeRefusedError("PTX JIT compilation failed")
        if probe.name == FAULTS:
            raise ProbeFaultError("an illegal address")
        memory = super().run(probe, siblings)
        return bytes([memory[0] ^ 1]) + memory[1:] if probe.name == "add.u16" else memory


def unreliable() -> ProbeExecutor:
    return Unreliable()


def machine() -> ProbeExecutor:
    return MachineProbes()


def unable() -> ProbeExecutor:
    raise RuntimeError("no context")

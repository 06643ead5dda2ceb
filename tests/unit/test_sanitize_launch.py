"""What compute-sanitizer watches, launched on a stand-in for CuPy whose device is the PTX machine."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from diffcheck.executors import gpu
from diffcheck.executors.program import Step
from diffcheck.sanitize import run_one
from diffcheck.sanitize.registry import planted_fault
from rust_kernel import ptx


class DriverError(Exception):
    """CuPy's error of the driver."""


class RuntimeFailure(Exception):  # noqa: N818 - CuPy's name for it ends in Error, and there it is another class
    """CuPy's error of the runtime."""


class Machine:
    """A device: memory that knows what was written, launches that fault at the next synchronisation."""

    def __init__(self) -> None:
        self.memory = ptx.Memory()
        self.live: dict[int, int] = {}
        self.launched: list[str] = []
        self.early: list[str] = []
        self.fault = ""

    def malloc(self, nbytes: int) -> int:
        address = self.memory.alloc_uninit(nbytes, name=f"allocation {len(self.live)}")
        self.live[address] = nbytes
        return address

    def free(self, address: int) -> None:
        del self.live[address]

    def memcpy(self, to: int, source: int, nbytes: int, kind: int) -> None:
        if kind == 1:
            self.memory.write(to, ctypes.string_at(source, nbytes))
        else:
            assert self.memory.unwritten(source, nbytes) == 0
            words = self.memory.read(source, np.uint8, nbytes)
            ctypes.memmove(to, words.ctypes.data, nbytes)

    def launch(self, module: ptx.PtxModule, entry: str, **shape: Any) -> None:
        self.launched.append(entry)
        try:
            ptx.launch(module, entry, self.memory, **shape)
        except ptx.PtxFault as fault:
            self.fault = fault.kind

    def synchronize(self) -> None:
        if self.fault:
            raise RuntimeFailure(f"cudaErrorLaunchFailure: {self.fault}")


class Function:
    """A kernel; its attributes need not be set."""

    ptr = 0

    def __init__(self, machine: Machine, module: ptx.PtxModule, entry: str) -> None:
        self.machine, self.module, self.entry = machine, module, entry

    def __call__(self, grid: Any, block: Any, args: Any, shared_mem: int = 0, *, programmatic: bool = False) -> None:
        values = [int(arg) for arg in args]
        shape = {"grid": grid, "block": block, "args": values, "dynamic_shared": shared_mem}
        self.machine.early += [self.entry] * programmatic
        shape["programmatic"] = programmatic
        self.machine.launch(self.module, self.entry, **shape)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Put the stand-in in CuPy's place."""
    machine = Machine()

    class Module:
        def load(self, image: bytes) -> None:
            if not machine.live:
                raise DriverError("no context: nothing was allocated yet")
            self.module = ptx.PtxModule(image)

        def get_function(self, entry: str) -> Function:
            return Function(machine, self.module, entry)

    def ready_programmatic(function: Function, step: Step) -> Callable[[tuple[np.generic, ...]], None]:
        return lambda given: function(step.grid, step.block, given, step.dynamic_shared, programmatic=True)

    runtime = SimpleNamespace(
        malloc=machine.malloc,
        free=machine.free,
        memcpy=machine.memcpy,
        deviceSynchronize=machine.synchronize,
        CUDARuntimeError=RuntimeFailure,
    )
    driver = SimpleNamespace(CUDADriverError=DriverError, funcSetAttribute=lambda *_: None)
    device = SimpleNamespace(compute_capability="90")
    cuda = SimpleNamespace(
        runtime=runtime, driver=driver, function=SimpleNamespace(Module=Module), Device=lambda: device
    )
    cupy = ModuleType("cupy")
    cupy.__dict__["cuda"] = cuda
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    monkeypatch.setattr(gpu, "ready_programmatic", ready_programmatic)
    gpu.load_module.cache_clear()
    return machine


def said(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("name", ["global_write_past_end", "global_wild_pointer", "barrier_bad_count"])
def test_planted_faults_are_launched(name: str, machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    run_one.main(["planted", name, "right"])
    assert machine.live == {}
    run_one.main(["planted", name, "faulty"])
    right, faulty = said(capsys)
    assert (right["planted"], right["version"], right["error"]) == (name, "right", "")
    assert faulty["error"] == f"cudaErrorLaunchFailure: {planted_fault(name).machine}"
    assert machine.launched == ["right", "faulty"]


def test_arms_are_launched_and_compared(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    case = "random-8x2-L65-f32-padded"
    run_one.main(["arms", "sm_90", "h200", case, "builder,oxide,naive,naive-f16"])
    assert said(capsys) == [
        {"case": case, "arm": "builder", "bits": True},
        {"case": case, "arm": "oxide", "bits": True},
        {"case": case, "arm": "naive", "bits": None},
    ]
    assert len(machine.launched) == 5
    assert machine.early == machine.launched[:4]
    assert machine.live == {}

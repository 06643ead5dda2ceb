"""The calls of CuPy, on a stand-in whose device is the PTX machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from diffcheck.opcodes import executors
from diffcheck.opcodes.device import device_facts
from diffcheck.opcodes.executors import GpuProbes, MachineProbes, ProbeFaultError, ProbeRefusedError
from diffcheck.opcodes.measure import select
from diffcheck.opcodes.probe import Probe, all_probes, groups
from rust_kernel import ptx


class DriverError(Exception):
    """Stands for `CUDADriverError`."""


class StandIn:
    """What the measurement uses of CuPy. Texts with a mark in `refused` are not loaded, and `launches` counts."""

    __version__ = "0.0.0"

    def __init__(self) -> None:
        self.memory = ptx.Memory()
        self.refused: list[str] = []
        self.launches = 0
        runtime = SimpleNamespace(
            CUDARuntimeError=DriverError,
            getDeviceCount=lambda: 1,
            getDeviceProperties=lambda _: {"name": b"Stand-in"},
            driverGetVersion=lambda: 13010,
        )
        self.cuda = SimpleNamespace(
            Device=lambda: SimpleNamespace(use=lambda: None, id=0, compute_capability="90"),
            driver=SimpleNamespace(CUDADriverError=DriverError),
            runtime=runtime,
            function=SimpleNamespace(Module=lambda: Module(self)),
            get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None),
        )

    def asarray(self, host: np.ndarray[Any, Any]) -> Any:
        address = self.memory.alloc(host.tobytes(), name="array")
        data = SimpleNamespace(ptr=address)
        return SimpleNamespace(data=data, get=lambda: self.memory.read(address, np.uint8, host.nbytes))


class Module:
    """A loaded text."""

    def __init__(self, cupy: StandIn) -> None:
        self._cupy = cupy
        self._module: Any = None

    def load(self, text: bytes) -> None:
        if any(mark in text.decode() for mark in self._cupy.refused):
            raise DriverError("CUDA_ERROR_INVALID_PTX:\na PTX JIT compilation failed")
        self._module = ptx.PtxModule(text.decode(), name="given.ptx", strict=False)

    def get_function(self, name: str) -> Any:
        def launch(grid: tuple[int], block: tuple[int], arguments: tuple[Any, ...]) -> None:
            self._cupy.launches += 1
            given = [a.tobytes() if a.dtype.kind == "V" else int(a) for a in arguments]
            try:
                ptx.launch(self._module, name, self._cupy.memory, grid=grid[0], block=block[0], args=given, threads=1)
            except ptx.PtxFault as error:
                raise DriverError("CUDA_ERROR_ILLEGAL_ADDRESS") from error

        return launch


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "cupy", stand_in)
    executors._load.cache_clear()
    yield stand_in
    executors._load.cache_clear()


def _members(probe: Probe) -> tuple[Probe, ...]:
    return groups(all_probes())[probe.group]


# Operands from registers, a kernel parameter, shared memory, several outputs a row.
@pytest.mark.parametrize("name", ["add.u32", "ld.param.v2.u32", "shfl.sync.bfly.b32", "cvta.local.u64", "bar.sync"])
def test_a_probe_gives_on_the_device_what_it_gives_in_the_machine(cupy: StandIn, name: str) -> None:
    (probe,) = select(name)
    assert GpuProbes().run(probe, _members(probe)) == MachineProbes().run(probe, _members(probe))
    assert cupy.launches == 1


def test_of_a_refused_file_each_form_is_tried_alone(cupy: StandIn) -> None:
    good, bad = select("shl.b32")[0], select("shl.b64")[0]
    cupy.refused.append("shl.b64")
    siblings = (good, bad)
    assert GpuProbes().run(good, siblings) == MachineProbes().run(good, siblings)
    with pytest.raises(ProbeRefusedError, match=r"CUDA_ERROR_INVALID_PTX: a PTX JIT") as raised:
        GpuProbes().run(bad, siblings)
    assert "\n" not in str(raised.value)


def test_a_fault_is_told_from_a_refusal(cupy: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    (probe,) = select("add.u32")
    # The inputs lie where nothing is.
    monkeypatch.setattr(cupy, "asarray", lambda host: SimpleNamespace(data=SimpleNamespace(ptr=64)))
    with pytest.raises(ProbeFaultError, match="ILLEGAL_ADDRESS"):
        GpuProbes().run(probe, _members(probe))


@pytest.mark.usefixtures("cupy")
def test_the_facts_name_device_and_software() -> None:
    facts = device_facts()
    assert {name: facts[name] for name in ("device", "arch", "cuda", "cupy")} == {
        "device": "Stand-in",
        "arch": "sm_90",
        "cuda": "13.1",
        "cupy": "0.0.0",
    }

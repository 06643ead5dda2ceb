"""Which built kernels are launched programmatically, and how the launch objects do it."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import py_builder_kernel
from py_builder_kernel import ArgumentValueError, DeviceUnavailableError, build, build_module
from py_builder_kernel import gpu as gpu_module
from py_builder_kernel.gpu import Kernel
from py_builder_kernel.programmatic import programmatic
from py_builder_kernel.ptx import Function, target_named

GIVEN = (np.uint64(1 << 40), np.uint32(66))


class RefusedError(Exception):
    """CuPy's error of a driver's code."""


def recording(launches: list[tuple[Any, ...]], code: int = 0) -> Any:
    made = programmatic()

    def launch(config: Any, function: Any, params: Any, _extra: int) -> tuple[int]:
        (attribute,) = config.attrs
        assert attribute.id.name == "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION"
        assert (attribute.value.programmaticStreamSerializationAllowed, config.numAttrs) == (1, 1)
        grid = (config.gridDimX, config.gridDimY, config.gridDimZ)
        block = (config.blockDimX, config.blockDimY, config.blockDimZ)
        values = tuple(kind(value).value for value, kind in zip(*params, strict=True))
        launches.append((int(function), grid, block, config.sharedMemBytes, int(config.hStream), values))
        return (code,)

    names = ("CUlaunchConfig", "CUfunction", "CUstream")
    structures = {name: getattr(made.driver, name) for name in names}
    return type(made)(SimpleNamespace(**structures, cuLaunchKernelEx=launch), made.attribute)


def test_a_kernel_that_waits_is_launched_with_the_attribute() -> None:
    launches: list[tuple[Any, ...]] = []
    kernel = Kernel(SimpleNamespace(ptr=0x77), 4096, recording(launches), RefusedError)
    kernel.launch((16, 8, 1), (256, 1, 1), GIVEN, 0x10)
    assert launches == [(0x77, (16, 8, 1), (256, 1, 1), 4096, 0x10, (1 << 40, 66))]


def test_a_refused_launch_raises_what_cupy_raises() -> None:
    kernel = Kernel(SimpleNamespace(ptr=0x77), 0, recording([], code=701), RefusedError)
    with pytest.raises(RefusedError, match="701"):
        kernel.launch((1, 1, 1), (1, 1, 1), GIVEN, 0)


def test_a_kernel_that_does_not_wait_is_launched_by_cupy() -> None:
    launched: list[tuple[Any, ...]] = []

    def function(*given: Any, shared_mem: int, stream: Any) -> None:
        launched.append((*given, shared_mem, stream.ptr))

    Kernel(function, 4096, None, RefusedError).launch((16, 8, 1), (256, 1, 1), GIVEN, 0x10)
    assert launched == [((16, 8, 1), (256, 1, 1), GIVEN, 4096, 0x10)]


@pytest.mark.parametrize("target", sorted(py_builder_kernel.TARGETS))
def test_a_kernel_is_programmatic_where_its_text_waits(target: str) -> None:
    for entry in py_builder_kernel.entry_names(target):
        built = build_module((entry,), target)
        assert built.entries[entry].programmatic is ("griddepcontrol.wait;" in built.text)


@pytest.mark.parametrize(("mnemonic", "expected"), [("wait", True), ("launch_dependents", False)])
def test_only_a_wait_makes_a_kernel_programmatic(mnemonic: str, expected: bool) -> None:
    function = Function("waits", target_named("sm_90"), max_threads=32)
    function.comment("griddepcontrol.wait")
    function.emit(f"griddepcontrol.{mnemonic}")
    assert build._waits(function) is expected


@pytest.fixture
def waiting_reduce(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A device of sm_90 whose reduce kernel waits and whose naive one does not."""
    built = build_module(("splitk_reduce_d256", "naive_decode_f16_d256"))
    reduce, naive = (built.entries[entry] for entry in built.entries)
    facts = (build.KernelInfo(reduce.kind, reduce.block, 0, reduce.params, True), naive)
    entries = dict(zip(built.entries, facts, strict=True))
    made = build.BuiltModule(built.text, built.target, built.version, entries)
    monkeypatch.setattr(gpu_module, "build_module", lambda *_: made)
    module = SimpleNamespace(load=lambda _: None, get_function=lambda name: SimpleNamespace(ptr=name))
    FakeDevice.attributes_set.clear()
    cuda = SimpleNamespace(
        function=SimpleNamespace(Module=lambda: module),
        driver=SimpleNamespace(
            CUDADriverError=RefusedError, funcSetAttribute=lambda *given: FakeDevice.attributes_set.append(given)
        ),
        Device=lambda _: FakeDevice(),
        runtime=SimpleNamespace(getDeviceCount=lambda: 1, CUDARuntimeError=RefusedError),
    )
    monkeypatch.setattr(gpu_module, "_cupy", lambda: SimpleNamespace(cuda=cuda))
    return tuple(entries)


class FakeDevice:
    id, compute_capability = 0, "90"
    attributes: ClassVar[dict[str, int]] = {"MultiProcessorCount": 132, "MaxSharedMemoryPerBlockOptin": 227 * 1024}
    # (function, attribute, value) of each `funcSetAttribute`.
    attributes_set: ClassVar[list[tuple[str, int, int]]] = []

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def test_a_module_is_loaded_with_what_launches_its_kernels(waiting_reduce: Any) -> None:
    kernels = gpu_module.Gpu().load(waiting_reduce)
    assert [kernel.programmatic is not None for kernel in kernels.values()] == [True, False]
    # CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, for the one that is to start beside others.
    assert FakeDevice.attributes_set == [("splitk_reduce_d256", 9, 100)]


def test_a_tile_that_no_block_has_room_for_is_refused_by_its_size(
    waiting_reduce: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_module, "build_module", build_module)
    entry = "splitk_partial_f16_g8_d256_w32r8"
    with pytest.raises(
        ArgumentValueError, match=rf"^shared memory of {entry} in bytes is 264192; allowed: 0 to 232448"
    ):
        gpu_module.Gpu().load((entry,))


def test_without_cuda_bindings_nothing_is_loaded_and_one_line_says_why(
    waiting_reduce: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(DeviceUnavailableError, match=r"^cuda-bindings is not installed.*==12\.\* or ==13") as caught:
        gpu_module.Gpu().load(waiting_reduce)
    assert "\n" not in str(caught.value)

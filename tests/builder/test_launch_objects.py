"""SplitKDecode and NaiveDecode on a device that only records: what is loaded, allocated and launched, and when."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import py_builder_kernel
from py_builder_kernel import ArgumentTypeError, ArgumentValueError, DeviceUnavailableError, NaiveDecode, SplitKDecode
from py_builder_kernel import gpu as gpu_module
from py_builder_kernel import launch as launch_module
from py_builder_kernel.gpu import choose_profile
from rust_kernel.plan import PlanError, make_plan, scratch_layout


class FakeGpu:
    """A device whose memory is addresses and whose kernels write down their launches."""

    def __init__(self, device: int | None = None) -> None:
        self.index = device or 0
        self.context = contextlib.nullcontext()
        self.target = "sm_90"
        self.loaded: list[tuple[str, ...]] = []
        self.allocated: list[int] = []
        self.launches: list[tuple[str, Any, Any, tuple[Any, ...], int]] = []
        LAST.append(self)

    def profile(self) -> Any:
        return choose_profile(90, 132)

    def load(self, entries: Iterable[str]) -> Mapping[str, Any]:
        names = tuple(entries)
        self.loaded.append(names)
        return {name: self._kernel(name) for name in names}

    def _kernel(self, name: str) -> Any:
        def record(grid: Any, block: Any, args: tuple[Any, ...], stream: int) -> None:
            self.launches.append((name, grid, block, args, stream))

        return SimpleNamespace(launch=record)

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        size = {"float32": 4, "uint8": 1}[dtype]
        for extent in shape:
            size *= extent
        address = 0x10_0000 + sum(self.allocated)
        self.allocated.append((size + 255) // 256 * 256)
        return fake(address, shape, "<f4")

    def current_stream(self) -> int:
        return 7

    def device_of(self, address: int) -> int | None:
        return self.index

    def from_dlpack(self, array: Any) -> Any:
        raise AssertionError(array)


LAST: list[FakeGpu] = []


def fake(address: int, shape: tuple[int, ...], typestr: str) -> Any:
    interface = {"shape": shape, "typestr": typestr, "data": (address, False), "strides": None, "version": 3}
    return SimpleNamespace(__cuda_array_interface__=interface, data=SimpleNamespace(ptr=address))


class RefusedError(Exception):
    """What the driver says, over two lines."""


def refusing_cupy() -> Any:
    """CuPy on a device of sm_90 whose driver takes no PTX."""

    def load(_text: bytes) -> None:
        raise RefusedError("CUDA_ERROR_UNSUPPORTED_PTX_VERSION:\nan unsupported toolchain")

    class Device(contextlib.nullcontext[None]):
        id, compute_capability = 0, "90"
        attributes: ClassVar[dict[str, int]] = {"MultiProcessorCount": 132, "MaxSharedMemoryPerBlockOptin": 227 * 1024}

    cuda = SimpleNamespace(
        runtime=SimpleNamespace(getDeviceCount=lambda: 1, driverGetVersion=lambda: 12040),
        driver=SimpleNamespace(CUDADriverError=RefusedError),
        function=SimpleNamespace(Module=lambda: SimpleNamespace(load=load)),
        Device=lambda _index: Device(),
    )
    return SimpleNamespace(cuda=cuda)


def test_a_driver_that_refuses_the_text_is_named_with_both_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_module, "_cupy", refusing_cupy)
    line = r"^the driver, for CUDA 12\.4, refuses PTX \d\.\d for sm_90: CUDA_ERROR_UNSUPPORTED_PTX_VERSION: an unsupp"
    with pytest.raises(DeviceUnavailableError, match=line) as caught:
        gpu_module.Gpu().load(("splitk_reduce_d256",))
    assert "\n" not in str(caught.value)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_module, "Gpu", FakeGpu)


def arguments(rows: int) -> tuple[Any, Any, Any]:
    q = fake(0x7000_0000, (16, 256), "<f4")
    return q, fake(0x7100_0000, (rows, 4, 256), "<f2"), fake(0x7200_0000, (rows, 4, 256), "<f2")


@pytest.mark.usefixtures("recorded")
def test_a_call_queues_partial_then_reduce_and_nothing_else() -> None:
    decode = SplitKDecode(16, 4, 8192)
    gpu = LAST[-1]
    allocated, loaded = list(gpu.allocated), list(gpu.loaded)
    out = fake(0x7300_0000, (16, 256), "<f4")
    assert decode(*arguments(5000), 4097, out=out, stream=0x99) is out
    assert (gpu.allocated, gpu.loaded) == (allocated, loaded)
    plan = make_plan(kv_len=4097, num_q_heads=16, num_kv_heads=4, profile="h200")
    (partial, grid, block, args, stream), (reduce, *reduce_shape, reduce_args, reduce_stream) = gpu.launches
    assert (partial, grid, block) == (plan.partial_entry, *plan.partial_launch)
    assert (reduce, *reduce_shape) == (plan.reduce_entry, *plan.reduce_launch)
    assert stream == reduce_stream == 0x99
    assert [int(a) for a in args[:3]] == [0x7000_0000, 0x7100_0000, 0x7200_0000]
    assert args[3:6] == reduce_args[:3]
    assert [int(a) for a in args[6:9]] == [4097, plan.chunk, plan.n_splits]
    assert [int(a) for a in args[9:]] == [256, 1024, 256, 1024, 256]
    assert [int(a) for a in reduce_args[3:]] == [0x7300_0000, plan.n_splits, 256]


@pytest.mark.usefixtures("recorded")
def test_arguments_have_the_types_of_the_parameters() -> None:
    decode, naive = SplitKDecode(16, 4, 100), NaiveDecode(16, 4, 100)
    for made, gpu in ((decode, LAST[-2]), (naive, LAST[-1])):
        made(*arguments(100), 100)
        for entry, _, _, args, _ in gpu.launches:
            params = py_builder_kernel.build_module([entry]).entries[entry].params
            assert [a.dtype.itemsize * 8 for a in args] == [int(dtype[1:]) for _, dtype in params]


@pytest.mark.usefixtures("recorded")
def test_the_scratch_is_the_planners_and_is_allocated_once() -> None:
    decode = SplitKDecode(24, 4, 262_144, storage="f32", policy="note", profile="rtx4090")
    layout = scratch_layout(kv_capacity=262_144, num_q_heads=24, num_kv_heads=4, policy="note", profile="rtx4090")
    assert LAST[-1].allocated == [24 * 256 * 4, (layout.total_bytes + 255) // 256 * 256]
    assert decode.kv_capacity == 262_144


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("capacity", [1, 16_384, 70_000, 262_144])
@pytest.mark.parametrize(("heads", "storage"), [(16, "f16"), (24, "f16"), (32, "f32")])
def test_every_kernel_that_a_call_can_ask_for_is_loaded_beforehand(capacity: int, heads: int, storage: str) -> None:
    SplitKDecode(heads, 4, capacity, storage=storage)
    (loaded,) = LAST[-1].loaded
    lengths = {1, capacity, *(n for step in range(1, capacity, 1021) for n in (step, min(capacity, step + 1)))}
    for kv_len in lengths:
        plan = make_plan(kv_len=kv_len, num_q_heads=heads, num_kv_heads=4, storage=storage, profile="h200")
        assert {plan.partial_entry, plan.reduce_entry} <= set(loaded)
    assert len(loaded) == len(set(loaded))


@pytest.mark.usefixtures("recorded")
def test_without_out_the_object_returns_its_own_array_each_time() -> None:
    decode = SplitKDecode(16, 4, 100)
    first = decode(*arguments(100), 5)
    assert decode(*arguments(100), 6) is first
    assert LAST[-1].launches[0][-1] == 7  # CuPy's current stream


@pytest.mark.usefixtures("recorded")
def test_a_refused_call_launches_nothing() -> None:
    decode = SplitKDecode(16, 4, 100)
    q, k, v = arguments(100)
    for bad in ((q, k, v, 0), (q, k, v, 101), (k, k, v, 5), (q, q, v, 5), (q, k, None, 5), (q, k, v, "5")):
        with pytest.raises((ArgumentTypeError, ArgumentValueError)):
            decode(*bad)
    assert LAST[-1].launches == []


@pytest.mark.usefixtures("recorded")
def test_the_naive_object_launches_one_kernel() -> None:
    NaiveDecode(16, 4, 100)(*arguments(100), 37)
    ((entry, grid, block, args, _),) = LAST[-1].launches
    assert (entry, grid, block) == ("naive_decode_f16_d256", (16, 1, 1), (256, 1, 1))
    assert [int(a) for a in args[4:]] == [37, 4, 256, 1024, 256, 1024, 256, 256]


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((16, 3, 4096), {}, "num_q_heads is 16"),
        ((72, 8, 4096), {}, "num_q_heads is 72"),
        ((16, 4, 0), {}, "kv_capacity is 0; allowed: 1 to 2147483647"),
        ((16, 4, 1 << 31), {}, "kv_capacity is 2147483648"),
        ((0, 4, 4096), {}, "num_q_heads is 0; allowed: 1 to 65535"),
        ((16, 4, 4096), {"head_dim": 72}, "head_dim is 72"),
        ((16, 4, 4096), {"storage": "bf16"}, "bf16"),
    ],
)
@pytest.mark.parametrize("kind", [SplitKDecode, NaiveDecode])
def test_what_has_no_kernel_is_refused_before_a_device_is_looked_for(
    kind: type[SplitKDecode | NaiveDecode], arguments: tuple[int, int, int], keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        kind(*arguments, **keywords)
    assert "\n" not in str(caught.value)


def test_a_policy_or_profile_that_does_not_exist_is_refused() -> None:
    with pytest.raises(PlanError, match="policy"):
        SplitKDecode(16, 4, 4096, policy="many")
    with pytest.raises(PlanError, match="profile"):
        SplitKDecode(16, 4, 4096, profile="h300")


@pytest.mark.parametrize(
    ("arch", "sms", "name"),
    [(90, 132, "h200"), (121, 48, "gb10"), (89, 128, "rtx4090"), (90, 114, "generic"), (100, 148, "generic")],
)
def test_the_profile_is_the_devices_or_generic(arch: int, sms: int, name: str) -> None:
    assert choose_profile(arch, sms).name == name


def test_importing_needs_no_cupy_and_using_it_says_so_in_one_line() -> None:
    program = (
        "import sys; sys.modules['cupy'] = None\n"
        "import py_builder_kernel as b\n"
        "assert b.emit('splitk_reduce_d256')\n"
        "try: b.SplitKDecode(16, 4, 4096)\n"
        "except b.DeviceUnavailableError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "CuPy is not installed: install cupy-cuda12x or cupy-cuda13x\n"
    assert done.stderr == ""


def test_an_absent_driver_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoDriverError(Exception):
        pass

    def count() -> int:
        raise NoDriverError("cudaErrorInsufficientDriver")

    runtime = SimpleNamespace(getDeviceCount=count, CUDARuntimeError=NoDriverError)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    with pytest.raises(DeviceUnavailableError, match=r"^no usable CUDA driver: cudaErrorInsufficientDriver$"):
        NaiveDecode(16, 4, 4096)


@pytest.mark.parametrize(
    ("device", "message"),
    [
        (-1, "device is -1; allowed: 0 to 1"),
        (2, "device is 2; allowed: 0 to 1"),
        ("0", "device is '0'; allowed: a whole number from 0 to 1"),
        (True, "device is True; allowed: a whole number from 0 to 1"),
    ],
)
def test_a_device_that_is_not_there_is_refused(device: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = SimpleNamespace(getDeviceCount=lambda: 2, CUDARuntimeError=RuntimeError)
    monkeypatch.setattr(gpu_module, "_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as caught:
        gpu_module.Gpu(device)
    assert str(caught.value) == message

"""The driver whose devices are PTX machines, from the side of a program that uses them: contexts, memory, streams."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rust_kernel import twin
from rust_kernel.decode import SplitKDecode

HEAD_DIM = 256
HOST_TYPES = {"f16": np.float16, "f32": np.float32}


@dataclass
class Array:
    """An array in device memory."""

    address: int
    shape: tuple[int, ...]
    typestr: str
    strides: tuple[int, ...] | None = None
    read_only: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        data = (self.address, self.read_only)
        return {"shape": self.shape, "typestr": self.typestr, "data": data, "strides": self.strides, "version": 3} | (
            self.extra
        )


_COUNTED = ("allocations", "frees", "loads", "unloads", "launches", "retained", "programmatic")


class _Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in _COUNTED]


class Driver:
    """Calls of the driver that a test makes itself."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so")
        assert hasattr(self.library, "machineDriverCounts"), "this is not the driver of the tests"
        assert self.library.cuInit(0) == 0

    def _handle(self, function: str, *arguments: Any) -> int:
        handle = ctypes.c_size_t()
        code = getattr(self.library, function)(ctypes.byref(handle), *arguments)
        assert code == 0, f"{function}: {code}"
        return handle.value

    def primary(self, device: int) -> int:
        """The primary context of a device."""
        return self._handle("cuDevicePrimaryCtxRetain", ctypes.c_int(device))

    def create_context(self, device: int) -> int:
        """A context besides the primary one, not current."""
        context = self._handle("cuCtxCreate_v2", 0, ctypes.c_int(device))
        self._handle("cuCtxPopCurrent_v2")
        return context

    def set_current(self, context: int) -> None:
        """Makes a context current; 0 makes none current."""
        assert self.library.cuCtxSetCurrent(ctypes.c_size_t(context)) == 0

    def current(self) -> int:
        """The current context."""
        return self._handle("cuCtxGetCurrent")

    def stream(self) -> int:
        """A stream of the current context."""
        return self._handle("cuStreamCreate", 0)

    def kernel(self, text: str, entry: str) -> int:
        """A kernel of a module that stays loaded in the current context."""
        module = self._handle("cuModuleLoadDataEx", text.encode(), 0, None, None)
        return self._handle("cuModuleGetFunction", ctypes.c_size_t(module), entry.encode())

    def upload(self, values: npt.NDArray[Any]) -> Array:
        """A dense array on the current context's device."""
        values = np.ascontiguousarray(values)
        address = self._handle("cuMemAlloc_v2", ctypes.c_size_t(values.nbytes))
        source = values.ctypes.data_as(ctypes.c_void_p)
        assert self.library.cuMemcpyHtoD_v2(ctypes.c_uint64(address), source, ctypes.c_size_t(values.nbytes)) == 0
        return Array(address, values.shape, values.dtype.str)

    def download(self, array: Any) -> npt.NDArray[Any]:
        """The values of a dense array."""
        interface = array.__cuda_array_interface__
        values = np.empty(interface["shape"], interface["typestr"])
        target = values.ctypes.data_as(ctypes.c_void_p)
        address = ctypes.c_uint64(interface["data"][0])
        assert self.library.cuMemcpyDtoH_v2(target, address, ctypes.c_size_t(values.nbytes)) == 0
        return values

    def counts(self) -> dict[str, int]:
        """What the process has done."""
        counts = _Counts()
        assert self.library.machineDriverCounts(ctypes.byref(counts)) == 0
        return {name: getattr(counts, name) for name in _COUNTED}


@dataclass(frozen=True)
class Case:
    """One call's arrays, on the host and on the device."""

    kv_len: int
    host: tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
    device: tuple[Array, Array, Array]
    out: Array

    def expected(self, decode: SplitKDecode) -> npt.NDArray[np.float32]:
        """What the twin computes."""
        return twin.decode(*self.host, decode.plan(self.kv_len))


class Bench:
    """Cases, and whether an object computes them."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver

    def case(self, kv_len: int, heads: int = 8, kv_heads: int = 2, storage: str = "f16", seed: int = 1) -> Case:
        """Normal numbers; `out` is poisoned with NaN."""
        rng = np.random.default_rng([seed, kv_len, heads])
        q = rng.standard_normal((heads, HEAD_DIM), dtype=np.float32)
        k, v = (
            rng.standard_normal((kv_len, kv_heads, HEAD_DIM), dtype=np.float32).astype(HOST_TYPES[storage])
            for _ in range(2)
        )
        upload = self.driver.upload
        poison = upload(np.full((heads, HEAD_DIM), np.nan, dtype=np.float32))
        return Case(kv_len, (q, k, v), (upload(q), upload(k), upload(v)), poison)

    def call(self, decode: Any, arrays: tuple[Any, Any, Any], kv_len: Any, **keywords: Any) -> Any:
        """Calls the object; types are what the tests get wrong on purpose."""
        return decode(*arrays, kv_len, **keywords)

    def require_bits(self, decode: SplitKDecode, case: Case, **keywords: Any) -> None:
        """Calls the object and compares its result with the twin's."""
        out = decode(*case.device, case.kv_len, out=case.out, **keywords)
        assert out is case.out
        self.require_equal(out, case.expected(decode))

    def require_equal(self, out: Any, wanted: npt.NDArray[np.float32]) -> None:
        """Compares 32 bits a value."""
        np.testing.assert_array_equal(self.driver.download(out).view(np.uint32), wanted.view(np.uint32))


@pytest.fixture(scope="session")
def driver() -> Driver:
    """The process's driver."""
    return Driver()


@pytest.fixture
def context(driver: Driver) -> Iterator[int]:
    """The first device's primary context, current during the test."""
    primary = driver.primary(0)
    driver.set_current(primary)
    yield primary
    driver.set_current(0)
    driver.library.cuDevicePrimaryCtxRelease_v2(0)


@pytest.fixture
def bench(driver: Driver, context: int) -> Bench:
    """Cases on the first device."""
    return Bench(driver)

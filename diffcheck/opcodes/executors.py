"""Where a probe runs: the PTX machine, or a CUDA device through CuPy. Both take text and operands and give bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from diffcheck.opcodes.probe import FILL, Probe, group_text


class ProbeRefusedError(Exception):
    """The text was not accepted; the executor can go on."""


class ProbeFaultError(Exception):
    """The launch ended with an error, after which a device's context is of no more use."""


class ProbeExecutor(Protocol):
    """Runs probes, one at a time."""

    def run(self, probe: Probe, siblings: tuple[Probe, ...]) -> bytes:
        """Return the output memory. `siblings` are the members of the probe's file, itself included."""


Factory = Callable[[], ProbeExecutor]


class MachineProbes:
    """Runs probes in the PTX machine; forms without an exact definition, which it refuses by default, on request."""

    def run(self, probe: Probe, siblings: tuple[Probe, ...]) -> bytes:
        """Run one probe; see `ProbeExecutor.run`. Raises the module's errors as this one's."""
        from rust_kernel import ptx

        memory = ptx.Memory()
        source = memory.alloc(probe.inputs or bytes(16), name="inputs", writable=False)
        filled = bytes([FILL]) * (probe.outputs.stride * probe.rows)
        result = memory.alloc(filled, name="outputs")
        arguments: list[int | bytes] = [source, result, *([probe.body.parameter] if probe.body.parameter else [])]
        block = probe.body.block
        try:
            module = _machine_module(siblings[0].group, siblings, strict=probe.bound.form.refused is None)
            ptx.launch(module, probe.entry, memory, grid=probe.rows // block, block=block, args=arguments, threads=1)
        except ptx.PtxError as error:
            raise ProbeRefusedError(_line(error)) from error
        except ptx.PtxFault as error:
            raise ProbeFaultError(_line(error)) from error
        return bytes(memory.read(result, np.uint8, len(filled)))


@lru_cache(maxsize=64)
def _machine_module(group: str, siblings: tuple[Probe, ...], strict: bool) -> Any:
    from rust_kernel import ptx

    chosen = [probe for probe in siblings if not strict or probe.bound.form.refused is None]
    return ptx.PtxModule(group_text(chosen), name=f"{group}.ptx", strict=strict)


class GpuProbes:
    """Runs probes on the current CUDA device. A file that the driver refuses is tried again form by form."""

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy
        cupy.cuda.Device().use()

    def run(self, probe: Probe, siblings: tuple[Probe, ...]) -> bytes:
        """Run one probe; see `ProbeExecutor.run`."""
        cupy = self._cupy
        module = self._module(probe, siblings)
        try:
            function = module.get_function(probe.entry)
            source = cupy.asarray(np.frombuffer(probe.inputs or bytes(16), np.uint8))
            # Copied, not filled: CuPy would compile a kernel to fill it.
            result = cupy.asarray(np.full(probe.outputs.stride * probe.rows, FILL, np.uint8))
            arguments: list[Any] = [np.uint64(source.data.ptr), np.uint64(result.data.ptr)]
            if probe.body.parameter:
                arguments.append(np.frombuffer(probe.body.parameter, f"V{len(probe.body.parameter)}"))
            block = probe.body.block
            function((probe.rows // block,), (block,), tuple(arguments))
            cupy.cuda.get_current_stream().synchronize()
            return bytes(result.get())
        except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
            raise ProbeFaultError(_line(error)) from error

    def _module(self, probe: Probe, siblings: tuple[Probe, ...]) -> Any:
        try:
            return _load(group_text(siblings))
        except self._cupy.cuda.driver.CUDADriverError:
            pass  # which of the siblings is at fault is not known: this one alone
        try:
            return _load(probe.module)
        except self._cupy.cuda.driver.CUDADriverError as error:
            raise ProbeRefusedError(_line(error)) from error


@lru_cache(maxsize=32)
def _load(text: str) -> Any:
    import cupy

    module = cupy.cuda.function.Module()
    module.load(text.encode())
    return module


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__

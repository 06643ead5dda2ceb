"""What a peer is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from diffcheck.ab.calls import common_calls
from diffcheck.generators import Inputs


class UnavailableError(Exception):
    """A peer that cannot run here or on this row; the text says why."""

    def __init__(self, reason: str, version: str | None = None) -> None:
        super().__init__(reason)
        self.version = version


class Ready(Protocol):
    """A peer with its inputs on the device."""

    version: str

    def result(self) -> npt.NDArray[np.float32]:
        """Return one call's output, `[num_q_heads, head_dim]`."""
        ...

    def replay_us(self) -> float:
        """Replay a graph of calls over the copies of K and V once; return microseconds a call."""
        ...


class Peer(Protocol):
    """Another implementation."""

    @property
    def name(self) -> str:
        """Its name in experiments."""
        ...

    def prepare(self, given: Given) -> Ready:
        """Make a row's inputs ready on the device. Raises `UnavailableError`."""
        ...


@dataclass(frozen=True)
class TorchInputs:
    """Tensors on the device: q `[num_q_heads, head_dim]`, copies of K and V `[kv_len, num_kv_heads, head_dim]`."""

    q: Any
    kv: tuple[tuple[Any, Any], ...]


@dataclass
class Given:
    """A row's inputs, for all peers: K and V are to be on the device `sets` times."""

    inputs: Inputs
    sets: int

    @cached_property
    def torch(self) -> TorchInputs:
        """What `torch_inputs` makes of them, once: on a small device there is no room for copies of each peer's own."""
        return torch_inputs(self.inputs, self.sets)


def torch_inputs(inputs: Inputs, sets: int) -> TorchInputs:
    """Copy inputs to the device through torch, K and V in f16, q rounded to f16: peers take no mixed types.

    Raises `UnavailableError` without torch and for a row of another storage.
    """
    torch = import_torch()
    if inputs.storage != "f16":
        raise UnavailableError(f"takes f16; the row is {inputs.storage}", str(torch.__version__))
    q = torch.from_numpy(np.ascontiguousarray(inputs.q.view)).to("cuda").half()
    first = tuple(
        torch.from_numpy(np.ascontiguousarray(array.view[: inputs.case.kv_len])).to("cuda")
        for array in (inputs.k, inputs.v)
    )
    copies = [first, *(tuple(tensor.clone() for tensor in first) for _ in range(sets - 1))]
    return TorchInputs(q, tuple((k, v) for k, v in copies))


def import_torch() -> Any:
    """Return torch. Raises `UnavailableError` when it is not installed or sees no GPU."""
    try:
        import torch
    except ImportError:
        raise UnavailableError("torch is not installed") from None
    if not torch.cuda.is_available():
        raise UnavailableError("torch sees no GPU", str(torch.__version__))
    return torch


class TorchGraph:
    """A CUDA graph of calls, captured by torch."""

    def __init__(self, call: Any, sets: int) -> None:
        torch = import_torch()
        self._torch = torch
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for index in range(min(sets, 3)):
                call(index)
        stream.synchronize()
        trial, self._stream = self._capture(call, sets), stream
        self._graph, self.calls = trial, sets
        self.replay_us()
        self.calls = common_calls(self.replay_us(), sets, 1)
        self._graph = self._capture(call, self.calls)

    def _capture(self, call: Any, calls: int) -> Any:
        graph = self._torch.cuda.CUDAGraph()
        with self._torch.cuda.graph(graph):
            for index in range(calls):
                call(index)
        return graph

    def replay_us(self) -> float:
        """Replay once; return microseconds a call."""
        events = self._torch.cuda.Event
        start, end = events(enable_timing=True), events(enable_timing=True)
        with self._torch.cuda.stream(self._stream):
            start.record()
            self._graph.replay()
            end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) * 1000.0 / self.calls

"""FlashInfer's decode of a single request."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from diffcheck.ab.peers.base import Given, TorchGraph, TorchInputs, UnavailableError


class FlashInfer:
    """`single_decode_with_kv_cache` with tensor cores, its fastest for groups of heads."""

    name = "flashinfer"

    def prepare(self, given: Given) -> _Ready:
        """Copy the inputs and capture a graph; see `Peer`."""
        try:
            import flashinfer
        except ImportError:
            raise UnavailableError("flashinfer is not installed") from None
        try:
            inputs = given.torch
        except UnavailableError as error:
            # What torch's inputs name is torch's version.
            raise UnavailableError(str(error), str(flashinfer.__version__)) from None
        return _Ready(flashinfer, inputs)


class _Ready:
    def __init__(self, library: Any, inputs: TorchInputs) -> None:
        self.version = str(library.__version__)
        self._library, self._inputs = library, inputs
        self._graph = TorchGraph(self._call, len(inputs.kv))

    def _call(self, index: int) -> Any:
        k, v = self._inputs.kv[index % len(self._inputs.kv)]
        return self._library.single_decode_with_kv_cache(self._inputs.q, k, v, kv_layout="NHD", use_tensor_cores=True)

    def result(self) -> npt.NDArray[np.float32]:
        """Return one call's output; see `Ready`."""
        out: npt.NDArray[np.float32] = self._call(0).float().cpu().numpy()
        return out

    def replay_us(self) -> float:
        """Replay the graph once; see `Ready`."""
        return self._graph.replay_us()

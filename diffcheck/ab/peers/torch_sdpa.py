"""torch's scaled dot product attention, by its flash and its cuDNN back end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from diffcheck.ab.peers.base import Given, TorchGraph, TorchInputs, UnavailableError, import_torch

_BACK_ENDS = {"torch-flash": "FLASH_ATTENTION", "torch-cudnn": "CUDNN_ATTENTION"}


@dataclass(frozen=True)
class TorchSdpa:
    """One back end; `name` is `torch-flash` or `torch-cudnn`."""

    name: str

    def prepare(self, given: Given) -> _Ready:
        """Copy the inputs and capture a graph; see `Peer`."""
        torch = import_torch()
        try:
            from torch.nn.attention import SDPBackend
        except ImportError:
            raise UnavailableError("this torch has no choice of back ends", str(torch.__version__)) from None
        back_end = getattr(SDPBackend, _BACK_ENDS[self.name], None)
        if back_end is None:
            raise UnavailableError(f"this torch has no {_BACK_ENDS[self.name]}", str(torch.__version__))
        return _Ready(given.torch, back_end)


class _Ready:
    def __init__(self, inputs: TorchInputs, back_end: Any) -> None:
        torch = import_torch()
        self.version = str(torch.__version__)
        self._inputs, self._back_end = inputs, back_end
        self._graph = TorchGraph(self._call, len(inputs.kv))

    def _call(self, index: int) -> Any:
        from torch.nn.attention import sdpa_kernel
        from torch.nn.functional import scaled_dot_product_attention

        k, v = self._inputs.kv[index % len(self._inputs.kv)]
        q = self._inputs.q[None, :, None, :]
        with sdpa_kernel(self._back_end):
            return scaled_dot_product_attention(q, k.transpose(0, 1)[None], v.transpose(0, 1)[None], enable_gqa=True)

    def result(self) -> npt.NDArray[np.float32]:
        """Return one call's output; see `Ready`."""
        out: npt.NDArray[np.float32] = self._call(0)[0, :, 0, :].float().cpu().numpy()
        return out

    def replay_us(self) -> float:
        """Replay the graph once; see `Ready`."""
        return self._graph.replay_us()

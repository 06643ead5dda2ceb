"""Which stream a call is queued on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from py_builder_kernel.errors import ArgumentTypeError, ArgumentValueError


def stream_handle(stream: Any, array: Any, device: int, current: Callable[[], int]) -> int:
    """The CUDA handle of the stream that a call was given.

    `stream` is a handle (an int), an object with `__cuda_stream__`, or None: then the current stream of the library
    that `array` is from, which is torch's current stream of the device for a torch tensor, and otherwise CuPy's
    (`current`).
    """
    if stream is None:
        torch = sys.modules.get("torch") if type(array).__module__.partition(".")[0] == "torch" else None
        return int(torch.cuda.current_stream(device).cuda_stream) if torch is not None else current()
    if isinstance(stream, int) and not isinstance(stream, bool):
        if not 0 <= stream < 1 << 64:
            raise ArgumentValueError("stream", stream, "a CUDA stream handle, 0 or greater")
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    # torch before 2.9 has streams without the protocol.
    if protocol is None and hasattr(stream, "cuda_stream"):
        return int(stream.cuda_stream)
    if protocol is None:
        raise ArgumentTypeError(
            "stream", f"a {type(stream).__name__}", "None, an int or an object with __cuda_stream__"
        )
    version, handle = protocol() if callable(protocol) else protocol
    if version != 0:
        raise ArgumentValueError("stream.__cuda_stream__ version", version, "0")
    return int(handle)

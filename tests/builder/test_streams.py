"""Which stream a call is queued on."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from py_builder_kernel import ArgumentTypeError, ArgumentValueError
from py_builder_kernel.streams import stream_handle


class MethodStream:
    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, 0x51)


class LaterStream:
    def __cuda_stream__(self) -> tuple[int, int]:
        return (1, 0x51)


def current() -> int:
    return 0xC0


def handle(stream: object, array: object = None) -> int:
    return stream_handle(stream, array, 0, current)


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (0, 0),
        (0x1234, 0x1234),
        (MethodStream(), 0x51),
        (SimpleNamespace(__cuda_stream__=(0, 0x52)), 0x52),
        (SimpleNamespace(cuda_stream=0x53), 0x53),
        (None, 0xC0),
    ],
)
def test_streams_that_are_understood(stream: object, expected: int) -> None:
    assert handle(stream) == expected


def test_the_default_for_a_torch_tensor_is_torchs_current_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = ModuleType("torch")
    torch.cuda = SimpleNamespace(current_stream=lambda device: SimpleNamespace(cuda_stream=0x70 + device))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    tensor = type("Tensor", (), {"__module__": "torch"})()
    assert stream_handle(None, tensor, 3, current) == 0x73
    assert stream_handle(5, tensor, 3, current) == 5
    assert stream_handle(None, object(), 3, current) == 0xC0


@pytest.mark.parametrize("stream", ["1", 1.0, True, object()])
def test_what_is_no_stream_is_a_type_error(stream: object) -> None:
    with pytest.raises(ArgumentTypeError, match=r"stream is a .*; allowed: None, an int or an object with"):
        handle(stream)


def test_a_negative_handle_and_a_later_protocol_are_value_errors() -> None:
    with pytest.raises(ArgumentValueError, match="stream is -1; allowed: a CUDA stream handle"):
        handle(-1)
    with pytest.raises(ArgumentValueError, match="version is 1; allowed: 0"):
        handle(LaterStream())

"""Contexts, devices and streams: where an object lives, and what a call asks of the thread that makes it."""

from __future__ import annotations

import sys
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rust_kernel.decode import ContextError, SplitKDecode


def test_without_a_context_a_device_has_to_be_named(driver: Any) -> None:
    driver.set_current(0)
    with pytest.raises(ContextError, match=r"^no CUDA context is current on this thread; allowed: a current one, or a"):
        SplitKDecode(8, 2, 100)
    decode = SplitKDecode(8, 2, 100, device=1)
    assert decode.device == 1
    assert driver.current() == 0


def test_a_device_that_does_not_exist_is_refused(driver: Any, context: int) -> None:
    with pytest.raises(ValueError, match=r"^device is 2; allowed: 0 to 1$"):
        SplitKDecode(8, 2, 100, device=2)
    with pytest.raises(ValueError, match=r"^device is -1; allowed: "):
        SplitKDecode(8, 2, 100, device=-1)


def test_the_objects_context_has_to_be_current(driver: Any, bench: Any, context: int) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    other = driver.primary(1)
    launches = driver.counts()["launches"]
    driver.set_current(0)
    with pytest.raises(
        ContextError, match=r"^no CUDA context is current on this thread; allowed: the decoder's, of dev"
    ):
        bench.call(decode, case.device, 100, out=case.out)
    driver.set_current(other)
    line = "^the current CUDA context is another one, of device 1; allowed: the decoder's, of device 0$"
    with pytest.raises(ContextError, match=line):
        bench.call(decode, case.device, 100, out=case.out)
    assert driver.current() == other
    assert driver.counts()["launches"] == launches
    driver.set_current(context)
    bench.require_bits(decode, case)


def test_a_second_context_of_the_device_is_another_one(driver: Any, bench: Any, context: int) -> None:
    made = driver.create_context(0)
    driver.set_current(made)
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    bench.require_bits(decode, case)
    driver.set_current(context)
    with pytest.raises(ContextError, match=r"another one, of device 0; allowed: the decoder's, of device 0$"):
        bench.call(decode, case.device, 100, out=case.out)
    # Named, the current context is taken where it is one of the device, and else the primary one.
    driver.set_current(made)
    named = SplitKDecode(8, 2, 100, device=0)
    bench.require_bits(named, case)
    driver.set_current(context)
    bench.require_bits(SplitKDecode(8, 2, 100, device=0), case)


def test_a_thread_without_a_context_is_told(bench: Any) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    caught: list[BaseException] = []

    def work() -> None:
        try:
            bench.call(decode, case.device, 100, out=case.out)
        except ContextError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(caught) == 1
    bench.require_bits(decode, case)


def test_every_way_to_name_a_stream(driver: Any, bench: Any) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    handle = driver.stream()
    protocol = type("Stream", (), {"__cuda_stream__": lambda self: (0, handle)})()
    for stream in (
        None,
        0,
        handle,
        protocol,
        SimpleNamespace(__cuda_stream__=(0, handle)),
        SimpleNamespace(cuda_stream=handle),
    ):
        bench.require_bits(decode, case, stream=stream)


@pytest.mark.parametrize(
    ("stream", "error", "line"),
    [
        ("1", TypeError, r"^stream is a str; allowed: None, an int or an object with __cuda_stream__$"),
        (1.0, TypeError, r"^stream is a float; allowed: None"),
        (True, TypeError, r"^stream is a bool; allowed: None"),
        (-1, ValueError, r"^stream is -1; allowed: a CUDA stream handle"),
        (1 << 64, ValueError, r"^stream is 18446744073709551616; allowed: a CUDA stream handle"),
        (SimpleNamespace(__cuda_stream__=(1, 5)), ValueError, r"version is 1; allowed: 0$"),
        (SimpleNamespace(__cuda_stream__=5), TypeError, r"^stream.__cuda_stream__ is int; allowed: a pair"),
    ],
)
def test_what_is_no_stream(bench: Any, stream: object, error: type[Exception], line: str) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    with pytest.raises(error, match=line):
        bench.call(decode, case.device, 100, out=case.out, stream=stream)
    bench.require_bits(decode, case)


def test_a_stream_of_another_context_is_refused(driver: Any, bench: Any, context: int) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    own = driver.stream()
    for other in (driver.primary(1), driver.create_context(0)):
        driver.set_current(other)
        foreign = driver.stream()
        driver.set_current(context)
        line = rf"^stream is {foreign:#x}, of another context; allowed: a stream of the decoder's context, of device 0$"
        with pytest.raises(ValueError, match=line):
            bench.call(decode, case.device, 100, out=case.out, stream=foreign)
        bench.require_bits(decode, case, stream=own)


def test_the_default_stream_is_the_array_librarys(
    driver: Any, bench: Any, context: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream of another context is named in the refusal: so it is seen which one a call is queued on."""
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    driver.set_current(driver.primary(1))
    torchs, cupys = driver.stream(), driver.stream()
    driver.set_current(context)
    torch, cupy = ModuleType("torch"), ModuleType("cupy")
    asked: list[int] = []

    def current(device: int) -> Any:
        asked.append(device)
        return SimpleNamespace(cuda_stream=torchs, ptr=cupys)

    torch.cuda = SimpleNamespace(current_stream=current)  # type: ignore[attr-defined]
    cupy.cuda = SimpleNamespace(get_current_stream=current)  # type: ignore[attr-defined]
    tensor_type = type("Tensor", (type(case.device[0]),), {"__module__": "torch"})
    given = case.device[0]
    tensor = tensor_type(given.address, given.shape, given.typestr)
    bench.require_bits(decode, case)  # neither is imported: the legacy default stream
    monkeypatch.setitem(sys.modules, "torch", torch)
    bench.require_bits(decode, case)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for q, stream in ((tensor, torchs), (given, cupys)):
        with pytest.raises(ValueError, match=f"^stream is {stream:#x}, of another context"):
            bench.call(decode, (q, *case.device[1:]), 100, out=case.out)
        bench.call(decode, (q, *case.device[1:]), 100, out=case.out, stream=0)
        bench.require_equal(case.out, case.expected(decode))
    assert asked == [0, 0]
    monkeypatch.setitem(sys.modules, "cupy", None)
    bench.require_bits(decode, case)


def test_an_object_of_the_second_device_runs_there(driver: Any, bench: Any) -> None:
    decode = SplitKDecode(8, 2, 100, device=1)
    driver.set_current(driver.primary(1))
    bench.require_bits(decode, bench.case(100))

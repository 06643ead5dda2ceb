"""Programmatic launches: which kernels have one, what the driver is given, and what happens without cuda-bindings."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from diffcheck.arms import BuilderArm, OxideArm, Problem, TwinArm
from diffcheck.arms.launches import splitk_program
from diffcheck.cases import get_case
from diffcheck.doctor import device
from diffcheck.errors import MissingRequirementError
from diffcheck.executors import ExecutionError, programmatic
from diffcheck.executors.gpu import load_module, ready
from diffcheck.executors.machine import MachineExecutor
from diffcheck.executors.program import Program, Step
from diffcheck.executors.programmatic import waits
from diffcheck.parity.prepare import prepare
from tests import waiting

STEP = Step("reduce", (16, 8, 1), (256, 1, 1), 4096, (), programmatic=True)
GIVEN = (np.uint64(1 << 40), np.uint32(66), np.uint64(256))


class DriverError(Exception):
    """CuPy's error of a driver's code."""


class Recorded:
    """A driver whose structures are cuda-bindings' own, which writes down launches and answers with `code`."""

    def __init__(self, code: int = 0) -> None:
        from cuda.bindings import driver

        self.code = code
        self.launches: list[tuple[Any, ...]] = []
        self.structures = driver

    def __getattr__(self, name: str) -> Any:
        return getattr(self.structures, name)

    def cuLaunchKernelEx(self, config: Any, function: Any, params: Any, extra: int) -> tuple[int]:  # noqa: N802
        (attribute,) = config.attrs
        grid = (config.gridDimX, config.gridDimY, config.gridDimZ)
        block = (config.blockDimX, config.blockDimY, config.blockDimZ)
        allowed = (attribute.id.name, attribute.value.programmaticStreamSerializationAllowed, config.numAttrs)
        values = tuple(kind(value).value for value, kind in zip(*params, strict=True))
        sizes = tuple(np.dtype(kind).itemsize for kind in params[1])
        stream = int(config.hStream)
        self.launches.append((int(function), grid, block, config.sharedMemBytes, stream, allowed, values, sizes, extra))
        return (self.code,)


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """CuPy's current stream; CuPy itself sets attributes and nothing more."""
    current = SimpleNamespace(ptr=0x10)
    driver = SimpleNamespace(funcSetAttribute=lambda *_: None, CUDADriverError=DriverError)
    cuda = SimpleNamespace(driver=driver, get_current_stream=lambda: current)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    return current


def record(monkeypatch: pytest.MonkeyPatch, code: int = 0) -> Recorded:
    recorded = Recorded(code)
    monkeypatch.setattr(programmatic, "_driver", lambda: recorded)
    return recorded


def test_the_driver_gets_the_attribute_and_the_stream_of_the_moment(
    monkeypatch: pytest.MonkeyPatch, stream: SimpleNamespace
) -> None:
    recorded = record(monkeypatch)
    start = ready(SimpleNamespace(ptr=0x77), STEP)
    start(GIVEN)
    stream.ptr = 0x20
    start(GIVEN)
    allowed = ("CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION", 1, 1)
    shape = ((16, 8, 1), (256, 1, 1), 4096)
    rest = (allowed, (1 << 40, 66, 256), (8, 4, 8), 0)
    assert recorded.launches == [(0x77, *shape, 0x10, *rest), (0x77, *shape, 0x20, *rest)]


def test_a_refused_launch_raises_what_cupy_raises(monkeypatch: pytest.MonkeyPatch, stream: SimpleNamespace) -> None:
    record(monkeypatch, code=701)
    with pytest.raises(DriverError, match="701"):
        ready(SimpleNamespace(ptr=0x77), STEP)(GIVEN)


def test_a_plain_launch_is_cupys(monkeypatch: pytest.MonkeyPatch, stream: SimpleNamespace) -> None:
    recorded = record(monkeypatch)
    launched: list[tuple[Any, ...]] = []

    def function(*given: Any, shared_mem: int) -> None:
        launched.append((*given, shared_mem))

    ready(function, Step("reduce", (16, 8, 1), (256, 1, 1), 0, ()))(GIVEN)
    assert launched == [((16, 8, 1), (256, 1, 1), GIVEN, 0)]
    assert recorded.launches == []


def test_without_cuda_bindings_one_line_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, stream: SimpleNamespace
) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    programmatic._driver.cache_clear()
    with pytest.raises(MissingRequirementError, match=r"^cuda-bindings is not installed.*cuda12 and cuda13") as caught:
        ready(SimpleNamespace(ptr=0x77), STEP)
    assert "\n" not in str(caught.value)
    found = device.bindings()
    assert (found.state, found.need) == ("lacks", "gpu")


def test_doctor_names_the_version() -> None:
    assert device.bindings().detail == f"cuda-bindings {programmatic.bindings_version()}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("griddepcontrol.wait;", True),
        ("@%p1 griddepcontrol.wait;", True),
        ("griddepcontrol.launch_dependents;", False),
        ("// griddepcontrol.wait;", False),
        ("/* before\ngriddepcontrol.wait; */", False),
        ("", False),
    ],
)
def test_an_entry_waits_where_its_own_text_does(body: str, expected: bool) -> None:
    other = "griddepcontrol.wait;" if not expected else "ret;"
    entries = {"reduce_d256": other, "reduce": body, "reduce$0": other}
    text = "\n".join(f".visible .entry {name}(\n\t.param .u64 a\n)\n{{\n\t{one}\n}}" for name, one in entries.items())
    assert waits(text, "reduce") is expected
    assert waits(text, "reduce_d256") is (not expected)
    assert waits(text, "reduce$0") is (not expected)
    assert not waits(text, "partial")


def problem() -> Problem:
    name = "random-8x2-L65-f16-padded"
    return prepare(get_case(name), "h200", TwinArm(), threads=1).problem(name)


@pytest.mark.parametrize("waiting_kernels", [(), ("partial",), ("reduce",), ("partial", "reduce")])
def test_a_step_is_programmatic_where_its_kernel_waits(waiting_kernels: tuple[str, ...]) -> None:
    made = problem()
    entries = {"partial": made.plan.partial_entry, "reduce": made.plan.reduce_entry}
    ptx = "\n".join(
        f".visible .entry {entry}()\n{{\n\t{'griddepcontrol.wait;' if kind in waiting_kernels else ''}\n\tret;\n}}"
        for kind, entry in entries.items()
    )
    steps = splitk_program(made, ptx, 0, 0).steps
    assert [step.programmatic for step in steps] == [kind in waiting_kernels for kind in entries]


def test_before_sm_90_nothing_is_programmatic() -> None:
    assert not any(step.programmatic for step in BuilderArm().program(problem(), "sm_89").steps)


def with_waits(program: Program, waiting_kernels: tuple[str, ...]) -> Program:
    """Two decodes of the same problem whose kernels are programmatic, and wait at their start where they are named."""
    text = re.sub(r"^.*griddepcontrol.*\n", "", program.ptx, flags=re.MULTILINE)
    for entry in waiting_kernels:
        text, count = re.subn(rf"(\.entry {entry}\([^{{]*\{{\n)", r"\1    griddepcontrol.wait;\n", text)
        assert count == 1
    steps = tuple(replace(step, programmatic=True) for step in program.steps)
    return replace(program, ptx=text, steps=steps * 2)


@pytest.mark.parametrize("arm", [BuilderArm(), OxideArm()])
def test_the_machine_finds_a_missing_wait(arm: BuilderArm | OxideArm) -> None:
    made = problem()
    program = arm.program(made, "sm_90")
    partial, reduce = (step.entry for step in program.steps)
    machine = MachineExecutor()
    out = machine.run(with_waits(program, (partial, reduce))).out
    np.testing.assert_array_equal(out.view(np.uint32), TwinArm().compute(made).out.view(np.uint32))
    read_early = rf"race in {reduce},.* of `part_\w+`.* wrote, before griddepcontrol\.wait"
    with pytest.raises(ExecutionError, match=read_early):
        machine.run(with_waits(program, (partial,)))
    with pytest.raises(ExecutionError, match=rf"race in {partial},.* of `q`.* wrote, before griddepcontrol\.wait"):
        machine.run(with_waits(program, (reduce,)))


def touching(made: Problem, argument: int, body: str) -> Program:
    """The program of a problem whose partial kernel is `body`, run by one thread with an argument in `%rd`."""
    plan = made.plan
    params = ", ".join(f".param .u{32 if 6 <= number <= 8 else 64} a{number}" for number in range(14))
    merge = ", ".join(f".param .u{32 if number == 4 else 64} a{number}" for number in range(6))
    text = f""".version 8.8
.target sm_90
.address_size 64
.visible .entry {plan.partial_entry}({params})
{{ .reg .b32 %r; .reg .b64 %rd; ld.param.u64 %rd, [a{argument}]; {body} ret; }}
.visible .entry {plan.reduce_entry}({merge}) {{ ret; }}
"""
    program = splitk_program(made, text, 0, 0)
    return replace(program, steps=tuple(replace(step, grid=(1, 1, 1), block=(1, 1, 1)) for step in program.steps))


@pytest.mark.parametrize(
    ("argument", "name", "access"),
    [
        *((number, name, "ld.global.nc.u32 %r, [%rd];") for number, name in enumerate("qkv")),
        *((number, name, "st.global.u32 [%rd], 0;") for number, name in enumerate(("part_m", "part_s", "part_acc"), 3)),
    ],
)
def test_the_first_launch_of_a_program_waits_too(argument: int, name: str, access: str) -> None:
    """A kernel before it may still write q, K and V, and read the scratch."""
    made, machine, wait = problem(), MachineExecutor(), "griddepcontrol.wait;"
    machine.run(touching(made, argument, wait + access))
    did = "wrote" if argument < 3 else "read"
    with pytest.raises(ExecutionError, match=rf"of `{name}`\+0, which a launch before this one {did}, before griddep"):
        machine.run(touching(made, argument, access + wait))


@pytest.mark.gpu
@pytest.mark.parametrize("captured", [False, True])
def test_a_kernel_that_waits_sees_what_the_one_before_it_wrote(cupy: Any, captured: bool) -> None:
    """The first kernel lets the second start at once and then takes its time; each reads what the other left."""
    arch = int(cupy.cuda.Device().compute_capability)
    if arch < 90:
        pytest.skip(f"sm_{arch} has no griddepcontrol")
    words = cupy.zeros(waiting.WORDS, dtype=cupy.uint32)
    queue = _queue(int(words.data.ptr))
    if captured:
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            queue(50)
            graph = stream.end_capture()
        for _ in range(3):
            graph.launch(stream)
        stream.synchronize()
    else:
        queue(150)
    got: npt.NDArray[np.uint32] = words.get()
    np.testing.assert_array_equal(got, np.full(waiting.WORDS, 150, dtype=np.uint32))


def _queue(address: int) -> Callable[[int], None]:
    step = Step("add_one", waiting.GRID, waiting.BLOCK, 0, (), programmatic=True)
    start = ready(load_module(waiting.PTX).get_function(step.entry), step)

    def queue(times: int) -> None:
        for _ in range(times):
            start((np.uint64(address),))

    return queue

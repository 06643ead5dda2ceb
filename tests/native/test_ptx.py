"""The machine's bindings: modules, memory, launches, and what faults and bad input are told.

What each instruction does is tested in the crate; here one small kernel copies numbers.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rust_kernel.ptx import Memory, PtxError, PtxFault, PtxModule, launch

COPY = """
.version 7.0
.target sm_80
.address_size 64

.visible .entry copy(.param .u64 source, .param .u64 result, .param .u32 count, .param .f32 scale)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<6>;

    ld.param.u64 %rd1, [source];
    ld.param.u64 %rd2, [result];
    ld.param.u32 %r1, [count];
    ld.param.f32 %f1, [scale];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mad.lo.u32 %r5, %r3, %r4, %r2;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd3, %r5, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    mul.rn.f32 %f3, %f2, %f1;
    st.global.f32 [%rd5], %f3;
DONE:
    ret;
}
"""
FOREVER = """
.version 7.0
.target sm_80
.address_size 64

.visible .entry forever()
{
    .reg .b32 %r<2>;
    mov.u32 %r1, 0;
AGAIN:
    add.u32 %r1, %r1, 1;
    bra AGAIN;
}
"""
COUNT = 1000


def line_of(text: str, instruction: str) -> int:
    """The line that an instruction stands on, counted from 1."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if instruction in line)


class Copy:
    """The kernel over `COUNT` numbers, with everything that a test may want to get wrong."""

    def __init__(self, count: int = COUNT) -> None:
        self.module = PtxModule(COPY, name="copy.ptx")
        self.memory = Memory()
        self.values = np.arange(count, dtype=np.float32)
        self.source = self.memory.alloc(self.values, name="source", writable=False)
        self.result = self.memory.alloc_uninit(self.values.nbytes, name="result")
        self.options: dict[str, Any] = {"grid": -(-count // 128), "block": (128, 1, 1)}
        self.args: list[Any] = [self.source, self.result, count, 2.0]

    def run(self, **changes: Any) -> Any:
        return launch(self.module, "copy", self.memory, **{**self.options, "args": self.args, **changes})

    def fault(self) -> PtxFault:
        with pytest.raises(PtxFault) as raised:
            self.run()
        return raised.value


def test_a_module_tells_what_is_in_it() -> None:
    module = PtxModule(COPY, name="copy.ptx")
    assert (module.name, module.version, module.target, module.strict) == ("copy.ptx", (7, 0), "sm_80", True)
    (entry,) = module.entries
    assert (entry.name, entry.line) == ("copy", line_of(COPY, ".entry"))
    assert entry.params == [("source", "u64", 8), ("result", "u64", 8), ("count", "u32", 4), ("scale", "f32", 4)]
    assert (entry.shared_bytes, entry.uses_dynamic_shared, entry.local_bytes) == (0, False, 0)
    assert (entry.required_threads, entry.max_threads) == (None, None)
    assert entry.registers_64 >= 5
    assert entry.instructions == 17
    assert PtxModule(COPY.encode()).entries[0].params == entry.params


def test_a_launch_computes() -> None:
    copy = Copy()
    stats = copy.run()
    result = copy.memory.read(copy.result, np.float32, (COUNT,))
    assert np.array_equal(result, 2 * copy.values)
    assert (stats.blocks, stats.warps, stats.approximate) == (8, 32, False)
    assert stats.thread_instructions >= 16 * COUNT
    assert stats.divergent_branches == 1
    assert copy.memory.unwritten(copy.result, 4 * COUNT) == 0


@pytest.mark.parametrize(
    "options",
    [
        {"threads": 1},
        {"threads": 2},
        {"path": "portable"},
        {"block": 32, "grid": (32,)},
        {"races": False},
        {"schedule": 0},
        {"schedule": 2**64 - 1},
        {"programmatic": True},
    ],
)
def test_options_never_change_a_bit(options: dict[str, Any]) -> None:
    copy = Copy()
    copy.run(**options)
    assert np.array_equal(copy.memory.read(copy.result, np.float32, COUNT), 2 * copy.values)


@pytest.mark.parametrize("scale", [3, np.float32(3), np.int8(3), ("f32", 3), ("f32", 3.0), np.float32(3).tobytes()])
def test_arguments_may_be_given_in_several_ways(scale: Any) -> None:
    copy = Copy()
    copy.args[3] = scale
    copy.args[2] = ("u32", np.int64(COUNT))
    copy.run()
    assert np.array_equal(copy.memory.read(copy.result, np.float32, COUNT), 3 * copy.values)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.int64, np.float64, np.bool_])
def test_memory_keeps_what_it_is_given(dtype: Any) -> None:
    memory = Memory()
    array = np.arange(24).astype(dtype).reshape(2, 3, 4)
    address = memory.alloc(array, name="array")
    assert address % 256 == 0
    read = memory.read(address, dtype, (2, 3, 4))
    assert read.dtype == array.dtype
    assert np.array_equal(read, array)
    memory.write(address + array.itemsize, array.reshape(-1)[:1])
    assert np.array_equal(memory.read(address, dtype, 2), array.reshape(-1)[[0, 0]])


def test_memory_knows_what_was_never_written() -> None:
    memory = Memory()
    address = memory.alloc_uninit(64, name="scratch")
    assert np.isnan(memory.read(address, np.float32, 16)).all()
    assert memory.unwritten(address, 64) == 64
    memory.write(address + 8, b"\0" * 4)
    assert memory.unwritten(address, 64) == 60
    marked = memory.alloc(np.zeros(16, np.float32), name="marked", initialised=False)
    assert memory.unwritten(marked, 64) == 64
    assert memory.read(memory.alloc(b"", name="empty"), np.float32, (0, 4)).shape == (0, 4)


def test_names_stay_on_one_line_and_finite_numbers_finite() -> None:
    copy = Copy()
    copy.args[0] = copy.memory.alloc(b"", name="line\nbreak", writable=False)
    assert "line break" in str(copy.fault())
    assert "\n" not in str(copy.fault())
    with pytest.raises(ValueError, match=r"argument 3 \(f32 scale\): 1e300 is not allowed"):
        copy.run(args=[*copy.args[:3], 1e300])


def test_only_scratch_takes_values_that_no_one_wrote() -> None:
    copy = Copy()
    copy.args[0] = copy.memory.alloc_uninit(4 * COUNT, name="nothing")
    for options in ({"scratch": True}, {"scratch": True, "initialised": True}):
        array = np.zeros(COUNT, np.float32)
        copy.args[1] = copy.memory.alloc(array, name="scratch", **options)
        assert copy.memory.unwritten(copy.args[1], 4 * COUNT) == 0
        copy.run()
        assert copy.memory.unwritten(copy.args[1], 4 * COUNT) == 4 * COUNT
    copy.args[1] = copy.memory.alloc_uninit(4 * COUNT, name="scratch", scratch=True)
    copy.run()
    copy.args[1] = copy.memory.alloc_uninit(4 * COUNT, name="output")
    with pytest.raises(PtxFault, match=r"never written \(all bits unknown, loaded on line"):
        copy.run()


def test_a_race_is_a_fault_unless_no_one_looks() -> None:
    # Every block stores to the words of the first.
    racy = PtxModule(COPY.replace("mad.lo.u32 %r5, %r3, %r4, %r2", "mov.u32 %r5, %r2"), name="racy.ptx")
    copy = Copy()
    copy.module = racy
    fault = copy.fault()
    assert (fault.kind, fault.line, fault.block) == ("race", line_of(COPY, "st.global"), (1, 0, 0))
    assert "by block (0, 0, 0), warp 0, lane 0" in fault.message
    for schedule in range(3):
        with pytest.raises(PtxFault, match="nothing orders this store of `result`"):
            copy.run(schedule=schedule)
    copy.run(races=False)


def test_a_launch_can_follow_one_that_is_not_run() -> None:
    copy = Copy()
    copy.memory.follow(writes=[], reads=[copy.source])
    copy.run(programmatic=True)
    copy.memory.follow(writes=iter((copy.source,)), reads=[copy.result])
    with pytest.raises(PtxFault, match=r"load of `source`\+0, which a launch before this one wrote, before griddep"):
        copy.run(programmatic=True)
    copy.memory.follow(writes=[copy.source], reads=[])
    copy.run()


@pytest.mark.parametrize(
    ("writes", "error", "message"),
    [
        (3, TypeError, "writes is 3 of type int; allowed: a sequence of int"),
        (b"ab", TypeError, "writes is b'ab' of type bytes; allowed: a sequence of int"),
        (["a"], TypeError, "writes is 'a' of type str; allowed: "),
        ([-1], ValueError, "writes is -1; allowed: "),
        ([64], ValueError, "no allocation holds 0 bytes at 0x40"),
    ],
)
def test_what_no_launch_can_follow_is_refused(writes: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        Copy().memory.follow(writes=writes, reads=[])


def test_a_programmatic_launch_that_does_not_wait_is_a_fault() -> None:
    copy = Copy()
    copy.run()
    with pytest.raises(PtxFault, match=r"store of `result`.0, which a launch before this one wrote, before griddep"):
        copy.run(programmatic=True)
    newer = COPY.replace("7.0", "7.8").replace("sm_80", "sm_90")
    copy.module = PtxModule(newer.replace("    ld.global.f32", "    griddepcontrol.wait;\n    ld.global.f32"))
    copy.run()
    copy.run(programmatic=True)


def test_a_read_out_of_bounds_is_placed() -> None:
    copy = Copy()
    copy.args[2] = COUNT + 1
    fault = copy.fault()
    instruction = "ld.global.f32 %f2, [%rd4]"
    assert (fault.kind, fault.file, fault.kernel) == ("out-of-bounds", "copy.ptx", "copy")
    assert (fault.line, fault.block, fault.warp, fault.lane) == (line_of(COPY, instruction), (7, 0, 0), 3, 8)
    assert fault.address == copy.source + 4 * COUNT
    assert instruction in fault.instruction
    assert "source" in fault.message
    for part in ("copy.ptx", "out-of-bounds", "(7, 0, 0)", "lane 8", hex(fault.address), instruction):
        assert part in str(fault)
    assert "\n" not in str(fault)


def test_a_write_to_an_input_is_a_fault() -> None:
    copy = Copy()
    copy.args[1] = copy.source
    fault = copy.fault()
    assert (fault.kind, fault.line, fault.block, fault.warp) == ("read-only", line_of(COPY, "st.global"), (0, 0, 0), 0)


def test_a_value_that_no_one_wrote_is_a_fault_where_it_is_stored() -> None:
    copy = Copy()
    copy.args[0] = copy.memory.alloc_uninit(4 * COUNT, name="nothing")
    fault = copy.fault()
    assert (fault.kind, fault.line) == ("uninitialised-store", line_of(COPY, "st.global"))


def test_a_misaligned_address_is_a_fault() -> None:
    copy = Copy()
    copy.args[0] = copy.source + 2
    assert copy.fault().kind == "misaligned"


def test_a_kernel_without_end_meets_its_limit() -> None:
    with pytest.raises(PtxFault) as raised:
        launch(PtxModule(FOREVER), "forever", Memory(), grid=1, block=1, args=[], step_limit=10_000)
    assert (raised.value.kind, raised.value.lane, raised.value.address) == ("step-limit", None, None)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (COPY.replace("mul.rn.f32", "mull.rn.f32"), line_of(COPY, "mul.rn.f32"), "mull"),
        (COPY.replace("mul.rn.f32", "mul.f32"), line_of(COPY, "mul.rn.f32"), "mul.f32"),
        (COPY.replace("ld.global.f32", "ld.global.f33"), line_of(COPY, "ld.global"), "f33"),
        (COPY.replace("mul.rn.f32 %f3", "mul.rn.f32 %f9"), line_of(COPY, "mul.rn.f32"), "%f9"),
        (COPY[: COPY.index("DONE:")], None, ""),
        ("", None, ".version"),
        ("\0\1\2", None, ""),
        (b"\x7fELF\x02\x01\x01\xff\xfe", None, ""),
        (b" " * (50 << 20), None, "16"),
    ],
    ids=["opcode", "fusible", "type", "register", "truncated", "empty", "control", "binary", "50 MB"],
)
def test_a_text_that_is_not_accepted_is_placed(text: str | bytes, line: int | None, message: str) -> None:
    with pytest.raises(PtxError) as raised:
        PtxModule(text, name="bad.ptx")
    error = raised.value
    assert error.file == "bad.ptx"
    assert line is None or error.line == line
    assert str(error).startswith("bad.ptx")
    assert message in str(error)
    assert error.message in str(error)
    assert "\n" not in str(error)


def test_the_nearest_supported_form_is_named() -> None:
    with pytest.raises(PtxError) as raised:
        PtxModule(COPY.replace("mul.rn.f32", "mull.rn.f32"))
    assert raised.value.nearest is not None
    assert raised.value.nearest.startswith("mul")


def test_what_may_be_fused_is_accepted_on_request() -> None:
    assert not PtxModule(COPY.replace("mul.rn.f32", "mul.f32"), strict=False).strict


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"grid": 0}, ValueError, "grid is 0; allowed: a whole number, or a tuple of 1 to 3, each from 1 to"),
        ({"grid": (1, 1, 1, 1)}, ValueError, "grid is (1, 1, 1, 1); allowed: "),
        ({"block": (32, "x")}, TypeError, "block is 'x' of type str; allowed: "),
        ({"block": (1025, 1, 1)}, ValueError, "block"),
        ({"args": 5}, TypeError, "args is 5 of type int; allowed: a sequence of "),
        ({"args": "abcd"}, TypeError, "args is 'abcd' of type str; allowed: a sequence of "),
        ({"args": [None]}, TypeError, "args is None of type NoneType; allowed: an int, float, bytes or "),
        ({"args": [("u33", 1)]}, ValueError, "argument type: u33 is not allowed; allowed: "),
        ({"args": [1, 2]}, ValueError, ""),
        ({"threads": 5000}, ValueError, "threads is 5000; allowed: a whole number from 0 to 1024"),
        ({"step_limit": 0}, ValueError, "step_limit is 0; allowed: a whole number from 1 to"),
        ({"dynamic_shared": -1}, ValueError, "dynamic_shared is -1; allowed: "),
        ({"path": "gpu"}, ValueError, "path is 'gpu'; allowed: auto, portable"),
        ({"races": 1}, TypeError, "races is 1 of type int; allowed: a bool"),
        ({"schedule": -1}, ValueError, "schedule is -1; allowed: a whole number from 0"),
        ({"programmatic": 1}, TypeError, "programmatic is 1 of type int; allowed: a bool"),
    ],
)
def test_a_wrong_launch_is_named(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match="^" + re.escape(message)) as raised:
        Copy().run(**changes)
    assert not isinstance(raised.value, PtxError | PtxFault)
    assert "\n" not in str(raised.value)


def test_an_entry_that_does_not_exist_is_named() -> None:
    copy = Copy()
    with pytest.raises(ValueError, match="paste"):
        launch(copy.module, "paste", copy.memory, grid=1, block=1, args=[])


def test_arguments_must_agree_with_the_parameters() -> None:
    for index, wrong in [(2, 1 << 32), (2, -1), (2, 1.5), (3, ("u32", 1)), (0, b"\0")]:
        copy = Copy()
        copy.args[index] = wrong
        with pytest.raises(ValueError, match=r"\S") as raised:
            copy.run()
        assert "allowed" in str(raised.value)


def test_bad_memory_is_named() -> None:
    memory = Memory()
    address = memory.alloc(np.zeros(4, np.float32), name="four")
    with pytest.raises(ValueError, match="four"):
        memory.read(address, np.float32, 5)
    with pytest.raises(ValueError, match=r"^no allocation holds \d+ bytes"):
        memory.read(address, np.float32, (1 << 20, 1 << 20))
    with pytest.raises(ValueError, match=r"^shape is \(.*\); allowed: an array that fits into an address space"):
        memory.read(address, np.float32, (1 << 40, 1 << 40))
    with pytest.raises(ValueError, match=r"^dtype is of dtype object; allowed: a native-endian"):
        memory.read(address, object, 1)
    with pytest.raises(TypeError, match=r"^array is \[1, 2\] of type list; allowed: a numpy.ndarray or bytes"):
        memory.alloc([1, 2], name="list")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^array is of dtype >f4; allowed: a native-endian"):
        memory.alloc(np.zeros(4, ">f4"), name="swapped")
    with pytest.raises(ValueError, match=r"^array is an array with byte strides \[8\]; allowed: a C-contiguous array"):
        memory.alloc(np.zeros(8, np.float32)[::2], name="strided")
    with pytest.raises(ValueError, match=r"^nbytes is -1; allowed: a whole number from 0"):
        memory.alloc_uninit(-1, name="negative")
    with pytest.raises(ValueError, match=r"^nbytes is 1099511627776; allowed: a whole number from 0 to 17179869184"):
        memory.alloc_uninit(1 << 40, name="huge")


def test_other_threads_run_during_a_launch(ticks_during: Callable[[Callable[[], object]], int]) -> None:
    module = PtxModule(FOREVER)

    def work() -> None:
        with pytest.raises(PtxFault):
            launch(module, "forever", Memory(), grid=1, block=32, args=[], step_limit=5_000_000)

    assert ticks_during(work) >= 3


@pytest.mark.parametrize("threads", [1, 2])
def test_a_launch_ends_at_a_signal(threads: int) -> None:
    code = f"""
from rust_kernel.ptx import Memory, PtxModule, launch
module = PtxModule({FOREVER!r})
print("ready", flush=True)
launch(module, "forever", Memory(), grid=4, block=64, args=[], threads={threads})
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
    assert stderr.rstrip().endswith("KeyboardInterrupt")

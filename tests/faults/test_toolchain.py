"""Faults that assemblers, compilers and loaders brought in: versions, optimisation, convergence, the driver."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from diffcheck.arms.builder import BuilderArm
from diffcheck.arms.oxide import OxideArm
from diffcheck.assemble.ptxas import AssembleError, cubin_of, find_ptxas, ptxas_version
from diffcheck.cases import get_case
from diffcheck.errors import MissingRequirementError
from diffcheck.executors import ExecutionError, Executor
from diffcheck.executors.builds import BUILDS, Build
from diffcheck.executors.gpu import GpuExecutor, load_module
from py_builder_kernel import TARGETS
from rust_kernel import ptx
from tests.faults.support import ARMS, prepared, program

U32 = npt.NDArray[np.uint32]
LANES = 32
# One kernel of each kind is enough to see that the assembler takes a level; the device runs them all.
KERNELS = ("splitk_partial_f16_g4_d256_w8r4", "splitk_reduce_d256")


@pytest.fixture(scope="module")
def ptxas() -> None:
    try:
        find_ptxas()
    except MissingRequirementError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("ptxas")
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_121"])
@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: str(arm.name))
def test_kernels_assemble_at_every_level(arm: BuilderArm | OxideArm, target: str) -> None:
    for entry in KERNELS:
        text = arm.kernel(entry, target).ptx
        made = {level: cubin_of(text, target, level) for level in (0, 3)}
        assert all(code.startswith(b"\x7fELF") for code in made.values())
        assert made[0] != made[3], f"{entry}: the level made no difference"


def unknown_version(text: str) -> str:
    return re.sub(r"^\.version .*$", ".version 99.9", text, count=1, flags=re.MULTILINE)


@pytest.mark.usefixtures("ptxas")
def test_a_version_that_the_assembler_does_not_know_is_named_with_its_own() -> None:
    for arm in ARMS:
        text = unknown_version(arm.kernel(KERNELS[1], "sm_90").ptx)
        with pytest.raises(AssembleError, match=r"PTX 99\.9: ptxas .* says: .*99\.9.*current version is") as caught:
            cubin_of(text, "sm_90", 3)
        assert ptxas_version() in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("ptxas")
def test_a_target_that_the_assembler_does_not_know_is_named_with_its_version() -> None:
    text = BuilderArm().kernel(KERNELS[1], "sm_90").ptx
    with pytest.raises(
        AssembleError, match=r"sm_999, PTX \d+\.\d+: ptxas .* says: .*'sm_999' is not defined"
    ) as caught:
        cubin_of(text, "sm_999", 3)
    assert ptxas_version() in str(caught.value)


def test_a_version_that_the_driver_does_not_know_is_named_with_its_own(executor: Executor) -> None:
    case = get_case("random-8x2-L65-f16")
    for arm in ARMS:
        made = program(arm, prepared(case, executor).problem("version"), executor)
        object.__setattr__(made, "ptx", unknown_version(made.ptx))
        with pytest.raises(ExecutionError, match=r"99\.9.*(allowed: 1\.0 to 9\.9|driver for CUDA \d+\.\d+)") as caught:
            executor.run(made)
        assert "\n" not in str(caught.value)


IMPORTS = """
import sys
import diffcheck.cli.main, diffcheck.executors, diffcheck.arms, py_builder_kernel, rust_kernel.decode
from diffcheck.arms import ARMS
assert all(arm.available() for arm in ARMS.values()), "an arm needs a driver to be told of"
assert py_builder_kernel.build_module(target="sm_121").text
assert rust_kernel.decode.ptx_text("sm_121")
opened = [line for line in open("/proc/self/maps") if "libcuda.so" in line or "libcudart" in line]
assert not opened, opened
assert "cupy" not in sys.modules and "torch" not in sys.modules
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what a process has opened is read from /proc")
def test_importing_opens_no_driver() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def shuffle_kernel(shuffles: list[str]) -> str:
    """Each lane stores, a shuffle, what it got from `%value`, its lane plus 1000, and the predicate."""
    body = []
    for number, shuffle in enumerate(shuffles):
        body += [
            f"{shuffle};",
            "selp.u32 %flag, 1, 0, %ok;",
            f"st.global.u32 [%at + {8 * LANES * number}], %got;",
            f"st.global.u32 [%at + {8 * LANES * number + 4}], %flag;",
        ]
    return "\n".join(
        [
            ".version 7.8",
            ".target sm_80",
            ".address_size 64",
            ".visible .entry shuffles(.param .u64 out)",
            "{",
            ".reg .pred %ok;",
            ".reg .b32 %lane, %value, %got, %flag;",
            ".reg .b64 %base, %offset, %at;",
            "ld.param.u64 %base, [out];",
            "mov.u32 %lane, %tid.x;",
            "add.u32 %value, %lane, 1000;",
            "mul.wide.u32 %offset, %lane, 8;",
            "add.u64 %at, %base, %offset;",
            *body,
            "ret;",
            "}",
            "",
        ]
    )


def run_shuffles(text: str, count: int, executor: Executor, build: Build) -> U32:
    """Run one warp; returns u32 `[count, 32, 2]`: what each lane got, and the predicate."""
    if not isinstance(executor, GpuExecutor):
        memory = ptx.Memory()
        out = memory.alloc_uninit(8 * LANES * count, name="out")
        ptx.launch(ptx.PtxModule(text), "shuffles", memory, grid=1, block=LANES, args=[out])
        return np.asarray(memory.read(out, np.uint32, (count, LANES, 2)))
    import cupy

    words = cupy.asarray(np.full((count, LANES, 2), 0xDEAD, dtype=np.uint32))
    kernel = load_module(text, build).get_function("shuffles")
    kernel((1, 1, 1), (LANES, 1, 1), (np.uint64(words.data.ptr),))
    return np.asarray(words.get())


def named_lane(mode: str, lane: int, operand: int, clamp_word: int) -> tuple[int, bool]:
    """The lane that `lane` reads, and the predicate (PTX ISA, `shfl.sync`)."""
    operand, clamp, segment = operand & 31, clamp_word & 31, clamp_word >> 8 & 31
    highest = (lane & segment) | (clamp & ~segment & 31)
    if mode == "up":
        source = lane - operand
        inside = source >= highest
    else:
        source = {
            "down": lane + operand,
            "bfly": lane ^ operand,
            "idx": (lane & segment) | (operand & ~segment & 31),
        }[mode]
        inside = source <= highest
    return (source if inside else lane), inside


@cache
def forms_of_the_arms() -> frozenset[tuple[str, int, int]]:
    """Mode, operand and clamp of every shuffle in the PTX of either arm; of one by a register, 0 as the operand."""
    found: set[tuple[str, int, int]] = set()
    for arm in ARMS:
        for target in TARGETS:
            for entry in arm.entries(target):
                text = arm.kernel(entry, target).ptx
                shuffles = re.findall(r"shfl\.sync\.(\w+)\.b32\s+[^,]+,\s*[^,]+,\s*(%?\w+),\s*(\w+),", text)
                assert len(shuffles) == text.count("shfl.sync."), f"{entry}: a shuffle of another form"
                found |= {(mode, 0 if by.startswith("%") else int(by, 0), int(to, 0)) for mode, by, to in shuffles}
    return frozenset(found)


def all_forms() -> list[tuple[str, int, int]]:
    """Every mode with amounts and segments that matter, and what the arms have."""
    made = {
        (mode, operand, (LANES - width) << 8 | (0 if mode == "up" else 31))
        for mode in ("up", "down", "bfly", "idx")
        for width in (32, 16, 8, 4, 2)
        for operand in (0, 1, 2, 4, 8, 15, 16, 31)
    }
    return sorted(made | forms_of_the_arms())


def builds_here(executor: Executor) -> tuple[Build, ...]:
    """The builds that an executor can tell apart."""
    return BUILDS if isinstance(executor, GpuExecutor) else ("jit",)


def test_the_arms_shuffle() -> None:
    assert {mode for mode, _, _ in forms_of_the_arms()} >= {"bfly"}


@pytest.mark.parametrize("build", BUILDS)
def test_every_shuffle_moves_the_lane_that_it_names(executor: Executor, build: Build) -> None:
    if build not in builds_here(executor):
        pytest.skip("the PTX machine assembles nothing")
    forms = all_forms()
    shuffles = [f"shfl.sync.{mode}.b32 %got|%ok, %value, {by}, {clamp}, -1" for mode, by, clamp in forms]
    got = run_shuffles(shuffle_kernel(shuffles), len(forms), executor, build)
    for (mode, by, clamp), words in zip(forms, got, strict=True):
        named = [named_lane(mode, lane, by, clamp) for lane in range(LANES)]
        want = np.array([(1000 + lane, inside) for lane, inside in named], dtype=np.uint32)
        assert np.array_equal(words, want), f"{mode} {by} {clamp:#x}: {words.tolist()}"


@pytest.mark.parametrize("build", BUILDS)
def test_a_shuffle_before_a_branch_has_every_lane(executor: Executor, build: Build) -> None:
    """An assembler that sinks the shuffle into the branch where it is used would ask lanes that are not there."""
    if build not in builds_here(executor):
        pytest.skip("the PTX machine assembles nothing")
    shuffle = "shfl.sync.bfly.b32 %got|%ok, %value, 1, 31, -1"
    branch = "setp.ge.u32 %ok, %lane, 7;\n@%ok bra SKIP;\nadd.u32 %value, %got, 5000;\nSKIP:\nmov.u32 %got, %value"
    got = run_shuffles(shuffle_kernel([f"{shuffle};\n{branch}"]), 1, executor, build)[0, :, 0]
    lanes = np.arange(LANES)
    assert np.array_equal(got, np.where(lanes < 7, 6000 + (lanes ^ 1), 1000 + lanes))

"""The tier assembled: ptxas' report, the limit on registers, and the kernels themselves."""

from __future__ import annotations

import pytest

from diffcheck.arms import get_arm
from diffcheck.arms.base import DeviceArm
from diffcheck.assemble import run as assemble_run
from diffcheck.assemble.limits import SHARED_BYTES
from diffcheck.assemble.ptxas import AssembleError, Resources, assemble, find_ptxas, parse_report
from diffcheck.assemble.run import assemble_all, list_jobs, register_limit
from diffcheck.errors import BadInputError, MissingRequirementError
from py_builder_kernel import TARGETS

REPORT = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    288 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 1056 bytes smem, 400 bytes cmem[0]
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 233 registers, used 1 barriers
"""

STACK_USER = """.version 7.8
.target sm_90
.address_size 64
.visible .entry stacked(.param .u64 out)
{
    .local .align 4 .b8 frame[256];
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, %tid.x;
    mov.u64 %rd1, frame;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd2, %rd1, %rd2;
    st.local.u32 [%rd2], %r1;
    ld.local.u32 %r2, [%rd1+16];
    ld.param.u64 %rd3, [out];
    st.global.u32 [%rd3], %r2;
    ret;
}
"""


@pytest.fixture
def ptxas() -> None:
    try:
        find_ptxas()
    except MissingRequirementError as error:
        pytest.skip(str(error))


def test_report_is_read_kernel_by_kernel() -> None:
    assert parse_report(REPORT, "first") == Resources(40, 1056, 288, 16, 24)
    assert parse_report(REPORT, "second") == Resources(233, 0, 0, 0, 0)


def test_report_without_the_kernel_is_an_error() -> None:
    with pytest.raises(AssembleError, match="third"):
        parse_report(REPORT, "third")


@pytest.mark.parametrize(("threads", "blocks", "limit"), [(256, 1, 255), (384, 1, 168), (256, 2, 128), (1024, 1, 64)])
def test_register_limit(threads: int, blocks: int, limit: int) -> None:
    assert register_limit(threads, blocks) == limit


def test_unknown_entry_is_refused() -> None:
    arm = get_arm("builder")
    assert isinstance(arm, DeviceArm)
    with pytest.raises(BadInputError, match="no_such_kernel"):
        list_jobs([arm], ["sm_90"], ["no_such_kernel"])


@pytest.mark.usefixtures("ptxas")
@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90", "sm_120", "sm_121"])
def test_every_kernel_assembles_within_its_limits(target: str) -> None:
    arms = [arm for arm in (get_arm("builder"), get_arm("naive"), get_arm("naive-f16")) if isinstance(arm, DeviceArm)]
    assembled = assemble_all(list_jobs(arms, [target]), lambda _entry: None)
    problems = [f"{kernel.entry}: {problem}" for kernel in assembled.kernels for problem in kernel.problems]
    assert not problems
    assert assembled.status == "holds"
    assert len(assembled.kernels) == sum(len(arm.entries(target)) for arm in arms)


@pytest.mark.usefixtures("ptxas")
def test_stack_is_seen() -> None:
    assert assemble(STACK_USER, "stacked", "sm_90").stack >= 256


@pytest.mark.usefixtures("ptxas")
def test_refused_text_names_kernel_and_complaint() -> None:
    with pytest.raises(AssembleError, match=r"stacked, sm_90, PTX 7\.8: ptxas .* says: .*no_such_opcode"):
        assemble(STACK_USER.replace("mov.u32 %r1", "no_such_opcode.u32 %r1"), "stacked", "sm_90")


def test_problems_are_stated() -> None:
    problems = assemble_run._problems(Resources(200, 0, 288, 16, 24), 168, 102400, 101376)
    assert [problem.split()[0] for problem in problems] == ["stack", "spills", "200", "102400"]
    assert assemble_run._problems(Resources(168, 0, 0, 0, 0), 168, 101376, 101376) == []


def test_every_target_has_a_limit_of_shared_memory() -> None:
    assert set(SHARED_BYTES) == set(TARGETS)


def test_missing_package_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("diffcheck.assemble.ptxas.PACKAGE", "a-package-that-does-not-exist")
    find_ptxas.cache_clear()
    with pytest.raises(
        MissingRequirementError,
        match=r"not installed, and no ptxas is on PATH; install it with: .*splitk-diffcheck\[ptxas\]",
    ):
        find_ptxas()
    find_ptxas.cache_clear()

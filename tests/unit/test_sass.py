"""`diffcheck assemble --sass`: listings, loops, kinds of instructions, occupancy, and the kernels themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from diffcheck.arms import Kernel, get_arm
from diffcheck.arms.base import DeviceArm
from diffcheck.assemble.ptxas import AssembleError, find_ptxas
from diffcheck.assemble.run import list_jobs
from diffcheck.assemble.sass import reasons
from diffcheck.assemble.sass.flow import graph_of, natural_loops
from diffcheck.assemble.sass.mix import kind_of, mix_of, width_of
from diffcheck.assemble.sass.model import HotLoop, SassKernel
from diffcheck.assemble.sass.nvdisasm import DisassembleError, Listing, Sass, find_nvdisasm, parse_listing
from diffcheck.assemble.sass.occupancy import LIMITS, blocks_per_sm, occupancy
from diffcheck.assemble.sass.run import compare_arms, disassemble_all, hot_loop, rows_of_turn
from diffcheck.assemble.sass.together import disassemble_together, join_texts
from diffcheck.cli.main import run
from diffcheck.errors import MissingRequirementError
from py_builder_kernel import TARGETS

ENTRY = "splitk_partial_f16_g1_d256_w12r4"
# A row and head of E = 8 elements: 2 E - 1 FFMA; a step has 4 rows.
STEP_FFMA = 4 * 15


def listing(*lines: str, entry: str = ENTRY) -> Listing:
    """A listing as nvdisasm writes it; a line that ends in a colon is a label."""
    text = [f'\t.section\t.text.{entry},"ax",@progbits', f".text.{entry}:"]
    for number, line in enumerate(lines):
        text.append(line if line.endswith(":") else f"        /*{16 * number:04x}*/                   {line} ;")
    return parse_listing("\n" + "\n".join([*text, "\t.section\t.nv.info", ".L_x_0:"]) + "\n", entry)


def loads(count: int, guard: str = "") -> list[str]:
    return [f"{guard}LDGSTS.E.BYPASS.128 [R1+0x200], desc[UR4][R2.64]"] * count


def kernel(entry: str = ENTRY) -> Kernel:
    return Kernel(entry, "", 384, 0)


STEADY = listing(
    "S2R R0, SR_TID.X",
    "@P0 BRA `(.L_x_9)",
    ".L_x_1:",
    "@!P1 BRA `(.L_x_2)",
    *loads(8),
    "BRA `(.L_x_3)",
    ".L_x_2:",
    "ISETP.GT.U32.AND P2, PT, R1, RZ, PT",
    "@!P2 BRA `(.L_x_3)",
    *loads(8, "@P3 "),
    ".L_x_3:",
    *["FFMA R4, R5, R6, R4"] * STEP_FFMA,
    "VOTE.ANY P4, P4",
    "@!P4 BRA `(.L_x_4)",
    *["FMUL R4, R4, R5"] * 20,
    ".L_x_4:",
    "@P5 BRA `(.L_x_1)",
    ".L_x_9:",
    "EXIT",
    ".L_x_10:",
    "BRA `(.L_x_10)",
    "NOP",
)


def test_the_hot_turn_requests_a_step_and_moves_no_maximum() -> None:
    loop = hot_loop(STEADY, kernel())
    assert loop is not None
    assert loop.rows == 4
    # Two branches before the loads, the loads, a branch over the masked ones, FFMA, vote and two branches.
    assert loop.instructions == 1 + 8 + 1 + STEP_FFMA + 2 + 1
    assert loop.instructions_all == loop.instructions + 2 + 8 + 20
    assert loop.per_row == loop.instructions / 4
    assert loop.mix["copy to shared 128"] == 8
    assert loop.mix["FFMA"] == STEP_FFMA


def test_the_loop_with_the_most_ffma_is_meant_whatever_its_place() -> None:
    other = listing(
        ".L_x_1:",
        *["IADD3 R1, R1, R2, RZ"] * 90,
        "FFMA R1, R1, R1, R1",
        "@P0 BRA `(.L_x_1)",
        ".L_x_2:",
        *loads(8),
        *["FFMA R4, R5, R6, R4"] * STEP_FFMA,
        "@P0 BRA `(.L_x_2)",
        "EXIT",
    )
    loop = hot_loop(other, kernel())
    assert loop is not None
    assert loop.instructions == 8 + STEP_FFMA + 1


def test_a_loop_is_one_though_its_blocks_lie_apart() -> None:
    apart = listing(
        ".L_x_1:",
        *loads(8),
        *["FFMA R4, R5, R6, R4"] * STEP_FFMA,
        "BRA.DIV UR4, `(.L_x_5)",
        ".L_x_2:",
        "@P0 BRA `(.L_x_1)",
        "EXIT",
        ".L_x_5:",
        "SHFL.BFLY PT, R1, R2, 0x10, 0x1f",
        "BRA `(.L_x_2)",
    )
    (loop,) = natural_loops(graph_of(apart))
    assert sum(len(graph_of(apart).instructions(block)) for block in loop.blocks) == 8 + STEP_FFMA + 2 + 2


def test_an_unrolled_loop_has_the_rows_of_its_steps() -> None:
    assert rows_of_turn(ENTRY, 2 * STEP_FFMA + 18, 2 * 8 * 16) == 8
    assert rows_of_turn("splitk_reduce_d256", 55, 0) == 0
    assert rows_of_turn("splitk_partial_f32_g8_d256_w8r4", 489, 16 * 16) == 4


@pytest.mark.parametrize(("ffma", "lane_bytes"), [(STEP_FFMA - 1, 128), (STEP_FFMA, 112)])
def test_a_loop_that_is_not_a_step_is_refused(ffma: int, lane_bytes: int) -> None:
    with pytest.raises(DisassembleError, match=ENTRY):
        rows_of_turn(ENTRY, ffma, lane_bytes)


def test_code_without_a_loop_has_none() -> None:
    assert hot_loop(listing("FFMA R1, R1, R1, R1", "EXIT"), kernel()) is None


def test_reconvergence_goes_where_its_barrier_says() -> None:
    graph = graph_of(
        listing("BSSY B0, `(.L_x_2)", "@P0 BRA `(.L_x_1)", "BSYNC B0", ".L_x_1:", "MOV R1, R2", ".L_x_2:", "EXIT")
    )
    waits = next(block for block in range(len(graph.blocks)) if graph.instructions(block)[-1].base == "BSYNC")
    after = {graph.instructions(block)[0].base for block in graph.successors[waits]}
    assert after == {"EXIT", "MOV"}


def test_a_branch_into_nothing_is_refused() -> None:
    with pytest.raises(DisassembleError, match="without a target"):
        graph_of(listing("BRA `(.L_y_7)", "EXIT"))


def test_a_listing_without_the_kernel_is_refused() -> None:
    with pytest.raises(DisassembleError, match="other"):
        parse_listing("\n.text.one:\n", "other")


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("FFMA", "FFMA"),
        ("FADD.FTZ", "f32 add, multiply"),
        ("FMNMX", "f32 compare, select"),
        ("FSETP.GT.AND", "f32 compare, select"),
        ("MUFU.RCP", "MUFU"),
        ("HADD2.F32", "conversion"),
        ("LDG.E.128.CONSTANT", "global load 128"),
        ("LDG.E", "global load 32"),
        ("LDG.E.U8", "global load 8"),
        ("LDGSTS.E.BYPASS.128", "copy to shared 128"),
        ("LDS.128", "shared load 128"),
        ("LDS.U16", "shared load 16"),
        ("STS", "shared store 32"),
        ("STG.E.128", "global store 128"),
        ("STL", "local 32"),
        ("LDL.64", "local 64"),
        ("ULDC.64", "constant load"),
        ("SHFL.BFLY", "shuffle"),
        ("VOTE.ANY", "vote"),
        ("IMAD.MOV.U32", "move"),
        ("IMAD.WIDE.U32", "integer"),
        ("CS2R", "move"),
        ("UIADD3", "integer"),
        ("VIADDMNMX.U32", "integer"),
        ("LOP3.LUT", "integer"),
        ("LDGDEPBAR", "synchronise"),
        ("BAR.SYNC.DEFER_BLOCKING", "synchronise"),
        ("BRA", "control"),
        ("QQQ.Z", "QQQ"),
    ],
)
def test_kinds(opcode: str, kind: str) -> None:
    assert kind_of(Sass(0, "", opcode, "")) == kind


def test_padding_is_not_counted() -> None:
    assert mix_of([Sass(0, "", "NOP", ""), Sass(0, "!PT", "LDS", "RZ"), Sass(0, "P0", "FFMA", "")]) == {"FFMA": 1}


def test_widths() -> None:
    assert [width_of(Sass(0, "", opcode, "")) for opcode in ("LDG.E.64", "LDG.E", "LDS.S8")] == [64, 32, 8]


@pytest.mark.parametrize(
    ("target", "threads", "registers", "shared", "blocks"),
    [
        ("sm_90", 384, 168, 98304, 1),
        ("sm_90", 384, 72, 98304, 2),
        ("sm_90", 256, 40, 1056, 6),
        ("sm_89", 256, 255, 66048, 1),
        ("sm_80", 1024, 32, 0, 2),
        ("sm_120", 32, 16, 0, 32),
    ],
)
def test_blocks_per_sm(target: str, threads: int, registers: int, shared: int, blocks: int) -> None:
    assert blocks_per_sm(target, threads, registers, shared) == blocks


def test_occupancy_is_a_share_of_the_warps() -> None:
    assert set(LIMITS) == set(TARGETS)
    assert occupancy("sm_90", 384, 1) == pytest.approx(18.75)
    assert occupancy("sm_89", 256, 6) == 100.0


def sass_kernel(arm: str, per_row: float | None) -> SassKernel:
    loop = HotLoop(instructions=1, instructions_all=1, rows=4, per_row=per_row, mix={})
    return SassKernel(
        arm=arm,
        entry=ENTRY,
        target="sm_90",
        registers=1,
        blocks_per_sm=1,
        occupancy=1.0,
        code_bytes=16,
        instructions=1,
        mix={},
        loop=loop,
    )


@pytest.mark.parametrize(("oxide", "holds"), [(100.0, True), (105.0, True), (105.1, False)])
def test_a_hot_loop_may_be_a_twentieth_longer(oxide: float, holds: bool) -> None:
    (ratio,) = compare_arms([sass_kernel("oxide", oxide), sass_kernel("builder", 100.0)], "oxide", "builder")
    assert ratio.holds is holds
    assert ratio.ratio == pytest.approx(oxide / 100)


def test_a_longer_one_holds_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reasons, "REASONS", (("*_g1_*", "sm_9?", "it has to"),))
    kernels = [sass_kernel("oxide", 120.0), sass_kernel("builder", 100.0)]
    (ratio,) = compare_arms(kernels, "oxide", "builder")
    assert (ratio.holds, ratio.reason) == (True, "it has to")


def test_only_loops_that_both_arms_have_are_compared() -> None:
    assert compare_arms([sass_kernel("oxide", 1.0)], "oxide", "builder") == []
    assert compare_arms([sass_kernel("oxide", None), sass_kernel("builder", 1.0)], "oxide", "builder") == []


@pytest.fixture
def programs() -> None:
    try:
        find_ptxas()
        find_nvdisasm()
    except MissingRequirementError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("target", ["sm_90", "sm_120"])  # CI disassembles every kernel for all of them
def test_the_hot_loops_of_both_arms(target: str) -> None:
    wide = "f16_g4_d256_w12r4" if target == "sm_90" else "f16_g4_d256_w8r4"
    entries = [f"splitk_partial_{tile}" for tile in (wide, "f32_g1_d256_w8r4", "f32_g8_d256_w8r4")]
    arms = [arm for arm in (get_arm("builder"), get_arm("oxide")) if isinstance(arm, DeviceArm)]
    report = disassemble_all(list_jobs(arms, [target], [*entries, "splitk_reduce_d256"]), lambda _entry: None)
    assert report.status == "holds", [ratio for ratio in report.ratios if not ratio.holds]
    assert [ratio.entry for ratio in report.ratios] == entries
    for one in report.kernels:
        assert one.loop is not None
        assert sum(one.mix.values()) == one.instructions == one.code_bytes // 16
        assert not any(kind.startswith("local") for kind in one.mix)
        assert one.blocks_per_sm >= 1
        if one.entry in entries:
            assert one.loop.rows == 4
            assert sum(one.loop.mix.values()) == one.loop.instructions


@pytest.mark.usefixtures("programs")
def test_kernels_of_one_module_are_what_each_is_alone() -> None:
    arm = get_arm("oxide")
    assert isinstance(arm, DeviceArm)
    kernels = [arm.kernel(entry, "sm_90") for entry in (ENTRY, "splitk_partial_f32_g1_d256_w8r4")]
    together = disassemble_together(kernels, "sm_90")
    for kernel in kernels:
        used, listed = together[kernel.entry]
        alone, listed_alone = disassemble_together([kernel], "sm_90")[kernel.entry]
        assert used == alone
        # Labels are numbered through the module.
        assert mix_of(listed.instructions) == mix_of(listed_alone.instructions)
        assert hot_loop(listed, kernel) == hot_loop(listed_alone, kernel)
    assert len({len(listed.instructions) for _, listed in together.values()}) == 2


@pytest.mark.usefixtures("programs")
def test_of_several_kernels_the_one_that_is_refused_is_named() -> None:
    arm = get_arm("builder")
    assert isinstance(arm, DeviceArm)
    sound, other = (arm.kernel(entry, "sm_90") for entry in (ENTRY, "splitk_partial_f32_g1_d256_w8r4"))
    broken = replace(other, ptx=other.ptx.replace("ret;", "no_such_opcode;"))
    with pytest.raises(AssembleError, match=f"^{other.entry}, sm_90.*no_such_opcode"):
        disassemble_together([sound, broken], "sm_90")


def test_texts_of_one_module_have_one_header() -> None:
    head = "// a comment\n.version 7.0\n.target sm_80\n.address_size 64\n"
    assert join_texts([f"{head}a", f"{head}b"]).split() == [*head.split()[3:], "a", "b"]
    with pytest.raises(ValueError, match="cannot be one"):
        join_texts([head, head.replace("7.0", "7.4")])
    with pytest.raises(ValueError, match="cannot be one"):
        join_texts(["mov"])


@pytest.mark.usefixtures("programs")
def test_the_command_shows_and_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sass.json"
    options = ["--arm", "oxide", "--arm", "builder", "--target", "sm_90", "--entry", ENTRY, "--json", str(file)]
    assert run(["assemble", "--sass", *options]) == 0
    shown = capsys.readouterr().out
    assert "instructions a row of K and V in the hot loop" in shown
    assert shown.rstrip().endswith("2 kernels disassembled, 1 hot loops compared: holds")
    assert len(json.loads(file.read_text(encoding="utf-8"))["kernels"]) == 2


def test_without_the_disassembler_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("diffcheck.assemble.sass.nvdisasm.PACKAGE", "a-package-that-does-not-exist")
    assert run(["assemble", "--sass", "--entry", ENTRY, "--target", "sm_90"]) == 2
    error = capsys.readouterr().err
    assert "splitk-diffcheck[sass]" in error
    assert error.count("\n") == 1

"""The validator: what the opcode table allows is emitted, anything else is refused with the caller's line."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from py_builder_kernel.ptx import (
    B16,
    B32,
    B64,
    F32,
    PRED,
    S32,
    U32,
    U64,
    F32Literal,
    Function,
    Module,
    PtxBuildError,
    Special,
    Symbol,
    Vec,
    at_global,
    at_param,
    at_shared,
    target_named,
)


def function(target: str = "sm_90") -> Function:
    return Module(target_named(target)).function("kernel", max_threads=32)


def last_line(f: Function) -> str:
    module = Module(f.target)
    module.functions.append(f)
    return module.text().splitlines()[-2].strip()


def test_a_new_register_has_the_type_of_the_form() -> None:
    f = function()
    pointer, wide = f.reg(U64), f.new("mul.wide.u32", f.reg(U32), 4)
    assert wide.dtype == U64
    assert f.new("ld.global.f32", at_global(pointer)).dtype == F32
    assert f.new("setp.lt.f32", f.reg(F32), f.reg(F32)).dtype == PRED
    assert f.new("popc.b32", f.reg(B32)).dtype == U32


def test_lines_are_written_as_ptx() -> None:
    f = function()
    p, x = f.reg(PRED), f.reg(F32)
    f.emit("fma.rn.f32", x, x, F32Literal(0x3F800000), x, guard=~p)
    assert last_line(f) == "@!%p1 fma.rn.f32 %f1, %f1, 0f3F800000, %f1;"
    f.emit("ld.global.nc.L1::no_allocate.v4.f32", Vec(tuple(f.regs(F32, 4))), at_global(f.reg(U64), 512))
    assert last_line(f) == "ld.global.nc.L1::no_allocate.v4.f32 {%f2, %f3, %f4, %f5}, [%rd1+512];"
    result, there = f.new_joined("shfl.sync.idx.b32", x, 0, 31, 0xFFFFFFFF)
    assert last_line(f) == f"shfl.sync.idx.b32 {result}|{there}, %f1, 0, 31, 4294967295;"
    f.emit("mov.b32", Vec(tuple(f.regs(B16, 2))), f.reg(B32))
    assert last_line(f) == "mov.b32 {%rs1, %rs2}, %r2;"


def test_registers_are_numbered_by_class_in_order() -> None:
    f = function()
    names = [str(f.reg(dtype)) for dtype in (U32, F32, S32, U64, B32, F32, PRED)]
    assert names == ["%r1", "%f1", "%r2", "%rd1", "%r3", "%f2", "%p1"]


@pytest.mark.parametrize(
    ("mnemonic", "operands", "message"),
    [
        ("fmax.f32", ["f"], "opcode 'fmax' is not in the opcode table, nearest: max"),
        ("fma.f32", ["f", "f", "f"], "no such form, allowed: fma.rn|rz|rm|rp[.ftz][.sat].f32"),
        ("add.f32", ["f", "f"], "without a rounding modifier"),
        ("ex2.approx.f32", ["f"], "an approximation has no exact result"),
        (
            "add.rn.f32",
            ["f", "s"],
            "operand 3 is s32 register %r1, allowed: a register of b32, f32, or a f32 immediate",
        ),
        ("add.rn.f32", ["f"], "operand 3 is missing"),
        ("add.rn.f32", ["f", "f", "f"], "operand 4 is f32 register %f1, allowed: 3 operands"),
        ("add.rn.f32", ["f", 1], "operand 3 is immediate 1"),
        ("add.s32", ["s", 1 << 31], "operand 3 is immediate 2147483648"),
        ("shl.b32", ["s", "d"], "operand 3 is u64 register %rd1, allowed: a register of b32, s32, u32"),
        ("mov.u32", [Special("%clock")], "allowed: "),
        ("ld.global.f32", [at_shared(Symbol("x", "shared", 16, 64))], "allowed: an address in global space"),
        ("ld.shared.f32", ["global"], "allowed: an address in shared space, its base a 32-bit integer register"),
        ("ld.global.v4.f32", ["global"], "allowed: a vector of 4 registers of b32, f32"),
        ("selp.f32", ["f", "f", "f"], "allowed: a predicate register"),
        ("vote.sync.any.pred", ["f", 0], "allowed: a predicate register or its negation"),
        ("bra", [], "operand 1 is missing, allowed: a label"),
    ],
)
def test_what_the_table_does_not_allow_is_refused(mnemonic: str, operands: list[object], message: str) -> None:
    f = function()
    named = {"f": f.reg(F32), "s": f.reg(S32), "d": f.reg(U64)}
    named["global"] = at_global(named["d"])  # type: ignore[assignment]
    given = [named.get(o, o) if isinstance(o, str) else o for o in operands]
    build: Callable[..., object] = f.emit if mnemonic == "bra" else f.new
    with pytest.raises(PtxBuildError) as caught:
        build(mnemonic, *given)
    assert message in str(caught.value)
    assert mnemonic in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not f.lines


def test_an_error_names_the_line_that_asked() -> None:
    f = function()
    x = f.reg(F32)
    with pytest.raises(PtxBuildError) as caught:
        f.new("add.rn.f32", x, f.reg(S32))
    line = sys._getframe().f_lineno - 1
    assert str(caught.value).startswith(f"{Path(__file__)}:{line}: ")


def test_an_error_inside_a_skipped_block_names_the_line_that_asked() -> None:
    f = function()
    condition = f.reg(PRED)
    with pytest.raises(PtxBuildError) as caught, f.skipped_if(condition, "end"):
        f.emit("mov.f32", f.reg(F32), condition)
    assert re.match(rf"{re.escape(str(Path(__file__)))}:\d+: mov\.f32: operand 2 is pred register", str(caught.value))


def test_a_form_of_a_later_architecture_is_refused() -> None:
    f = function("sm_90")
    pair = f.reg(B64)
    with pytest.raises(PtxBuildError, match=r"add\.rn\.f32x2: needs sm_100 or later, the target is sm_90"):
        f.emit("add.rn.f32x2", pair, pair, pair)
    newer = function("sm_120")
    b64 = newer.reg(B64)
    newer.emit("add.rn.f32x2", b64, b64, b64)
    assert last_line(newer) == "add.rn.f32x2 %rd1, %rd1, %rd1;"
    assert newer.needed_ptx == (8, 7)


def test_a_form_of_a_later_ptx_version_is_refused() -> None:
    module = Module(target_named("sm_80"), newest=(7, 0))
    f = module.function("kernel", max_threads=32)
    quad = Vec(tuple(f.regs(F32, 4)))
    with pytest.raises(PtxBuildError, match=r"needs PTX 7\.4, allowed: up to 7\.0"):
        f.emit("ld.global.nc.L1::no_allocate.v4.f32", quad, at_global(f.reg(U64)))
    f.emit("ld.global.nc.v4.f32", quad, at_global(f.reg(U64)))


def test_a_ptx_version_that_driver_580_does_not_read_is_refused() -> None:
    with pytest.raises(PtxBuildError, match=r"PTX version is 9\.1; allowed for sm_90: 7\.8 to 9\.0"):
        Module(target_named("sm_90"), newest=(9, 1))
    with pytest.raises(PtxBuildError, match=r"PTX version is 7\.0; allowed for sm_121: 8\.8 to 9\.0"):
        Module(target_named("sm_121"), newest=(7, 0))


@pytest.mark.parametrize(
    ("target", "version"), [("sm_80", "7.0"), ("sm_89", "7.8"), ("sm_90", "7.8"), ("sm_120", "8.7"), ("sm_121", "8.8")]
)
def test_the_lowest_version_of_the_target_is_stated(target: str, version: str) -> None:
    assert f".version {version}\n.target {target}\n" in Module(target_named(target)).text()


def test_the_version_rises_with_the_forms_used() -> None:
    module = Module(target_named("sm_80"))
    f = module.function("kernel", max_threads=32)
    f.emit("ld.global.nc.L1::no_allocate.v4.f32", Vec(tuple(f.regs(F32, 4))), at_global(f.reg(U64)))
    assert module.version == (7, 4)


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(PtxBuildError, match=r"target is 'sm_70'; allowed: sm_80, sm_89, sm_90, sm_120, sm_121"):
        target_named("sm_70")


def test_declarations_and_labels_are_checked() -> None:
    module = Module(target_named("sm_90"))
    f = module.function("kernel", max_threads=32)
    f.param("x", U64)
    f.shared_array("s", 16)
    label = f.label("end")
    f.emit("bra.uni", label)
    with pytest.raises(PtxBuildError, match="branch to end"):
        module.text()
    f.place(label)
    for again in (
        lambda: f.param("x", U32),
        lambda: f.shared_array("s", 16),
        lambda: f.place(label),
        lambda: module.function("kernel", max_threads=32),
    ):
        with pytest.raises(PtxBuildError, match="twice"):
            again()
    with pytest.raises(PtxBuildError, match="allowed: size > 0"):
        f.shared_array("empty", 0)
    with pytest.raises(PtxBuildError, match="allowed: one line"):
        f.comment("a\nb")
    with pytest.raises(PtxBuildError, match="guard is f32 register"):
        f.emit("ret", guard=f.reg(F32))
    with pytest.raises(PtxBuildError, match="has no destination register"):
        f.new("bar.sync", 0)


def test_a_bound_of_registers_is_stated_where_there_is_one() -> None:
    module = Module(target_named("sm_90"))
    for name, most in (("free", None), ("bound", 144)):
        module.function(name, max_threads=64, max_registers=most).emit("ret")
    free, bound = module.text().split(".visible .entry")[1:]
    assert ".maxnreg" not in free
    assert ".minnctapersm 1\n.maxnreg 144\n{" in bound


def test_a_label_name_that_is_taken_gets_a_number() -> None:
    f = function()
    assert [f.label("step").name for _ in range(3)] == ["step", "step_2", "step_3"]


def test_dynamic_shared_memory_is_declared_once_for_the_module() -> None:
    module = Module(target_named("sm_90"))
    for name in ("a", "b"):
        f = module.function(name, max_threads=64, min_blocks=2)
        f.emit("ld.param.u64", f.reg(U64), at_param(f.param("p", U64)))
        f.new("mov.u32", module.dynamic_shared())
        f.shared_array("own", 128)
    text = module.text()
    assert text.count(".extern .shared .align 16 .b8 dynamic_shared[];") == 1
    assert text.count(".shared .align 16 .b8 own[128];") == 2
    assert text.count(".maxntid 64, 1, 1\n.minnctapersm 2\n{") == 2

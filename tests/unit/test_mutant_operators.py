"""Each operator of the generated mutants, on one statement: what it makes of it, and nothing else."""

from __future__ import annotations

import pytest

from diffcheck.selftest.generated.flow import flow_of
from diffcheck.selftest.generated.operators import all_operators, select_operators
from diffcheck.selftest.generated.ptx_text import parse_kernel

HEAD = """.visible .entry kernel(
    .param .u64 q,
    .param .u64 k,
    .param .u32 n
)
{
    .reg .f32 %f<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    .reg .pred %p<4>;
"""
# Everything holds a value that is needed behind the statement under test.
BEFORE = """
    mov.f32 %f1, 0f3F800000;
    mov.f32 %f2, 0f40000000;
    mov.u32 %r1, 1;
    mov.u32 %r2, 2;
    setp.eq.u32 %p1, %r1, 0;
    setp.eq.u32 %p2, %r2, 0;
    ld.param.u64 %rd1, [q];
"""
BEHIND = """
    add.u32 %r7, %r1, %r2;
    add.rn.f32 %f7, %f1, %f2;
    @%p1 bra end;
    @%p2 bra end;
    st.global.f32 [%rd1], %f7;
    st.global.u32 [%rd1], %r7;
end:
    ret;
}
"""

MADE = [
    ("drop", "add.u32 %r3, %r1, %r2;", [""]),
    ("drop", "bar.sync 0;", []),
    ("drop", "st.global.f32 [%rd1], %f1;", []),
    ("drop-store", "st.global.f32 [%rd1], %f1;", [""]),
    ("drop-store", "cp.async.cg.shared.global [%r1], [%rd1], 16;", [""]),
    ("repeat", "add.u32 %r1, %r1, 4;", ["add.u32 %r1, %r1, 4; add.u32 %r1, %r1, 4;"]),
    ("repeat", "add.u32 %r3, %r1, 4;", []),
    ("exchange", "mov.u32 %r3, %r1;", ["add.u32 %r7, %r1, %r2; mov.u32 %r3, %r1;"]),
    ("exchange", "@%p1 bra end;", []),
    ("opcode", "add.u32 %r3, %r1, 4;", ["sub.u32 %r3, %r1, 4;"]),
    ("opcode", "max.f32 %f3, %f1, %f2;", ["min.f32 %f3, %f1, %f2;", "max.NaN.f32 %f3, %f1, %f2;"]),
    ("opcode", "fma.rn.f32 %f3, %f1, %f2, %f3;", ["mul.rn.f32 %f3, %f1, %f2;"]),
    (
        "negate",
        "mul.rn.f32 %f3, %f1, 0f40000000;",
        ["{ .reg .f32 %mutant; neg.f32 %mutant, %f1; mul.rn.f32 %f3, %mutant, 0f40000000; }"],
    ),
    (
        "unfuse",
        "@%p1 fma.rn.f32 %f3, %f1, %f2, %f3;",
        ["{ .reg .f32 %mutant; mul.rn.f32 %mutant, %f1, %f2; @%p1 add.rn.f32 %f3, %mutant, %f3; }"],
    ),
    ("compare-edge", "setp.lt.u32 %p3, %r1, 4;", ["setp.le.u32 %p3, %r1, 4;"]),
    ("compare-edge", "setp.geu.f32 %p3, %f1, %f2;", ["setp.gtu.f32 %p3, %f1, %f2;"]),
    ("compare-edge", "setp.eq.u32 %p3, %r1, 4;", []),
    ("compare-opposite", "setp.num.f32 %p3, %f1, %f1;", ["setp.nan.f32 %p3, %f1, %f1;"]),
    ("compare-direction", "setp.gt.f32 %p3, %f1, %f2;", ["setp.lt.f32 %p3, %f1, %f2;"]),
    ("compare-nan", "setp.gt.f32 %p3, %f1, %f2;", ["setp.gtu.f32 %p3, %f1, %f2;"]),
    ("compare-nan", "setp.gt.u32 %p3, %r1, %r2;", []),
    (
        "integer",
        "add.u32 %r3, %r1, 5;",
        [f"add.u32 %r3, %r1, {value};" for value in (6, 4, 10, 13, 2147483653)],
    ),
    ("integer", "shfl.sync.bfly.b32 %f3, %f1, 16, 31, -1;", []),
    ("float-ulp", "mul.rn.f32 %f3, %f1, 0f3F800000;",
     [f"mul.rn.f32 %f3, %f1, 0f{bits};" for bits in ("3F800001", "3F7FFFFF")]),
    (
        "float-value",
        "mul.rn.f32 %f3, %f1, 0f3F800000;",
        [f"mul.rn.f32 %f3, %f1, 0f{x};" for x in ("BF800000", "40000000", "3F000000")],
    ),
    ("float-value", "mov.f32 %f3, 0f00000000;", ["mov.f32 %f3, 0f80000000;"]),
    ("guard-negated", "@!%p1 mov.u32 %r3, %r1;", ["@%p1 mov.u32 %r3, %r1;"]),
    ("guard-removed", "@%p1 mov.u32 %r3, %r1;", ["mov.u32 %r3, %r1;"]),
    ("guard-replaced", "@%p1 mov.u32 %r3, %r1;", ["@%p2 mov.u32 %r3, %r1;"]),
    ("register", "mov.u32 %r3, %r1;", ["mov.u32 %r3, %r2;"]),
    ("result", "mov.u32 %r1, 3;", ["mov.u32 %r2, 3;"]),
    ("operands", "sub.rn.f32 %f3, %f1, %f2;", ["sub.rn.f32 %f3, %f2, %f1;"]),
    ("operands", "add.rn.f32 %f3, %f1, %f2;", []),
    ("operands", "mad.wide.u32 %rd2, %r1, 4, %rd1;", []),
    ("vector", "ld.global.v2.f32 {%f3, %f4}, [%rd1];", ["ld.global.v2.f32 {%f4, %f3}, [%rd1];"]),
    ("special-register", "mov.u32 %r3, %ctaid.y;", ["mov.u32 %r3, %ctaid.x;"]),
    (
        "address",
        "ld.global.f32 %f3, [%rd1+8];",
        [f"ld.global.f32 %f3, [%rd1+{offset}];" for offset in (-8, 4, 12, 24)],
    ),
    ("parameter", "ld.param.u64 %rd2, [k];", ["ld.param.u64 %rd2, [q];", "ld.param.u64 %rd2, [n];"]),
    ("branch-dropped", "@%p1 bra end;", [""]),
    ("shuffle-mode", "shfl.sync.idx.b32 %f3, %f1, 0, 31, -1;",
     [f"shfl.sync.{mode}.b32 %f3, %f1, 0, 31, -1;" for mode in ("bfly", "down", "up")]),
    ("shuffle-lane", "shfl.sync.bfly.b32 %f3, %f1, 16, 31, -1;",
     [f"shfl.sync.bfly.b32 %f3, %f1, {lane}, 31, -1;" for lane in (8, 15, 17)]),
    ("shuffle-segment", "shfl.sync.bfly.b32 %f3, %f1, 16, 31, -1;",
     [f"shfl.sync.bfly.b32 %f3, %f1, 16, {limits}, -1;" for limits in (30, 15, 4127)]),
    ("lane-mask", "bar.warp.sync -1;", ["bar.warp.sync 4294967294;", "bar.warp.sync 2147483647;"]),
    ("barrier-dropped", "bar.sync 0;", [""]),
    ("barrier-weaker", "bar.sync 0;", ["bar.warp.sync -1;"]),
    ("async-wait", "cp.async.wait_group 1;", ["", "cp.async.wait_group 2;"]),
    ("async-commit", "cp.async.commit_group;", [""]),
    ("rounding", "mul.rn.f32 %f3, %f1, %f2;", [f"mul.{mode}.f32 %f3, %f1, %f2;" for mode in ("rz", "rm", "rp")]),
    ("flush", "fma.rn.f32 %f3, %f1, %f2, %f3;", ["fma.rn.ftz.f32 %f3, %f1, %f2, %f3;"]),
    ("fusible", "add.rn.f32 %f3, %f1, %f2;", ["add.f32 %f3, %f1, %f2;"]),
    ("fusible", "fma.rn.f32 %f3, %f1, %f2, %f3;", []),
    ("approximate", "div.rn.f32 %f3, %f1, %f2;", ["div.approx.f32 %f3, %f1, %f2;", "div.full.f32 %f3, %f1, %f2;"]),
    ("sign", "setp.lt.u32 %p3, %r1, %r2;", ["setp.lt.s32 %p3, %r1, %r2;"]),
    ("sign", "setp.eq.u32 %p3, %r1, %r2;", []),
    ("sign", "cvt.u64.u32 %rd2, %r1;", ["cvt.u64.s32 %rd2, %r1;"]),
    ("sign", "cvt.u32.u64 %r3, %rd1;", []),
    ("width", "ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r1];", ["ld.shared.v2.b32 {%r3, %r4}, [%r1];"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "statement", "texts"), MADE, ids=lambda value: str(value)[:40])
def test_an_operator_makes_what_it_says(name: str, statement: str, texts: list[str]) -> None:
    text = f"{HEAD}{BEFORE}    {statement}\n{BEHIND}"
    flow = flow_of(parse_kernel(text, "kernel"))
    kernel = flow.kernel
    (under_test,) = (s for s in kernel.statements if s.line == f"{HEAD}{BEFORE}".count("\n") + 1)
    (operator,) = select_operators([name])
    changes = list(operator.changes(flow, under_test))
    assert [" ".join(change.text.split()) for change in changes] == texts
    details = [change.detail for change in changes]
    assert len(set(details)) == len(details)
    for change in changes:
        # Nothing outside the statement (for an exchange, outside the two) is touched.
        assert change.start == under_test.start
        assert change.end == (kernel.statements[under_test.index + 1].end if name == "exchange" else under_test.end)


def test_a_branch_goes_to_the_neighbouring_labels() -> None:
    text = ".entry kernel() { a: bra b; b: bra c; c: ret; }"
    flow = flow_of(parse_kernel(text, "kernel"))
    (operator,) = select_operators(["branch-target"])
    assert [change.text for change in operator.changes(flow, flow.kernel.statements[0])] == ["bra a;", "bra c;"]


def test_every_operator_is_tried() -> None:
    tried = {name for name, _, _ in MADE} | {"branch-target"}
    assert tried == {operator.name for operator in all_operators()}

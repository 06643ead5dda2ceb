"""PTX taken apart for mutants: statements, scopes, control flow, liveness."""

from __future__ import annotations

import pytest

from diffcheck.selftest.generated.effects import is_hint
from diffcheck.selftest.generated.flow import END, Flow, flow_of
from diffcheck.selftest.generated.population import subjects
from diffcheck.selftest.generated.ptx_text import Kernel, MutationError, parse_kernel

TEXT = """.version 7.8
.visible .entry other()
{
    ret;
}
.visible .entry kernel(
    .param .u64 out,
    .param .u32 n
)
.maxntid 32, 1, 1
{
    .reg .b32 %r<6>;
    .reg .f32 %f<3>;
    .reg .pred %p<2>;
    .reg .b64 %rd<2>;
    // a comment; with a semicolon
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, 0;
loop:
    { .reg .b32 live; and.b32 live, %r2, 1; add.u32 %r3, %r3, live; }
    add.u32 %r2, %r2, 32;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra loop;
    mov.u32 %r4, 7;
    @!%p1 mov.u32 %r4, 8;
    ld.param.u64 %rd1, [out];
    st.global.v2.b32 [%rd1+8], {%r3, %r4};
    ret;
}
"""


def kernel() -> Kernel:
    return parse_kernel(TEXT, "kernel")


def flow() -> Flow:
    return flow_of(kernel())


def index_of(text: str) -> int:
    parsed = kernel()
    return next(s.index for s in parsed.statements if parsed.line_text(s) == text)


def test_statements_are_where_they_say() -> None:
    parsed = kernel()
    assert [parsed.line_text(s) for s in parsed.statements[:4]] == [
        "ld.param.u32 %r1, [n];",
        "mov.u32 %r2, %tid.x;",
        "mov.u32 %r3, 0;",
        "and.b32 live, %r2, 1;",
    ]
    for statement in parsed.statements:
        assert TEXT[statement.start : statement.end].endswith(";")
        assert TEXT.splitlines()[statement.line - 1].count(TEXT[statement.start : statement.end]) == 1


def test_guards_and_operands() -> None:
    guarded = kernel().statements[index_of("@!%p1 mov.u32 %r4, 8;")]
    assert (guarded.guard, guarded.negated, guarded.opcode) == ("%p1", True, "mov")
    store = kernel().statements[index_of("st.global.v2.b32 [%rd1+8], {%r3, %r4};")]
    assert store.operands == ("[%rd1+8]", "{%r3, %r4}")
    assert guarded.written(prefix="") == "mov.u32 %r4, 8;"
    assert store.with_operand(0, "[%rd1]") == "st.global.v2.b32 [%rd1], {%r3, %r4};"


def test_a_register_of_a_scope_is_its_own() -> None:
    parsed = kernel()
    scope = parsed.statements[3].scope
    assert parsed.register(scope, "live") == f"live#{scope}"
    assert parsed.register(0, "live") is None
    assert parsed.register(scope, "%r2") == "%r2"
    assert parsed.type_of(scope, "live") == "b32"
    assert parsed.type_of(0, "%p1") == "pred"
    assert parsed.type_of(0, "%tid.x") is None


def test_a_branch_goes_to_its_label_or_on() -> None:
    flows = flow()
    branch = index_of("@%p1 bra loop;")
    assert set(flows.successors[branch]) == {index_of("and.b32 live, %r2, 1;"), branch + 1}
    assert flows.successors[-1] == (END,)
    assert index_of("and.b32 live, %r2, 1;") in flows.in_cycle
    assert index_of("mov.u32 %r4, 7;") not in flows.in_cycle
    assert flows.reachable == frozenset(range(len(flows.successors)))


def test_liveness_goes_around_loops_and_past_guards() -> None:
    flows = flow()
    entry = index_of("mov.u32 %r3, 0;")
    live = {register for register in flows.definitions if flows.is_live_behind(entry, register)}
    assert live == {"%r1", "%r2", "%r3"}
    # The guarded statement may leave what was there.
    assert flows.is_live_behind(index_of("mov.u32 %r4, 7;"), "%r4")
    assert not flows.is_live_behind(index_of("st.global.v2.b32 [%rd1+8], {%r3, %r4};"), "%r4")
    # Read again in the next round.
    assert flows.is_live_behind(index_of("add.u32 %r2, %r2, 32;"), "%r2")
    assert not flows.is_live_behind(index_of("@%p1 bra loop;"), "%r9")
    # From here on it is written before it is read.
    assert not flows.is_live_before(index_of("mov.u32 %r4, 7;"), "%r4")
    assert flows.is_live_before(index_of("add.u32 %r2, %r2, 32;"), "%r2")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (".entry another() { ret; }", "no entry kernel"),
        (".entry kernel()", "no body"),
        (".entry kernel() { ret;", "not closed"),
        (".entry kernel() { ret }", "no semicolon"),
        (".entry kernel() { 12 34; }", "no statement"),
    ],
)
def test_what_is_no_kernel_is_refused(text: str, words: str) -> None:
    with pytest.raises(MutationError, match=words):
        parse_kernel(text, "kernel")


def test_a_branch_to_nowhere_is_refused() -> None:
    with pytest.raises(MutationError, match="away, which is no label"):
        flow_of(parse_kernel(".entry kernel() { bra away; }", "kernel"))


def test_every_kernel_is_taken_apart() -> None:
    for subject in subjects((), "sm_90"):
        flows = subject.flow
        statements = flows.kernel.statements
        assert len(statements) > 250
        # What is not there for anyone would have been left out: nearly every result is read.
        unused = [
            index
            for index in flows.reachable
            if flows.effects[index].pure and not is_hint(statements[index]) and not _some_result_is_read(flows, index)
        ]
        assert len(unused) < 5, (subject, [flows.kernel.line_text(statements[index]) for index in unused])


def _some_result_is_read(flows: Flow, index: int) -> bool:
    return any(flows.is_live_behind(index, register) for register in flows.effects[index].writes)

"""Proofs of equivalence, on small kernels: what each rule proves, and what it must not."""

from __future__ import annotations

import pytest

from diffcheck.selftest.generated.equivalence import proven_by, registered
from diffcheck.selftest.generated.flow import flow_of
from diffcheck.selftest.generated.interval import Interval
from diffcheck.selftest.generated.lanes import Lanes
from diffcheck.selftest.generated.operators import select_operators
from diffcheck.selftest.generated.population import GeneratedMutant, Subject
from diffcheck.selftest.generated.ptx_text import parse_kernel
from diffcheck.selftest.generated.ranges import Ranges
from diffcheck.selftest.generated.shuffle import sources

HEAD = """.visible .entry kernel(.param .u64 out, .param .u32 n) {
.reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<9>;
"""
BEHIND = "\nst.global.f32 [%rd1], %f1;\nst.global.u32 [%rd1+4], %r1;\nend: ret; }\n"
LANES = "mov.u32 %r2, %laneid;\ncvt.rn.f32.u32 %f2, %r2;\n"
PAIRS = f"{LANES}shfl.sync.bfly.b32 %f3, %f2, 1, 31, -1;\nadd.rn.f32 %f4, %f2, %f3;\n"
COPIED = "ld.param.u32 %r2, [n];\nadd.u32 %r3, %r2, 0;\n"
# Both are needed behind, so that one is offered in the other's place.
BOTH = "st.global.v2.b32 [%rd1+8], {%r2, %r3};\n"
NOT_ALWAYS = "setp.eq.u32 %p1, %r2, 4;\n@%p1 bra on;\nadd.u32 %r5, %r2, 1;\non: "
ASKED = "setp.nan.f32 %p2, %f2, %f2;\n"
CUT_OFF = f"""setp.lt.f32 %p1, %f2, 0fC2AE0000;
selp.f32 %f3, 0f00000000, %f4, %p1;
{ASKED}selp.f32 %f1, %f2, %f3, %p2;
"""


def mutants_of(body: str, statement: str, operator: str) -> list[GeneratedMutant]:
    """Return what an operator makes of the first statement of a kernel that reads so."""
    text = f"{HEAD}{body}{BEHIND}"
    flow = flow_of(parse_kernel(text, "kernel"))
    subject = Subject("builder", "sm_90", "kernel")
    vars(subject)["flow"] = flow
    chosen = next(s for s in flow.kernel.statements if flow.kernel.line_text(s) == statement)
    (made,) = select_operators([operator])
    return [GeneratedMutant(subject, chosen, made, change) for change in made.changes(flow, chosen)]


def proofs(body: str, statement: str, operator: str) -> dict[str, str]:
    """Return the rule that proves each of an operator's mutants of a statement, by what it became."""
    return {mutant.became: proven_by(mutant) for mutant in mutants_of(body, statement, operator)}


PROVEN = [
    ("unused result", "mov.u32 %r5, 3;\n", "mov.u32 %r5, 3;", "integer"),
    ("unused result", "mov.u32 %r1, 3;\nmov.u32 %r1, 4;\n", "mov.u32 %r1, 3;", "drop"),
    (
        "unused result",
        "setp.lt.u32 %p1, %r2, 4;\n@%p1 prefetch.global.L2 [%rd1];\n",
        "setp.lt.u32 %p1, %r2, 4;",
        "compare-edge",
    ),
    ("independent neighbours", "mov.u32 %r1, 3;\nmov.f32 %f1, 0f3F800000;\n", "mov.u32 %r1, 3;", "exchange"),
    (
        "independent neighbours",
        "st.shared.f32 [%r1], %f1;\nst.shared.f32 [%r1+4], %f1;\n",
        "st.shared.f32 [%r1], %f1;",
        "exchange",
    ),
    (
        "independent neighbours",
        f"{LANES}shfl.sync.bfly.b32 %f1, %f2, 1, 31, -1;\nshfl.sync.bfly.b32 %r1, %r2, 2, 31, -1;\n",
        "shfl.sync.bfly.b32 %f1, %f2, 1, 31, -1;",
        "exchange",
    ),
    ("never executed", "bra end;\nmov.u32 %r1, 3;\n", "mov.u32 %r1, 3;", "integer"),
    (
        "never executed",
        "mov.u32 %r2, %laneid;\nsetp.gt.u32 %p1, %r2, 40;\n@%p1 mov.u32 %r1, 3;\n",
        "@%p1 mov.u32 %r1, 3;",
        "drop",
    ),
    (
        "same guard",
        "mov.u32 %r2, %laneid;\nsetp.lt.u32 %p1, %r2, 32;\n@%p1 mov.u32 %r1, 3;\n",
        "@%p1 mov.u32 %r1, 3;",
        "guard-removed",
    ),
    (
        "same comparison",
        "mov.u32 %r2, %laneid;\nsetp.lt.u32 %p1, %r2, 40;\n@%p1 mov.u32 %r1, 3;\n",
        "setp.lt.u32 %p1, %r2, 40;",
        "compare-edge",
    ),
    (
        "same comparison",
        "mov.u32 %r2, %laneid;\nsetp.lt.u32 %p1, %r2, 4;\n@%p1 mov.u32 %r1, 3;\n",
        "setp.lt.u32 %p1, %r2, 4;",
        "sign",
    ),
    ("same number", "mov.u32 %r2, %laneid;\nand.b32 %r1, %r2, 16;\n", "and.b32 %r1, %r2, 16;", "integer"),
    ("no sign to tell", "mov.u32 %r2, %laneid;\nshr.u32 %r1, %r2, 2;\n", "shr.u32 %r1, %r2, 2;", "sign"),
    (
        "holds it already",
        "mov.u32 %r1, 3;\nadd.u32 %r2, %r1, 1;\n@!%p1 mov.u32 %r1, 3;\nmov.b32 %r1, 3;\n",
        "mov.b32 %r1, 3;",
        "drop",
    ),
    (
        "the other choice",
        "mov.u32 %r2, %laneid;\nsetp.lt.u32 %p1, %r2, 40;\nselp.b32 %r1, %r3, 7, %p1;\n",
        "selp.b32 %r1, %r3, 7, %p1;",
        "integer",
    ),
    (
        "copies nothing",
        "mov.u32 %r3, 0;\ncp.async.cg.shared.global [%r1], [%rd1], 16, %r3;\n",
        "cp.async.cg.shared.global [%r1], [%rd1], 16, %r3;",
        "address",
    ),
    ("same value", f"{COPIED}add.u32 %r1, %r3, 1;\n{BOTH}", "add.u32 %r1, %r3, 1;", "register"),
    ("NaN is decided behind", CUT_OFF, "setp.lt.f32 %p1, %f2, 0fC2AE0000;", "compare-nan"),
    (
        "same lanes",
        f"{LANES}shfl.sync.idx.b32 %f1, %f2, 3, 31, -1;\n",
        "shfl.sync.idx.b32 %f1, %f2, 3, 31, -1;",
        "shuffle-segment",
    ),
]


@pytest.mark.parametrize(("rule", "body", "statement", "operator"), PROVEN)
def test_a_rule_proves(rule: str, body: str, statement: str, operator: str) -> None:
    assert rule in set(proofs(body, statement, operator).values())


def test_every_rule_is_tried() -> None:
    assert {rule for rule, *_ in PROVEN} == set(registered())


CUT = "setp.lt.f32 %p1, %f2, 0fC2AE0000;"
FIRST_SHUFFLE = "shfl.sync.bfly.b32 %f1, %f2, 1, 31, -1;"
STORE = "st.shared.f32 [%r1], %f1;"
GUARDED = "@%p1 mov.u32 %r1, 3;"
LANE = "mov.u32 %r2, %laneid;\n"
HINTED = "setp.lt.u32 %p1, %r2, 4;\n@%p1 prefetch.global.L2 [%rd1];\n"
COPY = "cp.async.cg.shared.global [%r1], [%rd1], 16, %r3;"
# For each rule what it must not prove: body, statement, operator.
NEAR_MISSES: dict[str, list[tuple[str, str, str]]] = {
    "unused result": [
        # It is read. No one reads what is loaded, but it may not be loaded from anywhere.
        ("mov.u32 %r1, 3;\n", "mov.u32 %r1, 3;", "integer"),
        (f"{LANES}add.u32 %r3, %r2, 4;\nld.shared.f32 %f3, [%r3];\n", "add.u32 %r3, %r2, 4;", "integer"),
        # A guard that is undefined.
        (f"{LANE}{HINTED}", "setp.lt.u32 %p1, %r2, 4;", "drop"),
        (f"ld.param.u32 %r2, [n];\n{HINTED}", "ld.param.u32 %r2, [n];", "drop"),
    ],
    "independent neighbours": [
        # The second reads what the first writes.
        ("mov.u32 %r2, 3;\nadd.u32 %r1, %r2, 1;\n", "mov.u32 %r2, 3;", "exchange"),
        # Both touch the same bytes, or bytes that may be the same.
        (f"{STORE}\nst.shared.f32 [%r1+2], %f1;\n", STORE, "exchange"),
        (f"{STORE}\nst.shared.f32 [%r2+4], %f1;\n", STORE, "exchange"),
        # A barrier orders what stands before and behind it.
        (f"{STORE}\nbar.sync 0;\n", STORE, "exchange"),
        # The second shuffle takes what the first one leaves, is done by other lanes or under a guard, or is a vote.
        *(
            (f"{LANES}{FIRST_SHUFFLE}\n{second}\n", FIRST_SHUFFLE, "exchange")
            for second in (
                "shfl.sync.bfly.b32 %r1, %f1, 2, 31, -1;",
                "shfl.sync.bfly.b32 %f2, %r2, 2, 31, -1;",
                "shfl.sync.bfly.b32 %r1, %r2, 2, 31, 15;",
                "@%p1 shfl.sync.bfly.b32 %r1, %r2, 2, 31, -1;",
                "vote.sync.ballot.b32 %r1, %p1, -1;",
                "bar.sync 0;",
            )
        ),
    ],
    "never executed": [
        # Lane 31 does it; who jumps over it is not known; the guard is another.
        (f"{LANE}setp.gt.u32 %p1, %r2, 30;\n{GUARDED}\n", GUARDED, "drop"),
        ("setp.eq.u32 %p1, %r2, 1;\n@%p1 bra end;\nmov.u32 %r1, 3;\n", "@%p1 bra end;", "branch-dropped"),
        (f"{LANE}setp.gt.u32 %p1, %r2, 40;\n{GUARDED}\n", GUARDED, "guard-removed"),
    ],
    "same guard": [(f"{GUARDED}\n", GUARDED, "guard-removed"), (f"{GUARDED}\n", GUARDED, "guard-negated")],
    "same comparison": [
        # The lane may be 3.
        (f"{LANE}setp.lt.u32 %p1, %r2, 3;\n{GUARDED}\n", "setp.lt.u32 %p1, %r2, 3;", "compare-edge"),
        # Without a sign, a negative number is compared with another.
        (
            f"{LANE}sub.u32 %r3, %r2, 40;\nsetp.lt.u32 %p1, %r3, -20;\n{GUARDED}\n",
            "setp.lt.u32 %p1, %r3, -20;",
            "compare-edge",
        ),
    ],
    # The lane may have the bit, or the number any.
    "same number": [
        (f"{LANE}or.b32 %r1, %r2, 16;\n", "or.b32 %r1, %r2, 16;", "integer"),
        ("and.b32 %r1, %r2, 16;\n", "and.b32 %r1, %r2, 16;", "integer"),
    ],
    "no sign to tell": [
        (f"setp.lt.u32 %p1, %r2, 4;\n{GUARDED}\n", "setp.lt.u32 %p1, %r2, 4;", "sign"),
        ("shr.u32 %r1, %r2, 2;\n", "shr.u32 %r1, %r2, 2;", "sign"),
        (f"{LANE}sub.u32 %r3, %r2, 1;\nshr.u32 %r1, %r3, 2;\n", "shr.u32 %r1, %r3, 2;", "sign"),
    ],
    # On one of two paths it holds another number, or the number that is copied is not known.
    "holds it already": [
        ("mov.u32 %r1, 3;\n@%p1 mov.u32 %r1, 4;\nmov.b32 %r1, 3;\n", "mov.b32 %r1, 3;", "drop"),
        (f"mov.u32 %r1, 3;\n{LANE}mov.b32 %r1, %r2;\n", "mov.b32 %r1, %r2;", "drop"),
    ],
    # It is taken by lane 31, or by lanes of which nothing is known.
    "the other choice": [
        (
            f"{LANE}setp.lt.u32 %p1, %r2, 31;\nselp.b32 %r1, %r3, 7, %p1;\n",
            "selp.b32 %r1, %r3, 7, %p1;",
            "integer",
        ),
        ("selp.b32 %r1, %r3, 7, %p1;\n", "selp.b32 %r1, %r3, 7, %p1;", "integer"),
    ],
    "copies nothing": [
        (f"mov.u32 %r3, 16;\n{COPY}\n", COPY, "address"),
        (f"ld.param.u32 %r3, [n];\n{COPY}\n", COPY, "address"),
    ],
    "NaN is decided behind": [
        # By another register's comparison; before another number takes its place; not for sure.
        (CUT_OFF.replace("%p2, %f2, %f2", "%p2, %f5, %f5"), CUT, "compare-nan"),
        (f"{ASKED}mov.f32 %f2, %f6;\n{CUT_OFF.replace(ASKED, '')}", CUT, "compare-nan"),
        (CUT_OFF.replace("setp.nan", "@%p3 setp.nan"), CUT, "compare-nan"),
        # The first choice is used elsewhere, too.
        (f"{CUT_OFF}add.rn.f32 %f1, %f1, %f3;\n", CUT, "compare-nan"),
    ],
    "same lanes": [
        # Every lane holds another value, so that another lane or segment is another value.
        *(
            (f"{LANES}{statement}\n", statement, operator)
            for statement in ("shfl.sync.bfly.b32 %f1, %f2, 16, 31, -1;",)
            for operator in ("shuffle-lane", "shuffle-segment")
        ),
        # A lane that a register names, within other limits.
        (
            f"{LANES}ld.param.u32 %r4, [n];\nshfl.sync.idx.b32 %f1, %f2, %r4, 31, -1;\n",
            "shfl.sync.idx.b32 %f1, %f2, %r4, 31, -1;",
            "shuffle-segment",
        ),
    ],
    "same value": [
        # The other register holds one more, has been written since, or is not written on every path.
        (f"{COPIED.replace(', 0;', ', 1;')}add.u32 %r1, %r3, 1;\n{BOTH}", "add.u32 %r1, %r3, 1;", "register"),
        (f"{COPIED}mov.u32 %r2, 5;\nadd.u32 %r1, %r3, 1;\n{BOTH}", "add.u32 %r1, %r3, 1;", "register"),
        (
            f"{COPIED}{NOT_ALWAYS}add.u32 %r6, %r2, 1;\nadd.u32 %r1, %r6, 1;\nst.global.u32 [%rd1], %r5;\n",
            "add.u32 %r1, %r6, 1;",
            "register",
        ),
    ],
}


def test_every_rule_has_a_near_miss() -> None:
    assert set(NEAR_MISSES) == set(registered())


@pytest.mark.parametrize(
    ("body", "statement", "operator"), [near for misses in NEAR_MISSES.values() for near in misses]
)
def test_what_differs_is_not_proven(body: str, statement: str, operator: str) -> None:
    found = proofs(body, statement, operator)
    assert found
    assert set(found.values()) == {""}


def test_a_copy_of_nothing_still_fills_its_place() -> None:
    found = proofs(f"mov.u32 %r3, 0;\n{COPY}\n", COPY, "address")
    same_place = {made for made in found if "[%r1]" in made}
    assert same_place
    assert {made for made, rule in found.items() if rule == "copies nothing"} == same_place


def test_lanes_that_added_the_same_two_values_hold_the_same() -> None:
    statement = "shfl.sync.idx.b32 %f1, %f4, 2, 31, -1;"
    assert proofs(f"{PAIRS}{statement}\n", statement, "shuffle-lane") == {
        "shfl.sync.idx.b32 %f1, %f4, 1, 31, -1;": "",
        "shfl.sync.idx.b32 %f1, %f4, 3, 31, -1;": "same lanes",
        "shfl.sync.idx.b32 %f1, %f4, 4, 31, -1;": "",
    }


def test_lanes_that_no_one_needs_may_take_anything() -> None:
    # Only lane 0 stores what the shuffle leaves, and only lanes below 4 are asked for theirs.
    only_first = "setp.eq.u32 %p1, %r2, 0;\n@%p1 st.shared.f32 [%r3], %f3;\nmov.f32 %f1, 0f00000000;\n"
    statement = "shfl.sync.idx.b32 %f3, %f2, 4, 31, -1;"
    assert proofs(f"{LANES}{statement}\n{only_first}", statement, "shuffle-mode") == {
        "shfl.sync.bfly.b32 %f3, %f2, 4, 31, -1;": "same lanes",
        "shfl.sync.down.b32 %f3, %f2, 4, 31, -1;": "same lanes",
        "shfl.sync.up.b32 %f3, %f2, 4, 31, -1;": "",
    }
    assert set(proofs(f"{LANES}{statement}\nmov.f32 %f1, %f3;\n", statement, "shuffle-mode").values()) == {""}
    rest = "mov.f32 %f2, 0f3F800000;\nsetp.lt.u32 %p1, %r2, 8;\n@%p1 mov.f32 %f2, 0f40000000;\n"
    body = f"mov.u32 %r2, %laneid;\n{rest}shfl.sync.idx.b32 %f1, %f2, %s, 31, -1;\n"
    first = "mov.f32 %f2, 0f3F800000;"
    assert set(proofs(body.replace("%s", "7"), first, "float-ulp").values()) == {"unused result"}
    assert set(proofs(body.replace("%s", "8"), first, "float-ulp").values()) == {""}


def test_bits_of_a_register_are_the_same_where_it_has_no_others() -> None:
    anded = "and.b32 %r1, %r2, 16;"
    found = proofs(f"mov.u32 %r2, %laneid;\n{anded}\n", anded, "integer")
    assert {made for made, rule in found.items() if rule} == {"and.b32 %r1, %r2, 2147483664;"}
    assert len(found) > 2
    united = anded.replace("and", "or")
    assert set(proofs(f"mov.u32 %r2, %laneid;\n{united}\n", united, "integer").values()) == {""}
    # Any lane's bits, and those of a number that may be negative.
    assert set(proofs(f"{anded}\n", anded, "integer").values()) == {""}
    below = "mov.u32 %r3, %laneid;\nsub.u32 %r2, %r3, 8;\n"
    assert set(proofs(f"{below}{anded}\n", anded, "integer").values()) == {""}


def test_a_selection_by_lane_needs_a_value_in_that_lane_only() -> None:
    statement = "shfl.sync.idx.b32 %f3, %f2, 1, 31, -1;"
    chosen = "setp.eq.u32 %p1, %r2, 1;\nselp.f32 %f1, %f3, 0f00000000, %p1;\n"
    assert proofs(f"{LANES}{statement}\n{chosen}", statement, "shuffle-mode") == {
        "shfl.sync.bfly.b32 %f3, %f2, 1, 31, -1;": "",
        "shfl.sync.down.b32 %f3, %f2, 1, 31, -1;": "",
        # No lane is as high as the limit of 31, so that each keeps its own.
        "shfl.sync.up.b32 %f3, %f2, 1, 31, -1;": "same lanes",
    }
    first = "shfl.sync.idx.b32 %f3, %f2, 0, 31, -1;"
    other = chosen.replace("%r2, 1", "%r2, 0")
    assert set(proofs(f"{LANES}{first}\n{other}", first, "shuffle-mode").values()) == {"same lanes"}


def test_a_selection_by_an_unknown_predicate_needs_both() -> None:
    statement = "shfl.sync.idx.b32 %f3, %f2, 1, 31, -1;"
    body = f"{LANES}{statement}\nselp.f32 %f1, %f3, 0f00000000, %p1;\n"
    assert proofs(body, statement, "shuffle-lane")["shfl.sync.idx.b32 %f3, %f2, 2, 31, -1;"] == ""
    for value in ("mov.f32 %f3, 0f3F800000;", "mov.f32 %f5, 0f3F800000;"):
        body = f"{LANES}mov.f32 %f3, 0f40000000;\nmov.f32 %f5, 0f40000000;\n{value}\nselp.f32 %f1, %f3, %f5, %p1;\n"
        assert set(proofs(body, value, "float-ulp").values()) == {""}
    # Under a guard, what is not selected may stay.
    asked = "setp.eq.u32 %p1, %r2, 40;"
    body = f"{LANES}mov.f32 %f1, 0f3F800000;\n{asked}\n@%p2 selp.f32 %f1, %f2, %f2, %p1;\n"
    assert set(proofs(body, "mov.f32 %f1, 0f3F800000;", "float-ulp").values()) == {""}


@pytest.mark.parametrize(
    ("source", "alike"),
    [
        ("mov.u32 %r3, %ctaid.x;", True),
        ("mov.u32 %r3, %lanemask_lt;", False),
        ("redux.sync.add.u32 %r3, %r2, -1;", True),
        ("match.any.sync.b32 %r3, %r2, -1;", False),
    ],
)
def test_lanes_hold_the_same_only_of_what_is_the_same_for_all(source: str, alike: bool) -> None:
    statement = "shfl.sync.idx.b32 %r1, %r3, 2, 31, -1;"
    found = proofs(f"{LANES}{source}\n{statement}\n", statement, "shuffle-lane")
    assert set(found.values()) == ({"same lanes"} if alike else {""})


def test_a_comparison_of_nan_is_not_one_of_its_bits() -> None:
    statement = "shfl.sync.idx.b32 %f3, %f2, 1, 31, -1;"
    compared = "mov.f32 %f4, 0f7FC00000;\nsetp.eq.f32 %p1, %f4, 0f7FC00000;\n"
    body = f"{LANES}{statement}\n{compared}selp.f32 %f1, 0f00000000, %f3, %p1;\n"
    assert set(proofs(body, statement, "shuffle-lane").values()) == {""}


def test_what_a_false_guard_keeps_from_being_read_is_not_needed_but_the_guard_is() -> None:
    asked = "setp.gt.u32 %p1, %r2, 40;"
    body = f"mov.u32 %r2, %laneid;\nadd.u32 %r3, %r2, 4;\n{asked}\n@%p1 mov.u32 %r1, %r3;\n"
    assert set(proofs(body, "add.u32 %r3, %r2, 4;", "integer").values()) == {"unused result"}
    assert set(proofs(body, asked, "compare-opposite").values()) == {""}


def test_what_was_computed_before_a_loop_is_not_what_the_loop_leaves() -> None:
    body = f"{LANES}mov.u32 %r4, 0;\nbra first;\nfirst: add.u32 %r5, %r4, 1;\n"
    body += "loop: add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 9;\n@%p1 bra loop;\nadd.u32 %r6, %r4, 1;\n"
    body += "setp.eq.u32 %p2, %r2, 1;\nselp.b32 %r3, %r5, %r6, %p2;\n"
    statement = "shfl.sync.idx.b32 %r1, %r3, 2, 31, -1;"
    found = proofs(f"{body}{statement}\n", statement, "shuffle-lane")
    assert found["shfl.sync.idx.b32 %r1, %r3, 1, 31, -1;"] == ""
    assert found["shfl.sync.idx.b32 %r1, %r3, 3, 31, -1;"] == "same lanes"


def test_the_lane_that_a_register_names() -> None:
    statement = "shfl.sync.idx.b32 %f3, %f2, %r4, 31, -1;"
    body = f"{LANES}ld.param.u32 %r4, [n];\n{statement}\n"
    assert set(proofs(f"{body}mov.f32 %f1, %f3;\n", statement, "shuffle-mode").values()) == {""}
    # Counted from lane 0 it is the same lane, but not backwards; counted from lane 1 it is the next one, or another.
    for lane, proven in ((0, "same lanes"), (1, "")):
        only = f"setp.eq.u32 %p1, %r2, {lane};\nselp.f32 %f1, %f3, 0f00000000, %p1;\n"
        assert proofs(f"{body}{only}", statement, "shuffle-mode") == {
            "shfl.sync.bfly.b32 %f3, %f2, %r4, 31, -1;": proven,
            "shfl.sync.down.b32 %f3, %f2, %r4, 31, -1;": proven,
            "shfl.sync.up.b32 %f3, %f2, %r4, 31, -1;": "",
        }
        for limited in (", 30, -1;", ", 31, 15;"):
            other = statement.replace(", 31, -1;", limited)
            found = proofs(f"{body}{only}".replace(statement, other), other, "shuffle-mode")
            assert set(found.values()) == {""}


def test_nothing_is_said_of_lanes_behind_a_branch_that_parts_them() -> None:
    uniform = "setp.eq.u32 %p1, %r4, 1;\n"
    parting = "setp.eq.u32 %p1, %r2, 1;\n"
    for asked, alike in ((uniform, True), (parting, False)):
        body = f"{LANES}ld.param.u32 %r4, [n];\n{asked}@%p1 bra skip;\nmov.f32 %f1, 0f3F800000;\n"
        body += "skip: add.u32 %r1, %r4, 1;\n"
        statement = "shfl.sync.idx.b32 %f1, %f1, 2, 31, -1;"
        found = proofs(f"mov.f32 %f1, 0f00000000;\n{body}{statement}\n", statement, "shuffle-lane")
        assert set(found.values()) == ({"same lanes"} if alike else {""})


def test_classes_of_lanes_of_a_loop_are_found() -> None:
    body = f"{PAIRS}mov.f32 %f1, 0f00000000;\nmov.u32 %r1, 0;\nloop: add.rn.f32 %f1, %f1, %f4;\nadd.u32 %r1, %r1, 1;\n"
    body += "setp.lt.u32 %p1, %r1, 4;\n@%p1 bra loop;\n"
    statement = "shfl.sync.bfly.b32 %f1, %f1, 2, 31, -1;"
    found = proofs(f"{body}{statement}\n", statement, "shuffle-lane")
    assert found["shfl.sync.bfly.b32 %f1, %f1, 3, 31, -1;"] == "same lanes"
    assert found["shfl.sync.bfly.b32 %f1, %f1, 4, 31, -1;"] == ""


@pytest.mark.parametrize(
    ("mnemonic", "lane", "limits", "expected"),
    [
        ("shfl.sync.bfly.b32", 1, 31, [1, 0, 3, 2]),
        ("shfl.sync.idx.b32", 5, 31, [5, 5, 5, 5]),
        ("shfl.sync.up.b32", 2, 0, [0, 1, 0, 1]),
        ("shfl.sync.down.b32", 30, 31, [30, 31, 2, 3]),
        # Segments of 2: the lane counts from each segment's first.
        ("shfl.sync.idx.b32", 1, (30 << 8) | 31, [1, 1, 3, 3]),
        # The last lane of the warp is out of reach.
        ("shfl.sync.bfly.b32", 31, 30, [0, 30, 29, 28]),
    ],
)
def test_the_sources_of_a_shuffle(mnemonic: str, lane: int, limits: int, expected: list[int]) -> None:
    assert list(sources(mnemonic, ("%f1", "%f2", str(lane), str(limits), "-1")))[:4] == expected


def test_bounds_follow_branches_and_loops() -> None:
    text = f"""{HEAD}ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
and.b32 %r3, %r2, 31;
mov.u32 %r4, 0;
loop: add.u32 %r4, %r4, 1;
setp.lt.u32 %p1, %r4, 10;
@%p1 bra loop;
setp.gt.s32 %p2, %r1, 4;
@%p2 bra end;
add.u32 %r5, %r1, %r3;
mul.lo.u32 %r6, %r1, %r1;
{BEHIND}"""
    flow = flow_of(parse_kernel(text, "kernel"))
    ranges = Ranges(flow)
    last = next(s.index for s in flow.kernel.statements if s.opcode == "st")
    state = ranges.before(last)
    assert state is not None
    assert state.value("%r1") == Interval(1, 4)
    assert state.value("%r2") == Interval(0, 1023)
    assert state.value("%r3") == Interval(0, 31)
    assert state.value("%r4").low == 10
    assert state.value("%r5") == Interval(1, 35)
    assert state.value("%r6") == Interval(1, 16)
    assert state.truth("%p2") is False


def test_a_call_has_no_more_splits_than_the_contract_allows() -> None:
    for name, most in (("n_splits", 65535), ("splitk_reduce_d256_param_4", 65535), ("kv_len", 2**31 - 1)):
        text = f"{HEAD}ld.param.u32 %r1, [{name}];\n{BEHIND}"
        state = Ranges(flow_of(parse_kernel(text, "kernel"))).before(1)
        assert state is not None
        assert state.value("%r1") == Interval(1, most)


@pytest.mark.parametrize(
    ("directive", "threads"), [("", 1024), (".maxntid 64", 64), (".maxntid 64, 1, 1", 64), (".maxntid 32, 4, 2", 256)]
)
def test_a_kernel_states_how_many_threads_a_block_has_at_most(directive: str, threads: int) -> None:
    text = HEAD.replace(") {", f") {directive} {{") + f"mov.u32 %r1, %tid.x;\n{BEHIND}"
    state = Ranges(flow_of(parse_kernel(text, "kernel"))).before(1)
    assert state is not None
    assert state.value("%r1") == Interval(0, threads - 1)


def test_the_lanes_of_a_kernel_with_nothing_in_it() -> None:
    assert Lanes(flow_of(parse_kernel(".entry kernel() { ret; }", "kernel"))).flow.kernel.entry == "kernel"

"""The faults planted in the Rust kernels' PTX: anchors that must find their place, and edits that are PTX."""

from __future__ import annotations

import re

import pytest

from diffcheck.assemble.ptxas import assemble_all_entries, find_ptxas
from diffcheck.cases import get_case
from diffcheck.errors import MissingRequirementError
from diffcheck.oxide.files import installed_module
from diffcheck.planning import plan_for
from diffcheck.selftest.anchors import REGISTER_ADD, REGISTER_FMA, Part, exchange_links, inside, nth, unfused
from diffcheck.selftest.base import Mutant, StaleMutantError
from diffcheck.selftest.damage import DAMAGED, Damage
from diffcheck.selftest.edit import Edit
from diffcheck.selftest.mutants.oxide import mutants
from diffcheck.selftest.mutants.ptx import mutants as builder_mutants
from diffcheck.selftest.ptx_run import PROFILE, TARGET, PtxFault

CHAIN = """	fma.rn.f32 	%r1, %r2, %r3, %r0;
	mov.b32 	%r5, 1;
	fma.rn.f32 	%r4, %r5, %r6, %r1;
	fma.rn.f32 	%r7, %r8, %r9, %r4;
"""
TEXT = f""".visible .entry kernel_a(
)
{{
	bar.sync 	0;
{CHAIN}	bar.sync 	0;
	ret;
}}
.visible .entry kernel_b(
)
{{
	bar.sync 	0;
	add.rn.f32 	%r1, %r2, %r3;
}}
"""


def edit_and_kernels(mutant: Mutant) -> tuple[Edit, tuple[str, ...]]:
    if isinstance(mutant.plant, PtxFault):
        edit, case = mutant.plant.edit, mutant.plant.cases[0]
    else:
        assert isinstance(mutant.plant, Damage)
        edit, case = mutant.plant.edit, DAMAGED
    plan = plan_for(get_case(case), PROFILE)
    return edit, (plan.partial_entry, plan.reduce_entry)


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_an_oxide_mutant_is_ptx(mutant: Mutant) -> None:
    try:
        find_ptxas()
    except MissingRequirementError as error:
        pytest.skip(str(error))
    edit, entries = edit_and_kernels(mutant)
    text = installed_module(TARGET).only(entries)
    edited = edit(text)
    assert edited != text
    assemble_all_entries(edited, entries, TARGET)


def test_the_rust_kernels_have_the_faults_of_the_builders() -> None:
    ours = {mutant.name.removeprefix("oxide-") for mutant in mutants()}
    theirs = {mutant.name for mutant in builder_mutants()}
    assert theirs <= ours


def test_a_part_lies_between_its_marks() -> None:
    first, end = Part("kernel_a", (r"^\tbar\.sync \t0;\n", 0), (r"^\tbar\.sync \t0;\n", 0)).span(TEXT)
    assert TEXT[first:end] == CHAIN
    first, end = Part("kernel_b", (r"^\tbar\.sync \t0;\n", -1)).span(TEXT)
    assert TEXT[first:end] == "\tadd.rn.f32 \t%r1, %r2, %r3;"


@pytest.mark.parametrize(
    "part",
    [
        Part("kernel_c"),
        Part("kernel_b", ("bar", 1)),
        Part("kernel_b", ("bar", 0), ("bar", 0)),
        Part("kernel_a", None, ("cp.async", 0)),
    ],
)
def test_a_part_that_is_not_there_is_an_error(part: Part) -> None:
    with pytest.raises(StaleMutantError):
        part.span(TEXT)


def test_an_edit_that_changes_nothing_is_an_error() -> None:
    with pytest.raises(StaleMutantError):
        inside(Part("kernel_a"), lambda text: text)(TEXT)


def test_a_match_that_is_not_there_is_an_error() -> None:
    with pytest.raises(StaleMutantError):
        nth(REGISTER_FMA, 3, unfused)(CHAIN)


def test_an_fma_is_unfused() -> None:
    edited = nth(REGISTER_FMA, -1, unfused)(CHAIN)
    assert "mul.rn.f32 %mutant_f, %r8, %r9;\n\tadd.rn.f32 %r7, %mutant_f, %r4;" in edited
    assert edited.count("fma.rn.f32") == 2


def test_neighbours_of_a_chain_are_exchanged() -> None:
    edited = exchange_links(REGISTER_FMA, 0, "c")(CHAIN)
    found = [match.groups() for match in REGISTER_FMA.finditer(edited)]
    assert found == [
        ("%r4", "%r5", "%r6", "%r0"),
        ("%r4", "%r2", "%r3", "%r4"),
        ("%r7", "%r8", "%r9", "%r4"),
    ]
    assert edited.index("mov.b32") < edited.index("fma.rn.f32")


def test_a_chain_that_is_too_short_is_an_error() -> None:
    with pytest.raises(StaleMutantError):
        exchange_links(REGISTER_ADD, 0, "a")("\tadd.rn.f32 \t%r1, %r2, %r3;\n")


def test_sums_with_constants_are_no_links() -> None:
    assert re.search(REGISTER_FMA, "\tfma.rn.f32 \t%r1, %r2, %r3, 0f3F800000;\n") is None

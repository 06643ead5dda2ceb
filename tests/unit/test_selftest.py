"""The self-test's own parts: edits that must find their place, and what counts as caught."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffcheck.arms import Problem
from diffcheck.assemble.ptxas import assemble, find_ptxas
from diffcheck.cases import get_case
from diffcheck.compare import Verdict
from diffcheck.errors import BadInputError, MissingRequirementError
from diffcheck.executors.program import Program
from diffcheck.planning import plan_for
from diffcheck.selftest.base import Finding, Mutant, StaleMutantError
from diffcheck.selftest.battery import BATTERY, Comparator, wrong_answers
from diffcheck.selftest.damage import DAMAGED, damage_edit
from diffcheck.selftest.edit import Edit, Place, substitute, within
from diffcheck.selftest.mutants.comparator import mutants as comparator_mutants
from diffcheck.selftest.mutants.ptx import mutants as ptx_mutants
from diffcheck.selftest.mutants.twin import TwinFault
from diffcheck.selftest.ptx_run import PROFILE, TARGET, MutatedArm, PtxFault
from diffcheck.selftest.registry import all_mutants, select_mutants
from diffcheck.selftest.run import run_mutants
from py_builder_kernel import build_module

TEXT = """.visible .entry kernel_a(
)
{
    // phase: load
    mov.u32 %r1, 1;
    // phase: store
    mov.u32 %r1, 2;
}
.visible .entry kernel_b(
)
{
    // phase: load
    mov.u32 %r1, 3;
}
"""


def planted(finding: Finding, meant_for: str = "bits") -> Mutant:
    return Mutant("planted", "comparator", "a fault", meant_for, lambda: finding)


def test_an_edit_changes_its_phase_of_its_kernel_only() -> None:
    edit = within(Place("kernel_b", "load"), substitute(r"mov\.u32", "not.b32"))
    assert edit(TEXT) == TEXT.replace("mov.u32 %r1, 3", "not.b32 %r1, 3")


@pytest.mark.parametrize(
    ("place", "pattern"),
    [
        (Place("kernel_c", "load"), "mov"),
        (Place("kernel_b", "store"), "mov"),
        (Place("kernel_a", "load", 1), "mov"),
        (Place("kernel_a", "load"), "fma"),
    ],
)
def test_a_mutant_that_no_longer_applies_is_an_error(place: Place, pattern: str) -> None:
    with pytest.raises(StaleMutantError):
        within(place, substitute(pattern, "xyz"))(TEXT)


def test_an_edit_that_changes_nothing_is_an_error() -> None:
    with pytest.raises(StaleMutantError):
        substitute("mov", "mov")(TEXT)


def kernels_of(case: str) -> tuple[str, ...]:
    plan = plan_for(get_case(case), PROFILE)
    return (plan.partial_entry, plan.reduce_entry)


def edit_and_kernels(mutant: Mutant) -> tuple[Edit, tuple[str, ...]]:
    if isinstance(mutant.plant, PtxFault):
        return mutant.plant.edit, kernels_of(mutant.plant.cases[0])
    return damage_edit(), kernels_of(DAMAGED)


@pytest.mark.parametrize("mutant", ptx_mutants(), ids=lambda mutant: mutant.name)
def test_a_ptx_mutant_is_ptx(mutant: Mutant) -> None:
    try:
        find_ptxas()
    except MissingRequirementError as error:
        pytest.skip(str(error))
    edit, entries = edit_and_kernels(mutant)
    text = build_module(entries, TARGET).text
    edited = edit(text)
    assert edited != text
    for entry in entries:
        assemble(edited, entry, TARGET)


@pytest.mark.parametrize(
    ("finding", "meant_for", "caught"),
    [
        (Finding(("bits",), ""), "bits", True),
        (Finding(("oracle", "bits"), ""), "bits", True),
        (Finding(("oracle",), ""), "bits", False),
        (Finding((), "every check held"), "bits", False),
        (Finding(("bits",), "", "another row moved"), "bits", False),
    ],
)
def test_only_the_check_that_is_meant_to_catches(finding: Finding, meant_for: str, caught: bool) -> None:
    tested = run_mutants([planted(finding, meant_for)], lambda _name: None)
    assert tested.mutants[0].caught is caught
    assert tested.status == ("holds" if caught else "fails")


def test_no_mutants_is_refused() -> None:
    with pytest.raises(BadInputError):
        run_mutants([], lambda _name: None)


def test_the_comparator_answers_the_battery() -> None:
    assert wrong_answers(Comparator()) == ()
    assert {item.must_hold for item in BATTERY} == {True, False}


def test_a_comparator_that_always_agrees_is_wrong_about_every_fault() -> None:
    def agree(*_results: object) -> Verdict:
        return Verdict("bits", True, "agreed", 1)

    wrong = wrong_answers(Comparator(agree, agree, agree))
    assert wrong == tuple(item.name for item in BATTERY if not item.must_hold)


@pytest.mark.parametrize("mutant", comparator_mutants(), ids=lambda mutant: mutant.name)
def test_comparator_mutants_are_caught(mutant: Mutant) -> None:
    tested = run_mutants([mutant], lambda _name: None)
    assert tested.status == "holds", tested.mutants[0].evidence


def test_names_are_unique_and_selectable() -> None:
    names = [mutant.name for mutant in all_mutants()]
    assert len(set(names)) == len(names)
    assert [mutant.name for mutant in select_mutants(["one-ulp-damage"])] == ["one-ulp-damage"]


class WrongArm(MutatedArm):
    """Kernels whose last result is wrong, whatever else is planted in them."""

    def program(self, problem: Problem, target: str) -> Program:
        program = super().program(problem, target)
        return replace(program, ptx=damage_edit()(program.ptx))


def test_a_fault_in_kernels_that_are_wrong_without_it_proves_nothing() -> None:
    wrong = planted(PtxFault(lambda text: text, (DAMAGED,), WrongArm)())
    assert wrong.plant().caught_by == ("bits",)
    tested = run_mutants((wrong,), lambda _: None)
    assert tested.status == "fails"
    assert tested.mutants[0].evidence.startswith(f"{DAMAGED} without a fault: query head 0, index 5:")


def test_a_fault_in_a_twin_that_is_wrong_without_it_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diffcheck.selftest.mutants.twin.BuilderArm", lambda: MutatedArm(damage_edit()))
    assert "without a fault" in TwinFault("drop-last-key")().unexpected

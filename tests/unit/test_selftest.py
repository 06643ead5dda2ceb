"""The self-test's own parts: edits that must find their place, and what counts as caught."""

from __future__ import annotations

import pytest

from diffcheck.arms import get_arm
from diffcheck.arms.base import DeviceArm
from diffcheck.assemble.ptxas import assemble, find_ptxas
from diffcheck.compare import Verdict
from diffcheck.errors import BadInputError, MissingRequirementError
from diffcheck.selftest.base import Finding, Mutant, StaleMutantError
from diffcheck.selftest.battery import BATTERY, Comparator, wrong_answers
from diffcheck.selftest.damage import damage_edit
from diffcheck.selftest.edit import Place, substitute, within
from diffcheck.selftest.mutants.comparator import mutants as comparator_mutants
from diffcheck.selftest.mutants.ptx import mutants as ptx_mutants
from diffcheck.selftest.ptx_run import PtxFault
from diffcheck.selftest.registry import all_mutants, select_mutants
from diffcheck.selftest.run import run_mutants

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


@pytest.mark.parametrize("target", ["sm_80", "sm_121"])
@pytest.mark.parametrize("entry", ["splitk_partial_f16_g4_d256_w8r8", "splitk_partial_f32_g3_d256_w12r4"])
def test_every_ptx_mutant_applies_to_every_kind_of_kernel(entry: str, target: str) -> None:
    arm = get_arm("builder")
    assert isinstance(arm, DeviceArm)
    text = arm.kernel(entry, target).ptx + arm.kernel("splitk_reduce_d256", target).ptx
    faults = [mutant.plant for mutant in ptx_mutants() if isinstance(mutant.plant, PtxFault)]
    assert faults
    for fault in faults:
        assert fault.edit(text) != text


@pytest.mark.parametrize("mutant", ptx_mutants(), ids=lambda mutant: mutant.name)
def test_a_ptx_mutant_is_ptx(mutant: Mutant) -> None:
    try:
        find_ptxas()
    except MissingRequirementError as error:
        pytest.skip(str(error))
    arm = get_arm("builder")
    assert isinstance(arm, DeviceArm)
    edit = mutant.plant.edit if isinstance(mutant.plant, PtxFault) else damage_edit()
    for entry in ("splitk_partial_f16_g4_d256_w8r8", "splitk_reduce_d256"):
        text = arm.kernel(entry, "sm_90").ptx
        try:
            edited = edit(text)
        except StaleMutantError:
            continue  # it is planted in the other kernel
        assemble(edited, entry, "sm_90")
        return
    pytest.fail("it is planted in neither kernel")


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

"""Targets that share programs: what need not run twice, and that what CI leaves out is really the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffcheck.arms import BuilderArm, DeviceArm, Kernel, OxideArm, device_arms
from diffcheck.cases import get_case, select
from diffcheck.errors import BadInputError
from diffcheck.parity.unlike import essence, only_unlike

CASES = tuple(get_case(f"random-8x2-L65-{storage}") for storage in ("f32", "f16"))


def test_sm_121_runs_the_programs_of_sm_120() -> None:
    for arm in device_arms():
        assert arm.entries("sm_121") == arm.entries("sm_120")
        for entry in arm.entries("sm_121"):
            assert essence(arm, entry, "sm_121") == essence(arm, entry, "sm_120"), f"{arm.name} {entry}"


def test_the_builder_has_no_programs_of_its_own_for_sm_80() -> None:
    """CI runs the Rust kernels' matrix alone there."""
    arm = BuilderArm()
    for entry in arm.entries("sm_80"):
        assert essence(arm, entry, "sm_80") == essence(arm, entry, "sm_89"), entry


def test_sm_89_has_programs_of_its_own_as_no_kernel_starts_early_there() -> None:
    assert only_unlike(CASES, [BuilderArm(), OxideArm()], "sm_89", ["sm_90"], "h200") == CASES


def test_sm_120_adds_what_waits_in_registers_where_sm_90_has_a_ring_and_a_launch_with_less_shared_memory() -> None:
    texts = [[essence(BuilderArm(), f"splitk_partial_{storage}_g4_d256_w8r4", target) for target in ("sm_90", "sm_120")]
             for storage in ("f32", "f16")]  # fmt: skip
    assert [ours[0] == other[0] for ours, other in texts] == [False, True]
    assert [(ours[2], other[2]) for ours, other in texts] == [(131_328, 51_200), (116_736, 98_560)]
    assert only_unlike(CASES, [BuilderArm(), OxideArm()], "sm_120", ["sm_90", "sm_89"], "h200") == CASES


def test_sm_80_has_oxide_kernels_of_its_own() -> None:
    assert only_unlike(CASES, [OxideArm()], "sm_80", ["sm_90", "sm_89"], "h200") == CASES


def test_nothing_left_is_no_run() -> None:
    with pytest.raises(BadInputError, match="unlike: 'sm_120' is not allowed; allowed: a target of which some program"):
        only_unlike(CASES, [BuilderArm()], "sm_121", ["sm_120"], "h200")


class WithOneMore(BuilderArm):
    """The builder's kernels, of which one target's says one thing more."""

    def kernel(self, entry: str, target: str) -> Kernel:
        kernel = super().kernel(entry, target)
        return replace(kernel, ptx=kernel.ptx.replace("ret;", "nop;\n    ret;")) if target == "sm_121" else kernel


class Shared(BuilderArm):
    """The builder's kernels, launched with more shared memory on one target."""

    def kernel(self, entry: str, target: str) -> Kernel:
        kernel = super().kernel(entry, target)
        return replace(kernel, dynamic_shared=kernel.dynamic_shared + 16 * (target == "sm_121"))


@pytest.mark.parametrize("arm", [WithOneMore(), Shared()])
def test_one_instruction_or_one_launch_is_a_difference(arm: DeviceArm) -> None:
    assert only_unlike(CASES, [arm], "sm_121", ["sm_120"], "h200") == CASES


def test_a_merge_asks_for_its_own_kernel_only() -> None:
    merges = [case for case in select("quick") if case.stage == "reduce"]
    with pytest.raises(BadInputError, match="unlike"):
        only_unlike(merges, [BuilderArm(), OxideArm()], "sm_120", ["sm_90"], "h200")

"""What a ring spares, in the text of both arms' kernels: selects between rows, and a policy for each copy."""

from __future__ import annotations

import re

import pytest

from diffcheck.selftest.generated.population import Subject, subjects
from py_builder_kernel.kernels.registry import kernel_named
from py_builder_kernel.kernels.spec import PartialSpec

ARMS = ("builder", "oxide")
TARGETS = ("sm_80", "sm_89", "sm_90", "sm_120", "sm_121")
_COPY = re.compile(r"cp\.async\.cg\.shared\.global(?P<hint>\.L2::cache_hint)? .*, 16, %r\d+(?:, (?P<policy>%rd\d+))?;")


def partials(arm: str, target: str) -> tuple[Subject, ...]:
    return subjects((arm,), target, ["splitk_partial_*"])


def lines(subject: Subject) -> list[str]:
    kernel = subject.flow.kernel
    return [kernel.line_text(statement) for statement in kernel.statements]


def scores(code: list[str]) -> list[str]:
    """From where a step's K is there, or the step begins, to the vote on its maxima."""
    (vote,) = (at for at, line in enumerate(code) if line.startswith("vote.sync.any.pred"))
    waits = [at for at, line in enumerate(code[:vote]) if line.startswith("cp.async.wait_group")]
    return code[waits[-1] + 1 : vote] if waits else code[:vote]


def selects(code: list[str]) -> int:
    """Choices between two numbers that the lane has computed."""
    return sum(re.fullmatch(r"selp\.f32 (%\w+), %\w+, %\w+, %p\d+;", line) is not None for line in code)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arm", ARMS)
def test_the_butterfly_of_a_ring_selects_between_heads_alone(arm: str, target: str) -> None:
    """A pair takes two selects, and each pair has one sum less behind it."""
    rings = 0
    for subject in partials(arm, target):
        code = lines(subject)
        is_ring = any(line.startswith("cp.async.cg") for line in code)
        _, kernel = kernel_named(subject.entry)
        assert isinstance(kernel, PartialSpec)
        # Without a ring the oxide compiler has exponentials in front, too, which choose as well.
        count, pairs = selects(scores(code)), (1 if is_ring else kernel.rows) * kernel.group - 1
        assert count == 2 * pairs if is_ring else count >= 2 * pairs, subject.entry
        rings += is_ring
    assert rings


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arm", ARMS)
def test_a_kernel_makes_its_policy_once_and_every_copy_has_it(arm: str, target: str) -> None:
    """But for the oxide kernels of sm_80: their PTX version, 7.0, has no policies."""
    for subject in partials(arm, target):
        code = lines(subject)
        copies = [_COPY.fullmatch(line) for line in code if line.startswith("cp.async.cg")]
        made = [line for line in code if line.startswith("createpolicy")]
        if (arm, target) == ("oxide", "sm_80"):
            assert not made
            assert all(copy and copy["hint"] is copy["policy"] is None for copy in copies), subject.entry
        elif copies:
            (policy,) = made
            (register,) = re.findall(r"^createpolicy\.fractional\.L2::evict_first\.b64 (%rd\d+);$", policy)
            assert all(copy and copy["hint"] and copy["policy"] == register for copy in copies), subject.entry
            assert sum(register in re.findall(r"%rd\d+", line) for line in code) == len(copies) + 1, subject.entry
        else:
            assert not made, subject.entry

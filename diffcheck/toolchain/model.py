"""What a comparison of builds found, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.executors.builds import Build
from diffcheck.receipts.fields import Count, Model, Name, Target
from diffcheck.receipts.provenance import Tree
from diffcheck.repeated import require_once


class BuildResult(Model):
    """One arm's kernels, assembled one way, over all cases."""

    arm: Name
    build: Build
    programs: Count
    """Distinct PTX texts that were assembled."""
    cases: Count
    words: Count
    """f32 words compared: the output with the twin's, and output and scratch with those of the first build."""
    failures: tuple[str, ...]
    """One line for each case that differs or faults; empty when it holds."""

    @property
    def what(self) -> str:
        """Arm and build in words."""
        return f"{self.arm} by {self.build}"

    @model_validator(mode="after")
    def _numbers_are_possible(self) -> Self:
        if not 1 <= self.programs <= self.cases:
            raise ValueError(f"programs: {self.programs} texts of {self.what} for {self.cases} cases")
        if len(self.failures) > self.cases:
            raise ValueError(f"failures: {len(self.failures)} of {self.what} in {self.cases} cases")
        return self


class Toolchain(Model):
    """Every build of every arm on one device."""

    schema_name: Literal["diffcheck-toolchain/1"] = Field(default="diffcheck-toolchain/1", alias="schema")
    tool_version: Name
    command: tuple[str, ...]
    tree: Tree
    device: Name
    arch: Target
    sms: int
    driver_version: Name
    """The newest CUDA that the driver supports."""
    runtime_version: Name
    cupy_version: Name
    ptxas_version: Name | None
    """Null where the driver's was the only build."""
    target: Target
    profile: Name
    status: Literal["holds", "fails"]
    cases: tuple[Name, ...] = Field(min_length=1)
    results: tuple[BuildResult, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _status_follows_from_results(self) -> Self:
        wrong = any(result.failures or not result.words for result in self.results)
        expected = "fails" if wrong else "holds"
        if self.status != expected:
            raise ValueError(f"status: {self.status} contradicts the results, which say {expected}")
        return self

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        require_once("cases", self.cases)
        require_once("results", (result.what for result in self.results))
        return self

    @model_validator(mode="after")
    def _every_arm_ran_every_case_by_every_build(self) -> Self:
        builds = [result.build for result in self.results if result.arm == self.results[0].arm]
        first = self.results[0].arm
        for arm in dict.fromkeys(result.arm for result in self.results):
            own = [result for result in self.results if result.arm == arm]
            if [result.build for result in own] != builds:
                raise ValueError(f"results: {arm} ran by {_names(own)}, and {first} by {', '.join(builds)}")
            for result in own:
                if result.cases != len(self.cases):
                    raise ValueError(f"results: {result.what} ran {result.cases} cases of {len(self.cases)}")
                if result.programs != own[0].programs:
                    other = f"{own[0].what} {own[0].programs}"
                    raise ValueError(f"results: {result.what} ran {result.programs} texts, and {other}")
            _require_words(own)
        return self

    @model_validator(mode="after")
    def _ptxas_is_named_where_it_assembled(self) -> Self:
        if all(result.build == "jit" for result in self.results) != (self.ptxas_version is None):
            raise ValueError(f"ptxas_version: {self.ptxas_version} contradicts the builds")
        return self


def _names(results: Sequence[BuildResult]) -> str:
    return ", ".join(result.build for result in results)


def _require_words(results: Sequence[BuildResult]) -> None:
    """Raise `ValueError` where an arm's builds did not compare as much.

    The first compares its output once, the others theirs twice and the scratch beside. Where one fails, a run may have
    ended before anything was compared.
    """
    first, *others = results
    if first.failures:
        return
    if first.words < first.cases:
        raise ValueError(f"words: {first.words} of {first.what} in {first.cases} cases")
    sound = [result for result in others if not result.failures]
    for result in sound:
        if result.words < 2 * first.words:
            raise ValueError(f"words: {result.words} of {result.what}, and twice {first.words} are of outputs alone")
        if result.words != sound[0].words:
            raise ValueError(f"words: {result.words} of {result.what}, and {sound[0].words} of {sound[0].what}")

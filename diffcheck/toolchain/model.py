"""What a comparison of builds found, as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.executors.builds import Build
from diffcheck.receipts.fields import Count, Model, Name, Target
from diffcheck.receipts.provenance import Tree


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

"""The record of `diffcheck profile`: what Nsight Compute counted, launch by launch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.experiment.model import Whole
from diffcheck.profile.quantities import shown
from diffcheck.receipts.ab.host import AbTool, HostFacts
from diffcheck.receipts.cases import require_heads
from diffcheck.receipts.fields import Model, Name, Sha256, Target
from diffcheck.repeated import first_repeated

Part = Literal["partial", "reduce"]
Cache = Literal["all", "none"]
# Far beyond what a device counts or attains. Sums and products of such numbers are finite.
_LARGEST = 1e30


class Metric(Model):
    """One number, in the unit that Nsight Compute gives it."""

    value: Annotated[float, Field(ge=-_LARGEST, le=_LARGEST, allow_inf_nan=False)]
    unit: str


class Launched(Model):
    """What the watched process says of one launch."""

    case: Name
    num_q_heads: Whole
    num_kv_heads: Whole
    kv_len: Whole
    storage: Literal["f32", "f16"]
    arm: Name
    entry: Name
    ptx_sha256: Sha256

    def is_of(self, part: Part) -> bool:
        """Return whether the kernel is that of a part of a call."""
        return self.entry.startswith(f"splitk_{part}_")

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        require_heads(self.num_q_heads, self.num_kv_heads)
        return self


class Profiled(Model):
    """One launch under Nsight Compute."""

    launch: Launched
    part: Part
    cache_control: Cache
    """all: caches were emptied before each pass; none: they hold what the launches before left."""
    metrics: dict[Name, Metric] = Field(min_length=1)
    """Every number of the sections that were collected, by its name there."""

    @model_validator(mode="after")
    def _nothing_shown_is_negative(self) -> Self:
        for name, metric in self.metrics.items():
            if metric.value < 0 and shown(name):
                raise ValueError(f"metrics.{name}: {metric.value:g} is less than 0, and it is a count, share or time")
        return self

    @model_validator(mode="after")
    def _part_is_that_of_the_kernel(self) -> Self:
        if not self.launch.is_of(self.part):
            raise ValueError(f"part: {self.part} contradicts the kernel {self.launch.entry}")
        return self


class Profile(Model):
    """What `diffcheck profile` writes. Times in it are of single launches under the tool, and no measurement."""

    schema_name: Literal["diffcheck-profile/1"] = Field(default="diffcheck-profile/1", alias="schema")
    tool: AbTool
    contract: Name
    host: HostFacts
    target: Target
    """The architecture that PTX was built for."""
    profile: Name
    ncu_version: Name
    launches: tuple[Profiled, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _each_launch_once(self) -> Self:
        twice = first_repeated((one.part, one.launch.arm, one.launch.case) for one in self.launches)
        if twice is not None:
            part, arm, case = twice
            raise ValueError(f"launches: {part} of {arm} on {case} is there twice")
        return self

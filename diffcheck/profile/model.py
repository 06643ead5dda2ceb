"""The record of `diffcheck profile`: what Nsight Compute counted, launch by launch."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from diffcheck.receipts.ab.host import AbTool, HostFacts
from diffcheck.receipts.fields import Count, Model, Name, Sha256, Target

Part = Literal["partial", "reduce"]
Cache = Literal["all", "none"]


class Metric(Model):
    """One number, in the unit that Nsight Compute gives it."""

    value: float = Field(allow_inf_nan=False)
    unit: str


class Launched(Model):
    """What the watched process says of one launch."""

    case: Name
    num_q_heads: Count
    num_kv_heads: Count
    kv_len: Count
    storage: Literal["f32", "f16"]
    arm: Name
    entry: Name
    ptx_sha256: Sha256


class Profiled(Model):
    """One launch under Nsight Compute."""

    launch: Launched
    part: Part
    cache_control: Cache
    """all: caches were emptied before each pass; none: they hold what the launches before left."""
    metrics: dict[Name, Metric] = Field(min_length=1)
    """Every number of the sections that were collected, by its name there."""


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

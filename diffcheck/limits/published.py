"""The published numbers, read from `published.toml`."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

import tomli
from pydantic import Field

from diffcheck.errors import BadInputError
from diffcheck.experiment.model import Positive
from diffcheck.receipts.fields import Model, Name, Target

FILE = "published.toml"


class Device(Model):
    """A device, by the planner's profile of it."""

    profile: Name
    clock_ghz: Positive
    gigabytes_per_second: Positive
    source: Name


class Pipe(Model):
    """Where instructions of some kinds are executed, and how many lanes of them a clock and SM."""

    name: Name
    kinds: tuple[Name, ...] = Field(min_length=1)
    results: dict[Target, Positive]


class Published(Model):
    """All of the file."""

    schema_name: Literal["diffcheck-published/1"] = Field(alias="schema")
    latency_us: Positive
    device: tuple[Device, ...] = Field(min_length=1)
    pipe: tuple[Pipe, ...] = Field(min_length=1)

    def device_of(self, profile: str) -> Device:
        """Return a device. Raises `BadInputError` for a profile that stands for none."""
        for one in self.device:
            if one.profile == profile:
                return one
        raise BadInputError("profile", profile, ", ".join(one.profile for one in self.device))


@cache
def published() -> Published:
    """Return the numbers."""
    text = resources.files("diffcheck.limits").joinpath(FILE).read_text(encoding="utf-8")
    return Published.model_validate(tomli.loads(text))

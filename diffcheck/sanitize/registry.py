"""The planted faults: small PTX kernels, each in a faulty and a right version, and what must find the fault."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal, TypeAlias

import tomli
from pydantic import Field, ValidationError, model_validator
from typing_extensions import Self

from diffcheck.errors import choose, first_wrong
from diffcheck.receipts.fields import Count, Model, Name

ToolName: TypeAlias = Literal["memcheck", "racecheck", "initcheck", "synccheck"]
Version: TypeAlias = Literal["faulty", "right"]

TOOLS: tuple[ToolName, ...] = ("memcheck", "racecheck", "initcheck", "synccheck")
VERSIONS: tuple[Version, ...] = ("faulty", "right")
_FOLDER = "planted"


class Planted(Model):
    """One planted fault; planted.toml says what each field means."""

    name: Name
    fault: Name
    machine: Name
    tool: ToolName | None = None
    reports: str = ""
    because: str = ""
    inputs: Count = 64
    outputs: Count = Field(default=64, ge=1)
    count: int | None = None
    grid: int = Field(default=1, ge=1)
    block: int = Field(default=64, ge=1, le=1024)

    @model_validator(mode="after")
    def _tool_or_reason(self) -> Self:
        if (self.tool is None) != bool(self.because) or (self.tool is None) == bool(self.reports):
            raise ValueError("either tool and reports, or because")
        return self

    @property
    def ptx(self) -> str:
        """The PTX text with the entries `faulty` and `right`."""
        return (_folder() / f"{self.name}.ptx").read_text(encoding="utf-8")


class _Registry(Model):
    schema_version: Literal[1] = Field(alias="schema")
    planted: tuple[Planted, ...] = Field(min_length=1)


@cache
def planted_faults() -> tuple[Planted, ...]:
    """Return every planted fault in the order of the registry. Raises `BadInputError` when the registry is wrong."""
    text = (_folder() / "planted.toml").read_text(encoding="utf-8")
    try:
        return _Registry.model_validate(tomli.loads(text)).planted
    except ValidationError as error:
        raise first_wrong("planted.toml", error) from error


def planted_fault(name: str) -> Planted:
    """Return the named planted fault. Raises `BadInputError` for a name that does not exist."""
    found = {planted.name: planted for planted in planted_faults()}
    return found[choose("planted", name, found)]


def _folder() -> Path:
    return Path(str(resources.files("diffcheck.sanitize"))) / _FOLDER

"""What a check says."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.receipts.fields import Model, Name

State = Literal["ok", "lacks", "note"]
Need = Literal["machine", "gpu", "verdict", "extra"]
"""What it is needed for. machine: comparing in the PTX machine; gpu: comparing and timing on a GPU; verdict: a receipt
that counts; extra: a command of its own, or a column to inform."""


class Finding(Model):
    """One thing that was looked at."""

    name: Name
    need: Need
    state: State
    """ok: it is there; lacks: it is not; note: there is nothing to mend, or it could not be known."""
    detail: Name
    """One line."""
    remedy: Name | None = None
    """The command, or the act, that mends it."""

    @model_validator(mode="after")
    def _what_lacks_can_be_mended(self) -> Self:
        if self.state == "lacks" and self.remedy is None:
            raise ValueError(f"{self.name}: lacks something and says no remedy")
        return self


class Checkup(Model):
    """Every finding, and what follows."""

    schema_name: Literal["diffcheck-doctor/1"] = Field(default="diffcheck-doctor/1", alias="schema")
    findings: tuple[Finding, ...]
    ready: tuple[Need, ...]
    """What nothing is lacking for, of machine, gpu and verdict."""

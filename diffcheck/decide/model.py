"""The record of a decision."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.decide.reasons import Reason
from diffcheck.receipts.fields import Count, Model, Name, Sha256, Target

Verdict = Literal["PROMOTE", "HOLD", "REJECT", "INCONCLUSIVE"]
VERDICTS: tuple[Verdict, ...] = ("PROMOTE", "HOLD", "REJECT", "INCONCLUSIVE")


class Judged(Model):
    """One file that was looked at."""

    file: Name
    """Its name in the experiment's folder."""
    digest: Sha256 | None
    """Null: it is no whole receipt."""
    host: Name | None
    arch: Target | None
    device: Name | None
    role: Literal["required", "advisory", "not a receipt"]
    fresh: bool
    """Whether it speaks of this tree and this experiment."""
    trusted: bool
    """Whether its times can be trusted."""
    rows: Count
    """Rows that were judged and count: of a required host, fresh, trusted and timed."""


class Decision(Model):
    """A verdict and how it came about."""

    schema_name: Literal["diffcheck-decision/1"] = Field(default="diffcheck-decision/1", alias="schema")
    experiment: Name
    question: Name
    policy: Name
    verdict: Verdict
    required_architectures: tuple[Target, ...]
    gated_rows: Count
    """Rows that the verdict rests on."""
    reasons: tuple[Reason, ...] = Field(min_length=1)
    """Heaviest first."""
    receipts: tuple[Judged, ...]

    @model_validator(mode="after")
    def _promotes_only_on_evidence(self) -> Self:
        blocked = any(reason.severity in {"inconclusive", "hold", "reject"} for reason in self.reasons)
        if self.verdict == "PROMOTE" and (blocked or not self.gated_rows):
            raise ValueError("verdict: PROMOTE contradicts the reasons")
        return self

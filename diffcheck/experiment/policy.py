"""What is enough for a promotion. Applied when deciding, so that a changed limit stales no receipt."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from diffcheck.experiment.model import Positive, Slug
from diffcheck.receipts.fields import Count, Model, Name


class Speed(Model):
    """The limit on candidate over baseline, for the whole 95 % interval of every row."""

    limit: Positive
    limit_passes: bool
    """Whether an interval that ends at the limit passes (`<=`) or not (`<`)."""


class Accuracy(Model):
    """Limits on each arm's output against the f64 oracle, all rows together."""

    min_cosine: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
    """The least cosine that passes."""
    max_abs_error: Positive
    """The limit on the largest absolute difference."""
    max_abs_error_passes: bool
    """Whether a difference at the limit passes (`<=`) or not (`<`)."""


class ControlNeeds(Model):
    """Controls that a receipt must have passed, besides the A/A, which every receipt needs."""

    planted_percent: tuple[Positive, ...]
    """Slow-downs that were planted and found."""
    planted_min_kv_len: Count
    """The shortest context that a planted slow-down counts at."""


class Trust(Model):
    """What a run must have been like."""

    clean_tree: bool
    """Whether changed tracked files outside evidence/ and docs/ hold a receipt back."""
    no_foreign_process: bool
    """Whether another live compute process on the GPU, before or after, holds a receipt back."""
    selftest: Literal["required", "may be left out"]
    """Whether the self-test must have run. One that failed always holds a receipt back."""


class Policy(Model):
    """One set of limits."""

    schema_name: Literal["diffcheck-policy/1"] = Field(alias="schema")
    name: Slug
    title: Name
    speed: Speed
    accuracy: Accuracy
    controls: ControlNeeds
    trust: Trust

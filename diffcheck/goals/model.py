"""A file of goals: which rows of which experiment, and what is allowed there."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.experiment.model import Positive, Slug, Whole
from diffcheck.receipts.fields import Model, Name, Target
from diffcheck.repeated import first_repeated, require_once

Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class Selection(Model):
    """Rows of an experiment: those that fit every field that is not null."""

    title: Name
    """What a report calls the goal; no two of a file have the same."""
    experiment: Slug
    heads: tuple[tuple[Whole, Whole], ...] | None = Field(default=None, min_length=1)
    """Query heads and KV heads."""
    storages: tuple[Literal["f32", "f16"], ...] | None = Field(default=None, min_length=1)
    generators: tuple[Name, ...] | None = Field(default=None, min_length=1)
    from_kv_len: Whole | None = None
    """The shortest context."""
    below_kv_len: Whole | None = None
    """All contexts are shorter."""

    @model_validator(mode="after")
    def _lengths_in_order(self) -> Self:
        first, end = self.from_kv_len, self.below_kv_len
        if first is not None and end is not None and first >= end:
            raise ValueError(f"from_kv_len: {first} is not below below_kv_len, which is {end}")
        return self


class TimeGoal(Selection):
    """Both arms' medians at a length are at most so many µs a call."""

    kind: Literal["time"]
    at_most_us: tuple[tuple[Whole, Positive], ...] = Field(min_length=1)
    """Keys, and µs: only rows of these lengths are selected."""

    @model_validator(mode="after")
    def _lengths_once(self) -> Self:
        require_once("at_most_us", (kv_len for kv_len, _ in self.at_most_us))
        return self


class FloorGoal(Selection):
    """Both arms' medians are at most `floor / share + plus_us`: the floor reads the bytes of K and V once."""

    kind: Literal["floor"]
    share: Share = 1.0
    plus_us: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class PeerGoal(Selection):
    """Both arms are faster than each peer with the whole interval, or, where the peer itself is within `floor / share`,
    not slower beyond it."""

    kind: Literal["peer"]
    peers: tuple[Name, ...] = Field(min_length=1)
    """Each must have been timed in every row."""
    peers_where_measured: tuple[Name, ...] = ()
    """Each counts in the rows that have a time of it."""
    share: Share

    @model_validator(mode="after")
    def _peers_once(self) -> Self:
        require_once("peers, peers_where_measured", (*self.peers, *self.peers_where_measured))
        return self


class ErrorGoal(Selection):
    """Both arms' largest error is at most a peer's over `times`, each against the f64 oracle, relative to its row."""

    kind: Literal["error"]
    peer: Name
    times: Positive


class RatioGoal(Selection):
    """The upper end of the interval of candidate over baseline is at most `at_most`."""

    kind: Literal["ratio"]
    at_most: Positive


Goal = Annotated[TimeGoal | FloorGoal | PeerGoal | ErrorGoal | RatioGoal, Field(discriminator="kind")]


class Goals(Model):
    """All goals of one device."""

    schema_name: Literal["diffcheck-goals/1"] = Field(alias="schema")
    name: Slug
    """Also the name of its file."""
    title: Name
    device: Name
    """As the driver names it: a receipt of another is refused."""
    arch: Target
    goals: tuple[Goal, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _titles_once(self) -> Self:
        title = first_repeated(goal.title for goal in self.goals)
        if title is not None:
            raise ValueError(f"goals: two have the title {title}")
        return self

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments whose receipts are asked, in the order of the goals."""
        return tuple(dict.fromkeys(goal.experiment for goal in self.goals))

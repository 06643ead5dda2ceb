"""What a run found, case by case. The tiers have models of their own and share no field."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.cases import kv_bytes
from diffcheck.experiment.model import Whole
from diffcheck.receipts.fields import Count, Model, Name, Real, Sha256
from diffcheck.receipts.metrics import Check


class PlanFacts(Model):
    """The plan that fixes the order of sums: bits are comparable only between results of one plan."""

    key: Name
    """Contract, profile, policy, chunk and tile in one word."""
    profile: Name
    policy: Name
    chunk: Count
    n_splits: Count
    tile: Name


def require_heads(query: int, kv: int) -> None:
    """Raise `ValueError` where query heads do not share KV heads evenly."""
    if query % kv:
        raise ValueError(f"num_q_heads: {query} are no multiple of {kv} KV heads")


def require_plan_fits(what: str, plan: PlanFacts, kv_len: int) -> None:
    """Raise `ValueError` where a plan contradicts its own key, or its splits the keys; `what` names whose it is."""
    words = (plan.profile, plan.policy, f"chunk={plan.chunk}")
    if tuple(plan.key.split("|")[1:4]) != words or not plan.key.split("|")[-1].startswith(plan.tile):
        raise ValueError(f"plan: {what}'s key {plan.key} contradicts {' '.join(words)} {plan.tile}")
    if plan.chunk == 0 or plan.n_splits != -(-kv_len // plan.chunk):
        raise ValueError(f"plan: {plan.n_splits} splits of {plan.chunk} contradict {kv_len} keys")


class CallFacts(Model):
    """What a call is, and K and V with it."""

    name: Name
    num_q_heads: Whole
    num_kv_heads: Whole
    head_dim: Whole
    kv_len: Whole
    storage: Literal["f32", "f16"]

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        require_heads(self.num_q_heads, self.num_kv_heads)
        return self

    def require_kv_bytes(self, stated: int, decodes: int = 1) -> None:
        """Raise `ValueError` where the bytes of K and V that a record states are not those of so many decodes."""
        expected = decodes * kv_bytes(self.kv_len, self.num_kv_heads, self.head_dim, self.storage)
        if stated != expected:
            times = "" if decodes == 1 else f"{decodes} times "
            shape = f"{times}{self.kv_len} keys of {self.num_kv_heads} heads of {self.head_dim} {self.storage}"
            raise ValueError(f"kv_bytes: {stated} contradicts K and V of {shape}, which have {expected}")


class CaseFacts(CallFacts):
    """The case as declared, and its plan."""

    stage: Literal["decode", "reduce", "chain"] = "decode"
    """decode: partial and reduce; reduce: the reduce kernel alone, on partials made by hand; chain: two decodes, the
    first one's result being the second one's q."""
    layout: Name
    generator: Name
    seed: Count
    expect: Literal["bound", "exact"]
    bytes_moved: Whole
    """Bytes that partial and reduce move when each is read or written once."""
    plan: PlanFacts

    @model_validator(mode="after")
    def _plan_is_of_the_call(self) -> Self:
        require_plan_fits(self.name, self.plan, self.kv_len)
        return self


class Judged(Model):
    """Checks and the conclusion that follows from them."""

    status: Literal["holds", "fails"]
    checks: tuple[Check, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _status_follows_from_checks(self) -> Self:
        expected = "holds" if all(check.holds for check in self.checks) else "fails"
        if self.status != expected:
            raise ValueError(f"status: {self.status} contradicts the checks, which say {expected}")
        return self


class ReferenceCase(Judged):
    """The reference arm's own result, judged by the oracle. It belongs to no tier: it is what tiers compare with."""

    case: CaseFacts
    host_seconds: Real


class InterpretedArm(Model):
    """One arm's run in the PTX machine."""

    name: Name
    ptx_sha256: Sha256
    interpreter_seconds: Real | None
    """Null when it did not run to its end."""
    warp_instructions: Count | None
    """Null when it did not run to its end."""


class InterpretedCase(Judged):
    """One case in the PTX machine."""

    case: CaseFacts
    arms: tuple[InterpretedArm, ...] = Field(min_length=1)


class MeasuredArm(Model):
    """One arm's run on a device. The time is a parity run's, with the driver's assembler in it: no measurement."""

    name: Name
    ptx_sha256: Sha256
    launch_seconds: Real | None
    """Null when it did not run to its end."""


class MeasuredCase(Judged):
    """One case on a device."""

    case: CaseFacts
    arms: tuple[MeasuredArm, ...] = Field(min_length=1)


class StorageError(Model):
    """What rounding K and V to f16 costs: oracle of the rounded values against oracle of the values themselves."""

    family: Name
    """The two cases' name without the storage."""
    kv_len: Count
    max_rel: Real
    """Largest difference over the largest output of its row, worst row."""
    head: Count
    """The query head of that row."""

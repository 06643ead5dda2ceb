"""The lock: values that take the native module, beside the sources that they follow from."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, ValidationError

from diffcheck import digest
from diffcheck.cases import Case
from diffcheck.errors import DiffcheckError
from diffcheck.experiment.model import Whole
from diffcheck.plan_check import TABLE_POLICY, choice_of, chunk_of
from diffcheck.planning import profile_for
from diffcheck.receipts.fields import Model, Name, Sha256, Target
from diffcheck.receipts.write import write_json
from diffcheck.subjects.computed import (
    builder_ptx_sha256,
    plans_sha256,
    profile_constants,
    tile_table_sha256,
    tile_table_text,
)
from diffcheck.subjects.sources import CONTRACT, locked_sources, root

RENEW = "diffcheck subjects --update"


class Profile(Model):
    """A device that the planner has constants of."""

    name: Name
    arch: Target
    sms: Whole
    blocks_per_sm: Whole
    """Blocks that are resident on a multiprocessor."""


class Planned(NamedTuple):
    """What decides the bits of a case on a device; splits follow from the chunk."""

    profile: str
    policy: str
    tile: str
    chunk: int


class Lock(Model):
    """What `lock.json` says."""

    schema_name: Literal["diffcheck-lock/1"] = Field(default="diffcheck-lock/1", alias="schema")
    sources: dict[Name, Sha256] = Field(min_length=1)
    """Digest of each source that the values follow from."""
    contract_sha256: Sha256
    tile_table_sha256: Sha256
    plans_sha256: Sha256
    builder_ptx: dict[Target, Sha256] = Field(min_length=1)
    """Of the builder's module with all its kernels, by target."""

    profiles: tuple[Profile, ...] = Field(min_length=1)
    """Of the planner, in its order."""

    tiles: str
    """The tile table that is built in, as text."""

    def profile_of(self, arch: str, sms: int) -> str:
        """Return the name of the profile that a device's calls are planned with."""
        return profile_for(arch, sms, ((one.name, one.arch, one.sms) for one in self.profiles))

    def plan_of(self, case: Case, arch: str, sms: int) -> Planned:
        """Return how the planner plans a case on a device, by the rules of `diffcheck.plan_check`.

        Raises `DiffcheckError` for a case that it has no plan of.
        """
        name = self.profile_of(arch, sms)
        profile = next(one for one in self.profiles if one.name == name)
        try:
            chosen = choice_of(self.tiles, int(profile.arch.removeprefix("sm_")), case)
            policy = chosen.policy if case.policy == TABLE_POLICY else case.policy
            chunk = chunk_of(policy, case.kv_len, case.num_kv_heads, profile)
        except ValueError as error:
            raise DiffcheckError(f"{case.name} has no plan on {arch}: {error}") from error
        return Planned(name, policy, chosen.tile, chunk)

    def moved(self) -> tuple[str, ...]:
        """The sources that are here and are no longer those that the values were computed from."""
        found = locked_sources()
        return tuple(path for path, sha256 in found.items() if self.sources.get(path) != sha256)


def lock_path() -> Path:
    """Return where the lock lies."""
    return root() / "diffcheck" / "subjects" / "lock.json"


def read_lock() -> Lock:
    """Read the lock. Raises `DiffcheckError` when it is missing or not whole."""
    try:
        return Lock.model_validate_json(lock_path().read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise DiffcheckError(f"{lock_path().name} cannot be read; renew it: {RENEW}") from error


def computed_lock() -> Lock:
    """Compute the lock anew from the source tree and the native module."""
    return Lock(
        sources=locked_sources(),
        contract_sha256=digest.of_file(root() / CONTRACT),
        tile_table_sha256=tile_table_sha256(),
        plans_sha256=plans_sha256(),
        builder_ptx=builder_ptx_sha256(),
        profiles=tuple(Profile.model_validate(one) for one in profile_constants()),
        tiles=tile_table_text(),
    )


def write_lock() -> Lock:
    """Compute the lock and write it where it belongs."""
    made = computed_lock()
    write_json(lock_path(), made)
    return made

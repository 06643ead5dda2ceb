"""The lock: values that take the native module, beside the sources that they follow from."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from diffcheck import digest
from diffcheck.cases import Case
from diffcheck.errors import DiffcheckError
from diffcheck.plan_check import TABLE_POLICY, choice_of
from diffcheck.planning import planner_profiles, profile_for
from diffcheck.receipts.fields import Count, Model, Name, Sha256, Target
from diffcheck.receipts.write import write_json
from diffcheck.subjects.computed import builder_ptx_sha256, plans_sha256, tile_table_sha256, tile_table_text
from diffcheck.subjects.sources import CONTRACT, locked_sources, root

RENEW = "diffcheck subjects --update"


class Profile(Model):
    """A device that the planner has constants of."""

    name: Name
    arch: Target
    sms: Count


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

    def policy_of(self, case: Case, arch: str, sms: int) -> str:
        """Return the split policy that a case has on a device: its own, or that of the tile table's row."""
        if case.policy != TABLE_POLICY:
            return case.policy
        name = self.profile_of(arch, sms)
        planned = next(one.arch for one in self.profiles if one.name == name)
        return choice_of(self.tiles, int(planned.removeprefix("sm_")), case).policy

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
        profiles=tuple(Profile(name=name, arch=arch, sms=sms) for name, arch, sms in planner_profiles()),
        tiles=tile_table_text(),
    )


def write_lock() -> Lock:
    """Compute the lock and write it where it belongs."""
    made = computed_lock()
    write_json(lock_path(), made)
    return made

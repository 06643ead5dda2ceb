"""Both kernels of every arm under Nsight Compute, and what came of each launch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from diffcheck.arms import DeviceArm
from diffcheck.cases import Case
from diffcheck.errors import DiffcheckError, first_wrong
from diffcheck.profile.model import Cache, Launched, Part, Profiled
from diffcheck.profile.ncu import Counted, run_under_ncu
from diffcheck.profile.target import spec_of

# The partial kernel reads what is in no cache, as the copies of K and V exceed the L2 in use. The reduce kernel reads
# what the partial kernel has just left there.
CACHES: dict[Part, Cache] = {"partial": "all", "reduce": "none"}
_PROCESS_S = 180.0
_CASE_S = 120.0


@dataclass(frozen=True)
class Asked:
    """What to watch, and what for PTX is built and plans are made."""

    cases: tuple[Case, ...]
    arms: tuple[DeviceArm, ...]
    target: str
    profile: str


def run_profile(asked: Asked, advance: Callable[[str], None]) -> tuple[Profiled, ...]:
    """Watch every case on every arm, a process for each kernel; `advance` is called with its name as it is done.

    Raises `DiffcheckError` where the tool counted other launches than were made.
    """
    found: list[Profiled] = []
    for part in CACHES:
        found += _watch(asked, part)
        advance(part)
    order = [case.name for case in asked.cases]
    return tuple(sorted(found, key=lambda one: order.index(one.launch.case)))


def _watch(asked: Asked, part: Part) -> list[Profiled]:
    program = [sys.executable, "-m", "diffcheck.profile.target", asked.target, asked.profile]
    command = [*program, ",".join(arm.name for arm in asked.arms), *map(spec_of, asked.cases)]
    timeout_s = _PROCESS_S + _CASE_S * len(asked.cases)
    stdout, counted = run_under_ncu(f"^splitk_{part}_", CACHES[part], command, timeout_s)
    return paired(part, read_launched(stdout), counted)


def read_launched(stdout: str) -> list[Launched]:
    """Return what the watched process says that it launched. Raises `DiffcheckError` for a line that says nothing."""
    try:
        return [Launched.model_validate_json(line) for line in stdout.splitlines() if line.startswith('{"case"')]
    except ValidationError as error:
        raise DiffcheckError(f"the watched process wrote a line that is none of its own: {error}") from error


def paired(part: Part, launched: Sequence[Launched], counted: Sequence[Counted]) -> list[Profiled]:
    """Return each launch of a kernel with what was counted.

    Raises `DiffcheckError` where they are not the same, and for a number that cannot be.
    """
    made = [one for one in launched if one.is_of(part)]
    if not made or [one.entry for one in made] != [one.kernel for one in counted]:
        seen = ", ".join(one.kernel for one in counted)
        raise DiffcheckError(f"ncu counted {seen or 'nothing'}; launched: {', '.join(one.entry for one in made)}")
    pairs = zip(made, counted, strict=True)
    return [_profiled(part, one, found) for one, found in pairs]


def _profiled(part: Part, launched: Launched, counted: Counted) -> Profiled:
    try:
        return Profiled(launch=launched, part=part, cache_control=CACHES[part], metrics=counted.metrics)
    except ValidationError as error:
        raise first_wrong(f"what ncu counted of {launched.entry}", error) from error

"""Options that several commands have, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from pydantic import BaseModel

from diffcheck.cases import SUITES, Case, all_cases, select
from diffcheck.errors import BadInputError, choose
from diffcheck.executors.builds import BUILDS, Build
from diffcheck.receipts.write import check_writable, write_json

if TYPE_CHECKING:
    from rust_kernel.plan import TileTable

JsonFile: TypeAlias = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Also write the result as JSON, whole or not at all.")
]
Arms: TypeAlias = Annotated[
    list[str] | None, typer.Option("--arm", metavar="NAME", help="An arm; may be repeated. Default: all.")
]
Suite: TypeAlias = Annotated[
    str | None, typer.Option("--suite", metavar="SUITE", help=f"{', '.join(SUITES)}. Default: quick.")
]
Suites: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--suite", metavar="SUITE", help=f"{', '.join(SUITES)}; may be repeated. Default: quick."),
]
Cases: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--case", metavar="NAME", help="A case, or a pattern such as 'grid-*-f16'; may be repeated."),
]
Profile: TypeAlias = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="The device profile that plans are made from.")
]
Target: TypeAlias = Annotated[
    str | None, typer.Option("--target", metavar="sm_XX", help="The architecture that PTX is built for.")
]


TilesFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--tiles", metavar="FILE", help="Plan by this tile table, not by the one that is built in."),
]
BuildName: TypeAlias = Annotated[
    str | None,
    typer.Option("--build", metavar="NAME", help=f"Who assembles for a GPU: {', '.join(BUILDS)}. Default: jit."),
]


def load_tiles(path: Path | None) -> TileTable | None:
    """Return the tile table of a file; None for the one that is built in.

    Raises `BadInputError` for a file that is no table: in one line, with the rows that are wrong.
    """
    if path is None:
        return None
    from rust_kernel.plan import PlanError, TileTable

    try:
        return TileTable.load(path)
    except PlanError as error:
        raise BadInputError(error.field, error.value, error.allowed) from error


def choose_build(name: str) -> Build:
    """Return a build. Raises `BadInputError` for a name that does not exist."""
    choose("build", name, BUILDS)
    return next(build for build in BUILDS if build == name)


def choose_cases(suite: str | None, patterns: Sequence[str] | None, default: str = "quick") -> tuple[Case, ...]:
    """Return the cases of a suite, of some names or patterns, or of both; those of suite `default` without either.

    Raises `BadInputError` for an unknown suite and for a name or pattern that no case has.
    """
    if not patterns:
        return select(default if suite is None else suite)
    names = [case.name for case in all_cases()]
    chosen: list[str] = []
    for pattern in patterns:
        matched = [name for name in names if fnmatchcase(name, pattern)]
        if not matched and any(sign in pattern for sign in "*?["):
            raise BadInputError("case", pattern, "a pattern that matches a case that `diffcheck list cases` prints")
        chosen += matched or [pattern]  # a plain name that does not exist is refused below, with near ones offered
    if suite in SUITES:
        _require_one_in(suite, patterns, frozenset(chosen))
    return select(suite, list(dict.fromkeys(chosen)))


def choose_of_suites(
    suites: Sequence[str] | None, patterns: Sequence[str] | None, default: Sequence[str] = ("quick",)
) -> tuple[Case, ...]:
    """Return what `choose_cases` does of several suites, a case that is in more than one once."""
    if patterns and not suites:
        return choose_cases(None, patterns)
    chosen = [one for suite in suites or default for one in choose_cases(suite, patterns)]
    return tuple({one.name: one for one in chosen}.values())


def _require_one_in(suite: str, patterns: Sequence[str], chosen: frozenset[str]) -> None:
    """Refuse cases that all lie in other suites, and name those: a pattern may stand for too many cases to list."""
    homes = {home for case in all_cases() if case.name in chosen for home in case.suites}
    if homes and suite not in homes:
        others = ", ".join(home for home in SUITES if home in homes)
        raise BadInputError("case", ", ".join(patterns), f"a case of the suite {suite}; these are in: {others}")


def choose_target(target: str) -> str:
    """Return a target that PTX can be built for. Raises `BadInputError` for another."""
    from py_builder_kernel import TARGETS

    return choose("target", target, TARGETS)


def choose_profile(profile: str) -> str:
    """Return the name of a device profile. Raises `BadInputError` for one that does not exist."""
    from rust_kernel import plan

    return choose("profile", profile, [known.name for known in plan.profiles()])


def check_target_and_profile(target: str | None, profile: str | None) -> None:
    """Refuse names that do not exist before a device is looked for, which has defaults for those that are not given."""
    if target is not None:
        choose_target(target)
    if profile is not None:
        choose_profile(profile)


def check_files(*files: Path | None) -> None:
    """Refuse files that could not be written before any work is done. Raises `BadInputError`."""
    wanted = [file for file in files if file is not None]
    for file in wanted:
        check_writable(file)
    if len({file.resolve() for file in wanted}) < len(wanted):
        raise BadInputError("file", str(wanted[-1]), "another file for each option")


def write_file(file: Path | None, model: BaseModel) -> None:
    """Write a model where a file was asked for."""
    if file is not None:
        write_json(file, model)

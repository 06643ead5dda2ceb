"""`diffcheck profile`: where the time of a call goes, by NVIDIA's Nsight Compute."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffcheck import terminal
from diffcheck.cli.options import check_files
from diffcheck.cli.tables import rich_table
from diffcheck.cli.words import cases_of, exact_arms_of
from diffcheck.errors import BadInputError
from diffcheck.profile.model import Profile
from diffcheck.profile.table import profile_table
from diffcheck.receipts.provenance import recorded_command
from diffcheck.receipts.write import write_json
from diffcheck.review.markdown import markdown_table

if TYPE_CHECKING:
    from diffcheck.cases import Case


def profile_command(
    *,
    arms: Annotated[str, typer.Option(metavar="ARM,…", help="Arms to watch.")] = "builder,oxide",
    heads: Annotated[str, typer.Option(metavar="Q:KV,…", help="Query heads and KV heads.")] = "16:4",
    storages: Annotated[str, typer.Option(metavar="f16,f32", help="Storages of K and V.")] = "f16",
    kv_lens: Annotated[str, typer.Option(metavar="L,…", help="Lengths.")] = "4096,60000",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the receipt, whole or not at all.")
    ] = None,
    read: Annotated[
        Path | None, typer.Option("--read", metavar="RECEIPT", help="Watch nothing: print a receipt of this command.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
    lock: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The GPU's lock file, shared by all who time on it.")
    ] = None,
) -> None:
    """Run Nsight Compute on one call of each arm: memory, L2, issue slots, occupancy, and what warps wait for.

    Takes a GPU, ncu, and leave to read its counters. Both kernels are launched as in use; no cache holds what they
    read, but for what the partial kernel leaves to the reduce kernel. Times are of single launches under the tool: what
    a call takes, `diffcheck ab` says.
    """
    if (output is None) == (read is None):
        raise BadInputError("output", str(output or "none"), "-o FILE or --read RECEIPT")
    check_files(output)
    made = _read(read) if read else _watched(cases_of(heads, storages, kv_lens), arms, lock)
    if output is not None:
        write_json(output, made)
    if markdown:
        print(markdown_table(profile_table(made)))
    else:
        show_profile(made)


def show_profile(made: Profile) -> None:
    """Print the table."""
    title = f"{made.host.device}, {made.host.arch}, ncu {made.ncu_version}"
    terminal.console().print(rich_table(title, profile_table(made)))


def _read(path: Path) -> Profile:
    from diffcheck.receipts.kinds import read_any

    found = read_any(path)
    if not isinstance(found, Profile):
        raise BadInputError("read", str(path), "a receipt of diffcheck profile, diffcheck-profile/1")
    return found


def _watched(cases: tuple[Case, ...], names: str, lock: Path | None) -> Profile:
    from diffcheck.ab.gpu import GpuBench
    from diffcheck.ab.lock import gpu_lock, lock_path
    from diffcheck.ab.source import source_state
    from diffcheck.profile.ncu import ncu_version
    from diffcheck.profile.run import CACHES, Asked, run_profile
    from diffcheck.receipts.ab.host import AbTool
    from diffcheck.version import CONTRACT, tool_version

    arms = exact_arms_of(names)
    bench = GpuBench(what="profile")
    version = ncu_version()
    asked = Asked(cases, arms, bench.target, bench.profile)
    with gpu_lock(lock_path(lock, bench.pci_address)), terminal.progress(len(CACHES), "profile") as advance:
        launches = run_profile(asked, advance)
    return Profile(
        tool=AbTool(version=tool_version(), command=recorded_command(sys.argv[1:]), source=source_state()),
        contract=CONTRACT,
        host=bench.host(None),
        target=bench.target,
        profile=bench.profile,
        ncu_version=version,
        launches=launches,
    )


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("profile")(profile_command)

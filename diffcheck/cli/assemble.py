"""`diffcheck assemble`: every kernel through ptxas."""

from __future__ import annotations

from typing import Annotated

import typer

from diffcheck import terminal
from diffcheck.arms import select_arms
from diffcheck.assemble.model import Assembled, AssembledKernel
from diffcheck.assemble.ptxas import find_ptxas
from diffcheck.assemble.run import Job, assemble_all, list_jobs
from diffcheck.assemble.sass.model import SassReport
from diffcheck.assemble.sass.run import disassemble_all
from diffcheck.cli.options import Arms, JsonFile, check_files, choose_target, write_file
from diffcheck.cli.sass_table import show_sass

_COLUMNS = ("kernel", "regs", "shared", "stack", "spills", "")


def assemble_command(
    arm: Arms = None,
    target: Annotated[
        list[str] | None, typer.Option("--target", metavar="sm_XX", help="An architecture; may be repeated.")
    ] = None,
    entry: Annotated[
        list[str] | None, typer.Option("--entry", metavar="NAME", help="A kernel; may be repeated. Default: all.")
    ] = None,
    sass: Annotated[
        bool, typer.Option("--sass", help="Disassemble too: hot loops by kind of instruction, oxide over builder.")
    ] = False,
    json: JsonFile = None,
) -> None:
    """Assemble every kernel for every target and show registers, shared memory, stack and spills.

    Does not hold when a kernel has a stack, spills, or more registers than leave its blocks room on an SM. With --sass,
    show and write what nvdisasm says instead, and hold the arms' hot loops against each other.
    """
    check_files(json)
    jobs = choose_jobs(arm or [], target or [], entry or [])
    find_ptxas()  # after the words: one that is wrong anywhere is named before what is missing here
    if sass:
        report = run_sass(jobs)
        show_sass(report)
        write_file(json, report)
        raise typer.Exit(0 if report.status == "holds" else 1)
    assembled = run_assemble(jobs)
    show(assembled)
    write_file(json, assembled)
    raise typer.Exit(0 if assembled.status == "holds" else 1)


def run_assemble(jobs: list[Job]) -> Assembled:
    """Assemble kernels, with a progress bar."""
    with terminal.progress(len(jobs), "assemble") as advance:
        return assemble_all(jobs, advance)


def run_sass(jobs: list[Job]) -> SassReport:
    """Disassemble kernels, with a progress bar."""
    with terminal.progress(len(jobs), "disassemble") as advance:
        return disassemble_all(jobs, advance)


def choose_jobs(arms: list[str], targets: list[str], entries: list[str]) -> list[Job]:
    """Return the kernels asked for, to be assembled; empty lists mean all. Raises `BadInputError` for unknown words."""
    from py_builder_kernel import TARGETS

    chosen = [choose_target(target) for target in targets] or list(TARGETS)
    return list_jobs(select_arms(arms), chosen, entries)


def show(assembled: Assembled) -> None:
    """Print one table an arm and target and, below them, what is wrong."""
    out = terminal.console()
    for target, arm in dict.fromkeys((kernel.target, kernel.arm) for kernel in assembled.kernels):
        rows = [_row(kernel) for kernel in assembled.kernels if (kernel.target, kernel.arm) == (target, arm)]
        title = f"{arm}, {target}, by ptxas {assembled.ptxas_version}"
        out.print(terminal.table(title, _COLUMNS, rows, _COLUMNS[1:5]))
    for kernel in assembled.kernels:
        for problem in kernel.problems:
            out.print(f"{kernel.arm} {kernel.entry} {kernel.target}: {problem}", style="red", markup=False)
    out.print(f"{len(assembled.kernels)} kernels: ", terminal.status_text(assembled.status == "holds"), sep="")


def _row(kernel: AssembledKernel) -> tuple[object, ...]:
    return (
        kernel.entry,
        f"{kernel.registers}/{kernel.register_limit}",
        f"{kernel.static_shared + kernel.dynamic_shared}/{kernel.shared_limit}",
        kernel.stack,
        kernel.spill_stores + kernel.spill_loads,
        terminal.status_text(not kernel.problems),
    )


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("assemble")(assemble_command)

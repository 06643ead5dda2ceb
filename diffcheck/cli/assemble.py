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
    for name in target or []:
        choose_target(name)  # a word that is wrong anywhere is named before what is missing here
    find_ptxas()
    if sass:
        report = run_sass(arm or [], target or [], entry or [])
        show_sass(report)
        write_file(json, report)
        raise typer.Exit(0 if report.status == "holds" else 1)
    assembled = run_assemble(arm or [], target or [], entry or [])
    show(assembled)
    write_file(json, assembled)
    raise typer.Exit(0 if assembled.status == "holds" else 1)


def run_assemble(arms: list[str], targets: list[str], entries: list[str]) -> Assembled:
    """Assemble what was asked for, with a progress bar; empty lists mean all."""
    jobs = _jobs(arms, targets, entries)
    with terminal.progress(len(jobs), "assemble") as advance:
        return assemble_all(jobs, advance)


def run_sass(arms: list[str], targets: list[str], entries: list[str]) -> SassReport:
    """Disassemble what was asked for, with a progress bar; empty lists mean all."""
    jobs = _jobs(arms, targets, entries)
    with terminal.progress(len(jobs), "disassemble") as advance:
        return disassemble_all(jobs, advance)


def _jobs(arms: list[str], targets: list[str], entries: list[str]) -> list[Job]:
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

"""`diffcheck ptx`: print a kernel's PTX."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from pydantic import BaseModel

from diffcheck import digest
from diffcheck.arms import DeviceArm, get_arm
from diffcheck.cli.options import JsonFile, check_files, choose_target, write_file
from diffcheck.errors import BadInputError


class PrintedKernel(BaseModel):
    """A kernel's PTX and what a launch of it needs."""

    arm: str
    entry: str
    target: str
    threads: int
    dynamic_shared: int
    ptx_sha256: str
    ptx: str


class PrintedKernels(BaseModel):
    """The kernels that were printed."""

    kernels: list[PrintedKernel]


def ptx_command(
    arm: Annotated[str, typer.Option("--arm", metavar="NAME", help="The arm.")] = "builder",
    target: Annotated[str, typer.Option("--target", metavar="sm_XX", help="The architecture.")] = "sm_90",
    entry: Annotated[
        list[str] | None, typer.Option("--entry", metavar="NAME", help="A kernel; may be repeated. Default: all.")
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="Print the kernels' names only.")] = False,
    json: JsonFile = None,
) -> None:
    """Print the PTX of an arm's kernels."""
    check_files(json)
    chosen = get_arm(arm)
    if not isinstance(chosen, DeviceArm):
        raise BadInputError("arm", arm, "an arm that is made of kernels")
    target = choose_target(target)
    entries = tuple(entry) if entry else chosen.entries(target)
    if names:
        print("\n".join(entries))
        return
    printed: list[PrintedKernel] = []
    for name in entries:
        kernel = chosen.kernel(name, target)
        printed.append(
            PrintedKernel(
                arm=arm,
                entry=name,
                target=target,
                threads=kernel.threads,
                dynamic_shared=kernel.dynamic_shared,
                ptx_sha256=digest.of_text(kernel.ptx),
                ptx=kernel.ptx,
            )
        )
        sys.stdout.write(kernel.ptx)
    write_file(json, PrintedKernels(kernels=printed))


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("ptx")(ptx_command)

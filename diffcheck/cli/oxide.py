"""`diffcheck oxide`: the Rust kernel's PTX, made and verified."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel

from diffcheck import terminal
from diffcheck.assemble.ptxas import find_ptxas, ptxas_version
from diffcheck.cli.options import JsonFile, check_files, write_file
from diffcheck.oxide import build as oxide_build
from diffcheck.oxide.files import installed_files
from diffcheck.oxide.manifest import Manifest
from diffcheck.oxide.toolchain import Wanted, find_toolchain
from diffcheck.oxide.verify import verify

_app = typer.Typer(help="Build and verify the Rust kernel's PTX.", no_args_is_help=True, rich_markup_mode=None)
_COLUMNS = ("target", "PTX", "kernels", "most registers", "stack", "spills", "sha256")


class Verification(BaseModel):
    """What `oxide verify` found, as JSON."""

    status: str
    problems: list[str]
    manifest: Manifest | None


@_app.command("build")
def build_command(
    *,
    cuda_oxide: Annotated[
        Path | None,
        typer.Option("--cuda-oxide", metavar="DIR", envvar="CUDA_OXIDE_DIR", help="A checkout of cuda-oxide, built."),
    ] = None,
    backend: Annotated[
        Path | None,
        typer.Option("--backend", metavar="SO", envvar="CUDA_OXIDE_BACKEND", help="Default: the one in the checkout."),
    ] = None,
    rustc: Annotated[
        str | None, typer.Option("--rustc", metavar="RUSTC", envvar="RUSTC", help="The compiler the backend is for.")
    ] = None,
    cargo: Annotated[str | None, typer.Option("--cargo", metavar="CARGO", envvar="CARGO")] = None,
    opt: Annotated[str | None, typer.Option("--opt", metavar="OPT", envvar="CUDA_OXIDE_OPT")] = None,
    llc: Annotated[str | None, typer.Option("--llc", metavar="LLC", envvar="CUDA_OXIDE_LLC")] = None,
    llvm_link: Annotated[str | None, typer.Option("--llvm-link", metavar="LINK", envvar="CUDA_OXIDE_LLVM_LINK")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change no PTX: rebuild, compare byte for byte, record it if equal.")
    ] = False,
) -> None:
    """Compile the Rust kernel with a cuda-oxide that you have, for every target, and write its manifest.

    All files are written or none. With --check, does not hold when a rebuilt file differs.
    """
    from py_builder_kernel import TARGETS

    find_ptxas()
    files = installed_files()
    wanted = Wanted(cuda_oxide, backend, rustc, cargo, {"opt": opt, "llc": llc, "llvm-link": llvm_link})
    installed = find_toolchain(wanted, oxide_build.pinned_commit(files))
    with terminal.progress(len(TARGETS), "oxide build") as advance:
        if check:
            problems = oxide_build.check(files, installed, advance)
        else:
            problems = []
            _show(oxide_build.build(files, tuple(TARGETS), installed, advance))
    _conclude(problems, "rebuilt, every byte the same" if check else "built")


@_app.command("verify")
def verify_command(json: JsonFile = None) -> None:
    """Check that sources, PTX and manifest belong together and that every PTX file is fit to run.

    Needs no cuda-oxide. Does not hold when a hash differs, ptxas needs a stack or spills, an entry or parameter that
    the harness asks for is missing, or the text has what the contract forbids.
    """
    from py_builder_kernel import TARGETS

    check_files(json)
    verified = verify(installed_files(), tuple(TARGETS))
    if verified.manifest is not None:
        _show(verified.manifest)
    status = "holds" if verified.holds else "fails"
    write_file(json, Verification(status=status, problems=list(verified.problems), manifest=verified.manifest))
    _conclude(list(verified.problems), f"sources, PTX and manifest, by ptxas {ptxas_version()}")


def _show(manifest: Manifest) -> None:
    out = terminal.console()
    rows = [
        (
            target,
            file.ptx_version,
            len(file.kernels),
            max(kernel.registers for kernel in file.kernels.values()),
            max(kernel.stack for kernel in file.kernels.values()),
            sum(kernel.spill_stores + kernel.spill_loads for kernel in file.kernels.values()),
            file.sha256[:16],
        )
        for target, file in manifest.targets.items()
    ]
    out.print(terminal.table("PTX of the Rust kernel", _COLUMNS, rows, _COLUMNS[1:6]))
    out.print(f"cuda-oxide {manifest.cuda_oxide.commit}, {manifest.toolchain.rustc}, {manifest.toolchain.llc}")
    origin = "reproduced byte for byte" if manifest.reproduced else "not checked by a second build"
    out.print(f"origin: {origin}")


def _conclude(problems: list[str], what: str) -> None:
    out = terminal.console()
    for problem in problems:
        out.print(problem, style="red", markup=False, soft_wrap=True)
    out.print(f"{what}: ", terminal.status_text(not problems), sep="")
    raise typer.Exit(1 if problems else 0)


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.add_typer(_app, name="oxide")

"""Builds of the same kernels as a table."""

from __future__ import annotations

from diffcheck import terminal
from diffcheck.toolchain.model import Toolchain

_COLUMNS = ("arm", "build", "programs", "cases", "words", "")


def show_toolchain(found: Toolchain) -> None:
    """Print a comparison of builds."""
    out = terminal.console()
    rows = [
        (one.arm, one.build, one.programs, one.cases, one.words, terminal.status_text(not one.failures))
        for one in found.results
    ]
    title = f"{found.device}, {found.arch}, PTX for {found.target}, driver for CUDA {found.driver_version}"
    out.print(terminal.table(title, _COLUMNS, rows, _COLUMNS[2:5]))
    for one in found.results:
        for failure in one.failures:
            out.print(f"{one.arm}, {one.build}: {failure}", style="red", markup=False, soft_wrap=True)
    made = f"ptxas {found.ptxas_version}" if found.ptxas_version else "no ptxas"
    out.print(f"{len(found.results)} builds, {made}: ", terminal.status_text(found.status == "holds"), sep="")

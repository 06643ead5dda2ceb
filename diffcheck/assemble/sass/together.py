"""Several kernels through ptxas and nvdisasm as one module, as nvdisasm takes longer to start than to list a kernel."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from diffcheck.arms import Kernel
from diffcheck.assemble.ptxas import AssembleError, Resources, assemble_into, parse_report
from diffcheck.assemble.sass.nvdisasm import Listing, disassemble, parse_listing

_HEADER = re.compile(r"\A.*?^\.address_size\s+64\s*?$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*")


def disassemble_together(kernels: Sequence[Kernel], target: str) -> dict[str, tuple[Resources, Listing]]:
    """Assemble an arm's kernels for a target as one module; return each one's resources and instructions by its name.

    ptxas compiles every kernel of a module by itself. Raises `AssembleError` for the kernel that it refuses, and
    `DisassembleError`.
    """
    with tempfile.TemporaryDirectory(prefix="diffcheck-") as folder:
        cubin = Path(folder) / "kernels.cubin"
        report = _assemble(kernels, target, cubin)
        listing = disassemble(cubin, kernels[0].entry)
    return {
        kernel.entry: (parse_report(report, kernel.entry), parse_listing(listing, kernel.entry)) for kernel in kernels
    }


def _assemble(kernels: Sequence[Kernel], target: str, cubin: Path) -> str:
    try:
        return assemble_into(join_texts([kernel.ptx for kernel in kernels]), target, cubin, kernels[0].entry)
    except AssembleError:
        for kernel in kernels:
            assemble_into(kernel.ptx, target, cubin, kernel.entry)
        raise


def join_texts(texts: Sequence[str]) -> str:
    """Return one module with what several have. Raises `ValueError` where their version, target or address size differ.

    What stands outside the kernels must have names of its own in each, as it has where an arm's kernels are one module.
    """
    headers = [_HEADER.match(text) for text in texts]
    stated = {_COMMENT.sub("", header[0]).strip() if header else "" for header in headers}
    if len(stated) != 1 or stated == {""}:
        raise ValueError(f"modules with these headers cannot be one: {sorted(stated)}")
    return "\n".join([*stated, *(text[header.end() :] for text, header in zip(texts, headers, strict=True) if header)])

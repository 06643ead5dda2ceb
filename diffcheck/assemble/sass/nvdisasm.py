"""NVIDIA's disassembler from PyPI, and its listing taken apart."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from diffcheck.assemble.ptxas import program_of, version_of
from diffcheck.errors import DiffcheckError, MissingRequirementError

PACKAGE = "nvidia-cuda-nvdisasm"
_TIMEOUT_S = 120
_LABEL = re.compile(r"^(\.L_\w+):")
_INSTRUCTION = re.compile(
    r"^\s+/\*([0-9a-f]+)\*/\s+(?:@(?P<guard>!?U?P\w+)\s+)?(?P<opcode>[A-Z][\w.]*)(?P<rest>.*?)\s*;"
)


@dataclass(frozen=True)
class Sass:
    """One instruction: `guard` is the predicate it runs under (`P0`, `!P1`), empty for none; `rest` its operands."""

    address: int
    guard: str
    opcode: str
    rest: str

    @property
    def base(self) -> str:
        """The opcode without its modifiers."""
        return self.opcode.split(".")[0]


@dataclass(frozen=True)
class Listing:
    """The instructions of one kernel, and the index that each label stands before."""

    instructions: tuple[Sass, ...]
    labels: dict[str, int]


class DisassembleError(DiffcheckError):
    """nvdisasm refused a file, or its listing is not understood."""


def find_nvdisasm() -> Path:
    """Return the path of nvdisasm in the installed package. Raises `MissingRequirementError` when it is not there."""
    return program_of(PACKAGE, "nvdisasm", "sass")


@cache
def nvdisasm_version() -> str:
    """Return nvdisasm's release and build."""
    return version_of(find_nvdisasm())


def disassemble(cubin: Path, entry: str) -> str:
    """List the instructions of an assembled file; `entry` names it in a `DisassembleError`."""
    # Without its analysis of data flow, of which a listing of instructions and labels shows nothing.
    command = [str(find_nvdisasm()), "-ndf", "-c", str(cubin)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except OSError as error:
        raise MissingRequirementError(f"{command[0]} cannot be run ({error.strerror})", "reinstall it") from error
    except subprocess.TimeoutExpired:
        raise DisassembleError(f"{entry}: nvdisasm did not finish in {_TIMEOUT_S} s") from None
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())[:200]
        raise DisassembleError(f"{entry}: nvdisasm says: {said or f'exit {done.returncode}'}")
    return done.stdout


def parse_listing(text: str, entry: str) -> Listing:
    """Read nvdisasm's listing of one kernel. Raises `DisassembleError` when the kernel is not in it."""
    start = text.find(f"\n.text.{entry}:")
    if start < 0:
        raise DisassembleError(f"{entry}: is not in nvdisasm's listing")
    end = text.find("\n\t.section", start)
    instructions: list[Sass] = []
    labels: dict[str, int] = {}
    for line in text[start : len(text) if end < 0 else end].splitlines():
        label, found = _LABEL.match(line), _INSTRUCTION.match(line)
        if label:
            labels[label[1]] = len(instructions)
        elif found:
            instructions.append(Sass(int(found[1], 16), found["guard"] or "", found["opcode"], found["rest"].strip()))
    if not instructions:
        raise DisassembleError(f"{entry}: nvdisasm lists no instructions")
    return Listing(tuple(instructions), labels)

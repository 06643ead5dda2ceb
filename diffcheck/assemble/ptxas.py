"""NVIDIA's assembler: where it is, how it is run, and what its report says."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path

from diffcheck.errors import DiffcheckError, MissingRequirementError

PACKAGE = "nvidia-cuda-nvcc"
DEFAULT_LEVEL = 3
_TIMEOUT_S = 300


@dataclass(frozen=True)
class Resources:
    """What one kernel takes of an SM. Bytes, except `registers` (32-bit registers a thread).

    `stack` is the local-memory frame, `spill_stores` and `spill_loads` count bytes of register spills.
    """

    registers: int
    static_shared: int
    stack: int
    spill_stores: int
    spill_loads: int


class AssembleError(DiffcheckError):
    """ptxas refused a kernel."""


@cache
def find_ptxas() -> Path:
    """Return the path of ptxas; see `program_of`."""
    return program_of(PACKAGE, "ptxas", "ptxas")


def program_of(package: str, program: str, extra: str) -> Path:
    """Return the path of a program that a Python package holds, or else of the one on PATH, as a CUDA toolkit has it.

    `extra` is the extra of this package that installs the other one. Raises `MissingRequirementError` when there is
    neither.
    """
    try:
        files = metadata.files(package) or []
        missing = f"the installed Python package {package} holds no {program}"
    except metadata.PackageNotFoundError:
        files = []
        missing = f"the Python package {package} is not installed"
    for file in files:
        if file.name in {program, f"{program}.exe"}:
            path = Path(str(file.locate()))
            if path.is_file():
                return path
    on_path = shutil.which(program)
    if on_path:
        return Path(on_path)
    remedy = f"install it with: python -m pip install 'splitk-diffcheck[{extra}]'"
    raise MissingRequirementError(f"{missing}, and no {program} is on PATH", remedy)


@cache
def ptxas_version() -> str:
    """Return ptxas' release and build, such as `13.0, V13.0.88`."""
    return version_of(find_ptxas())


def version_of(program: Path) -> str:
    """Return the release and build that one of NVIDIA's programs states."""
    text = _run([str(program), "--version"]).stdout
    match = re.search(r"release (\S+), (V\S+)", text)
    return f"{match[1]}, {match[2]}" if match else " ".join(text.split())


def assemble(ptx: str, entry: str, target: str) -> Resources:
    """Assemble PTX text for a target (`sm_XX`) and return the resources of one of its kernels.

    Raises `AssembleError` with ptxas' first complaint when it refuses the text.
    """
    return assemble_all_entries(ptx, (entry,), target)[entry]


def assemble_all_entries(ptx: str, entries: Sequence[str], target: str) -> dict[str, Resources]:
    """Assemble PTX text once and return the resources of several of its kernels; errors as `assemble`."""
    with tempfile.TemporaryDirectory(prefix="diffcheck-") as folder:
        report = assemble_into(ptx, target, Path(folder) / "kernel.cubin", what=", ".join(entries[:1]))
    return {entry: parse_report(report, entry) for entry in entries}


@lru_cache(maxsize=1024)
def cubin_of(ptx: str, target: str, level: int) -> bytes:
    """Assemble PTX text for a target (`sm_XX`) at an optimisation level (0 to 3), once, and return the machine code.

    Raises `AssembleError` with ptxas' first complaint when it refuses the text.
    """
    with tempfile.TemporaryDirectory(prefix="diffcheck-") as folder:
        cubin = Path(folder) / "kernel.cubin"
        assemble_into(ptx, target, cubin, what=_first_entry(ptx), level=level)
        return cubin.read_bytes()


def assemble_into(ptx: str, target: str, cubin: Path, what: str, level: int = DEFAULT_LEVEL) -> str:
    """Assemble PTX text into a file and return ptxas' report; `what` names the text in an `AssembleError`."""
    source = cubin.with_suffix(".ptx")
    source.write_text(ptx, encoding="utf-8")
    done = _run([str(find_ptxas()), "-v", f"-O{level}", f"-arch={target}", str(source), "-o", str(cubin)])
    report = done.stdout + done.stderr
    if done.returncode != 0:
        lines = [line.strip() for line in report.splitlines() if "error" in line or "fatal" in line]
        said = lines[0] if lines else f"exit {done.returncode}"
        # Versions are what a refusal is mostly about.
        raise AssembleError(f"{what}, {target}, PTX {ptx_version(ptx)}: ptxas {ptxas_version()} says: {said}")
    return report


def ptx_version(ptx: str) -> str:
    """Return the version of the PTX ISA that a text asks for, such as `8.5`; `unknown` where it names none."""
    found = re.search(r"^\s*\.version\s+(\S+)", ptx, re.MULTILINE)
    return found[1] if found else "unknown"


def _first_entry(ptx: str) -> str:
    found = re.search(r"\.entry\s+([\w$]+)", ptx)
    return found[1] if found else "a text without a kernel"


def parse_report(report: str, entry: str) -> Resources:
    """Read the output of `ptxas -v` for one kernel. Raises `AssembleError` when the kernel is not in it."""
    compiled = report.find(f"Compiling entry function '{entry}'")
    section = report[compiled:] if compiled >= 0 else ""
    following = section.find("Compiling entry function", 1)
    section = section if following < 0 else section[:following]
    frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", section)
    used = re.search(r"Used (\d+) registers", section)
    if frame is None or used is None:
        raise AssembleError(f"{entry}: ptxas' report has no resources of this kernel")
    shared = re.search(r"(\d+) bytes smem", section)
    return Resources(
        registers=int(used[1]),
        static_shared=int(shared[1]) if shared else 0,
        stack=int(frame[1]),
        spill_stores=int(frame[2]),
        spill_loads=int(frame[3]),
    )


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except OSError as error:
        raise MissingRequirementError(f"{command[0]} cannot be run ({error.strerror})", "reinstall it") from error
    except subprocess.TimeoutExpired:
        raise AssembleError(f"ptxas did not finish in {_TIMEOUT_S} s") from None

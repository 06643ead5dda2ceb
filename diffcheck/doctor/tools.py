"""Programs and packages that single commands need."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from diffcheck.assemble.ptxas import ptxas_version
from diffcheck.assemble.sass.nvdisasm import nvdisasm_version
from diffcheck.doctor.model import Finding
from diffcheck.errors import DiffcheckError, MissingRequirementError
from diffcheck.oxide.files import installed_files
from diffcheck.oxide.manifest import read_manifest
from diffcheck.oxide.toolchain import Wanted, find_toolchain
from diffcheck.sanitize.compute_sanitizer import sanitizer_version

_PEERS = {"torch": "python -m pip install torch", "flashinfer-python": "python -m pip install flashinfer-python"}


def ptxas() -> Finding:
    """The assembler: `assemble`, and registers in a receipt."""
    return _program("ptxas", ptxas_version, "python -m pip install 'splitk-diffcheck[ptxas]'")


def nvdisasm() -> Finding:
    """The disassembler: `assemble --sass`."""
    return _program("nvdisasm", nvdisasm_version, "python -m pip install 'splitk-diffcheck[sass]'")


def sanitizer() -> Finding:
    """NVIDIA's own checker: `sanitize` on a GPU."""
    return _program("compute-sanitizer", sanitizer_version, "put compute-sanitizer on PATH, or set CUDA_HOME")


def cuda_oxide() -> Finding:
    """The compiler of the Rust kernel: `oxide build`. Using its PTX takes none of it."""
    commit = read_manifest(installed_files().manifest).cuda_oxide.commit
    named = os.environ.get("CUDA_OXIDE_DIR")

    def version() -> str:
        found = find_toolchain(Wanted(checkout=Path(named) if named else None), commit)
        return f"{found.cuda_oxide.commit[:12]}, {found.versions.rustc}"

    return _program("cuda-oxide", version, f"check out cuda-oxide {commit[:12]} and set CUDA_OXIDE_DIR")


def peers() -> Finding:
    """Other implementations, timed beside the arms. For information only."""
    versions = {package: _version(package) for package in _PEERS}
    missing = [package for package, version in versions.items() if version is None]
    detail = ", ".join(f"{package} {version or 'not installed'}" for package, version in versions.items())
    if not missing:
        return Finding(name="peers", need="extra", state="ok", detail=detail)
    remedy = "; ".join(_PEERS[package] for package in missing)
    return Finding(name="peers", need="extra", state="lacks", detail=detail, remedy=remedy)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _program(name: str, version: Callable[[], str], remedy: str) -> Finding:
    try:
        return Finding(name=name, need="extra", state="ok", detail=version() or "of a version that it does not say")
    except MissingRequirementError as error:
        return Finding(name=name, need="extra", state="lacks", detail=error.what, remedy=error.remedy)
    except DiffcheckError as error:
        return Finding(name=name, need="extra", state="lacks", detail=str(error), remedy=remedy)


CHECKS = (ptxas, nvdisasm, sanitizer, cuda_oxide, peers)

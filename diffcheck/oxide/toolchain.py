"""The cuda-oxide that a user has: its checkout, its backend, the compiler that loads it, and LLVM's tools."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from diffcheck import digest
from diffcheck.errors import BadInputError, MissingRequirementError
from diffcheck.oxide.manifest import CudaOxide, Toolchain

REPOSITORY = "https://github.com/NVlabs/cuda-oxide"
BACKEND = "librustc_codegen_cuda.so"
REMEDY = f"install cuda-oxide as {REPOSITORY} says and name its checkout with --cuda-oxide or CUDA_OXIDE_DIR"
# LLVM's tools: names by which upstream looks for them on PATH, the best first.
_SUFFIXES = ("-22", "-21", "")
_TIMEOUT_S = 60


@dataclass(frozen=True)
class Wanted:
    """What the user named; None is looked for where upstream puts it. `llvm` maps opt, llc and llvm-link to paths."""

    checkout: Path | None = None
    backend: Path | None = None
    rustc: str | None = None
    cargo: str | None = None
    llvm: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Installed:
    """A cuda-oxide that can compile: every part found and asked for its version."""

    checkout: Path
    backend: Path
    rustc: Path
    cargo: Path
    llvm: Mapping[str, Path]
    host: str
    nightly: bool
    library_path: Path
    versions: Toolchain
    cuda_oxide: CudaOxide


def find_toolchain(wanted: Wanted, commit: str) -> Installed:
    """Find every part and check that the checkout is at `commit`, which the crate pins.

    Raises `MissingRequirementError` for a part that is not there and `BadInputError` for another commit.
    """
    if wanted.checkout is None:
        raise MissingRequirementError("no cuda-oxide was named", REMEDY)
    checkout = wanted.checkout.resolve()
    if not (checkout / "crates" / "cuda-device" / "Cargo.toml").is_file():
        raise MissingRequirementError(f"{wanted.checkout} is no checkout of cuda-oxide (no crates/cuda-device)", REMEDY)
    cuda_oxide = _commit(checkout, commit)
    backend = _backend(checkout, wanted.backend)
    rustc = _program("rustc", wanted.rustc or "rustc")
    verbose = _says([str(rustc), "-vV"])
    stated = dict(re.findall(r"^(\S[^:\n]*): (.*)$", verbose, re.MULTILINE))
    sysroot = Path(_says([str(rustc), "--print", "sysroot"]).strip())
    tools = sysroot / "lib" / "rustlib" / stated["host"] / "bin"
    llvm = {name: _llvm_tool(name, wanted.llvm.get(name), tools) for name in ("opt", "llc", "llvm-link")}
    return Installed(
        checkout=checkout,
        backend=backend,
        rustc=rustc,
        cargo=_program("cargo", wanted.cargo or "cargo"),
        llvm=llvm,
        host=stated["host"],
        nightly="nightly" in stated["release"] or "dev" in stated["release"],
        library_path=sysroot / "lib",
        versions=Toolchain(
            rustc=verbose.splitlines()[0],
            rustc_llvm=stated.get("LLVM version", "unknown"),
            opt=_llvm_version(llvm["opt"]),
            llc=_llvm_version(llvm["llc"]),
            llvm_link=_llvm_version(llvm["llvm-link"]),
        ),
        cuda_oxide=cuda_oxide,
    )


def _commit(checkout: Path, commit: str) -> CudaOxide:
    git = ["git", "-C", str(checkout)]
    found = _says([*git, "rev-parse", "HEAD"]).strip()
    if found != commit:
        raise BadInputError("cuda-oxide", found, f"a checkout of the commit that the crate pins, {commit}")
    changes = _says([*git, "diff", "--name-only", "--no-ext-diff", "-z", "HEAD"]).split("\0")
    modified = {path: _hash(checkout / path) for path in sorted(filter(None, changes))}
    return CudaOxide.model_validate({"commit": found, "modified": modified})


def _hash(path: Path) -> str:
    return digest.of_file(path) if path.is_file() else "deleted"


def _backend(checkout: Path, named: Path | None) -> Path:
    own = checkout / "crates" / "rustc-codegen-cuda" / "target"
    candidates = [named] if named else [own / profile / BACKEND for profile in ("release", "debug")]
    for path in candidates:
        if path.is_file():
            return path.resolve()
    where = f"at {named}" if named else "in the checkout"
    raise MissingRequirementError(
        f"no cuda-oxide backend {where}", f"build it as {REPOSITORY} says, or name it with CUDA_OXIDE_BACKEND"
    )


def _program(what: str, named: str) -> Path:
    found = shutil.which(named)
    if found is None:
        raise MissingRequirementError(f"{what} cannot be found ({named})", REMEDY)
    return Path(found)


def _llvm_tool(name: str, named: str | None, tools: Path) -> Path:
    if named is not None:
        return _program(name, named)
    candidates = [str(tools / name), *(f"{name}{suffix}" for suffix in _SUFFIXES)]
    for candidate in candidates:
        found = shutil.which(candidate)
        if found is not None:
            return Path(found)
    variable = f"CUDA_OXIDE_{name.upper().replace('-', '_')}"
    raise MissingRequirementError(f"LLVM's {name} cannot be found", f"install LLVM 21 or later, or set {variable}")


def _llvm_version(tool: Path) -> str:
    text = _says([str(tool), "--version"])
    found = re.search(r"^.*LLVM version \S+", text, re.MULTILINE)
    return found[0].strip() if found else text.splitlines()[0].strip()


def _says(command: list[str]) -> str:
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, env=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingRequirementError(f"{command[0]} cannot be run ({type(error).__name__})", REMEDY) from error
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())[:200]
        raise MissingRequirementError(f"{' '.join(command[:2])} fails ({said})", REMEDY)
    return done.stdout

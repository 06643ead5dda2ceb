"""Makes `.venv` ready: dependencies, the native module, and CuPy where a driver asks for it. Standard library only.

A second run with nothing changed does nothing. A run that was interrupted leaves no stamp, so the next one goes on.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
STAMP = VENV / "setup-stamp.json"
NATIVE = ROOT / "rust_kernel" / "_native.abi3.so"
OLDEST_PYTHON = (3, 10)


class SetupError(Exception):
    """A requirement is missing or a step failed; the message is the one line that the user needs."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def dotted(version: tuple[int, ...]) -> str:
    """Writes a version as people do."""
    return ".".join(map(str, version))


def require_python() -> None:
    """Refuses an interpreter older than `OLDEST_PYTHON`, or one that cannot make a virtual environment."""
    if sys.version_info < OLDEST_PYTHON:
        found = f"{dotted(sys.version_info[:3])} ({sys.executable})"
        raise SetupError(
            f"needs Python >= {dotted(OLDEST_PYTHON)}; found {found}: name a newer one with `make PYTHON=python3.12 …`",
            2,
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        raise SetupError(
            f"needs Python's venv and ensurepip; {sys.executable} has no {error.name}: "
            f"install your system's python{dotted(sys.version_info[:2])}-venv package",
            2,
        ) from None


def require_linker() -> None:
    """Refuses a machine without `cc`, which rustc links with."""
    if shutil.which("cc") is None:
        raise SetupError("needs a C linker; found no `cc` on PATH: install gcc or clang (Debian: build-essential)", 2)


def require_rust() -> str:
    """Refuses a missing or old toolchain; returns the version line of rustc."""
    declared = re.search(r'^rust-version = "(\d+)\.(\d+)', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    if declared is None:
        raise SetupError("Cargo.toml states no rust-version", 1)
    oldest = (int(declared[1]), int(declared[2]))
    lines = []
    for tool in ("cargo", "rustc"):
        need = f"needs Rust >= {dotted(oldest)} (cargo and rustc)"
        if shutil.which(tool) is None:
            raise SetupError(f"{need}; found no `{tool}` on PATH: install rustup, then `rustup install stable`", 2)
        run = subprocess.run([tool, "--version"], cwd=ROOT, capture_output=True, text=True, check=False)
        found = re.search(rf"^{tool} (\d+)\.(\d+)", run.stdout)
        if run.returncode != 0 or found is None:
            said = (run.stderr.strip() or run.stdout.strip() or f"exit status {run.returncode}").splitlines()[0]
            raise SetupError(f"{need}; `{tool} --version` failed ({said}): run `rustup install stable`", 2)
        if (int(found[1]), int(found[2])) < oldest:
            raise SetupError(f"{need}; found {run.stdout.strip()}: run `rustup update stable`", 2)
        lines.append(run.stdout.strip())
    return "; ".join(lines)


def cuda_extra() -> str | None:
    """Names the extra with the CuPy for the installed driver, or None where there is no driver or no device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    devices = ctypes.c_int(0)
    version = ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(devices)) or devices.value == 0:
        return None
    if driver.cuDriverGetVersion(ctypes.byref(version)) or version.value < 12_000:
        say(f"the NVIDIA driver supports CUDA {version.value // 1000} only; CuPy needs 12: set up without a GPU")
        return None
    return "cuda13" if version.value >= 13_000 else "cuda12"


def input_files() -> Iterable[Path]:
    """Every file that decides what gets installed or built, in a stable order."""
    yield from (ROOT / name for name in ("pyproject.toml", "Cargo.toml", "Cargo.lock"))
    yield from (ROOT / "rust_kernel" / name for name in ("Cargo.toml", "build.rs"))
    yield ROOT / "py_builder_kernel" / "opcodes.toml"  # the PTX machine holds it, too
    for folder in ("crates", "rust_kernel/src", "rust_kernel/ptx"):  # the native module holds the PTX, too
        files = (path for path in (ROOT / folder).rglob("*") if path.is_file())
        yield from sorted(path for path in files if "target" not in path.relative_to(ROOT).parts)


def fingerprint(paths: Iterable[Path], *words: str) -> str:
    """Hashes names and contents of files, and words."""
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes() if path.exists() else b""
        digest.update(f"{path.relative_to(ROOT)}\0{len(content)}\0".encode())
        digest.update(content)
    for word in words:
        digest.update(f"\0{word}".encode())
    return digest.hexdigest()


def read_stamp() -> dict[str, object]:
    """What the last finished run left, or nothing."""
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(stamp: dict[str, object]) -> None:
    """Marks the run as finished; the file appears whole or not at all."""
    partial = STAMP.with_suffix(".partial")
    partial.write_text(json.dumps(stamp, indent=1) + "\n")
    partial.replace(STAMP)


def say(message: str) -> None:
    """Reports a step."""
    print(f"setup: {message}", flush=True)


def step(message: str, *command: str | Path) -> None:
    """Runs a command that must succeed."""
    say(message)
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "VIRTUAL_ENV": str(VENV)}
    code = subprocess.run([str(word) for word in command], cwd=ROOT, env=environment, check=False).returncode
    if code != 0:
        raise SetupError(f"{message}: failed with exit status {code} (its output is above)", 1)


def keep_or_make_venv() -> bool:
    """Keeps a `.venv` that works and is of this interpreter's version (True); anything else is made anew (False)."""
    probe = "import pip, sys; print('%d.%d' % sys.version_info[:2])"
    try:
        run = subprocess.run([str(VENV_PYTHON), "-c", probe], capture_output=True, text=True, check=False)
        if run.returncode == 0 and run.stdout.strip() == dotted(sys.version_info[:2]):
            return True
    except OSError:
        pass
    step("making .venv", sys.executable, "-m", "venv", "--clear", VENV)
    return False


def build_requirements() -> list[str]:
    """The `requires` of pyproject.toml's `[build-system]` (Python 3.10 has no TOML reader)."""
    found = re.search(r"^requires = (\[.*\])$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    if found is None:
        raise SetupError("pyproject.toml states no build requirements on one line", 1)
    return [str(requirement) for requirement in json.loads(found[1])]


def install(extras: list[str], dependencies: str, stamp: dict[str, object]) -> None:
    """Installs the project editable. Without build isolation, so that a rebuild needs no network and stays short."""
    pip = (VENV_PYTHON, "-m", "pip", "install", "--quiet")
    only_rust = stamp.get("dependencies") == dependencies and stamp.get("extras") == extras
    if not only_rust:
        step("installing the build tool", *pip, *build_requirements())
    what = "building the native module" if only_rust else "installing dependencies and building the native module"
    target = f".[{','.join(extras)}]" if extras else "."
    no_deps = ("--no-deps",) if only_rust else ()
    step(f"{what} (release; minutes when cold)", *pip, *no_deps, "--no-build-isolation", "--editable", target)


def check() -> int:
    """Says whether the last finished run was of these sources: 0, or 1 with one line that says what is not."""
    python = f"{dotted(sys.version_info[:3])} {os.path.realpath(sys.executable)}"
    stamp = read_stamp()
    if not stamp or not NATIVE.exists():
        print("no finished `make setup` in this folder")
        return 1
    if stamp.get("everything") != fingerprint(input_files(), python, require_rust()):
        print("sources, Python or Rust have changed since the last `make setup`")
        return 1
    return 0


def setup(wanted: set[str], force: bool) -> None:
    """Checks the requirements, then installs what is not yet installed."""
    require_python()
    require_linker()
    rust = require_rust()
    gpu = cuda_extra()
    if gpu is not None:
        wanted = wanted | {gpu}
    python = f"{dotted(sys.version_info[:3])} {os.path.realpath(sys.executable)}"
    dependencies = fingerprint([ROOT / "pyproject.toml"], python)
    everything = fingerprint(input_files(), python, rust)
    stamp = {} if force else read_stamp()
    installed = stamp.get("extras")
    if isinstance(installed, list):
        if stamp.get("everything") == everything and wanted <= set(installed) and NATIVE.exists():
            return
        wanted = wanted | set(installed)
    extras = sorted(wanted)
    if STAMP.exists():
        STAMP.unlink()
    kept = keep_or_make_venv()
    install(extras, dependencies, stamp if kept else {})
    write_stamp({"everything": everything, "dependencies": dependencies, "extras": extras})
    say(f"ready: .venv with Python {dotted(sys.version_info[:3])}, extras: {', '.join(extras) or 'none'}")


def main() -> int:
    """Command line: 0 when ready, 1 when a step failed, 2 when a requirement is missing."""
    parser = argparse.ArgumentParser(description="Install everything into .venv; do nothing when it is up to date.")
    parser.add_argument("--extra", action="append", default=[], choices=["test", "ptxas"], help="an extra to install")
    parser.add_argument("--force", action="store_true", help="install again, whatever the stamp says")
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date: exit code 0 or 1")
    options = parser.parse_args()
    try:
        if options.check:
            return check()
        with Path(__file__).open() as lock:  # two runs at once would trip over each other's .venv
            fcntl.flock(lock, fcntl.LOCK_EX)
            setup(set(options.extra), options.force)
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("setup: interrupted; run it again to go on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Programs of a CUDA toolkit that watch another process: where they are, and how they are run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from diffcheck.errors import MissingRequirementError


def find_in_toolkit(program: str) -> Path | None:
    """Return the path of a program: on PATH, or in the toolkit that CUDA_HOME or CUDA_PATH names; else None."""
    toolkits = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    folders = [str(Path(toolkit) / folder) for toolkit in toolkits for folder in ("bin", program)]
    found = shutil.which(program) or shutil.which(program, path=os.pathsep.join(folders))
    return Path(found) if found else None


def run_to_end(
    command: Sequence[str], timeout_s: float, environment: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Run a command with its own session, so that its children end with it; return its output and what went wrong.

    `environment` is set in addition to this process's. Raises `MissingRequirementError` when it cannot be started.
    """
    try:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
    except OSError as error:
        raise MissingRequirementError(
            f"{Path(command[0]).name} cannot be run ({error.strerror})", "reinstall it"
        ) from error
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _end(process)
        return "", f"did not end in {timeout_s:.0f} s"
    except BaseException:
        _end(process)
        raise
    if process.returncode != 0:
        last = (stderr.strip() or stdout.strip()).splitlines()
        return stdout, f"exit {process.returncode}" + (f": {' '.join(last[-1].split())}" if last else "")
    return stdout, ""


def output_of(program: Path, option: str) -> str:
    """Return what a program prints for one option. Raises `MissingRequirementError` when it cannot be run."""
    try:
        done = subprocess.run([str(program), option], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingRequirementError(f"{program.name} cannot be run ({error})", "reinstall it") from error
    return done.stdout


def _end(process: subprocess.Popen[str]) -> None:
    """End a process and the children that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()

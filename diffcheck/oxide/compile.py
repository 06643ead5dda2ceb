"""One architecture's PTX from the crate, with a cuda-oxide that is there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from diffcheck.errors import DiffcheckError
from diffcheck.oxide.files import OxideFiles
from diffcheck.oxide.manifest import Flags
from diffcheck.oxide.toolchain import Installed

# What upstream's own driver passes; the backend's path comes first.
RUSTFLAGS = (
    "-Copt-level=3",
    "-Cdebug-assertions=off",
    "-Zmir-enable-passes=-JumpThreading",
    "-Zalways-encode-mir",
    "-Csymbol-mangling-version=v0",
)
# No contraction of a product and a sum: the contract says which are fused.
ENVIRONMENT = {"CUDA_OXIDE_NO_FMA": "1"}
CRATE_NAME = "splitk_kernels"
# A loop that stays is only a warning to cuda-oxide, but moves its arrays to local memory.
_NOT_UNROLLED = "was not unrolled"
# Variables of the user's that would change what comes out.
_OWN_VARIABLES = ("CUDA_OXIDE_", "CARGO_PROFILE_", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_", "RUSTC_")
_TIMEOUT_S = 1800


class CompileError(DiffcheckError):
    """cuda-oxide refused the crate, or made something that must not be used."""


def flags() -> Flags:
    """Return how the compiler is called, for the manifest."""
    return Flags(rustflags=RUSTFLAGS, environment=ENVIRONMENT)


def compile_target(files: OxideFiles, target: str, installed: Installed, folder: Path) -> bytes:
    """Compile the crate for a target (`sm_90`) in an empty folder and return the PTX.

    The crate is copied there first: Cargo rewrites its lock file for a local cuda-oxide, and what an earlier build left
    must not decide what this one gives. Raises `CompileError` with the compiler's first complaint.
    """
    crate, ptx = folder / "kernel", folder / "ptx"
    for source in files.source_files():
        copy = crate / source.relative_to(files.crate)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    ptx.mkdir(parents=True)
    report = _cargo(installed, target, crate, folder)
    if _NOT_UNROLLED in report:
        line = next(line for line in report.splitlines() if _NOT_UNROLLED in line)
        raise CompileError(f"{target}: {' '.join(line.split())}")
    made = ptx / f"{CRATE_NAME}.ptx"
    if not made.is_file():
        raise CompileError(f"{target}: the build left no {made.name}")
    return made.read_bytes()


def _cargo(installed: Installed, target: str, crate: Path, folder: Path) -> str:
    device = installed.checkout / "crates" / "cuda-device"
    command = [
        *(str(installed.cargo), "build", "--release", "--target", installed.host),
        *("--manifest-path", str(crate / "Cargo.toml")),
        # The pinned commit's place is taken by the checkout of that very commit.
        *("--config", f"patch.'https://github.com/NVlabs/cuda-oxide.git'.cuda-device.path={json.dumps(str(device))}"),
    ]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(_OWN_VARIABLES)},
        **ENVIRONMENT,
        "RUSTC": str(installed.rustc),
        "RUSTFLAGS": " ".join((f"-Zcodegen-backend={installed.backend}", *RUSTFLAGS)),
        "CARGO_TARGET_DIR": str(folder / "target"),
        "CUDA_OXIDE_TARGET": target,
        "CUDA_OXIDE_PTX_DIR": str(folder / "ptx"),
        "CUDA_OXIDE_OPT": str(installed.llvm["opt"]),
        "CUDA_OXIDE_LLC": str(installed.llvm["llc"]),
        "CUDA_OXIDE_LLVM_LINK": str(installed.llvm["llvm-link"]),
        "LD_LIBRARY_PATH": os.pathsep.join(
            filter(None, (str(installed.library_path), os.environ.get("LD_LIBRARY_PATH")))
        ),
    }
    if not installed.nightly:
        environment["RUSTC_BOOTSTRAP"] = "1"
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, env=environment, cwd=crate
        )
    except subprocess.TimeoutExpired:
        raise CompileError(f"{target}: cargo did not finish in {_TIMEOUT_S} s") from None
    report = done.stdout + done.stderr
    if done.returncode != 0:
        lines = [line.strip() for line in report.splitlines() if line.lstrip().startswith("error")]
        raise CompileError(f"{target}: cargo says: {lines[0] if lines else f'exit {done.returncode}'}")
    return report

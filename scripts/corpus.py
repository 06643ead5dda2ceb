"""Compile the corpus of the PTX machine: `python scripts/corpus.py [--check] [NAME ...]`.

Writes `crates/ptx_machine/corpus/cuda/NAME.ptx` from `NAME.cu` as `corpus.toml` there says; with `--check`, only says
which would change. Needs nvcc, on PATH or from
`pip install nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl`, and a C++ compiler that
nvcc can use. The bytes depend on nvcc's release, which corpus.toml names and every .ptx says at its top.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).resolve().parent.parent / "crates" / "ptx_machine" / "corpus" / "cuda"


def nvcc() -> list[str]:
    """The command that starts nvcc, with the folders that it does not find by itself."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for found in sorted(Path(folder).glob("*/bin/nvcc")):
            return [str(found), f"-I{found.parent.parent / 'include' / 'cccl'}"]
    on_path = shutil.which("nvcc")
    if on_path is None:
        raise SystemExit("corpus: no nvcc; allowed: one on PATH, or pip install nvidia-cuda-nvcc (see the file's top)")
    return [on_path]


def check_release(command: list[str], wanted: str) -> None:
    """Stop where nvcc is of another release than the corpus."""
    text = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    if f"release {wanted}," not in text:
        raise SystemExit(f"corpus: nvcc is {text.split('release ')[-1].split(',')[0]}; allowed: {wanted}")


def compiled(command: list[str], name: str, arch: str, options: list[str]) -> str:
    """The PTX of one source."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"{name}.ptx"
        target = arch.replace("sm_", "compute_")
        # Started in the sources' folder, so that no other folder's name gets into the text.
        line = [*command, "-ptx", "-std=c++17", f"-arch={target}", *options, "-o", str(out), f"{name}.cu"]
        done = subprocess.run(line, cwd=FOLDER, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"corpus: nvcc refuses {name}.cu: {(done.stderr or done.stdout).strip().splitlines()[0]}")
        return out.read_text()


def main() -> int:
    """Compile what is named, or everything; 1 if `--check` finds a difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; say what would change")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a kernel of corpus.toml (default: all)")
    given = parser.parse_args()
    corpus: dict[str, Any] = tomllib.loads((FOLDER / "corpus.toml").read_text())
    kernels: dict[str, dict[str, Any]] = corpus["kernel"]
    unknown = [name for name in given.names if name not in kernels]
    if unknown:
        raise SystemExit(f"corpus: {unknown[0]} is no kernel; allowed: {', '.join(kernels)}")
    command = nvcc()
    check_release(command, corpus["nvcc"])
    changed = 0
    for name in given.names or kernels:
        text = compiled(command, name, kernels[name]["arch"], kernels[name].get("options", []))
        path = FOLDER / f"{name}.ptx"
        if path.exists() and path.read_text() == text:
            continue
        changed += 1
        print(f"{'differs' if given.check else 'written'}: {path.relative_to(FOLDER)}")
        if not given.check:
            part = path.with_suffix(".part")
            part.write_text(text)
            part.replace(path)
    return 1 if given.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())

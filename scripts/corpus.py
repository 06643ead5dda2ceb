"""Compile the corpus of the PTX machine: `python scripts/corpus.py [--check] [NAME ...]`.

Writes `crates/ptx_machine/corpus/cuda/NAME.ptx` from `NAME.cu` as `corpus.toml` there says; with `--check`, only says
which would change. Needs this package, nvcc on PATH or from its extra `nvcc`, and a C++ compiler that nvcc can use. The
bytes depend on nvcc's release, which corpus.toml names and every .ptx says at its top.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import tomli

from diffcheck.assemble.ptxas import PACKAGE, program_of, version_of
from diffcheck.errors import DiffcheckError, choose
from diffcheck.receipts.write import write_text

FOLDER = Path(__file__).resolve().parent.parent / "crates" / "ptx_machine" / "corpus" / "cuda"


def nvcc(release: str) -> list[str]:
    """The command that starts nvcc, with the folder that it does not find by itself.

    Raises `DiffcheckError` where there is none, or one of another release than the corpus.
    """
    program = program_of(PACKAGE, "nvcc", "nvcc")
    version = version_of(program)
    if version.split(",")[0] != release:
        raise DiffcheckError(f"nvcc is {version}; allowed: {release}")
    return [str(program), f"-I{program.parent.parent / 'include' / 'cccl'}"]


def compiled(command: list[str], name: str, arch: str, options: list[str]) -> str:
    """The PTX of one source."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"{name}.ptx"
        target = arch.replace("sm_", "compute_")
        # Started in the sources' folder, so that no other folder's name gets into the text.
        line = [*command, "-ptx", "-std=c++17", f"-arch={target}", *options, "-o", str(out), f"{name}.cu"]
        done = subprocess.run(line, cwd=FOLDER, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = (done.stderr + done.stdout).splitlines()
            said = next((line for line in lines if "error" in line), f"exit {done.returncode}")
            raise DiffcheckError(f"nvcc refuses {name}.cu: {said.strip()}")
        return out.read_text()


def main() -> int:
    """Compile what is named, or everything; 1 if `--check` finds a difference, 2 if it cannot be told."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; say what would change")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a kernel of corpus.toml (default: all)")
    given = parser.parse_args()
    try:
        return compile_corpus(given.names, check=given.check)
    except DiffcheckError as error:
        print(f"corpus: {error}", file=sys.stderr)
        return 2


def compile_corpus(names: list[str], *, check: bool) -> int:
    """Compile kernels by name, all without one, and write what differs; 1 if `check` is set and something does."""
    corpus: dict[str, Any] = tomli.loads((FOLDER / "corpus.toml").read_text())
    kernels: dict[str, dict[str, Any]] = corpus["kernel"]
    chosen = [choose("name", name, kernels) for name in names or kernels]
    command = nvcc(corpus["nvcc"])
    changed = 0
    for name in chosen:
        text = compiled(command, name, kernels[name]["arch"], kernels[name].get("options", []))
        path = FOLDER / f"{name}.ptx"
        if path.exists() and path.read_text() == text:
            continue
        changed += 1
        print(f"{'differs' if check else 'written'}: {path.relative_to(FOLDER)}")
        if not check:
            write_text(path, text)
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Hashes of sources, which need no native module."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from importlib import resources
from pathlib import Path

import tomli

from diffcheck import digest

# What decides inputs and conclusions: a receipt written by other cases or comparators speaks of something else.
CASE_SOURCES = (
    *("cases.py", "suites.py", "generators", "buffers.py", "layouts.py", "planning.py"),
    *("oracle.py", "bounds.py", "compare.py", "judge.py"),
)
# What decides how a time is taken.
TIMING_SOURCES = ("ab", "timing", "executors/gpu.py", "executors/program.py", "arms/launches.py")

BUILDER = "py_builder_kernel"
# What decides the builder's text; its launch code does not.
BUILDER_SOURCES = ("build.py", "kernels", "ptx")
OPCODES = "py_builder_kernel/opcodes.toml"
CONTRACT = "docs/contract.md"
PLANNER = "crates/splitk_plan/src"


def cases_sha256() -> str:
    """Return the digest of cases, generators, oracle, bounds and comparators."""
    return digest.of_package("diffcheck", *CASE_SOURCES)


def timing_sha256() -> str:
    """Return the digest of the timing code."""
    return digest.of_package("diffcheck", *TIMING_SOURCES)


def root() -> Path:
    """Return the folder that the packages lie in: the source tree, or where a wheel was installed."""
    return Path(str(resources.files("diffcheck"))).parent


def locked_sources(opcodes: Collection[str]) -> dict[str, str]:
    """Return the digest of each source that locked values follow from, by its path; of those that are here.

    Of the opcode table only the forms of `opcodes` enter, those that the kernels use: a new form changes no kernel. An
    installed wheel has neither contract nor planner: its lock was right when the wheel was built.
    """
    found = {BUILDER: digest.of_package(BUILDER, *BUILDER_SOURCES), OPCODES: _of_forms(opcodes)}
    contract, planner = root() / CONTRACT, root() / PLANNER
    if contract.is_file():
        found[CONTRACT] = digest.of_file(contract)
    if planner.is_dir():
        found[PLANNER] = _of_folder(planner)
    return found


def _of_forms(opcodes: Collection[str]) -> str:
    table = tomli.loads((root() / OPCODES).read_text(encoding="utf-8"))
    return digest.of_text(json.dumps([form for form in table["op"] if form["opcode"] in opcodes], sort_keys=True))


def _of_folder(folder: Path) -> str:
    hasher = hashlib.sha256()
    for path in sorted(folder.rglob("*.rs")):
        content = path.read_bytes()
        hasher.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        hasher.update(content)
    return hasher.hexdigest()

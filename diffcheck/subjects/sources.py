"""Hashes of sources, which need no native module."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path

from diffcheck import digest

# What decides inputs and conclusions: a receipt written by other cases or comparators speaks of something else.
CASE_SOURCES = (
    *("cases.py", "suites.py", "kernel_cases.py", "faults", "generators", "buffers.py", "layouts.py", "planning.py"),
    *("oracle.py", "merge_oracle.py", "bounds.py", "compare.py", "judge.py"),
)
# Of the faults, what names no case.
NO_CASES = ("faults/rows/evidence.py", "faults/reports.py", "faults/markdown.py")
# What decides how a time is taken: all of these, new files too, but for those that only simulate, resume, describe, or
# time what no verdict reads. A change there stales no receipt.
TIMING_SOURCES = (
    *("ab", "timing", "executors/gpu.py", "executors/program.py", "executors/programmatic.py", "arms/launches.py"),
)
NO_TIMING = (
    *("ab/peers", "ab/simulate.py", "ab/noise.py", "ab/recompute.py", "ab/plausible.py"),
    *("ab/journal.py", "ab/merge.py", "ab/lock.py", "ab/source.py", "ab/warnings.py"),
    *("timing/run.py", "timing/model.py"),
)

BUILDER = "py_builder_kernel"
# What decides the builder's text. Its launch code does not, and of the opcode table only the PTX version in a module's
# head could follow: new forms must not touch the lock, and the test that computes it anew finds the rest.
BUILDER_SOURCES = ("build.py", "kernels", "ptx")
CONTRACT = "docs/contract.md"
PLANNER = "crates/splitk_plan/src"


def cases_sha256() -> str:
    """Return the digest of cases, generators, oracle, bounds and comparators."""
    return digest.of_package("diffcheck", *CASE_SOURCES, without=NO_CASES)


def timing_sha256() -> str:
    """Return the digest of the timing code."""
    return digest.of_package("diffcheck", *TIMING_SOURCES, without=NO_TIMING)


def root() -> Path:
    """Return the folder that the packages lie in: the source tree, or where a wheel was installed."""
    return Path(str(resources.files("diffcheck"))).parent


def locked_sources() -> dict[str, str]:
    """Return the digest of each source that locked values follow from, by its path; of those that are here.

    An installed wheel has only the builder's: its lock was right when the wheel was built.
    """
    found = {BUILDER: digest.of_package(BUILDER, *BUILDER_SOURCES)}
    contract, planner = root() / CONTRACT, root() / PLANNER
    if contract.is_file():
        found[CONTRACT] = digest.of_file(contract)
    if planner.is_dir():
        found[PLANNER] = _of_folder(planner)
    return found


def _of_folder(folder: Path) -> str:
    hasher = hashlib.sha256()
    for path in sorted((*folder.rglob("*.rs"), *folder.rglob("*.toml"))):
        content = path.read_bytes()
        hasher.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        hasher.update(content)
    return hasher.hexdigest()

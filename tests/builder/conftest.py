"""Assembling in tests: skips, with the reason, where ptxas is not installed."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from diffcheck.assemble.ptxas import Resources, find_ptxas, parse_report
from diffcheck.errors import MissingRequirementError
from py_builder_kernel import build_module


@cache
def _assembled(ptx: str, target: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "module.ptx"
        source.write_text(ptx, encoding="utf-8")
        command = [
            str(find_ptxas()),
            "-v",
            "--warning-as-error",
            f"-arch={target}",
            str(source),
            "-o",
            f"{source}.cubin",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def assembled() -> Callable[[str, str], str]:
    """PTX text and target to the report of `ptxas -v`, warnings being errors."""
    try:
        find_ptxas()
    except MissingRequirementError as missing:
        pytest.skip(str(missing))
    return _assembled


@pytest.fixture(scope="session")
def resources(assembled: Callable[[str, str], str]) -> Callable[[str, str], Resources]:
    """Entry and target to what ptxas says of it, in the module of all kernels of the target."""
    return lambda entry, target: parse_report(assembled(build_module(target=target).text, target), entry)

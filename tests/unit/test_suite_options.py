"""The suite's own options, as one uses them by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from diffcheck.executors import get_executor

ROOT = Path(__file__).resolve().parents[2]


def test_one_case_on_a_gpu_that_is_not_there_is_skipped_with_the_reason() -> None:
    if get_executor("gpu").available():
        pytest.skip("there is a GPU")
    asked = ["tests/differential", "-k", "random-8x2-L65-f16", "--executor", "gpu"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *asked],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "30 tests of this file need a GPU: " in ran.stdout
    assert ran.stdout.rstrip().splitlines()[-1].startswith("1 skipped, ")

"""Options of the whole suite; `tests/differential` is the one that reads them."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("differential", "comparison of arms (tests/differential)")
    group.addoption("--executor", choices=("machine", "gpu"), help="only this executor (default: both)")
    group.addoption(
        "--suite",
        choices=("quick", "matrix", "rungs", "kernels"),
        help="all cases of a suite (default: quick, part of matrix)",
    )

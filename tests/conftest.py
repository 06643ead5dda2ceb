"""Options of the whole suite (`tests/differential` is the one that reads them), and how hard property tests try."""

from __future__ import annotations

import pytest
from hypothesis import settings

from diffcheck.cases import SUITES

# The same examples every time, so that a failure is the change's and not the draw's; `--hypothesis-profile=thorough`
# draws others each time, many more of them.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=5000, deadline=None)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("differential", "comparison of arms (tests/differential)")
    group.addoption("--executor", choices=("machine", "gpu"), help="only this executor (default: both)")
    group.addoption("--suite", choices=SUITES, help="all cases of a suite (default: quick, part of matrix)")

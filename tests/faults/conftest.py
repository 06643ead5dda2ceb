"""Where the properties run: in the PTX machine always, on a GPU where there is one."""

from __future__ import annotations

import pytest

from diffcheck.executors import EXECUTORS, Executor, get_executor


@pytest.fixture(
    scope="session",
    params=[pytest.param(name, marks=[pytest.mark.gpu] if name == "gpu" else []) for name in EXECUTORS],
)
def executor(request: pytest.FixtureRequest) -> Executor:
    """Each executor in turn; a GPU that is not there is skipped, with the reason."""
    chosen = get_executor(request.param)
    availability = chosen.available()
    if not availability and request.param == "gpu":
        pytest.skip(availability.reason)
    return chosen

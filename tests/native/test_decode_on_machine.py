"""Launching code without a GPU: on a CUDA driver whose devices are PTX machines (crates/machine_driver).

The driver is found by its name when a process first asks for it, so the tests in `on_machine` run in processes of their
own, one for each list of devices.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = Path(__file__).resolve().parent / "on_machine"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a library by the driver's name."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed: it builds the driver")
    # With the options of `cargo test`, which builds it along.
    build = ["cargo", "build", "--locked", "--workspace", "--example", "machine_driver", "--message-format", "json"]
    run = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    made = [json.loads(line) for line in run.stdout.splitlines()]
    (library,) = (
        name
        for message in made
        if message.get("target", {}).get("name") == "machine_driver"
        for name in message["filenames"]
        if name.endswith(".so")
    )
    folder = tmp_path_factory.mktemp("driver")
    shutil.copy(library, folder / "libcuda.so")
    # cuda-bindings asks for this one. A link, so that it is the same library, with one state, by both names.
    (folder / "libcuda.so.1").symlink_to("libcuda.so")
    return folder


@pytest.mark.parametrize(
    ("tests", "devices"),
    [
        ("arrays.py", "90,90"),
        ("contexts.py", "90,90"),
        ("launches.py", "90,90"),
        ("bindings.py", "90"),
        ("fallback.py", "86,75"),
    ],
)
def test_on_devices_that_are_machines(driver: Path, tests: str, devices: str) -> None:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(driver), "MACHINE_DRIVER_DEVICES": devices}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS / tests)]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "skipped" not in run.stdout

"""`diffcheck ab` on the device of formulas, for tests that end the process from outside.

Arguments: what befalls the run (`nothing`, `waits`, `lost`, or a number of bytes that no file may exceed), the replay
at which it waits or is lost, then the command line. A run that waits says `sampling` on standard output.
"""

from __future__ import annotations

import itertools
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffcheck.ab.gpu
import diffcheck.ab.pace
import diffcheck.ab.run
from diffcheck.cli.main import main
from diffcheck.errors import DiffcheckError
from diffcheck.receipts.ab.host import HostFacts
from diffcheck.subjects.tree import tree_subjects
from tests.factory.ab import ab_content, small_experiment
from tests.factory.bench import FormulaBench

LOST = "row random-16x4-L60000-f16, baseline: the GPU failed (CUDA_ERROR_LAUNCH_FAILED)"


def befalling(what: str, place: int) -> Callable[[str], None]:
    """Return what happens at each replay."""
    count = itertools.count(1)

    def on_replay(_: str) -> None:
        if next(count) != place:
            return
        if what == "waits":
            print("sampling", flush=True)
            time.sleep(120)
        if what == "lost":
            raise DiffcheckError(LOST)

    return on_replay


def bench(what: str, place: int) -> FormulaBench:
    """Return the device, at the PCI address that names the lock."""
    made = FormulaBench(
        HostFacts.model_validate(ab_content("h200", small_experiment())["host"]), on_replay=befalling(what, place)
    )
    made.pci_address = "0000:01:00.0"
    return made


def start(what: str, place: int, arguments: list[str]) -> None:
    """Run the command in this process."""
    if what.isdigit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(what), resource.RLIM_INFINITY))
    run: Any = diffcheck.ab.run
    # Without holding the lock against the native module: that takes longer than all else, and has tests of its own.
    run.run_subjects = tree_subjects
    gpu: Any = diffcheck.ab.gpu
    gpu.GpuBench = lambda tiles: bench(what, place)
    paces: Any = diffcheck.ab.pace
    ticks = itertools.count(0.0, 0.01)
    pace = diffcheck.ab.pace.Pace(0.0, lambda _: None, lambda: next(ticks))
    paces.Pace = lambda: pace
    sys.argv = ["diffcheck", *arguments]
    main()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    start(sys.argv[1], int(sys.argv[2]), sys.argv[3:])

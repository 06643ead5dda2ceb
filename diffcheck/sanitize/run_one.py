"""The program that compute-sanitizer watches: `python -m diffcheck.sanitize.run_one`.

    run_one planted NAME faulty|right
    run_one arms TARGET PROFILE CASE,CASE… ARM,ARM…

It prints one JSON line for each thing that it launched, and exits with 0 once it has launched them: what came of them
is the tool's to say.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import numpy as np

from diffcheck.arms import get_arm, reference_arm
from diffcheck.arms.base import DeviceArm
from diffcheck.cases import select
from diffcheck.parity.prepare import Prepared, prepare
from diffcheck.sanitize.device import launch_planted, run_program
from diffcheck.sanitize.registry import VERSIONS, planted_fault


def main(arguments: Sequence[str]) -> None:
    """Launch what the arguments name."""
    if arguments[0] == "planted":
        _planted(*arguments[1:])
    else:
        target, profile, cases, arms = arguments[1:]
        _arms(target, profile, cases.split(","), arms.split(","))


def _planted(name: str, version: str) -> None:
    chosen = next(known for known in VERSIONS if known == version)
    # A faulty kernel may well end with an error; the tool has reported why.
    _say(planted=name, version=version, error=launch_planted(planted_fault(name), chosen))


def _arms(target: str, profile: str, cases: Sequence[str], arms: Sequence[str]) -> None:
    reference = reference_arm()
    for case in select(None, cases):
        prepared = prepare(case, profile, reference, 0)
        for name in arms:
            arm = get_arm(name)
            if isinstance(arm, DeviceArm) and case.storage in arm.storages:
                _say(case=case.name, arm=name, bits=_bits(arm, prepared, target))


def _bits(arm: DeviceArm, prepared: Prepared, target: str) -> bool | None:
    """Run an arm and return whether it has the twin's bits, where it promises them; any NaN equals any NaN."""
    out = run_program(arm.program(prepared.problem(f"{prepared.case.name}, {arm.name}"), target))
    if arm.role != "bits":
        return None
    both_nan = np.isnan(out) & np.isnan(prepared.expected)
    return bool(np.all((out.view(np.uint32) == prepared.expected.view(np.uint32)) | both_nan))


def _say(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

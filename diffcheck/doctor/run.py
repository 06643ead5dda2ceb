"""Ask everything, whatever fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diffcheck.doctor import device, here, tools
from diffcheck.doctor.model import Checkup, Finding, Need

Check = Callable[[], Finding]
_HERE: tuple[Check, ...] = (here.python, here.native_module, here.disk)
CHECKS: tuple[Check, ...] = (
    *_HERE,
    *device.CHECKS,
    *(here.tree, here.lock),
    *tools.CHECKS,
)
# Each takes what stands before it as well.
_STEPS: tuple[Need, ...] = ("machine", "gpu", "verdict")


def examine(checks: Sequence[Check] = CHECKS) -> Checkup:
    """Run every check. One that fails itself is a finding like any other: nothing is raised."""
    findings = tuple(_ask(check) for check in checks)
    lacking = {finding.need for finding in findings if finding.state == "lacks"}
    ready = [need for place, need in enumerate(_STEPS) if not lacking & set(_STEPS[: place + 1])]
    return Checkup(findings=findings, ready=tuple(ready))


def _ask(check: Check) -> Finding:
    try:
        return check()
    except Exception as error:  # a broken installation fails in ways that no list of errors foresees
        said = " ".join(str(error).split())[:200] or type(error).__name__
        name = check.__name__.replace("_", " ")
        need: Need = "machine" if check in _HERE else "gpu" if check in device.CHECKS else "extra"
        remedy = "see the message; if the installation is broken: make setup"
        return Finding(name=name, need=need, state="lacks", detail=f"could not be asked: {said}", remedy=remedy)

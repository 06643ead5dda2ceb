"""Arms: implementations of the decode. To add one, write a module beside these and list it in `_ARMS`."""

from __future__ import annotations

from collections.abc import Sequence

from diffcheck.arms.base import Arm, DeviceArm, HostArm, Kernel, Problem, Role, computes
from diffcheck.arms.builder import BuilderArm
from diffcheck.arms.naive import NaiveArm, NaiveF16Arm
from diffcheck.arms.oxide import OxideArm
from diffcheck.arms.twin import TwinArm
from diffcheck.errors import BadInputError, MissingRequirementError, choose

_ARMS: tuple[HostArm | DeviceArm, ...] = (TwinArm(), BuilderArm(), OxideArm(), NaiveArm(), NaiveF16Arm())

ARMS: dict[str, HostArm | DeviceArm] = {arm.name: arm for arm in _ARMS}

__all__ = [
    "ARMS",
    "Arm",
    "BuilderArm",
    "DeviceArm",
    "HostArm",
    "Kernel",
    "NaiveArm",
    "NaiveF16Arm",
    "OxideArm",
    "Problem",
    "Role",
    "TwinArm",
    "computes",
    "device_arms",
    "get_arm",
    "left_out",
    "reference_arm",
    "select_arms",
]


def get_arm(name: str) -> HostArm | DeviceArm:
    """Return the named arm. Raises `BadInputError` for a name that does not exist."""
    return ARMS[choose("arm", name, ARMS)]


def reference_arm() -> HostArm:
    """Return the arm that the others are compared with. Raises `MissingRequirementError` where it cannot run."""
    (reference,) = (arm for arm in ARMS.values() if isinstance(arm, HostArm) and arm.role == "reference")
    _require(reference)
    return reference


def device_arms() -> tuple[DeviceArm, ...]:
    """Return the arms that are made of kernels, available or not."""
    return tuple(arm for arm in ARMS.values() if isinstance(arm, DeviceArm))


def select_arms(names: Sequence[str]) -> tuple[DeviceArm, ...]:
    """Return the named device arms, or every available one when none is named; the reference is always compared.

    Raises `BadInputError` for an unknown name and for names of which none is made of kernels, and
    `MissingRequirementError` for a named arm that cannot run here and where none can.
    """
    if not names:
        able = tuple(arm for arm in device_arms() if arm.available())
        if not able:
            raise MissingRequirementError(f"no arm can run here ({'; '.join(left_out())})", "build or install one")
        return able
    chosen = [get_arm(name) for name in dict.fromkeys(names)]
    for arm in chosen:
        _require(arm)
    kernels = tuple(arm for arm in chosen if isinstance(arm, DeviceArm))
    if not kernels:
        raise BadInputError("arm", ", ".join(names), "at least one arm that is made of kernels")
    return kernels


def left_out() -> list[str]:
    """Return a note for each arm that `select_arms` leaves out where none is named."""
    return [f"{arm.name}: {arm.available().reason}" for arm in device_arms() if not arm.available()]


def _require(arm: Arm) -> None:
    availability = arm.available()
    if not availability:
        raise MissingRequirementError(f"arm {arm.name} cannot run here ({availability.reason})", "build or install it")

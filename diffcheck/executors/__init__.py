"""Executors: places that run a kernel's PTX. To add one, write a module beside these and list it in `EXECUTORS`."""

from __future__ import annotations

from diffcheck.errors import BadInputError, MissingRequirementError, choose
from diffcheck.executors.base import Availability, ExecutionError, Executor, Tier
from diffcheck.executors.gpu import GpuExecutor
from diffcheck.executors.machine import MachineExecutor

EXECUTORS: dict[str, type[Executor]] = {"machine": MachineExecutor, "gpu": GpuExecutor}

__all__ = [
    "EXECUTORS",
    "Availability",
    "ExecutionError",
    "Executor",
    "Tier",
    "get_executor",
    "select_executors",
]


def get_executor(name: str) -> Executor:
    """Return the named executor, available or not. Raises `BadInputError` for a name that does not exist."""
    return EXECUTORS[choose("executor", name, EXECUTORS)]()


def select_executors(choice: str) -> tuple[list[Executor], list[str]]:
    """Return the executors that `choice` stands for and a note for each one that was left out.

    `auto` is every executor that is available, in the registry's order; any other choice is that one executor.
    Raises `BadInputError` for an unknown name and `MissingRequirementError` when a named executor, or every one,
    is unavailable.
    """
    if choice != "auto" and choice not in EXECUTORS:
        raise BadInputError("executor", choice, ", ".join([*EXECUTORS, "auto"]))
    chosen: list[Executor] = []
    notes: list[str] = []
    for name in EXECUTORS if choice == "auto" else [choice]:
        executor = get_executor(name)
        availability = executor.available()
        if availability:
            chosen.append(executor)
        else:
            notes.append(f"{name}: {availability.reason}")
    if not chosen:
        raise MissingRequirementError(f"executor {choice} cannot run here ({'; '.join(notes)})", "choose another one")
    return chosen, notes

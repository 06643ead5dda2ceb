"""What every executor offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from diffcheck.errors import DiffcheckError
from diffcheck.executors.program import Outcome, Program

Tier: TypeAlias = Literal["interpreted", "measured"]


@dataclass(frozen=True)
class Availability:
    """Whether something can run here, and if not, why not, in one line."""

    ok: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.ok


class ExecutionError(DiffcheckError):
    """A kernel could not be loaded or faulted while it ran: a finding about the kernel, not about the input."""


class Executor(Protocol):
    """Runs programs.

    `name` is what `--executor` takes, `tier` the evidence tier its results belong to.
    """

    name: str
    tier: Tier

    def available(self) -> Availability:
        """Tell whether this executor can run on this machine. Never raises and changes nothing."""
        ...

    def default_target(self) -> str:
        """Return the architecture (`sm_XX`) that PTX is built for when the user names none."""
        ...

    def default_profile(self) -> str:
        """Return the device profile that plans are made from when the user names none."""
        ...

    def run(self, program: Program) -> Outcome:
        """Run the launches of a program in order on fresh memory.

        Raises `ExecutionError` when the module is refused or a launch faults.
        """
        ...

"""The mutants there are: every operator at every statement of every kernel of an arm, each with a stable id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache

from diffcheck.arms import DeviceArm, get_arm, select_arms
from diffcheck.errors import BadInputError, choose
from diffcheck.selftest.base import StaleMutantError
from diffcheck.selftest.generated.flow import Flow, flow_of
from diffcheck.selftest.generated.operators import Change, Operator, all_operators
from diffcheck.selftest.generated.ptx_text import Statement, parse_kernel

# The arms whose kernels are compared by bits; a bounded arm's tolerance lets small faults through by design.
ARMS = ("builder", "oxide")


@dataclass(frozen=True)
class Subject:
    """One kernel of an arm for a target: what mutants are made of."""

    arm: str
    target: str
    entry: str

    @cached_property
    def flow(self) -> Flow:
        """The kernel taken apart."""
        return flow_of(parse_kernel(device_arm(self.arm).kernel(self.entry, self.target).ptx, self.entry))

    @cached_property
    def _places(self) -> tuple[str, ...]:
        lines = [statement.line for statement in self.flow.kernel.statements]
        return tuple(
            str(line) if lines.count(line) == 1 else f"{line}.{index - lines.index(line) + 1}"
            for index, line in enumerate(lines)
        )

    def place(self, statement: Statement) -> str:
        """Return the line of a statement; where others stand in the same line, with its number among them."""
        return self._places[statement.index]


@dataclass(frozen=True)
class GeneratedMutant:
    """One operator's change of one statement."""

    subject: Subject
    statement: Statement
    operator: Operator
    change: Change

    @property
    def id(self) -> str:
        """Arm, target, kernel, line, operator and detail: the same as long as the kernel's text is the same."""
        subject = self.subject
        place = subject.place(self.statement)
        return f"{subject.arm}/{subject.target}/{subject.entry}/{place}/{self.operator.name}/{self.change.detail}"

    @property
    def line_text(self) -> str:
        """The statement before the change, in one line."""
        return self.subject.flow.kernel.line_text(self.statement)

    @property
    def became(self) -> str:
        """What stands in its place, in one line."""
        return " ".join(self.change.text.split()) or "nothing"

    def apply(self, module: str) -> str:
        """Return a module that holds the kernel, with the fault in it.

        Raises `StaleMutantError` where the module has another text for the kernel than the mutant was made from.
        """
        whole, change = self.subject.flow.kernel.text, self.change
        first, end = _entry_span(whole, self.subject.entry)
        ours = whole[first:end]
        if module.count(ours) != 1:
            raise StaleMutantError(f"{self.subject.entry} of {self.subject.arm} is not what mutants were made from")
        changed = whole[first : change.start] + change.text + whole[change.end : end]
        return module.replace(ours, changed)


@lru_cache(maxsize=256)
def subject_of(arm: str, target: str, entry: str) -> Subject:
    """Return a kernel, taken apart once."""
    return Subject(arm, target, entry)


def subjects(arms: Sequence[str], target: str, kernels: Sequence[str] = ()) -> tuple[Subject, ...]:
    """Return the kernels that the named arms have for a target, or those of them that match one of some patterns.

    No arm stands for every one that owes the twin's bits. Raises `BadInputError` for an arm that does not, and where
    no kernel is left.
    """
    for name in arms:
        choose("arm", name, ARMS)
    chosen = select_arms(arms or ARMS)
    found = tuple(
        subject_of(arm.name, target, entry)
        for arm in chosen
        for entry in arm.entries(target)
        if not kernels or any(fnmatchcase(entry, pattern) for pattern in kernels)
    )
    if not found:
        raise BadInputError("kernel", ", ".join(kernels), "a pattern of names that `diffcheck assemble` prints")
    return found


def device_arm(name: str) -> DeviceArm:
    """Return a named arm that is made of kernels."""
    arm = get_arm(name)
    if not isinstance(arm, DeviceArm):
        raise BadInputError("arm", name, ", ".join(ARMS))
    return arm


@lru_cache(maxsize=2048)
def made(subject: Subject, operator: Operator) -> tuple[GeneratedMutant, ...]:
    """Return every mutant that an operator makes of a kernel."""
    flow = subject.flow
    return tuple(
        GeneratedMutant(subject, statement, operator, change)
        for statement in flow.kernel.statements
        if statement.index in flow.reachable
        for change in operator.changes(flow, statement)
    )


def all_made(subject: Subject) -> Iterator[GeneratedMutant]:
    """Yield every mutant of a kernel."""
    for operator in all_operators():
        yield from made(subject, operator)


def _entry_span(text: str, entry: str) -> tuple[int, int]:
    head = text.find(f".entry {entry}(")
    end = text.find("\n}", head)
    if head < 0 or end < 0:
        raise StaleMutantError(f"no kernel {entry} to change")
    return head, end

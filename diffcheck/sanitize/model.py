"""The record of a sanitizer run: what the PTX machine and NVIDIA's compute-sanitizer say of the same kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.receipts.fields import Count, Model, Name, Sha256, Target
from diffcheck.receipts.provenance import Tree
from diffcheck.repeated import first_repeated, require_once
from diffcheck.sanitize.registry import TOOLS, ToolName

# How many planted faults both sides must report where the tools are there to be asked (fewer where few were named).
AGREEMENTS_WANTED = 10

Agreement: TypeAlias = Literal["agree", "differ", "not-covered", "not-run"]


class MachineVerdict(Model):
    """What the PTX machine says of a launch."""

    fault: str | None
    """Kind of the fault; null where there is none."""
    message: str
    """The report's one line; empty where there is none."""


class ToolVerdict(Model):
    """What one process under compute-sanitizer reported."""

    tool: ToolName
    findings: Count | None
    """Errors and warnings by the tool's own summary; null where it wrote none."""
    reports: tuple[str, ...]
    """The first line of each kind of report, with the line that says where."""
    problem: str
    """Why the run tells nothing (it ended early, ran out of time, launched nothing); empty where it does tell."""
    seconds: float

    @property
    def is_clean(self) -> bool:
        """Whether the run ended as it should and nothing was reported."""
        return not self.problem and self.findings == 0 and not self.reports


class PlantedResult(Model):
    """One planted fault, in its faulty and its right version."""

    name: Name
    fault: Name
    ptx_sha256: Sha256
    expected: Name
    """Kind of fault that the machine must report for the faulty version."""
    machine_faulty: MachineVerdict
    machine_right: MachineVerdict
    tool: ToolName | None
    """The tool that reports this fault; null where none does."""
    expected_report: str
    """Regular expression for the tool's first line."""
    because: str
    """Why no tool reports it, or none was asked."""
    tool_faulty: ToolVerdict | None
    tool_right: ToolVerdict | None
    agreement: Agreement

    @property
    def machine_holds(self) -> bool:
        """Whether the machine reports the fault, and nothing for the right version."""
        return self.machine_faulty.fault == self.expected and self.machine_right.fault is None


class LaunchedCase(Model):
    """One case of one arm that ran under a tool."""

    case: Name
    arm: Name
    bits: bool | None
    """Whether the result has the twin's bits; null for an arm that is only compared within a bound."""


class ArmsResult(Model):
    """The arms under one tool, in one process."""

    launched: tuple[LaunchedCase, ...]
    verdict: ToolVerdict
    status: Literal["holds", "fails"]

    @model_validator(mode="after")
    def _status_follows(self) -> Self:
        wrong = any(launched.bits is False for launched in self.launched)
        expected = "holds" if self.verdict.is_clean and self.launched and not wrong else "fails"
        if self.status != expected:
            raise ValueError(f"status: {self.status} contradicts the findings, which say {expected}")
        return self


class Device(Model):
    """Where the tools ran."""

    device: Name
    arch: Target
    sms: Count
    driver_version: Name
    runtime_version: Name
    cupy_version: Name
    sanitizer_version: Name


class SanitizeReceipt(Model):
    """Everything one `diffcheck sanitize` run established."""

    schema_name: Literal["diffcheck-sanitize/1"] = Field(default="diffcheck-sanitize/1", alias="schema")
    version: Name
    """Version of diffcheck."""
    tree: Tree
    command: tuple[str, ...]
    """The command line, without the program and the folders of files."""
    machine_version: Name
    device: Device | None
    missing: str
    """Why no tool was run; empty where they were."""
    planted: tuple[PlantedResult, ...]
    arms: tuple[ArmsResult, ...]
    status: Literal["holds", "fails"]

    @property
    def agreements(self) -> int:
        """How many planted faults the machine and a tool agree on."""
        return count_agreements(self.planted)

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        require_once("planted", (result.name for result in self.planted))
        ran = [result.verdict.tool for result in self.arms]
        require_once("arms", ran)
        if ran and set(ran) != set(TOOLS):
            raise ValueError(f"arms: ran under {', '.join(ran)}; a run is under {', '.join(TOOLS)}")
        return self

    @model_validator(mode="after")
    def _all_that_was_asked_for_is_there(self) -> Self:
        asked = set(self.command)
        # Neither option asks for both parts.
        planted, arms = ("--planted" in asked or "--arms" not in asked), ("--arms" in asked or "--planted" not in asked)
        if bool(self.planted) != planted:
            raise ValueError(f"planted: {len(self.planted)} faults, and the command {_asks(planted)} them")
        if bool(self.arms) != (arms and self.device is not None):
            where = "" if self.device else " on a device"
            raise ValueError(f"arms: ran under {len(self.arms)} tools, and the command {_asks(arms)} them{where}")
        return self

    @model_validator(mode="after")
    def _every_tool_saw_the_same(self) -> Self:
        for result in self.arms:
            pairs = [(launched.case, launched.arm) for launched in result.launched]
            twice = first_repeated(pairs)
            if twice is not None:
                raise ValueError(f"launched: {twice[0]} of {twice[1]} is there twice under {result.verdict.tool}")
        # What ended early has launched fewer, and fails by itself.
        whole = [result for result in self.arms if result.status == "holds"]
        for result in whole[1:]:
            if _launched(result) != _launched(whole[0]):
                tools = f"{whole[0].verdict.tool} and {result.verdict.tool}"
                raise ValueError(f"launched: {tools} did not see the same cases of the same arms")
        return self

    @model_validator(mode="after")
    def _status_follows(self) -> Self:
        named = names_faults(self.command)
        fails = what_fails(self.planted, self.arms, asked=self.device is not None, named=named)
        expected = "fails" if fails else "holds"
        if self.status != expected:
            raise ValueError(f"status: {self.status} contradicts the results, which say {expected}")
        return self


def names_faults(command: Sequence[str]) -> bool:
    """Whether a command names the planted faults that it asks for, and does not ask for all."""
    return any(word.partition("=")[0] == "--name" for word in command)


def _asks(wanted: bool) -> str:
    return "asks for" if wanted else "does not ask for"


def _launched(result: ArmsResult) -> set[tuple[str, str]]:
    return {(launched.case, launched.arm) for launched in result.launched}


def count_agreements(planted: Sequence[PlantedResult]) -> int:
    """Return how many planted faults the machine and a tool agree on."""
    return sum(result.agreement == "agree" for result in planted)


def what_fails(planted: Sequence[PlantedResult], arms: Sequence[ArmsResult], *, asked: bool, named: bool) -> list[str]:
    """Return a line for each thing that does not hold.

    `asked`: the tools were there to be asked; `named`: only some of the planted faults were asked for.
    """
    lines: list[str] = []
    for result in planted:
        if not result.machine_holds:
            faulty, right = result.machine_faulty.fault or "nothing", result.machine_right.fault or "nothing"
            lines.append(f"{result.name}: the machine reports {faulty}, and {right} for the right version")
        elif result.agreement == "differ":
            lines.append(f"{result.name}: {result.tool} does not say what the machine says")
    lines += [f"arms: {result.verdict.tool} does not hold" for result in arms if result.status == "fails"]
    coverable = sum(result.agreement != "not-covered" for result in planted)
    wanted = min(AGREEMENTS_WANTED, coverable) if named else AGREEMENTS_WANTED
    if asked and planted and count_agreements(planted) < wanted:
        lines.append(f"planted faults agreed on: {count_agreements(planted)}; wanted: {wanted}")
    return lines

"""The closed list of reasons. docs/decision.md has the same table, and a test holds the two together.

To add one: a row of `RULES`, the module that finds it, and the text of `table_markdown()` in docs/decision.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from diffcheck.receipts.fields import Count, Model, Name, Real

Severity = Literal["pass", "info", "inconclusive", "hold", "reject"]
# From what changes nothing to what no other reason can outweigh.
SEVERITIES: tuple[Severity, ...] = ("pass", "info", "inconclusive", "hold", "reject")


class Code(str, Enum):
    """What a reason says."""

    RECEIPT_MISSING = "receipt-missing"
    NOTHING_REQUIRED = "nothing-required"
    NOTHING_GATED = "nothing-gated"
    TREE_UNLOCKED = "tree-unlocked"
    RECEIPT_UNREADABLE = "receipt-unreadable"
    RECEIPT_EDITED = "receipt-edited"
    RECEIPT_IMPORTED = "receipt-imported"
    RECEIPT_MISPLACED = "receipt-misplaced"
    RECEIPT_STALE = "receipt-stale"
    HOST_UNKNOWN = "host-unknown"
    HOST_CONTRADICTS = "host-contradicts"
    HOST_TWICE = "host-twice"
    RECEIPT_COPIED = "receipt-copied"
    EXPERIMENT_DIFFERS = "experiment-differs"
    ROW_MISSING = "row-missing"
    ROW_DIFFERS = "row-differs"
    TREE_DIRTY = "tree-dirty"
    TREE_UNKNOWN = "tree-unknown"
    FOREIGN_PROCESS = "foreign-process"
    FOREIGN_UNKNOWN = "foreign-unknown"
    CONTROL_MISSING = "control-missing"
    CONTROL_FAILED = "control-failed"
    SAMPLES_FEW = "samples-few"
    SAMPLES_CONTRADICT = "samples-contradict"
    COPIES_FEW = "copies-few"
    ABOVE_PEAK = "above-peak"
    SELFTEST_FAILED = "selftest-failed"
    SELFTEST_MISSING = "selftest-missing"
    PARITY_HOLDS = "parity-holds"
    PARITY_MISSING = "parity-missing"
    BITS_DIFFER = "bits-differ"
    BOUND_EXCEEDED = "bound-exceeded"
    KERNEL_MISBEHAVES = "kernel-misbehaves"
    ACCURACY_HOLDS = "accuracy-holds"
    COSINE_LOW = "cosine-low"
    ERROR_HIGH = "error-high"
    SPEED_HOLDS = "speed-holds"
    SPEED_UNSURE = "speed-unsure"
    SPEED_UNTRUSTED = "speed-untrusted"
    TOO_SLOW = "too-slow"


@dataclass(frozen=True)
class Rule:
    """What a code means, and how much it weighs: of a host whose receipt is required, and of an advisory one."""

    code: Code
    required: Severity
    advisory: Severity
    meaning: str


RULES: tuple[Rule, ...] = (
    Rule(Code.RECEIPT_MISSING, "hold", "hold", "A required architecture has no receipt that could count."),
    Rule(Code.NOTHING_REQUIRED, "hold", "hold", "The experiment requires no architecture: it only informs."),
    Rule(Code.NOTHING_GATED, "hold", "hold", "No row was judged: a gate over nothing does not open."),
    Rule(Code.TREE_UNLOCKED, "hold", "hold", "The tree's own hashes are out of date, so nothing can be called fresh."),
    Rule(Code.RECEIPT_UNREADABLE, "hold", "hold", "A file is no whole and valid receipt."),
    Rule(Code.RECEIPT_EDITED, "hold", "hold", "A receipt's content does not fit its digest."),
    Rule(Code.RECEIPT_IMPORTED, "info", "info", "A file was imported from another tool: shown, never counted."),
    Rule(Code.RECEIPT_MISPLACED, "hold", "hold", "A file or folder has another name than its host or experiment."),
    Rule(Code.RECEIPT_STALE, "hold", "info", "A hash of what was measured, or how, is not the tree's."),
    Rule(Code.HOST_UNKNOWN, "info", "info", "The receipt names no host of hosts.toml: advisory."),
    Rule(Code.HOST_CONTRADICTS, "hold", "hold", "hosts.toml gives the host another architecture than the receipt."),
    Rule(Code.HOST_TWICE, "hold", "hold", "Two receipts name one host; no clock says which is later."),
    Rule(Code.RECEIPT_COPIED, "hold", "info", "Another host's receipt is of the same device, or has the same samples."),
    Rule(Code.EXPERIMENT_DIFFERS, "hold", "info", "The receipt answers another relation or other arms."),
    Rule(Code.ROW_MISSING, "hold", "info", "A row of the experiment was not measured."),
    Rule(Code.ROW_DIFFERS, "hold", "info", "A row has other inputs, arms or plans than those asked of this device."),
    Rule(Code.TREE_DIRTY, "hold", "info", "Tracked files outside evidence/ and docs/ had changes when it ran."),
    Rule(Code.TREE_UNKNOWN, "hold", "info", "Neither a repository nor a stamp says which commit ran."),
    Rule(Code.FOREIGN_PROCESS, "hold", "info", "Another live compute process was on the GPU, before or after."),
    Rule(Code.FOREIGN_UNKNOWN, "hold", "info", "NVML did not say who else was on the GPU, or the run was interrupted."),
    Rule(Code.CONTROL_MISSING, "hold", "info", "A control that the policy asks for was not run."),
    Rule(Code.CONTROL_FAILED, "hold", "info", "An A/A interval without 1, or a planted slow-down not found."),
    Rule(Code.SAMPLES_FEW, "hold", "info", "Fewer undropped blocks than the experiment's least: no interval to trust."),
    Rule(Code.SAMPLES_CONTRADICT, "hold", "info", "What was derived, or stands beside the times, contradicts them."),
    Rule(Code.COPIES_FEW, "hold", "info", "Copies of K and V in the L2, beyond the memory, or not passed over whole."),
    Rule(Code.ABOVE_PEAK, "hold", "info", "A time would take more than the memory's peak."),
    Rule(Code.SELFTEST_FAILED, "hold", "info", "A planted fault was not caught, so the checks prove nothing."),
    Rule(Code.SELFTEST_MISSING, "hold", "info", "The policy asks for the self-test, and it was not run."),
    Rule(Code.PARITY_HOLDS, "pass", "info", "Every check of every row holds."),
    Rule(Code.PARITY_MISSING, "hold", "info", "A row lacks a check that its relation rests on, or words of one."),
    Rule(Code.BITS_DIFFER, "reject", "hold", "Words that must have the same bits have not."),
    Rule(Code.BOUND_EXCEEDED, "reject", "hold", "An output is outside its bound of the f64 oracle."),
    Rule(Code.KERNEL_MISBEHAVES, "reject", "hold", "A kernel faulted, or wrote where it must not."),
    Rule(Code.ACCURACY_HOLDS, "pass", "info", "Cosine and largest error against f64 are within the policy's limits."),
    Rule(Code.COSINE_LOW, "reject", "hold", "The cosine against f64 is below the limit, or no number."),
    Rule(Code.ERROR_HIGH, "reject", "hold", "The largest error against f64 is past the limit, or no number."),
    Rule(Code.SPEED_HOLDS, "pass", "info", "Every row's whole interval is within the policy's limit."),
    Rule(Code.SPEED_UNSURE, "inconclusive", "info", "A row's interval straddles the policy's limit."),
    Rule(Code.SPEED_UNTRUSTED, "hold", "info", "Times were not judged, for the doubts that stand beside it."),
    Rule(Code.TOO_SLOW, "reject", "info", "A row's whole interval is past the policy's limit."),
)  # fmt: skip

_BY_CODE = {rule.code: rule for rule in RULES}


class Reason(Model):
    """One step to the verdict."""

    code: Code
    severity: Severity
    host: str | None
    """The host's id, or the file's name where it has none; null: of the experiment as a whole."""
    row: Name | None
    message: Name
    """One line."""
    numbers: dict[Name, Real | Count | str | None]
    """What the step looked at."""
    remedy: Name | None
    """The command, or the act, that would supply what is missing."""

    @property
    def sort_key(self) -> tuple[int, int, str, str, str]:
        """Heaviest first, then in the order of the list of codes, host and row: never in that of the receipts."""
        rank = list(_BY_CODE).index(self.code)
        return (-SEVERITIES.index(self.severity), rank, self.host or "", self.row or "", self.message)


@dataclass(frozen=True)
class Subject:
    """Whom reasons speak of: a host's receipt, required or advisory, or (host None) the experiment as a whole."""

    host: str | None
    required: bool

    def reason(
        self,
        code: Code,
        message: str,
        *,
        row: str | None = None,
        numbers: dict[str, float | int | str | None] | None = None,
        remedy: str | None = None,
    ) -> Reason:
        """Return a reason with the severity that its code has for this subject."""
        rule = _BY_CODE[code]
        return Reason(
            code=code,
            severity=rule.required if self.required else rule.advisory,
            host=self.host,
            row=row,
            message=message,
            numbers=numbers or {},
            remedy=remedy,
        )


def table_markdown() -> str:
    """Return the table of docs/decision.md."""
    lines = ["| code | required | advisory | says |", "|---|---|---|---|"]
    lines += [f"| `{rule.code.value}` | {rule.required} | {rule.advisory} | {rule.meaning} |" for rule in RULES]
    return "\n".join(lines) + "\n"

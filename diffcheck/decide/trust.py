"""Whether a run's times can be trusted: who else was there, what its controls found, and how much was sampled."""

from __future__ import annotations

from diffcheck.ab.recompute import contradictions
from diffcheck.decide.reasons import Code, Reason, Subject
from diffcheck.experiment.model import Experiment
from diffcheck.experiment.policy import Policy
from diffcheck.experiment.rows import experiment_rows
from diffcheck.receipts.ab.host import HostFacts
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.rows import Control, Row
from diffcheck.selftest.model import SelfTest
from diffcheck.timing.sets import L2_MULTIPLE, count_sets


def distrust(receipt: AbReceipt, subject: Subject, experiment: Experiment, policy: Policy) -> list[Reason]:
    """Return every reason not to trust a receipt's times; empty: they can be judged."""
    reasons = _tree(receipt, subject) if policy.trust.clean_tree else []
    reasons += _users(receipt, subject) if policy.trust.no_foreign_process else []
    reasons += _controls(receipt, subject, policy) + _a_a(receipt, subject)
    reasons += _samples(receipt, subject, experiment)
    reasons += _copies(receipt, subject)
    reasons += _above_peak(receipt, subject)
    reasons += _selftest(receipt, subject, policy)
    return reasons


def _tree(receipt: AbReceipt, subject: Subject) -> list[Reason]:
    source = receipt.tool.source
    if source.dirty is None or source.dirty_paths is None:
        return [subject.reason(Code.TREE_UNKNOWN, "neither a repository nor a build stamp told the commit")]
    if source.dirty or source.dirty_paths:
        shown = ", ".join(source.dirty_paths[:3]) + (", …" if len(source.dirty_paths) > 3 else "")
        numbers: dict[str, float | int | str | None] = {"paths": len(source.dirty_paths)}
        return [
            subject.reason(Code.TREE_DIRTY, f"changed: {shown}", numbers=numbers, remedy="commit, then run it again")
        ]
    return []


def _users(receipt: AbReceipt, subject: Subject) -> list[Reason]:
    reasons: list[Reason] = []
    # The rows that it took up are of a process that did not live to ask who was there after it.
    if any(part.resumed for part in receipt.parts):
        message = "a part went on from an interrupted run, of which nothing says who was on the GPU"
        remedy = "run it again from its start; --rungs makes it in parts"
        reasons.append(subject.reason(Code.FOREIGN_UNKNOWN, message, remedy=remedy))
    for moment, users in (("before", receipt.gpu_users.before), ("after", receipt.gpu_users.after)):
        if users is None:
            reasons.append(subject.reason(Code.FOREIGN_UNKNOWN, f"NVML did not say who was on the GPU {moment} it"))
            continue
        live = [user for user in users if user.kind == "compute" and user.state == "live"]
        if live:
            reasons.append(
                subject.reason(
                    Code.FOREIGN_PROCESS,
                    f"{len(live)} live compute process{'es' if len(live) > 1 else ''} on the GPU {moment} the run",
                    numbers={"processes": len(live)},
                    remedy="end the other processes and run it again",
                )
            )
    return reasons


def _controls(receipt: AbReceipt, subject: Subject, policy: Policy) -> list[Reason]:
    reasons: list[Reason] = []
    for control in receipt.controls:
        if not control.passed:
            ratio = control.timing.ratio
            message = f"{_name(control)} on {control.case}: {ratio.low:.4f} to {ratio.high:.4f}"
            reasons.append(subject.reason(Code.CONTROL_FAILED, message, row=control.case, numbers=_interval(control)))
    needs = policy.controls
    for percent in needs.planted_percent:
        done = any(
            control.kind == "planted"
            and control.planted_percent == percent
            and control.kv_len >= needs.planted_min_kv_len
            for control in receipt.controls
        )
        if not done:
            message = f"no planted slow-down of {percent:g} % at {needs.planted_min_kv_len} keys or more"
            reasons.append(subject.reason(Code.CONTROL_MISSING, message))
    return reasons


def _a_a(receipt: AbReceipt, subject: Subject) -> list[Reason]:
    """Return where an A/A is missing: on the row that reads the fewest bytes, and beside each planted slow-down.

    What is found of a slow-down says nothing where the same row finds one that is not there.
    """
    asked = experiment_rows(receipt.experiment.content)
    least = min(asked, key=lambda row: row.baseline_case.kv_bytes).name
    done = {control.case for control in receipt.controls if control.kind == "a/a"}
    planted = [control.case for control in receipt.controls if control.kind == "planted"]
    return [
        subject.reason(Code.CONTROL_MISSING, "no A/A", row=name)
        for name in dict.fromkeys((least, *planted))
        if name not in done
    ]


def _samples(receipt: AbReceipt, subject: Subject, experiment: Experiment) -> list[Reason]:
    timed = receipt.comparisons()
    least = experiment.budget.min_blocks
    reasons = [
        subject.reason(
            Code.SAMPLES_FEW,
            f"{len(timing.used())} blocks of {len(timing.blocks)} were used; the experiment asks for {least}",
            row=name,
            numbers={"used": len(timing.used()), "dropped": timing.dropped_blocks, "asked": least},
        )
        for name, timing in timed
        if len(timing.used()) < least
    ]
    reasons += [subject.reason(Code.SAMPLES_CONTRADICT, message, row=name) for name, message in contradictions(receipt)]
    return reasons


def _copies(receipt: AbReceipt, subject: Subject) -> list[Reason]:
    reasons: list[Reason] = []
    for row in receipt.rows:
        message = _wrong_copies(row, receipt.host)
        if row.timing is not None and message is not None:
            numbers: dict[str, float | int | str | None] = {
                "copies": row.buffer_sets,
                "baseline_calls": row.baseline.calls,
                "candidate_calls": row.candidate.calls,
            }
            reasons.append(subject.reason(Code.COPIES_FEW, message, row=row.case.name, numbers=numbers))
    return reasons


def _wrong_copies(row: Row, host: HostFacts) -> str | None:
    calls = (row.baseline.calls, row.candidate.calls)
    needed = count_sets(row.kv_bytes, host.l2_bytes)
    # A graph with fewer calls than there are copies reads only so many of them, again and again.
    read = min(row.buffer_sets, *calls)
    if read < needed:
        return f"{read} copies of K and V are read, and {needed} exceed the L2 {L2_MULTIPLE} times"
    if row.rotated_bytes > host.memory_bytes:
        return f"copies of {row.rotated_bytes} bytes, in a memory of {host.memory_bytes}"
    uneven = next((count for count in calls if count % row.buffer_sets), None)
    if uneven is not None:
        return f"{uneven} calls are no whole passes over {row.buffer_sets} copies"
    return None


def _above_peak(receipt: AbReceipt, subject: Subject) -> list[Reason]:
    reasons: list[Reason] = []
    peak = receipt.host.peak_memory_bytes_per_second
    for row in receipt.rows:
        if row.above_peak and row.timing:
            fastest = min(row.timing.baseline_us, row.timing.candidate_us)
            rate = row.kv_bytes / (fastest * 1e-6)
            reasons.append(
                subject.reason(
                    Code.ABOVE_PEAK,
                    f"{rate / 1e9:.0f} GB/s of K and V, from a memory of {(peak or 0) / 1e9:.0f} GB/s",
                    row=row.case.name,
                    numbers={"bytes_per_second": rate, "peak": peak},
                )
            )
    return reasons


def _selftest(receipt: AbReceipt, subject: Subject, policy: Policy) -> list[Reason]:
    if isinstance(receipt.selftest, SelfTest):
        missed = [mutant.name for mutant in receipt.selftest.mutants if not mutant.caught]
        if not missed:
            return []
        return [
            subject.reason(
                Code.SELFTEST_FAILED, f"not caught: {', '.join(missed[:3])}", numbers={"missed": len(missed)}
            )
        ]
    if policy.trust.selftest == "required":
        return [subject.reason(Code.SELFTEST_MISSING, f"the self-test was not run: {receipt.selftest.reason}")]
    return []


def _name(control: Control) -> str:
    return "A/A" if control.kind == "a/a" else f"planted {control.planted_percent:g} %"


def _interval(control: Control) -> dict[str, float | int | str | None]:
    ratio = control.timing.ratio
    return {"estimate": ratio.estimate, "low": ratio.low, "high": ratio.high, "planted": control.planted_percent}

"""The verdict: every reason is reached, and says what it should; exit codes; what lies in a folder of evidence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from diffcheck.cli.decide import EXIT_CODES
from diffcheck.cli.main import run
from diffcheck.decide.collect import Found, collect, read_found
from diffcheck.decide.model import Decision, Verdict
from diffcheck.decide.reasons import RULES, SEVERITIES, Code, table_markdown
from diffcheck.decide.speed import judge_interval
from diffcheck.decide.verdict import decide
from diffcheck.experiment.load import LoadedExperiment, load_hosts, load_policy
from diffcheck.experiment.policy import Policy
from diffcheck.receipts.ab.samples import Interval
from diffcheck.subjects.tree import TreeHashes
from tests.factory.ab import (
    REQUIRED,
    Content,
    ab_content,
    check,
    comparison,
    drop_row,
    fail_parity,
    replan,
    retime,
    sealed,
    small_experiment,
    write_evidence,
)

ROOT = Path(__file__).resolve().parents[2]
SMALL = small_experiment()
TREE = TreeHashes()


def found(content: Content, folder: Path, name: str | None = None) -> Found:
    path = folder / f"{name or content['host']['id']}.json"
    path.write_text(json.dumps(content if "digest" in content else sealed(content)))
    return read_found(path)


def passing(folder: Path, experiment: LoadedExperiment = SMALL) -> list[Found]:
    return [found(ab_content(host, experiment), folder) for host in REQUIRED]


def verdict_of(files: list[Found], experiment: LoadedExperiment = SMALL, policy: str = "kernel-001") -> Decision:
    return decide(files, experiment.content, load_policy(policy), load_hosts(), TREE)


def test_a_complete_fresh_clean_set_is_promoted(tmp_path: Path) -> None:
    decision = verdict_of(passing(tmp_path))
    assert decision.verdict == "PROMOTE"
    assert decision.gated_rows == 4
    assert {reason.severity for reason in decision.reasons} == {"pass"}
    assert {reason.host for reason in decision.reasons} == set(REQUIRED)
    worst = next(reason for reason in decision.reasons if reason.code is Code.SPEED_HOLDS)
    assert worst.numbers["limit"] == 1.2


Change = Callable[[Content], object]


@dataclass(frozen=True)
class Fault:
    """One alteration of the rtx4090's receipt, the reason that it gives and the verdict that follows."""

    code: Code
    change: Change
    verdict: Verdict
    advisory: Verdict = "PROMOTE"
    """The verdict when an advisory host's receipt is altered so, beside a passing set."""
    policy: dict[str, Any] = field(default_factory=dict)


def _first(content: Content) -> Content:
    row: Content = content["rows"][0]
    return row


def _fail(name: str) -> Change:
    def change(content: Content) -> None:
        row = _first(content)
        row["parity"] = [one for one in row["parity"] if (one["name"], one["a"]) != (name, "oxide")]
        row["parity"].append(check(name, "oxide", "builder" if name == "bits" else "oracle", holds=False))
        fail_parity(content)

    return change


def _ratio(ratio: float, half_width: float = 0.003) -> Change:
    return lambda content: retime(_first(content), ratio, half_width)


def _f64(name: str, value: object) -> Change:
    def change(content: Content) -> None:
        (one,) = (one for one in _first(content)["parity"] if one["name"] == "oracle" and one["a"] == "oxide")
        one["whole"][name] = value

    return change


def _named(content: Content, name: str) -> list[Content]:
    return [one for one in _first(content)["parity"] if one["name"] == name]


def _words(content: Content, name: str, words: int) -> None:
    for one in _named(content, name):
        one.update(check(name, one["a"], one["b"], words))


def _worst_row(content: Content) -> None:
    (one,) = (one for one in _first(content)["parity"] if one["name"] == "oracle" and one["a"] == "oxide")
    # All rows together may look right while one row is wrong.
    one["worst_row"] = {**one["whole"], "head": 3, "words": 256, "equal": 64, "bitwise_percent": 25.0, "cosine": 0.99}


def _planned_for_another_device(content: Content) -> None:
    for row in range(len(content["rows"])):
        replan(content, row, profile="a100")


def _above_peak(content: Content) -> None:
    content["host"]["peak_memory_bytes_per_second"] = 1e9
    for row in content["rows"]:
        row["above_peak"] = True


def _control(index: int, ratio: float) -> Change:
    def change(content: Content) -> None:
        retime(content["controls"][index], ratio)
        content["controls"][index]["passed"] = False

    return change


def _mutant(caught: bool) -> Content:
    return {
        "name": "m",
        "where": "ptx",
        "what": "w",
        "meant_for": "bits",
        "caught_by": [],
        "caught": caught,
        "evidence": "e",
        "seconds": 0.1,
    }


def _user(kind: str, state: str) -> Content:
    return {"kind": kind, "state": state, "memory_bytes": None}


def _blocks(change: Change) -> Change:
    def of_all(content: Content) -> None:
        for block in _first(content)["timing"]["blocks"]:
            change(block)

    return of_all


def _one_way(block: Content) -> None:
    us = {one["side"]: one["us"] for one in block["replays"]}
    block["replays"] = [{"side": side, "us": us[side]} for side in ("baseline", "candidate", "candidate", "baseline")]


def _dropped_without_reason(content: Content) -> None:
    kept, slow = comparison(60.0, 0.99, blocks=4), comparison(60.0, 2.0, blocks=4)["blocks"]
    for block in slow:
        block["dropped"] = "throttled: hw_slowdown"
    _first(content)["timing"] = {**kept, "blocks": [*kept["blocks"], *slow], "dropped_blocks": 4}


# What an edit may leave behind when everything that is derived is computed anew, and the digest as well.
CONTRADICTIONS: tuple[Change, ...] = (
    _dropped_without_reason,
    _blocks(lambda block: block["readings"][2].update(throttle=["hw_slowdown"])),
    _blocks(_one_way),
    lambda c: retime(_first(c), 0.8, 0.3),
    lambda c: _first(c)["timing"].update(stop="blocks"),
    lambda c: _first(c).update(timing=comparison(60.0, 0.99, blocks=404)),
    lambda c: _first(c).update(timing=comparison(60.0, 0.99, blocks=4, confidence=0.99)),
    lambda c: c["controls"][0].update(timing=comparison(60.0, 1.002, blocks=4, confidence=0.999)),
    lambda c: c["controls"][2].update(timing=c["controls"][1]["timing"]),
    lambda c: _first(c).update(timing=c["rows"][1]["timing"]),
    lambda c: c["controls"][1].update(timing=comparison(60.0, 1.02, blocks=4, confidence=0.99)),
)


FAULTS: tuple[Fault, ...] = (
    Fault(Code.RECEIPT_STALE, lambda c: c["subjects"].update(cases_sha256="0" * 64), "HOLD"),
    Fault(Code.RECEIPT_STALE, lambda c: c["subjects"]["ptx"][1].update(sha256="0" * 64), "HOLD"),
    Fault(Code.RECEIPT_STALE, lambda c: c["subjects"]["ptx"][0].update(target="sm_80"), "HOLD"),
    Fault(Code.RECEIPT_STALE, lambda c: c["subjects"]["ptx"].pop(), "HOLD"),
    Fault(Code.HOST_CONTRADICTS, lambda c: c["host"].update(arch="sm_80"), "HOLD", "HOLD"),
    Fault(Code.RECEIPT_MISPLACED, lambda c: c["host"].update(id="h100"), "HOLD", "HOLD"),
    Fault(Code.HOST_UNKNOWN, lambda c: c["host"].update(id=None), "HOLD"),
    Fault(
        Code.EXPERIMENT_DIFFERS,
        lambda c: (
            c["experiment"]["content"].update(relation="bounded"),
            [row.update(relation="bounded") for row in c["rows"]],
        ),
        "HOLD",
    ),
    Fault(Code.ROW_MISSING, drop_row, "HOLD"),
    Fault(Code.ROW_DIFFERS, lambda c: _first(c)["case"].update(seed=1), "HOLD"),
    Fault(Code.ROW_DIFFERS, lambda c: replan(c, 0, policy="note"), "HOLD"),
    Fault(Code.ROW_DIFFERS, _planned_for_another_device, "HOLD"),
    Fault(Code.ROW_DIFFERS, lambda c: replan(c, 0, chunk=1), "HOLD"),
    Fault(Code.ROW_DIFFERS, lambda c: replan(c, 0, tile="w1r1"), "HOLD"),
    Fault(Code.ROW_DIFFERS, lambda c: c["host"].update(sms=114), "HOLD"),
    Fault(Code.TREE_DIRTY, lambda c: c["tool"]["source"].update(dirty=True, dirty_paths=["a.py"]), "HOLD"),
    Fault(
        Code.TREE_UNKNOWN,
        lambda c: c["tool"].update(source={"origin": "unknown", "commit": None, "dirty": None, "dirty_paths": None}),
        "HOLD",
    ),
    Fault(Code.FOREIGN_PROCESS, lambda c: c["gpu_users"]["before"].append(_user("compute", "live")), "HOLD"),
    Fault(Code.FOREIGN_PROCESS, lambda c: c["gpu_users"]["after"].append(_user("compute", "live")), "HOLD"),
    Fault(Code.FOREIGN_UNKNOWN, lambda c: c["gpu_users"].update(after=None), "HOLD"),
    Fault(Code.FOREIGN_UNKNOWN, lambda c: c["parts"][0].update(resumed=True), "HOLD"),
    Fault(Code.CONTROL_MISSING, lambda c: c.update(controls=c["controls"][1:]), "HOLD"),
    Fault(Code.CONTROL_MISSING, lambda c: c.update(controls=c["controls"][:2]), "HOLD"),
    Fault(Code.CONTROL_MISSING, lambda c: c["controls"][2].update(case=_first(c)["case"]["name"], kv_len=4096), "HOLD"),
    Fault(Code.CONTROL_MISSING, lambda c: c["controls"].pop(), "HOLD"),
    Fault(Code.CONTROL_FAILED, _control(0, 1.02), "HOLD"),
    Fault(Code.CONTROL_FAILED, _control(1, 1.0), "HOLD"),
    Fault(Code.SAMPLES_FEW, lambda c: _first(c).update(timing=comparison(60.0, 0.99, blocks=1)), "HOLD"),
    Fault(Code.SAMPLES_CONTRADICT, lambda c: _first(c)["timing"]["ratio"].update(high=1.1), "HOLD"),
    Fault(Code.SAMPLES_CONTRADICT, lambda c: _first(c)["timing"]["ratio"].update(seed=8, low=0.98), "HOLD"),
    Fault(Code.SAMPLES_CONTRADICT, lambda c: c["controls"][0]["timing"]["ratio"].update(resamples=5000), "HOLD"),
    *(Fault(Code.SAMPLES_CONTRADICT, change, "HOLD") for change in CONTRADICTIONS),
    Fault(Code.COPIES_FEW, lambda c: _first(c).update(buffer_sets=2, rotated_bytes=2 * _first(c)["kv_bytes"]), "HOLD"),
    Fault(Code.COPIES_FEW, lambda c: [_first(c)[side].update(calls=1) for side in ("baseline", "candidate")], "HOLD"),
    Fault(Code.COPIES_FEW, lambda c: c["host"].update(l2_bytes=2**30), "HOLD"),
    Fault(Code.COPIES_FEW, lambda c: c["host"].update(memory_bytes=_first(c)["rotated_bytes"] - 1), "HOLD"),
    Fault(Code.COPIES_FEW, lambda c: _first(c)["candidate"].update(calls=2 * _first(c)["buffer_sets"] - 1), "HOLD"),
    Fault(Code.ABOVE_PEAK, _above_peak, "HOLD"),
    Fault(Code.SELFTEST_FAILED, lambda c: c.update(selftest={"status": "fails", "mutants": [_mutant(False)]}), "HOLD"),
    Fault(Code.SELFTEST_MISSING, lambda c: None, "HOLD", policy={"selftest": "required"}),
    Fault(Code.PARITY_MISSING, lambda c: _first(c)["parity"].pop(0), "HOLD"),
    Fault(
        Code.PARITY_MISSING,
        lambda c: _first(c).update(parity=[one for one in _first(c)["parity"] if one["name"] != "bits"]),
        "HOLD",
    ),
    Fault(Code.PARITY_MISSING, _f64("max_rel", "NaN"), "HOLD"),
    Fault(Code.PARITY_MISSING, lambda c: _words(c, "oracle", 1), "HOLD"),
    Fault(Code.PARITY_MISSING, lambda c: _words(c, "bits", 4095), "HOLD"),
    Fault(Code.PARITY_MISSING, lambda c: [one.update(whole=None) for one in _named(c, "bits")], "HOLD"),
    Fault(Code.PARITY_MISSING, lambda c: [one.update(b="builder") for one in _named(c, "oracle")], "HOLD"),
    Fault(Code.BITS_DIFFER, _fail("bits"), "REJECT", "HOLD"),
    Fault(Code.BOUND_EXCEEDED, _fail("oracle"), "REJECT", "HOLD"),
    Fault(Code.KERNEL_MISBEHAVES, _fail("memory"), "REJECT", "HOLD"),
    Fault(Code.KERNEL_MISBEHAVES, _fail("executes"), "REJECT", "HOLD"),
    Fault(Code.COSINE_LOW, _f64("cosine", 0.99989), "REJECT", "HOLD"),
    Fault(Code.COSINE_LOW, _f64("cosine", "NaN"), "REJECT", "HOLD"),
    Fault(Code.COSINE_LOW, _worst_row, "REJECT", "HOLD"),
    Fault(Code.COSINE_LOW, _f64("cosine", None), "REJECT", "HOLD"),
    Fault(Code.ERROR_HIGH, _f64("max_abs", 1e-3), "REJECT", "HOLD"),
    Fault(Code.ERROR_HIGH, _f64("max_abs", "NaN"), "REJECT", "HOLD"),
    Fault(Code.TOO_SLOW, _ratio(1.25), "REJECT"),
    Fault(Code.SPEED_UNSURE, _ratio(1.2), "INCONCLUSIVE"),
    Fault(Code.SPEED_UNTRUSTED, lambda c: c["gpu_users"].update(before=None), "HOLD"),
)


def _policy(fault: Fault) -> Policy:
    policy = load_policy("kernel-001")
    return policy.model_copy(update={"trust": policy.trust.model_copy(update=fault.policy)})


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.code.value)
def test_a_fault_of_a_required_host(fault: Fault, tmp_path: Path) -> None:
    altered = ab_content("rtx4090", SMALL)
    fault.change(altered)
    files = [found(altered, tmp_path, "rtx4090"), found(ab_content("gb10", SMALL), tmp_path)]
    assert all(one.receipt for one in files), [one.message for one in files]
    decision = decide(files, SMALL.content, _policy(fault), load_hosts(), TREE)
    assert decision.verdict == fault.verdict
    (reason, *_) = [reason for reason in decision.reasons if reason.code is fault.code]
    rule = next(rule for rule in RULES if rule.code is fault.code)
    assert reason.severity in {rule.required, rule.advisory}
    assert reason.message


@pytest.mark.parametrize("fault", [one for one in FAULTS if not one.policy], ids=lambda fault: fault.code.value)
def test_a_fault_of_an_advisory_host(fault: Fault, tmp_path: Path) -> None:
    altered = ab_content("h200", SMALL)
    fault.change(altered)
    decision = verdict_of([*passing(tmp_path), found(altered, tmp_path, "h200")])
    assert decision.verdict == fault.advisory
    assert fault.code in {reason.code for reason in decision.reasons}
    assert decision.gated_rows == 4


def test_an_advisory_host_is_shown_and_never_counted(tmp_path: Path) -> None:
    decision = verdict_of([found(ab_content("h200", SMALL), tmp_path)])
    assert decision.verdict == "HOLD"
    assert decision.gated_rows == 0
    assert {reason.code for reason in decision.reasons if reason.host == "h200"} == {
        Code.PARITY_HOLDS,
        Code.ACCURACY_HOLDS,
        Code.SPEED_HOLDS,
    }
    assert all(reason.severity == "info" for reason in decision.reasons if reason.host == "h200")


def test_nothing_at_all_is_held() -> None:
    decision = verdict_of([])
    assert decision.verdict == "HOLD"
    codes = [reason.code for reason in decision.reasons]
    assert codes == [Code.RECEIPT_MISSING, Code.RECEIPT_MISSING, Code.NOTHING_GATED]
    assert {reason.remedy for reason in decision.reasons if reason.remedy} == {
        "diffcheck ab promote-oxide --host rtx4090",
        "diffcheck ab promote-oxide --host gb10",
    }


def test_an_experiment_that_requires_nothing_is_never_promoted(tmp_path: Path) -> None:
    open_to_all = small_experiment(required_architectures=[])
    decision = verdict_of(passing(tmp_path, open_to_all), open_to_all)
    assert decision.verdict == "HOLD"
    assert {Code.NOTHING_REQUIRED, Code.NOTHING_GATED} <= {reason.code for reason in decision.reasons}


def test_a_moved_lock_holds_everything(tmp_path: Path) -> None:
    lock = TREE.lock
    moved = TreeHashes(lock.model_copy(update={"sources": {**lock.sources, "docs/contract.md": "0" * 64}}))
    decision = decide(passing(tmp_path), SMALL.content, load_policy("kernel-001"), load_hosts(), moved)
    assert decision.verdict == "HOLD"
    assert Code.TREE_UNLOCKED in {reason.code for reason in decision.reasons}
    assert decision.gated_rows == 0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", Code.RECEIPT_UNREADABLE),
        ("{}", Code.RECEIPT_UNREADABLE),
        ('{"schema": "diffcheck-receipt/1"}', Code.RECEIPT_UNREADABLE),
        ('{"schema": "apr-kernel-receipt/v1", "rows": []}', Code.RECEIPT_UNREADABLE),
        ('{"schema": "diffcheck-ab/1", "digest": "0"}', Code.RECEIPT_EDITED),
        ('{"schema": "diffcheck-imported/1"}', Code.RECEIPT_IMPORTED),
    ],
)
def test_what_is_no_receipt_never_counts(text: str, code: Code, tmp_path: Path) -> None:
    files = passing(tmp_path)
    (tmp_path / "rtx4090.json").write_text(text)
    broken = read_found(tmp_path / "rtx4090.json")
    assert broken.problem is code
    decision = verdict_of([broken, files[1]])
    assert decision.verdict == "HOLD"
    assert {code, Code.RECEIPT_MISSING} <= {reason.code for reason in decision.reasons}


def test_a_broken_file_holds_a_passing_set_back(tmp_path: Path) -> None:
    files = passing(tmp_path)
    (tmp_path / "extra.json").write_text("{")
    assert verdict_of([*files, read_found(tmp_path / "extra.json")]).verdict == "HOLD"


def test_an_import_beside_a_passing_set_changes_nothing(tmp_path: Path) -> None:
    files = passing(tmp_path)
    (tmp_path / "old.json").write_text('{"schema": "diffcheck-imported/1"}')
    assert verdict_of([*files, read_found(tmp_path / "old.json")]).verdict == "PROMOTE"


def test_two_receipts_of_one_host_are_ambiguous(tmp_path: Path) -> None:
    again = found(ab_content("rtx4090", SMALL, ratio=0.9), tmp_path, "rtx4090-again")
    decision = verdict_of([*passing(tmp_path), again])
    assert decision.verdict == "HOLD"
    assert {Code.HOST_TWICE, Code.RECEIPT_MISPLACED} <= {reason.code for reason in decision.reasons}
    slow = found(ab_content("rtx4090", SMALL, ratio=1.5), tmp_path, "rtx4090-again")
    assert verdict_of([*passing(tmp_path), slow]).verdict == "REJECT"


def _copy_as(host: str, content: Content) -> Content:
    """A receipt of one host made over into one of another, in everything that says whose it is."""
    own = ab_content(host, SMALL)
    made: Content = json.loads(json.dumps(content))
    made.update(host=own["host"], subjects=own["subjects"])
    for row in (0, 1):
        for side in ("baseline", "candidate"):
            made["rows"][row][side]["plan"] = own["rows"][row][side]["plan"]
    return made


def test_a_receipt_made_over_for_another_host_is_held(tmp_path: Path) -> None:
    rtx4090 = ab_content("rtx4090", SMALL)
    decision = verdict_of([found(rtx4090, tmp_path), found(_copy_as("gb10", rtx4090), tmp_path)])
    assert decision.verdict == "HOLD"
    held = {(one.code, one.host) for one in decision.reasons if one.severity == "hold"}
    assert held == {(Code.RECEIPT_COPIED, "rtx4090"), (Code.RECEIPT_COPIED, "gb10")}


@pytest.mark.parametrize("part", ["timing", "floors"])
def test_one_row_of_another_hosts_receipt_is_enough(part: str, tmp_path: Path) -> None:
    h200, altered = ab_content("h200", SMALL), ab_content("rtx4090", SMALL)
    altered["rows"][1][part] = h200["rows"][1][part]
    files = [found(one, tmp_path) for one in (altered, ab_content("gb10", SMALL), h200)]
    decision = verdict_of(files)
    assert decision.verdict == "HOLD"
    assert [(one.code, one.host) for one in decision.reasons if one.severity == "hold"] == [
        (Code.RECEIPT_COPIED, "rtx4090")
    ]


def test_one_device_under_two_hosts_names_is_held(tmp_path: Path) -> None:
    gb10 = ab_content("gb10", SMALL)
    gb10["host"]["uuid_sha256"] = ab_content("rtx4090", SMALL)["host"]["uuid_sha256"]
    decision = verdict_of([found(ab_content("rtx4090", SMALL), tmp_path), found(gb10, tmp_path)])
    assert decision.verdict == "HOLD"
    assert Code.RECEIPT_COPIED in {reason.code for reason in decision.reasons}


def test_an_earlier_run_without_a_hosts_name_is_no_copy(tmp_path: Path) -> None:
    nameless = ab_content("earlier", SMALL)
    nameless["host"].update(id=None, uuid_sha256=ab_content("rtx4090", SMALL)["host"]["uuid_sha256"])
    assert verdict_of([*passing(tmp_path), found(nameless, tmp_path, "earlier")]).verdict == "PROMOTE"


def test_doubts_take_times_out_of_judgement_and_bits_not(tmp_path: Path) -> None:
    slow = ab_content("rtx4090", SMALL, ratio=1.5)
    slow["gpu_users"]["before"].append(_user("compute", "live"))
    gb10 = found(ab_content("gb10", SMALL), tmp_path)
    assert verdict_of([found(slow, tmp_path), gb10]).verdict == "HOLD"
    _fail("bits")(slow)
    assert verdict_of([found(slow, tmp_path), gb10]).verdict == "REJECT"


def test_graphics_and_phantoms_are_not_foreign(tmp_path: Path) -> None:
    content = ab_content("rtx4090", SMALL)
    content["gpu_users"] = {"before": [_user("graphics", "live"), _user("compute", "phantom")], "after": []}
    assert verdict_of([found(content, tmp_path), found(ab_content("gb10", SMALL), tmp_path)]).verdict == "PROMOTE"


@pytest.mark.parametrize(
    ("policy", "ratio", "verdict"),
    [
        ("kernel-001", 1.19, "PROMOTE"),
        ("kernel-001", 1.1998, "INCONCLUSIVE"),
        ("kernel-001", 1.21, "REJECT"),
        ("faster", 0.99, "PROMOTE"),
        ("faster", 0.999, "INCONCLUSIVE"),
        ("faster", 1.03, "REJECT"),
    ],
)
def test_policies(policy: str, ratio: float, verdict: str, tmp_path: Path) -> None:
    files = [found(ab_content(host, SMALL, ratio), tmp_path) for host in REQUIRED]
    assert verdict_of(files, policy=policy).verdict == verdict


@pytest.mark.parametrize(
    ("policy", "low", "high", "code"),
    [
        ("kernel-001", 1.1, 1.2, Code.SPEED_HOLDS),
        ("kernel-001", 1.2, 1.3, Code.SPEED_UNSURE),
        ("kernel-001", 1.2000001, 1.3, Code.TOO_SLOW),
        ("faster", 0.9, 0.9999999, Code.SPEED_HOLDS),
        ("faster", 0.9, 1.0, Code.SPEED_UNSURE),
        ("faster", 1.0, 1.1, Code.TOO_SLOW),
    ],
)
def test_an_interval_that_ends_at_the_limit(policy: str, low: float, high: float, code: Code) -> None:
    estimate = (low + high) / 2
    ratio = Interval(estimate=estimate, low=low, high=high, confidence=0.95, resamples=2000, seed=1)
    assert judge_interval(ratio, load_policy(policy).speed) is code


def test_rows_that_are_no_longer_asked_for_are_not_timed_and_still_have_to_be_right(tmp_path: Path) -> None:
    fewer = small_experiment(
        rows=[{"generator": "random", "heads": [[16, 4]], "storages": ["f16"], "kv_lens": [60000]}]
    )
    content = ab_content("rtx4090", SMALL)
    _ratio(1.5)(content)
    gb10 = found(ab_content("gb10", SMALL), tmp_path)
    decision = verdict_of([found(content, tmp_path), gb10], fewer)
    assert (decision.verdict, decision.gated_rows) == ("PROMOTE", 2)
    _fail("bits")(content)
    assert verdict_of([found(content, tmp_path), gb10], fewer).verdict == "REJECT"


def test_a_row_of_an_arm_that_no_longer_exists_is_not_the_experiments(tmp_path: Path) -> None:
    content = ab_content("rtx4090", SMALL)
    content["experiment"]["content"]["rows"][0]["baseline"] = "retired"
    for row in content["rows"]:
        row["baseline"]["arm"] = "retired"
    decision = verdict_of([found(content, tmp_path), found(ab_content("gb10", SMALL), tmp_path)])
    assert decision.verdict == "HOLD"
    assert Code.ROW_DIFFERS in {reason.code for reason in decision.reasons}


def test_a_device_older_than_every_kernel_is_stale(tmp_path: Path) -> None:
    content = ab_content("h200", SMALL)
    content["host"].update(id=None, arch="sm_75")
    decision = verdict_of([*passing(tmp_path), found(content, tmp_path, "old")])
    assert decision.verdict == "PROMOTE"
    assert {reason.code for reason in decision.reasons if reason.host == "old"} == {
        Code.HOST_UNKNOWN,
        Code.RECEIPT_STALE,
    }


def test_every_code_has_a_rule_and_is_reached_here() -> None:
    assert [rule.code for rule in RULES] == list(Code)
    by_faults = {fault.code for fault in FAULTS}
    elsewhere = {
        *(Code.RECEIPT_MISSING, Code.NOTHING_REQUIRED, Code.NOTHING_GATED, Code.TREE_UNLOCKED),
        *(Code.RECEIPT_UNREADABLE, Code.RECEIPT_EDITED, Code.RECEIPT_IMPORTED, Code.HOST_TWICE, Code.RECEIPT_COPIED),
        *(Code.PARITY_HOLDS, Code.ACCURACY_HOLDS, Code.SPEED_HOLDS),
    }
    assert by_faults | elsewhere == set(Code)
    assert not by_faults & elsewhere


def test_weights_never_grow_towards_the_advisory() -> None:
    for rule in RULES:
        if rule.required != "pass":
            assert SEVERITIES.index(rule.advisory) <= SEVERITIES.index(rule.required)
        assert rule.advisory not in {"reject", "inconclusive", "pass"}


def test_the_documents_table_is_the_list() -> None:
    document = (ROOT / "docs" / "decision.md").read_text()
    assert table_markdown() in document, "its table is no longer that of diffcheck.decide.reasons.table_markdown()"


def test_a_decision_cannot_promote_against_its_reasons(tmp_path: Path) -> None:
    held = verdict_of(passing(tmp_path)[:1])
    with pytest.raises(ValueError, match="PROMOTE contradicts the reasons"):
        Decision.model_validate({**held.model_dump(by_alias=True), "verdict": "PROMOTE"})


def test_command_reads_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evidence = write_evidence(tmp_path / "evidence", [ab_content(host) for host in REQUIRED])
    out = tmp_path / "decision.json"
    command = ["decide", "promote-oxide", "--evidence", str(evidence)]
    assert run([*command, "--json", str(out)]) == 0
    assert Decision.model_validate_json(out.read_text()).verdict == "PROMOTE"
    assert capsys.readouterr().out.startswith("PROMOTE")
    assert run([*command, "--policy", "faster", "--expect", "PROMOTE"]) == 0
    assert run([*command, "--expect", "HOLD"]) == 1
    (evidence / "promote-oxide" / "gb10.json").unlink()
    assert run(command) == 10
    assert run([*command, "--expect", "HOLD"]) == 0
    assert "diffcheck ab promote-oxide --host gb10" in capsys.readouterr().out


def test_exit_codes_are_those_of_the_documents() -> None:
    assert EXIT_CODES == {"PROMOTE": 0, "HOLD": 10, "REJECT": 11, "INCONCLUSIVE": 12}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["promote-oxyde"], ["experiment", "'promote-oxyde'", "promote-oxide"]),
        (["promote-oxide", "--policy", "kernel-002"], ["policy", "'kernel-002'", "kernel-001"]),
        (["promote-oxide", "--expect", "HOLDS"], ["expect", "'HOLDS'", "PROMOTE, HOLD"]),
        (["promote-oxide", "--evidence", "/no/such/folder"], ["evidence", "/no/such/folder"]),
        (["promote-oxide", "--json", "/dev/null"], ["file", "/dev/null"]),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decide", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    for word in words:
        assert word in error


def test_the_verdict_over_the_repositorys_evidence() -> None:
    assert run(["decide", "promote-oxide", "--evidence", str(ROOT / "evidence"), "--expect", "HOLD"]) == 0


def test_a_folder_holds_other_files_too(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "b.json").write_text("{")
    (tmp_path / "a.json").mkdir()
    assert [(one.name, one.problem) for one in collect(tmp_path)] == [
        ("a", Code.RECEIPT_UNREADABLE),
        ("b", Code.RECEIPT_UNREADABLE),
    ]
    assert collect(tmp_path / "none") == ()

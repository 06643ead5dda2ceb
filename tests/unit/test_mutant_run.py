"""Samples of generated mutants, and the conclusion from what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from diffcheck.cases import Case
from diffcheck.cli.main import run as command
from diffcheck.errors import BadInputError, DiffcheckError
from diffcheck.receipts.metrics import Check
from diffcheck.selftest.generated.model import GeneratedResult, GeneratedRun, Outcome, kill_percent, status_of
from diffcheck.selftest.generated.operators import all_operators, select_operators
from diffcheck.selftest.generated.population import GeneratedMutant, made, subjects
from diffcheck.selftest.generated.run import Choice, run_generated
from diffcheck.selftest.generated.sampling import draw
from diffcheck.selftest.generated.trial import Killed, cases_of, try_mutant

REDUCE = subjects((), "sm_90", ["splitk_reduce_*"])


def ignore(_id: str) -> None:
    """Take no notice of progress."""


def result(outcome: Outcome) -> GeneratedResult:
    return GeneratedResult(
        id="builder/sm_90/kernel/1/drop/ret",
        arm="builder",
        kernel="kernel",
        place="1",
        operator="drop",
        line="ret;",
        became="nothing",
        outcome=outcome,
        by="bits",
        case="",
        evidence="",
        seconds=0,
    )


def results(**counts: int) -> tuple[GeneratedResult, ...]:
    outcomes: dict[str, Outcome] = {
        "killed": "killed",
        "equivalent": "equivalent",
        "justified": "justified",
        "survived": "survived",
        "contradiction": "contradiction",
    }
    return tuple(result(outcomes[name]) for name, count in counts.items() for _ in range(count))


@pytest.mark.parametrize(
    ("counts", "percent", "status"),
    [
        ({"killed": 100}, 100.0, "holds"),
        ({"killed": 98, "survived": 2}, 98.0, "holds"),
        ({"killed": 97, "survived": 3}, 97.0, "fails"),
        # Equivalent ones count on neither side.
        ({"killed": 49, "survived": 1, "equivalent": 300, "justified": 100}, 98.0, "holds"),
        ({"killed": 48, "survived": 1, "equivalent": 300, "justified": 100}, 100 * 48 / 49, "fails"),
        # Nothing that could have been caught proves nothing.
        ({"equivalent": 500}, 0.0, "fails"),
        ({}, 0.0, "fails"),
        ({"survived": 1}, 0.0, "fails"),
        ({"killed": 500, "contradiction": 1}, 100.0, "fails"),
    ],
)
def test_the_rate_is_of_those_that_are_not_equivalent(counts: dict[str, int], percent: float, status: str) -> None:
    assert kill_percent(results(**counts)) == percent
    assert status_of(results(**counts), 98) == status


def test_a_record_cannot_say_other_than_its_mutants() -> None:
    fields = {
        "seed": 0,
        "target": "sm_90",
        "arms": ["builder"],
        "operators": ["drop"],
        "redrawn": 0,
        "required_percent": 98,
        "mutants": [mutant.model_dump() for mutant in results(killed=9, survived=1)],
    }
    GeneratedRun.model_validate({**fields, "status": "fails", "kill_percent": 90.0})
    for wrong in ({"status": "holds", "kill_percent": 90.0}, {"status": "fails", "kill_percent": 98.0}):
        with pytest.raises(ValidationError, match="contradicts the mutants"):
            GeneratedRun.model_validate({**fields, **wrong})
    with pytest.raises(ValidationError):
        GeneratedRun.model_validate({**fields, "status": "fails", "kill_percent": 0.0, "mutants": []})


def test_the_same_seed_draws_the_same_distinct_mutants() -> None:
    first, again, other = (draw(REDUCE, all_operators(), 120, seed).mutants for seed in (3, 3, 4))
    assert [mutant.id for mutant in first] == [mutant.id for mutant in again]
    assert len({mutant.id for mutant in first}) == 120
    assert {mutant.id for mutant in first} != {mutant.id for mutant in other}


def test_a_small_sample_has_other_operators_for_another_seed() -> None:
    few = [{mutant.operator.name for mutant in draw(REDUCE, all_operators(), 8, seed).mutants} for seed in range(4)]
    assert len(set.union(*few)) > 8


def test_an_operator_draws_the_same_whatever_others_there_are() -> None:
    alone = draw(REDUCE, select_operators(["integer"]), 6, 3).mutants
    among = draw(REDUCE, select_operators(["drop", "integer", "rounding"]), 18, 3).mutants
    assert {mutant.id for mutant in alone} == {mutant.id for mutant in among if mutant.operator.name == "integer"}


def test_each_operator_and_arm_has_its_share() -> None:
    operators = select_operators(["drop", "integer", "rounding"])
    shares = Counter((mutant.operator.name, mutant.subject.arm) for mutant in draw(REDUCE, operators, 60, 0).mutants)
    assert set(shares.values()) == {10}
    assert len(shares) == 6


def test_no_mutants_and_more_than_there_are_is_refused() -> None:
    with pytest.raises(BadInputError, match="sample: 0"):
        draw(REDUCE, all_operators(), 0, 0)
    with pytest.raises(BadInputError, match="which is all there are"):
        draw(REDUCE, select_operators(["barrier-dropped"]), 1000, 0)
    with pytest.raises(BadInputError, match="operator: 'dorp'"):
        select_operators(["dorp"])
    with pytest.raises(BadInputError, match=r"kernel: '\*other\*'"):
        subjects((), "sm_90", ["*other*"])
    with pytest.raises(BadInputError, match="arm: 'naive'"):
        subjects(["naive"], "sm_90")


def test_a_mutant_is_planted_in_a_module_with_other_kernels() -> None:
    for subject in REDUCE:
        (operator,) = select_operators(["approximate"])
        mutant = made(subject, operator)[0]
        text = subject.flow.kernel.text
        planted = mutant.apply(f"{text}\n// and another kernel\n")
        assert "div.approx.f32" in planted
        assert planted.replace("div.approx.f32", "div.rn.f32").split() == f"{text}\n// and another kernel\n".split()


def test_a_deaf_harness_fails_the_rate() -> None:
    def deaf(_mutant: GeneratedMutant, _cases: Sequence[Case] | None) -> Killed | None:
        return None

    run = run_generated(Choice(12, 0, "sm_90", operators=("float-value",), kernels=("*reduce*",)), ignore, deaf)
    assert (run.status, run.kill_percent) == ("fails", 0.0)


def test_a_check_that_fails_on_what_is_called_equivalent_refutes_the_rule() -> None:
    def all_ears(_mutant: GeneratedMutant, cases: Sequence[Case] | None) -> Killed | None:
        return Killed("bits", "a case", f"on {'all' if cases is None else len(cases)} cases")

    run = run_generated(Choice(40, 0, "sm_90", operators=("exchange",), kernels=("*reduce*",)), ignore, all_ears)
    refuted = [mutant for mutant in run.mutants if mutant.outcome == "contradiction"]
    assert refuted
    assert {mutant.evidence for mutant in refuted} == {"on 8 cases"}
    assert {mutant.evidence for mutant in run.mutants if mutant.outcome == "killed"} == {"on all cases"}
    assert (run.status, run.kill_percent) == ("fails", 100.0)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"equivalent": 2, "justified": 1}, "3 equivalent, 0 killed, 0 survived: nothing was left to judge; draw more"),
        ({"equivalent": 1, "survived": 1}, "1 equivalent, 0 killed, 1 survived: 0.00 % of those that are not equiva"),
        (
            {"killed": 2},
            "0 equivalent, 2 killed, 0 survived: 100.00 % of those that are not equivalent (at least 98 %)",
        ),
    ],
)
def test_a_rate_of_nothing_is_not_called_one(
    counts: dict[str, int], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mutants = results(**counts)
    made = GeneratedRun(
        status=status_of(mutants, 98.0),
        seed=0,
        target="sm_90",
        arms=("builder",),
        operators=("drop",),
        redrawn=0,
        required_percent=98.0,
        kill_percent=kill_percent(mutants),
        mutants=mutants,
    )
    monkeypatch.setattr("diffcheck.cli.mutants.run_generated", lambda *_: made)
    assert command(["mutants"]) == (0 if made.status == "holds" else 1)
    assert words in " ".join(capsys.readouterr().out.split())


def test_a_few_mutants_are_caught() -> None:
    seen: list[str] = []
    choice = Choice(8, 0, "sm_90", operators=("drop-store", "approximate"), kernels=("*reduce*",))
    run = run_generated(choice, seen.append)
    assert (run.status, run.kill_percent) == ("holds", 100.0)
    assert {mutant.by for mutant in run.mutants} >= {"executes", "strict"}
    assert sorted(seen) == sorted(mutant.id for mutant in run.mutants)


def test_a_kernel_that_fails_by_itself_catches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Check(name="bits", a="builder", b="twin", holds=False, reason="planted", compared=1)
    monkeypatch.setattr("diffcheck.selftest.generated.trial.failure_without_mutants", lambda *_: failed)
    with pytest.raises(DiffcheckError, match=r"without a mutant, merge-even-\S+: planted"):
        run_generated(Choice(1, 0, "sm_90", operators=("drop-store",), kernels=("*reduce*",)), ignore)


def test_a_mutant_survives_where_no_case_is_left() -> None:
    (operator,) = select_operators(["drop-store"])
    mutant = made(REDUCE[0], operator)[0]
    killed = try_mutant(mutant)
    assert killed is not None
    assert killed.case in {case.name for case in cases_of(mutant.subject.entry)}
    assert try_mutant(mutant, ()) is None

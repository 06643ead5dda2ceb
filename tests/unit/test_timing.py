"""Timing: what can be known without a GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from diffcheck.arms import select_arms
from diffcheck.assemble.ptxas import assemble, find_ptxas
from diffcheck.cases import Case, get_case
from diffcheck.cli.main import run
from diffcheck.errors import BadInputError, DiffcheckError, MissingRequirementError
from diffcheck.timing.floors import empty_ptx, read_ptx
from diffcheck.timing.graph import Captured, sample_interleaved, spread_percent
from diffcheck.timing.model import TimedCase, Variant
from diffcheck.timing.run import require_dense, require_exact
from diffcheck.timing.sets import DRAWN_KEYS, L2_MULTIPLE, count_sets, timing_inputs

MIB = 1 << 20


@pytest.mark.parametrize(
    ("kv_bytes", "sets"), [(16 * MIB, 320), (510 * MIB, 10), (600 * MIB, 9), (1000 * MIB, 5), (9000 * MIB, 2)]
)
def test_sets_exceed_the_l2(kv_bytes: int, sets: int) -> None:
    assert count_sets(kv_bytes, 50 * MIB) == sets
    assert sets * kv_bytes >= L2_MULTIPLE * 50 * MIB


def test_inputs_repeat_what_was_drawn() -> None:
    case = Case("timing", 4, 1, 2 * DRAWN_KEYS + 7, "f16", "random", "bound")
    inputs = timing_inputs(case)
    k, v = inputs.k.view, inputs.v.view
    assert np.array_equal(k[:DRAWN_KEYS], k[DRAWN_KEYS : 2 * DRAWN_KEYS])
    assert np.array_equal(k[-7:], k[:7])
    assert np.isfinite(k).all()
    assert np.isfinite(v).all()
    assert not np.array_equal(k, v)
    assert float(np.std(k.astype(np.float32))) == pytest.approx(1.0, abs=0.01)


def test_graphs_are_replayed_to_and_fro(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def replay(captured: Captured) -> float:
        order.append(captured.name)
        return 10.0 * captured.calls

    monkeypatch.setattr("diffcheck.timing.graph.replay_us", replay)
    samples = sample_interleaved([Captured("a", 2, None), Captured("b", 4, None)], rounds=4, pause_s=0.0)
    assert order[6:] == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert samples == {"a": [10.0] * 4, "b": [10.0] * 4}


def test_spread() -> None:
    assert spread_percent([5.0]) == 0.0
    assert spread_percent([10.0] * 20) == 0.0
    assert spread_percent([9.0, 10.0, 11.0] * 10) == pytest.approx(10.0)


def test_only_dense_cases_are_timed() -> None:
    require_dense([get_case("random-16x4-L4096-f16")])
    with pytest.raises(DiffcheckError, match="packed"):
        require_dense([get_case("random-8x2-L65-f16-packed")])


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"samples_us": []}, "at least 1 item"),
        ({"samples_us": [2.0, 3.0]}, "median_us: 1.0 contradicts the samples, which say 2.5"),
        ({"samples_us": [0.0]}, "samples_us.0\n  Input should be greater than or equal to "),
        ({"samples_us": [-5.0, 1.0, 3.0]}, "samples_us.0\n  Input should be greater than or equal to "),
        ({"samples_us": [float("nan"), 1.0, 1.0]}, "samples_us.0\n  Input should be a finite number"),
        ({"spread_percent": -5.0}, "spread_percent: -5.0 contradicts the samples, which say 40.0"),
        ({"calls": 0}, "calls\n  Input should be greater than or equal to 1"),
    ],
)
def test_a_variants_numbers_are_those_of_its_samples(changes: dict[str, Any], wrong: str) -> None:
    variant = {
        "name": "builder",
        "kind": "arm",
        "detail": "",
        "ptx_sha256": "0" * 64,
        "calls": 1,
        "samples_us": [0.5, 1.5],
        "median_us": 1.0,
        "spread_percent": 40.0,
        "bytes_per_second": None,
    }
    assert Variant.model_validate(variant).median_us == 1.0
    with pytest.raises(ValidationError, match=wrong):
        Variant.model_validate({**variant, **changes})


EVIDENCE = Path(__file__).resolve().parents[2] / "evidence" / "timing-rungs-h200.json"


def _timed_case(**changes: Any) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(EVIDENCE.read_text())["cases"][0]
    return {**case, **changes}


def _with_speeds(factor: float) -> list[dict[str, Any]]:
    """The variants with so many times the bytes a second."""
    speeds = [variant["bytes_per_second"] for variant in _timed_case()["variants"]]
    return [
        {**variant, "bytes_per_second": None if speed is None else factor * speed}
        for variant, speed in zip(_timed_case()["variants"], speeds, strict=True)
    ]


def _of_variant(place: int, **changes: Any) -> dict[str, Any]:
    made = _timed_case()
    made["variants"][place].update(changes)
    return made


def _of_parity(place: int, **changes: Any) -> dict[str, Any]:
    made = _timed_case()
    made["parity"][place].update(changes)
    return made


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        (_timed_case(buffer_sets=0, rotated_bytes=0), "buffer_sets\n  Input should be greater than or equal to 1"),
        (_timed_case(variants=_timed_case()["variants"] * 2), "variants: builder is there twice"),
        (_timed_case(variants=_with_speeds(1e6)), "bytes_per_second: .* of builder contradicts its median, which says"),
        (_of_variant(0, bytes_per_second=None), "bytes_per_second: None of builder contradicts its median"),
        (
            _of_variant(4, bytes_per_second=1.0),
            "bytes_per_second: 1.0 of empty contradicts its median, which says None",
        ),
        (_of_variant(0, calls=571), "calls: 571 of builder are no whole passes over 190 copies"),
        (
            _timed_case(parity=_timed_case()["parity"][:1]),
            "parity: oxide was timed, and nothing says whether it has the reference's bits",
        ),
        (_timed_case(parity=_timed_case()["parity"] * 2), "parity: check bits of builder against twin is there twice"),
        (
            _of_parity(0, compared=1, whole=None, worst_row=None),
            "parity: check bits of builder against twin compared 1 words of 4096",
        ),
        (_of_parity(1, b="builder"), "a check bits of oxide against builder; allowed: bits of an arm that was timed"),
        (_of_parity(1, a="moon"), "a check bits of moon against twin; allowed: bits of an arm that was timed"),
        (_of_parity(1, name="memory"), "a check memory of oxide against twin; allowed: bits of an arm that was timed"),
    ],
)
def test_a_timed_case_that_contradicts_itself_is_refused(made: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValidationError, match=wrong):
        TimedCase.model_validate(made)


def _few_copies(content: dict[str, Any]) -> None:
    case = content["cases"][0]
    case.update(buffer_sets=2, rotated_bytes=2 * case["kv_bytes"])


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda c: c["cases"].append(c["cases"][0]), "cases: random-16x4-L4096-f32 is there twice"),
        (_few_copies, "buffer_sets: 2 of random-16x4-L4096-f32; 190 exceed the L2 100 times"),
        (
            lambda c: c["cases"][0]["variants"][0]["samples_us"].__setitem__(0, -5.0),
            "cases.0.variants.0.samples_us.0: -5.0 is not allowed; allowed: Input should be greater",
        ),
    ],
)
def test_a_timing_that_contradicts_itself_is_not_valid(
    change: Any, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = json.loads(EVIDENCE.read_text())
    change(content)
    file = tmp_path / "timing.json"
    file.write_text(json.dumps(content))
    assert run(["receipt", "validate", str(file)]) == 1
    assert line in capsys.readouterr().out


def test_an_arm_that_no_longer_exists_owes_no_bits() -> None:
    made = _of_variant(2, name="retired")
    made["parity"] = made["parity"][:1]
    assert len(TimedCase.model_validate(made).parity) == 1


def test_bytes_are_those_of_the_case() -> None:
    case = TimedCase.model_validate(_timed_case())
    assert (case.kv_bytes, case.rotated_bytes) == (33_554_432, 190 * 33_554_432)
    with pytest.raises(ValidationError, match="kv_bytes: 33554431 contradicts K and V of 4096 keys of 4 heads of 256"):
        TimedCase.model_validate(_timed_case(kv_bytes=33_554_431))
    with pytest.raises(ValidationError, match="rotated_bytes: 1 contradicts 190 x 33554432"):
        TimedCase.model_validate(_timed_case(rotated_bytes=1))


def test_a_chain_reads_k_and_v_twice_and_a_reduction_not_at_all() -> None:
    chain = {**_timed_case()["case"], "stage": "chain"}
    with pytest.raises(ValidationError, match="contradicts K and V of 2 times 4096 keys"):
        TimedCase.model_validate(_timed_case(case=chain))
    twice = 2 * 33_554_432
    doubled = _timed_case(case=chain, kv_bytes=twice, rotated_bytes=190 * twice, variants=_with_speeds(2.0))
    assert TimedCase.model_validate(doubled).kv_bytes == twice
    reduction = {**chain, "stage": "reduce"}
    nothing = _timed_case(case=reduction, kv_bytes=0, rotated_bytes=0, variants=_with_speeds(0.0))
    assert TimedCase.model_validate(nothing).kv_bytes == 0


@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90", "sm_120", "sm_121"])
def test_floors_assemble(target: str) -> None:
    try:
        find_ptxas()
    except MissingRequirementError as error:
        pytest.skip(str(error))
    assert assemble(empty_ptx(target), "empty", target).stack == 0
    assert assemble(read_ptx(target), "read_both", target).stack == 0


def test_a_timing_needs_an_arm_whose_bits_can_be_checked() -> None:
    require_exact(select_arms(["naive", "builder"]))
    with pytest.raises(BadInputError, match="arm: 'naive' is not allowed; allowed: at least one that has"):
        require_exact(select_arms(["naive"]))

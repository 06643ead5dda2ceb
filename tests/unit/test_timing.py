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
    ("samples", "wrong"),
    [
        ([], "at least 1 item"),
        ([2.0, 3.0], "median_us: 1.0 contradicts the samples, which say 2.5"),
        ([0.0], "samples_us: a median of 0.0"),
        ([float("nan")], "samples_us: a median of nan"),
    ],
)
def test_a_variants_median_is_that_of_its_samples(samples: list[float], wrong: str) -> None:
    variant = {
        "name": "builder",
        "kind": "arm",
        "detail": "",
        "ptx_sha256": "0" * 64,
        "calls": 1,
        "samples_us": samples,
        "median_us": 1.0,
        "spread_percent": 0.0,
        "bytes_per_second": None,
    }
    with pytest.raises(ValidationError, match=wrong):
        Variant.model_validate(variant)
    assert Variant.model_validate({**variant, "samples_us": [0.5, 1.5]}).median_us == 1.0


EVIDENCE = Path(__file__).resolve().parents[2] / "evidence" / "timing-rungs-h200.json"


def _timed_case(**changes: Any) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(EVIDENCE.read_text())["cases"][0]
    return {**case, **changes}


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
    doubled = _timed_case(case=chain, kv_bytes=twice, rotated_bytes=190 * twice)
    assert TimedCase.model_validate(doubled).kv_bytes == twice
    reduction = {**chain, "stage": "reduce"}
    assert TimedCase.model_validate(_timed_case(case=reduction, kv_bytes=0, rotated_bytes=0)).kv_bytes == 0


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

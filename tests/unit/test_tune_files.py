"""Results of sweeps as files: what is read, what contradicts itself, and what no table is made of."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from diffcheck.arms import BuilderArm, OxideArm
from diffcheck.cli.main import run
from diffcheck.errors import BadInputError
from diffcheck.receipts.kinds import read_any
from diffcheck.receipts.write import write_json
from diffcheck.tune.model import MAX_ROUNDS, TunedRow, TunedVariant, TuneResult
from diffcheck.tune.ratio import ratio_of
from diffcheck.tune.results import read_result
from diffcheck.tune.table_text import LAST, rows_of, table_text
from diffcheck.tune.variants import Sweep
from rust_kernel.plan import TileTable
from tests.factory.tune import BASE, FormulaTuneBench, call, swept, won


def test_a_result_is_a_receipt_like_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "result.json"
    result = won()
    write_json(file, result)
    assert read_any(file) == result
    assert read_result(file).result == result
    assert run(["receipt", "show", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "builder w2r2 fixed:2" in shown
    assert "A device" in shown


def test_a_number_that_was_edited_is_found(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    write_json(file, won())
    content = json.loads(file.read_text())
    ratio = content["rows"][0]["variants"][1]["ratio"]
    ratio.update(estimate=ratio["estimate"] * 0.9, low=ratio["low"] * 0.8)
    file.write_text(json.dumps(content))
    with pytest.raises(BadInputError, match="builder w2r2 fixed:2: estimate is stated as"):
        read_result(file)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda c: _ratio(c, estimate=0.5, low=0.4, high=0.6), "fixed:2: estimate is stated as 0.5, and the samples"),
        (lambda c: _drop(_row(c), 15), "round 15 is dropped, and its readings say otherwise"),
        (lambda c: _rename(c, policy="fixed:1"), "stated as (64, 2), and the planner gives (65, 1)"),
    ],
)
def test_validate_refuses_what_no_table_is_made_of(
    change: Any, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "result.json"
    write_json(file, won())
    assert run(["receipt", "validate", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}: valid diffcheck-tune/1\n"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    assert run(["receipt", "validate", str(file)]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"{file}: not valid: random-4x1-L65-f16")
    assert line in out


def _row(content: Any, place: int = 0) -> Any:
    return content["rows"][place]


def _change(content: Any, **changes: Any) -> None:
    _row(content)["variants"][1].update(changes)


def _check(content: Any, **changes: Any) -> None:
    _row(content)["variants"][1]["checks"][0].update(worst_row=None, **changes)


def _case(content: Any, **changes: Any) -> None:
    _row(content)["case"].update(changes)


def _ratio(content: Any, **changes: Any) -> None:
    _row(content)["variants"][1]["ratio"].update(changes)


def _untime(row: Any, arm: str, *, only: bool) -> None:
    """Take the samples of an arm out of a row, or those of its incumbent only."""
    out = [one for one in row["variants"] if one["arm"] == arm and (one["incumbent"] or not only)]
    for one in out:
        one.update(samples_us=[], median_us=None, ratio=None)
    for round_ in row["rounds"]:
        round_["order"] = [name for name in round_["order"] if name not in {one["name"] for one in out}]


def _untime_all(content: Any) -> None:
    _untime(_row(content), "builder", only=False)
    _row(content).update(rounds=[], floors=[])


def _drop(row: Any, kept: int) -> None:
    """Mark all rounds but the first `kept` as dropped, with medians of those that are left."""
    for round_ in row["rounds"][kept:]:
        round_["dropped"] = "throttled"
    for one in row["variants"]:
        one["median_us"] = statistics.median(one["samples_us"][: 2 * kept])


def _rename(content: Any, **choice: Any) -> None:
    """Give a variant another choice, in all places that say it."""
    row = _row(content)
    one = row["variants"][1]
    old, key = one["name"], one["plan"]["key"].split("|")
    one.update(choice)
    tile = f"w{one['warps']}r{one['rows']}"
    one["name"] = f"{one['arm']} {tile} {one['policy']}"
    one["plan"].update(
        policy=one["policy"], tile=tile, key="|".join([*key[:2], one["policy"], *key[3:-1], f"{tile}v8"])
    )
    for round_ in row["rounds"]:
        round_["order"] = [one["name"] if name == old else name for name in round_["order"]]


def _shape(content: Any, **shape: int) -> None:
    """Give the case another shape, with the bytes and the words that it has."""
    case = _row(content)["case"]
    case.update(shape)
    for one in _row(content)["variants"]:
        for check in one["checks"]:
            words = case["num_q_heads"] * case["head_dim"]
            if check["name"] == "scratch":
                words = case["num_q_heads"] * one["plan"]["n_splits"] * (2 + case["head_dim"])
            check.update(compared=words, whole=None, worst_row=None)
            if check["name"] == "oracle":
                check["ratio"] = check["ratio"] or 0.5
    kv_bytes = 4 * case["num_kv_heads"] * case["kv_len"] * case["head_dim"]
    _row(content).update(kv_bytes=kv_bytes, buffer_sets=4000, calls=4000)


@cache
def _two() -> TuneResult:
    """Both arms on two calls of one kind."""
    sweep = Sweep(warps=(8,), rows=(4,), policies=("one-wave",))
    cases = [call(200), call(200, heads=(8, 2))]
    return swept(FormulaTuneBench(), arms=[BuilderArm(), OxideArm()], sweep=sweep, cases=cases)


def _made(result: TuneResult, change: Any, folder: Path, base: str = BASE.text) -> tuple[int, Path]:
    """Make a table of a result that was changed; its exit code and file."""
    files = folder / "result.json", folder / "base.toml", folder / "tiles.toml"
    content = json.loads(result.model_dump_json(by_alias=True))
    change(content)
    files[0].write_text(json.dumps(content), encoding="utf-8")
    files[1].write_text(base, encoding="utf-8")
    return run(["tune", "--table", str(files[0]), "--tiles", str(files[1]), "-o", str(files[2])]), files[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: _change(c, samples_us=[1.0]), "1 samples of 20 rounds"),
        (lambda c: _change(c, median_us=1.0), "median_us 1.0 is not that of the samples"),
        (lambda c: _change(c, incumbent=True, ratio=None), "builder has not exactly one incumbent"),
        (lambda c: c["rows"][0]["rounds"][0].update(order=["x"]), "name each variant with samples once"),
        (lambda c: c.update(status="fails"), "contradicts the checks"),
        (lambda c: c["rows"][0]["variants"][1]["checks"][0].update(holds=False, reason="x"), "was timed"),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(change: Any, message: str) -> None:
    content = json.loads(won().model_dump_json(by_alias=True))
    change(content)
    with pytest.raises(ValidationError, match=message):
        TuneResult.model_validate(content)


REFUSED: list[tuple[Any, str]] = [
    (lambda c: _case(c, num_kv_heads=0), "rows.0.case.num_kv_heads: 0 is not allowed"),
    (lambda c: _case(c, num_q_heads=0), "rows.0.case.num_q_heads: 0 is not allowed"),
    (lambda c: _case(c, kv_len=0), "rows.0.case.kv_len: 0 is not allowed"),
    (lambda c: _case(c, num_q_heads=9, num_kv_heads=2), "num_q_heads: 9 are no multiple of 2 KV heads"),
    (lambda c: _case(c, kv_len=66), "kv_bytes: 66560 contradicts K and V of 66 keys"),
    (
        lambda c: _shape(c, head_dim=128),
        "random-4x1-L65-f16, builder w12r4 one-wave: there is no such plan (head_dim is",
    ),
    (lambda c: _shape(c, head_dim=10**30), "there is no such plan (head_dim is 1000000000000000000000000000000;"),
    (lambda c: _shape(c, num_q_heads=36, num_kv_heads=4), "there is no such plan ("),
    (lambda c: _rename(c, warps=10**6), "builder w1000000r2 fixed:2: there is no such plan (tiles is a table in whose"),
    (lambda c: _rename(c, policy="fixed:0"), "builder w2r2 fixed:0: there is no such plan (tiles is a table in whose"),
    (lambda c: _rename(c, policy='x"\x7fy'), "there is no such plan (tiles is a table in whose row 1 policy is"),
    (lambda c: _rename(c, policy="fixed:1"), "chunk and n_splits are stated as (64, 2), and the planner gives (65, 1)"),
    (lambda c: _change(c, warps=4), "contradicts arm, warps, rows and policy, which say builder w4r2 fixed:2"),
    (lambda c: _change(c, policy="fixed:3"), "which say builder w2r2 fixed:3"),
    (lambda c: c.update(profile_arch="sm_80"), "profile_arch: sm_80 contradicts the profile h200, which is of sm_90"),
    (lambda c: _untime(_row(c), "builder", only=True), "builder was timed without its incumbent, builder w12r4 one-"),
    (lambda c: _drop(_row(c), 1), "rounds: 1 of 20 count, and 12 are needed"),
    (lambda c: _drop(_row(c), 15), "round 15 is dropped, and its readings say otherwise"),
    (
        lambda c: _row(c)["rounds"][2]["readings"][1].update(throttle=["hw_slowdown"]),
        "random-4x1-L65-f16: round 2 is kept, and its readings say otherwise",
    ),
    (lambda c: _change(c, ratio=None), "ratio: must be there for builder w2r2 fixed:2"),
    (lambda c: _row(c)["rounds"].extend(_row(c)["rounds"] * 30), f"rounds: 620, and a run takes {MAX_ROUNDS}"),
    (lambda c: _ratio(c, low=0.5), "builder w2r2 fixed:2: low is stated as 0.5, and the samples give 0.8"),
    (lambda c: _ratio(c, high=0.95), "builder w2r2 fixed:2: high is stated as 0.95, and the samples give 0.9"),
    (lambda c: _ratio(c, resamples=10**9), "builder w2r2 fixed:2: 1000000000 resamples are stated, 2000 are taken"),
    (lambda c: _ratio(c, confidence=0.95), "builder w2r2 fixed:2: an interval of 0.95, and not of 0.975"),
    (lambda c: c.update(contract="splitk/0"), "contract: splitk/0 contradicts the plan splitk/1|"),
    (lambda c: c.update(profile="gb10"), "profile: gb10 contradicts the plan splitk/1|h200|"),
    (lambda c: c["rows"].append(_row(c)), "rows: random-4x1-L65-f16 is there twice"),
    (
        lambda c: c["rows"].append({**_row(c), "case": {**_row(c)["case"], "name": "another"}}),
        "rows: 4:1 of 256 f16 at 65 keys is there twice",
    ),
    (lambda c: _row(c)["variants"].append(_row(c)["variants"][1]), "variants: builder w2r2 fixed:2 is there twice"),
    (_untime_all, "one-wave was not timed"),
    (lambda c: _row(c).update(calls=0), "buffer_sets, calls: 1580 and 0 of a row that was timed"),
    (lambda c: _row(c).update(buffer_sets=2), "buffer_sets: 2 of random-4x1-L65-f16; 1580 exceed the L2 100 times"),
    (lambda c: _row(c).update(calls=1581), "calls: 1581 are no whole passes over 1580 copies"),
    (lambda c: _row(c).update(floors=[]), "floors: none of a row with 20 rounds"),
    (lambda c: _row(c).update(floors=_row(c)["floors"] * 2), "floors: read, read of a row with 20 rounds"),
    (
        lambda c: _row(c)["floors"][0].update(samples_us=[1e9], median_us=1e9),
        "random-4x1-L65-f16: a floor of 1e+09 µs, and a variant takes 8.9",
    ),
    (
        lambda c: _check(c, compared=1, whole=None),
        "builder w2r2 fixed:2: check oracle of twin against oracle compared 1 words of 1024",
    ),
    (
        lambda c: _row(c)["variants"][1].update(checks=_row(c)["variants"][1]["checks"] * 2),
        "builder w2r2 fixed:2: check oracle of twin against oracle is there twice",
    ),
    (lambda c: c.update(seconds_per_row=-1), "seconds_per_row: -1 is not allowed"),
    (lambda c: c.pop("host"), "host: is missing"),
]


@pytest.mark.parametrize(("change", "line"), REFUSED)
def test_a_table_of_what_cannot_be_is_refused_in_one_line(
    change: Any, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, tiles = _made(won(), change, tmp_path)
    error = capsys.readouterr().err
    assert line in error
    assert (code, error.count("\n"), tiles.exists()) == (2, 1, False)


def _of_contract(content: Any, contract: str) -> None:
    content.update(contract=contract)
    for one in _row(content)["variants"]:
        one["plan"]["key"] = "|".join([contract, *one["plan"]["key"].split("|")[1:]])


def _untime_arm(content: Any, place: int) -> None:
    """Take the builder out of a row, whole."""
    row = _row(content, place)
    _untime(row, "builder", only=False)
    row["variants"] = [one for one in row["variants"] if one["arm"] != "builder"]


def _other_incumbent(content: Any) -> None:
    """Let the first arm of a row call its other variant the incumbent: the ratio is the inverse one."""
    old, new = (one for one in _row(content)["variants"] if one["arm"] == "builder")
    made = ratio_of(TunedRow.model_validate(_row(content)), TunedVariant.model_validate(new), new["ratio"]["seed"])
    old.update(incumbent=False, ratio={**made.model_dump(), "estimate": 1 / made.estimate})
    old["ratio"].update(low=1 / made.high, high=1 / made.low)
    new.update(incumbent=True, ratio=None)


@pytest.mark.parametrize(
    ("rows", "change", "line"),
    [
        (1, lambda c: _of_contract(c, "splitk/0"), "result: 'of contract splitk/0' is not allowed; allowed: one of"),
        (2, _other_incumbent, "result: 'incumbents builder w8r4 one-wave of random-4x1-L200-f16 and"),
        (
            2,
            lambda c: _untime_arm(c, 0),
            "'random-8x2-L200-f16 with the arms builder, oxide' is not allowed; allowed: the arms of random-4x1-L200",
        ),
        (2, lambda c: _untime_arm(c, 1), "'random-8x2-L200-f16 with the arms oxide' is not allowed"),
    ],
)
def test_rows_that_no_table_can_rest_on_are_refused(
    rows: int, change: Any, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def first_rows(content: Any) -> None:
        content["rows"] = content["rows"][:rows]
        change(content)

    code, tiles = _made(_two(), first_rows, tmp_path)
    error = capsys.readouterr().err
    assert line in error
    assert (code, error.count("\n"), tiles.exists()) == (2, 1, False)


@pytest.mark.parametrize(("text", "said"), [("{}", "None"), ('{"schema": "diffcheck-ab/1"}', "'diffcheck-ab/1'")])
def test_a_table_of_another_file_names_the_schema(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r.json").write_text(text)
    assert run(["tune", "--table", str(tmp_path / "r.json"), "-o", str(tmp_path / "t.toml")]) == 2
    line = f"diffcheck: result r.json, schema: {said} is not allowed; allowed: diffcheck-tune/1\n"
    assert (capsys.readouterr().err, (tmp_path / "t.toml").exists()) == (line, False)


def test_more_rows_than_a_table_may_have_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = [replace(row, policy="one-wave") for row in rows_of(BASE)]
    lengths = [*((one, one) for one in range(900)), (900, LAST)]
    base = TileTable.parse(table_text([*whole[1:], *(replace(whole[0], kv_len=span) for span in lengths)]))
    code, tiles = _made(won(), lambda c: c.update(table_sha256=base.sha256), tmp_path, base.text)
    error = capsys.readouterr().err
    assert "table: 'result.json' is not allowed; allowed: results that make a table (tiles is 3610 rows; " in error
    assert (code, error.count("\n"), tiles.exists()) == (2, 1, False)


@pytest.mark.parametrize("device", ["A\x7fB", "A\nschema = 1", 'A"\\ \u2028\u202e', "\x00\x1b[2J\r", "H200"])
def test_no_name_of_a_device_breaks_the_table(device: str, tmp_path: Path) -> None:
    code, tiles = _made(won(), lambda c: c["host"].update(device=device), tmp_path)
    assert code == 0
    (measured,) = (row for row in TileTable.load(tiles).rows if row["source"] == "measured")
    assert measured["ground"].startswith(f"{device}, 65 keys, builder: 0.9")


def test_a_table_is_made_of_files_and_taken_by_parity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result, tiles, receipt = tmp_path / "result.json", tmp_path / "tiles.toml", tmp_path / "receipt.json"
    base = tmp_path / "base.toml"
    base.write_text(BASE.text, encoding="utf-8")
    write_json(result, won())
    assert run(["tune", "--table", str(result), "--tiles", str(base), "-o", str(tiles)]) == 0
    table = TileTable.load(tiles)
    assert f"{table.name}, {len(table.rows)} rows, 1 of them measured" in capsys.readouterr().out
    name = "random-4x1-L65-f16"
    asked = ["parity", "--executor", "machine", "--arm", "builder", "--case", name, "--receipt", str(receipt)]
    assert run([*asked, "--tiles", str(tiles)]) == 0
    (case,) = json.loads(receipt.read_text())["reference"]["cases"]
    assert case["case"]["plan"]["tile"] == "w2r2"
    assert table.name in case["case"]["plan"]["key"]

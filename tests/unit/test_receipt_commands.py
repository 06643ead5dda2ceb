"""`diffcheck receipt show | validate | diff`, for every kind of receipt, without the native module."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diffcheck.cli.main import run
from diffcheck.receipts.diff import diff_receipts
from diffcheck.receipts.kinds import KINDS, read_any
from tests.factory.ab import ab_content, ab_receipt, comparison, fail_parity, small_experiment, write_evidence

ROOT = Path(__file__).resolve().parents[2]
PARITY = ROOT / "evidence" / "parity-rungs-h200.json"
SMALL = small_experiment()


def _write(folder: Path, *contents: dict[str, Any]) -> list[Path]:
    names = [f"{index}" for index in range(len(contents))]
    write_evidence(folder, contents, names)
    return [folder / "promote-oxide" / f"{name}.json" for name in names]


@pytest.mark.parametrize("name", KINDS)
def test_shipped_schemas_are_the_models(name: str) -> None:
    shipped = ROOT / "diffcheck" / "receipts" / "schemas" / f"{name.replace('/', '-')}.json"
    assert json.loads(shipped.read_text()) == KINDS[name].schema(), (
        f"run: diffcheck receipt schema {name} > {shipped.name}"
    )


@pytest.mark.parametrize("path", sorted((ROOT / "evidence").rglob("*.json")), ids=lambda path: path.stem)
def test_every_receipt_that_is_evidence_still_reads(path: Path) -> None:
    assert read_any(path).model_dump(by_alias=True)["schema"] in KINDS


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda c: c.pop("host"), "receipt 0.json, host: is missing"),
        (lambda c: c["rows"][0]["case"].pop("kv_len"), "receipt 0.json, rows.0.case.kv_len: is missing"),
        (
            lambda c: c.update(status="partial"),
            "receipt 0.json: status: partial contradicts the rows, which say complete",
        ),
        (
            lambda c: c["rows"][0].update(rotated_bytes=1),
            "receipt 0.json, rows.0: rotated_bytes: 1 contradicts 320 x 16777216",
        ),
        (
            lambda c: c["rows"][0].update(kv_bytes=0),
            "receipt 0.json, rows.0.kv_bytes: 0 is not allowed; allowed: Input should be greater than or equal to 1",
        ),
    ],
)
def test_a_fault_is_said_without_the_object_that_it_lies_in(
    change: Any, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = ab_content("h200", SMALL)
    change(content)
    (path,) = _write(tmp_path, content)
    assert run(["receipt", "show", str(path)]) == 2
    assert capsys.readouterr().err == f"diffcheck: {line}\n"


def test_show_prints_rows_and_controls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = _write(tmp_path, ab_content("h200"))
    out = tmp_path / "again.json"
    assert run(["receipt", "show", str(path), "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert all(row.case.name in printed for row in ab_receipt("h200").rows)
    assert "10 % more work" in printed
    assert json.loads(out.read_text())["host"]["id"] == "h200"


def test_show_of_a_failed_run_exits_with_one(tmp_path: Path) -> None:
    content = ab_content("h200", SMALL)
    content["rows"][0]["parity"][0]["holds"] = False
    fail_parity(content)
    (path,) = _write(tmp_path, content)
    assert run(["receipt", "show", str(path)]) == 1


def test_validate_tells_edited_from_not_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, edited = _write(tmp_path, ab_content("h200", SMALL), ab_content("gb10", SMALL))
    assert run(["receipt", "validate", str(good), str(PARITY)]) == 0
    edited.write_text(edited.read_text().replace('"temperature_c": 41.0', '"temperature_c": 39.0', 1))
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    capsys.readouterr()
    assert run(["receipt", "validate", str(good), str(edited), str(broken), str(tmp_path / "none.json")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["valid diffcheck-ab/1", "edited", "not valid", "not valid"]


def test_validate_finds_an_interval_that_its_samples_do_not_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = ab_content("h200", SMALL)
    content["rows"][1]["timing"]["ratio"]["low"] = 0.5
    (path,) = _write(tmp_path, content)
    assert run(["receipt", "validate", str(path)]) == 1
    assert "random-16x4-L60000-f16: low is stated as 0.5," in capsys.readouterr().out


@pytest.mark.parametrize("schema", ['["diffcheck-ab/1"]', '"diffcheck-ab/2"', "null"])
def test_validate_takes_no_receipt_of_another_schema(schema: str, tmp_path: Path) -> None:
    other = tmp_path / "r.json"
    other.write_text(f'{{"schema": {schema}}}')
    assert run(["receipt", "validate", str(other)]) == 1


def test_diff_of_equal_receipts_is_empty(tmp_path: Path) -> None:
    a, b = _write(tmp_path, ab_content("h200", SMALL), ab_content("h200", SMALL))
    assert run(["receipt", "diff", str(a), str(b)]) == 0
    assert run(["receipt", "diff", str(PARITY), str(PARITY)]) == 0


def test_diff_names_fields_and_rows_that_do_not_overlap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = ab_content("h200", SMALL)
    changed["host"]["driver"] = "590.1"
    changed["rows"][0]["timing"] = comparison(60.0, 1.1, blocks=4)
    del changed["controls"][2]
    a, b = _write(tmp_path, ab_content("h200", SMALL), changed)
    out = tmp_path / "diff.json"
    assert run(["receipt", "diff", str(a), str(b), "--json", str(out)]) == 1
    found = json.loads(out.read_text())
    assert [one["path"] for one in found["differences"]] == [
        "host.driver",
        "controls.planted random-16x4-L60000-f16 10.0",
    ]
    assert (found["overlapping"], len(found["rows"])) == (1, 2)
    assert "overlap in 1 of 2 rows (50.0 %)" in capsys.readouterr().out


def test_samples_alone_are_no_difference() -> None:
    content = ab_content("h200", SMALL)
    content["rows"][0]["timing"] = comparison(60.0, 0.991, blocks=4)
    found = diff_receipts(ab_receipt("h200", SMALL), type(ab_receipt()).model_validate(content))
    assert found.differences == ()
    assert found.overlapping == 2


def test_diff_takes_two_of_one_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = _write(tmp_path, ab_content("h200", SMALL))
    assert run(["receipt", "diff", str(path), str(PARITY)]) == 2
    assert "two of one kind" in capsys.readouterr().err


def test_receipts_of_parity_runs_stay_readable() -> None:
    for path in (ROOT / "evidence").glob("parity-*.json"):
        assert read_any(path).schema_name == "diffcheck-receipt/1"


OTHERS = {
    "sanitize": ("planted faults", "agreed on"),
    "timing-rungs": ("GB/s of K and V", "cases timed, bits of the twin: holds"),
    "toolchain": ("cubin-O0", "builds, ptxas"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_records_without_a_digest_are_read_like_receipts(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, again = ROOT / "evidence" / f"{name}-h200.json", tmp_path / "again.json"
    assert run(["receipt", "show", str(path), "--json", str(again)]) == 0
    printed = capsys.readouterr().out
    assert all(text in printed for text in OTHERS[name])
    assert run(["receipt", "validate", str(path), str(again)]) == 0
    assert run(["receipt", "diff", str(path), str(again)]) == 0
    content = json.loads(path.read_text())
    again.write_text(json.dumps({**content, "status": "fails"}))
    assert run(["receipt", "validate", str(again)]) == 1
    assert "status: fails contradicts" in capsys.readouterr().out

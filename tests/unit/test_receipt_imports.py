"""Receipts of other tools: every shape is read, says what it lacks, and never counts. Ours in their shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diffcheck.cli.main import run
from diffcheck.decide.collect import read_found
from diffcheck.decide.reasons import Code
from diffcheck.errors import BadInputError
from diffcheck.receipts.exported.rows import export_rows
from diffcheck.receipts.imported.model import Lack
from diffcheck.receipts.imported.read import import_receipt
from diffcheck.receipts.kinds import read_any
from diffcheck.receipts.write import write_json
from tests.factory.ab import ab_content, ab_receipt, check, fail_parity, small_experiment, write_evidence

DATA = Path(__file__).resolve().parents[1] / "data" / "imports"
SHAPES = ("rows", "variants", "requirement", "rungs")


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_understood(shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    imported = import_receipt(DATA / f"{shape}.json")
    assert imported.shape == shape
    assert imported.not_understood == ()
    assert imported.raw == json.loads((DATA / f"{shape}.json").read_text())
    out = tmp_path / "imported.json"
    assert run(["receipt", "import", str(DATA / f"{shape}.json"), "--out", str(out)]) == 0
    assert read_any(out) == imported
    assert "an import never counts for a verdict" in capsys.readouterr().out
    assert run(["receipt", "show", str(out)]) == 1
    assert read_found(out).problem is Code.RECEIPT_IMPORTED


@pytest.mark.parametrize("shape", SHAPES)
def test_every_record_lacks_what_makes_a_verdict(shape: str) -> None:
    for record in import_receipt(DATA / f"{shape}.json").records:
        never = {Lack.SAMPLES, Lack.INTERVALS, Lack.CONTROLS, Lack.BITS, Lack.SUBJECTS, Lack.DIGEST}
        assert never <= set(record.lacks)


def test_rows_are_read_as_they_are_written() -> None:
    (record,) = import_receipt(DATA / "rows.json").records
    assert (record.host, record.arch, record.baseline, record.candidate) == ("host-a", "sm_89", "builder", "oxide")
    first, second = record.rows
    assert (first.num_q_heads, first.num_kv_heads, first.head_dim, first.kv_len) == (16, 4, 256, 64)
    assert (first.storage, first.chunk, first.n_splits) == ("f32", 64, 1)
    assert (first.baseline_us, first.candidate_us, first.ratio) == (20.0, 30.0, 1.5)
    assert (first.parity_passed, second.parity_passed) == (True, False)
    assert second.candidate_vs_f64_cosine == 0.9
    assert {Lack.COMMIT, Lack.DRIVER, Lack.USERS} <= set(record.lacks)
    assert not {Lack.HOST, Lack.PLANS, Lack.CUDA_OXIDE, Lack.TIMES} & set(record.lacks)


def test_rungs_give_the_ratio_the_right_way_up() -> None:
    (record,) = import_receipt(DATA / "rungs.json").records
    assert record.rows[0].ratio == 25.0 / 1000.0
    assert (record.arch, record.device, record.commit) == ("sm_89", "a GPU", "0123abcd")
    assert Lack.DIRTY in record.lacks


def test_variants_are_records() -> None:
    one, two = import_receipt(DATA / "variants.json").records
    assert (one.variant, two.variant) == ("one", "two")
    assert (one.arch, two.arch) == ("sm_121", "sm_89")
    assert (one.rows[0].ratio, one.rows[0].kv_len, one.timing_method) == (0.8, 128, "graph")
    assert not {Lack.USERS, Lack.DIRTY, Lack.COMMIT, Lack.DRIVER, Lack.PTXAS} & set(one.lacks)
    assert {Lack.USERS, Lack.DIRTY, Lack.COMMIT, Lack.DRIVER, Lack.PTXAS} <= set(two.lacks)
    assert two.kernel == "made_up_decode"


def test_a_requirement_names_hosts_and_no_times() -> None:
    imported = import_receipt(DATA / "requirement.json")
    assert imported.required_hosts == ("host-a", "host-b")
    assert imported.records == ()


def test_keys_that_are_not_understood_are_named(tmp_path: Path) -> None:
    content = json.loads((DATA / "rows.json").read_text())
    content["colour"] = "blue"
    content["rows"][0]["mood"] = "good"
    path = tmp_path / "r.json"
    path.write_text(json.dumps(content))
    assert import_receipt(path).not_understood == ("colour", "mood")


def _altered(tmp_path: Path, shape: str, where: tuple[Any, ...], value: object) -> Path:
    content = json.loads((DATA / f"{shape}.json").read_text())
    inner = content
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    path = tmp_path / "r.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("shape", "where", "value", "message"),
    [
        ("rows", ("schema",), "apr-kernel-receipt/v2", "schema"),
        ("rows", ("rows",), [], "rows: [] is not allowed; allowed: a list that is not empty"),
        ("rows", ("rows", 0), 7, "rows.0: 7 is not allowed; allowed: a JSON object"),
        ("rows", ("rows", 1, "oxide_us"), "fast", "rows.1, oxide_us"),
        ("rows", ("rows", 1, "oxide_us"), 0, "a number above 0"),
        ("rows", ("rows", 1, "oxide_us"), True, "a finite number"),
        ("rows", ("rows", 0, "kv"), "f8", "f32, f16"),
        ("rows", ("rows", 0, "parity"), "MAYBE", "PASS, FAIL"),
        ("rows", ("rows", 0, "seq_len"), -1, "a whole number >= 0"),
        ("rows", ("cc",), "ada", "an architecture"),
        ("rows", ("geometry",), "16x4", "query heads/KV heads"),
        ("rows", ("host",), 7, "a text"),
        ("variants", ("receipts", 0, "timing"), 3, "timing: 3"),
        ("variants", ("receipts", 0, "parity", "pass"), "yes", "true or false"),
        ("requirement", ("required_hosts",), "host-a", "a list of texts"),
        ("rungs", ("rows", 0, "num_heads"), 1.5, "a whole number"),
        ("rows", ("cc",), "٣.٣", "an architecture"),
        ("rungs", ("rows", 0, "old_us"), 1e-320, "ratio: inf"),
        ("rungs", ("rows", 0, "splitk_us"), 5e-324, "ratio: 0.0"),
    ],
)
def test_wrong_files_are_refused_in_one_line(
    shape: str, where: tuple[Any, ...], value: object, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInputError) as caught:
        import_receipt(_altered(tmp_path, shape, where, value))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_refused_import_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = _altered(tmp_path, "rows", ("cc",), "ada"), tmp_path / "out.json"
    assert run(["receipt", "import", str(path), "--out", str(out)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not out.exists()


def test_what_json_has_not_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text((DATA / "rows.json").read_text().replace("30.0", "NaN"))
    with pytest.raises(BadInputError, match="NaN is no JSON number"):
        import_receipt(path)


def test_an_export_is_an_import_again(tmp_path: Path) -> None:
    evidence = write_evidence(tmp_path, [ab_content("rtx4090")])
    source, out = evidence / "promote-oxide" / "rtx4090.json", tmp_path / "out.json"
    command = ["receipt", "export", str(source), "--format", "apr-kernel-receipt/v1", "--heads", "24/4"]
    assert run([*command, "--out", str(out)]) == 0
    exported = json.loads(out.read_text())
    given = json.loads((DATA / "rows.json").read_text())
    assert set(exported) == set(given)
    assert all(set(row) == set(given["rows"][0]) for row in exported["rows"])
    imported = import_receipt(out)
    assert (imported.shape, imported.not_understood) == ("rows", ())
    (record,) = imported.records
    receipt = ab_receipt("rtx4090")
    ours = [row for row in receipt.rows if (row.case.num_q_heads, row.case.generator) == (24, "random")]
    assert len(ours) == 12
    for row, ours_row in zip(record.rows, ours, strict=True):
        assert ours_row.timing is not None
        assert (row.kv_len, row.storage) == (ours_row.case.kv_len, ours_row.case.storage)
        assert row.baseline_us == ours_row.timing.baseline_us
        assert row.ratio == ours_row.timing.ratio.estimate
        assert row.candidate_vs_f64_max_rel == 2e-7
        assert row.parity_passed is True


def test_one_geometry_needs_no_name() -> None:
    exported = export_rows(ab_receipt("gb10", small_experiment()))
    assert (exported["geometry"], exported["cc"]) == ("16/4, head_dim 256", "12.1")


def test_what_an_export_cannot_say_is_refused() -> None:
    receipt = ab_receipt("rtx4090", small_experiment())
    with pytest.raises(BadInputError, match="24/4"):
        export_rows(receipt, "24/4")
    with pytest.raises(BadInputError, match="heads"):
        export_rows(ab_receipt("rtx4090"))
    with pytest.raises(BadInputError, match="builder and oxide"):
        export_rows(ab_receipt("rtx4090", "splitk-vs-naive"))
    content = ab_content("rtx4090", small_experiment())
    content["host"]["id"] = None
    with pytest.raises(BadInputError, match=r"host\.id"):
        export_rows(type(receipt).model_validate(content))


def test_a_failed_row_is_exported_as_one(tmp_path: Path) -> None:
    content = ab_content("rtx4090", small_experiment())
    row = content["rows"][0]
    (bits,) = (one for one in row["parity"] if one["name"] == "bits" and one["a"] == "oxide" and one["b"] == "twin")
    bits.update(check("bits", "oxide", "twin", holds=False))
    bits["whole"].update(max_rel="NaN")
    fail_parity(content)
    exported = export_rows(type(ab_receipt()).model_validate(content))
    assert exported["parity"] == "FAIL"
    assert exported["rows"][0]["parity"] == "FAIL"
    assert not {"oxide_us", "oxide_vs_twin_rel_max"} & set(exported["rows"][0])
    path = tmp_path / "r.json"
    path.write_text(json.dumps(exported))
    assert import_receipt(path).records[0].rows[0].parity_passed is False


def test_only_ab_receipts_are_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "imported.json"
    write_json(path, import_receipt(DATA / "rows.json"))
    assert read_any(path).schema_name == "diffcheck-imported/1"
    assert run(["receipt", "export", str(path)]) == 2
    assert "diffcheck-ab/1" in capsys.readouterr().err
    assert run(["receipt", "export", str(path), "--format", "csv"]) == 2
    assert "apr-kernel-receipt/v1" in capsys.readouterr().err

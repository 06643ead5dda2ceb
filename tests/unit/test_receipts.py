"""Receipts: the schema that is shipped, what the models refuse, and how files are written."""

from __future__ import annotations

import json
import math
import os
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from diffcheck.errors import BadInputError
from diffcheck.receipts.fields import Real
from diffcheck.receipts.metrics import Check
from diffcheck.receipts.model import Receipt, read_receipt, receipt_schema
from diffcheck.receipts.provenance import recorded_command, source_tree
from diffcheck.receipts.write import write_text

EVIDENCE = Path(__file__).resolve().parents[2] / "evidence"
SHA = "0" * 64
CASE: dict[str, Any] = {
    "name": "a-case",
    "num_q_heads": 8,
    "num_kv_heads": 2,
    "head_dim": 256,
    "kv_len": 65,
    "storage": "f16",
    "layout": "dense",
    "generator": "random",
    "seed": 0,
    "expect": "bound",
    "bytes_moved": 1,
    "plan": {
        "key": "splitk/1|h200|one-wave|chunk=64|w8r8v8",
        "profile": "h200",
        "policy": "one-wave",
        "chunk": 64,
        "n_splits": 2,
        "tile": "w8r8",
    },
}


def check(holds: bool) -> dict[str, Any]:
    return {"name": "bits", "a": "builder", "b": "twin", "holds": holds, "reason": "r", "compared": 2048}


def receipt(holds: bool = True, status: str = "holds", case_status: str = "holds") -> dict[str, Any]:
    arm = {"name": "builder", "ptx_sha256": SHA, "interpreter_seconds": 0.5, "warp_instructions": 7}
    others = [{**check(True), "name": name, "b": "contract"} for name in ("memory", "oracle")]
    judged = {"case": CASE, "status": case_status, "checks": [check(holds), *others]}
    tool = {
        "version": "0",
        "tree": {"commit": None, "dirty": None},
        "command": ["parity"],
        "cases_sha256": SHA,
        "tile_table_sha256": SHA,
    }
    return {
        "schema": "diffcheck-receipt/1",
        "tool": tool,
        "contract": "splitk/1",
        "arms": [
            {"name": "twin", "role": "reference", "title": "t", "sources": {"s": SHA}},
            {"name": "builder", "role": "bits", "title": "t", "sources": {"s": SHA}},
        ],
        "status": status,
        "reference": {
            "arm": "twin",
            "host": "x86_64",
            "cases": [{"case": CASE, "status": "holds", "checks": [check(True)], "host_seconds": 0.1}],
        },
        "interpreted": {
            "machine_version": "0",
            "host": "x86_64",
            "target": "sm_90",
            "cases": [{**judged, "arms": [arm]}],
        },
        "measured": None,
        "assembled": None,
        "storage_errors": [],
        "selftest": {"status": "not run", "reason": "not asked for"},
    }


def test_shipped_schema_is_the_models() -> None:
    shipped = resources.files("diffcheck").joinpath("receipts/schemas/diffcheck-receipt-1.json").read_text("utf-8")
    assert json.loads(shipped) == receipt_schema(), "run: diffcheck receipt schema > (the shipped file)"


@pytest.mark.parametrize("path", sorted(EVIDENCE.glob("parity-*.json")), ids=lambda path: path.name)
def test_receipts_of_older_versions_are_still_read(path: Path) -> None:
    assert read_receipt(path).status == "holds"


def test_receipt_survives_a_round_trip(tmp_path: Path) -> None:
    made = Receipt.model_validate(receipt())
    path = tmp_path / "r.json"
    write_text(path, made.model_dump_json(by_alias=True))
    assert read_receipt(path) == made


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (receipt(holds=False), "contradicts the checks"),
        (receipt(holds=False, case_status="fails"), "contradicts the cases"),
        (receipt(status="fails"), "contradicts the cases"),
        ({**receipt(), "interpreted": None}, "one of them must be there"),
        ({**receipt(), "verdict": "PROMOTE"}, "Extra inputs"),
    ],
)
def test_status_must_follow_from_the_payload(made: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Receipt.model_validate(made)


def _without_check(name: str) -> dict[str, Any]:
    made = receipt()
    case = made["interpreted"]["cases"][0]
    case["checks"] = [check for check in case["checks"] if check["name"] != name]
    return made


def _with_arm(**changes: Any) -> dict[str, Any]:
    made = receipt()
    made["arms"].append({**made["arms"][1], "name": "oxide", **changes})
    return made


def _with_check(**changes: Any) -> dict[str, Any]:
    made = receipt()
    made["interpreted"]["cases"][0]["checks"][0].update(changes)
    return made


def _with_case(tier: str, **changes: Any) -> dict[str, Any]:
    made = receipt()
    made[tier]["cases"][0] = {**made[tier]["cases"][0], **changes}
    return made


def _with_scratch(words: int) -> dict[str, Any]:
    """With a check of what two splits of eight heads left: a maximum, a sum and 256 words of each."""
    made = receipt()
    made["interpreted"]["cases"][0]["checks"].append({**check(True), "name": "scratch", "compared": words})
    return made


def _twice(tier: str) -> dict[str, Any]:
    made = receipt()
    made[tier]["cases"] *= 2
    return made


def _with_plan(**changes: Any) -> dict[str, Any]:
    return {**CASE, "plan": {**CASE["plan"], **changes}}


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (_without_check("bits"), "case a-case: builder has no check bits"),
        (_without_check("memory"), "case a-case: builder has no check memory"),
        (_without_check("oracle"), "case a-case: builder has no check oracle"),
        (_with_check(b="oxide"), "case a-case: builder has no check bits against twin"),
        (_with_check(a="oxide"), "case a-case: builder has no check bits"),
        (_with_arm(), "arms: oxide took part in no case"),
        ({**receipt(), "arms": receipt()["arms"][1:]}, "reference: twin is not among the arms"),
        ({**receipt(), "arms": receipt()["arms"][:1]}, "case a-case: builder is not among the arms"),
        (_with_case("reference", case={**CASE, "name": "another"}), "reference: no case a-case of the plan splitk/1"),
        (_with_arm(name="builder", role="bounded"), "arms: builder is there twice"),
        (_twice("reference"), "cases: a-case of the plan splitk/1.* is there twice"),
        (_twice("interpreted"), "cases: a-case of the plan splitk/1.* is there twice"),
        (
            _with_case("interpreted", arms=receipt()["interpreted"]["cases"][0]["arms"] * 2),
            "case a-case: builder is there twice",
        ),
        (_with_case("reference", case={**CASE, "num_kv_heads": 0}), "greater than or equal to 1"),
        (_with_case("reference", case={**CASE, "num_q_heads": 7}), "num_q_heads: 7 are no multiple of"),
        (_with_case("reference", case=_with_plan(n_splits=3)), "plan: 3 splits of 64 contradict"),
        (_with_case("reference", case=_with_plan(tile="w4r8")), "plan: a-case's key splitk/1.* contradicts"),
        (_with_case("interpreted", case={**CASE, "seed": 9}), "a-case: seed 9 contradicts the reference's, 0"),
        (
            _with_case("interpreted", case={**CASE, "num_q_heads": 4}),
            "a-case: check bits of builder against twin compared 2048 words of 1024",
        ),
        (_with_check(compared=1), "a-case: check bits of builder against twin compared 1 words of 2048"),
        (
            _with_case("reference", checks=[{**check(True), "compared": 2047}]),
            "a-case: check bits of builder against twin compared 2047 words of 2048",
        ),
        (_with_scratch(4127), "a-case: check scratch of builder against twin compared 4127 words of 4128"),
        (
            _with_case("interpreted", checks=receipt()["interpreted"]["cases"][0]["checks"] * 2),
            "a-case: check bits of builder against twin is there twice",
        ),
        (_with_check(compared=0), "holds: nothing was compared"),
        (_with_check(ratio=1.5), "holds: contradicts an error of 1.5 of its bound"),
        (_with_check(ratio=math.nan), "holds: contradicts an error of nan of its bound"),
    ],
)
def test_what_a_conclusion_rests_on_must_be_there(made: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Receipt.model_validate(made)


def test_scratch_is_what_every_split_left() -> None:
    assert Receipt.model_validate(_with_scratch(8 * 2 * (2 + 256))).status == "holds"


def test_an_arm_that_did_not_run_needs_no_other_check() -> None:
    made = receipt(status="fails", case_status="fails")
    executes = {**check(False), "name": "executes", "b": "contract", "compared": 0}
    made["interpreted"]["cases"][0]["checks"] = [executes]
    assert Receipt.model_validate(made).status == "fails"


def test_equal_words_decide_about_bits() -> None:
    import numpy as np

    from diffcheck.compare import bits_equal

    a = np.zeros((2, 4), dtype=np.float32)
    fails = Check.of("bits", "builder", "twin", bits_equal(a, a + np.float32(1))).model_dump()
    with pytest.raises(ValidationError, match="holds: contradicts 0 equal words of 8"):
        Check.model_validate({**fails, "holds": True})


def test_no_cases_is_no_receipt() -> None:
    made = receipt()
    made["interpreted"]["cases"] = []
    with pytest.raises(ValidationError, match="at least 1 item"):
        Receipt.model_validate(made)


@pytest.mark.parametrize(("value", "text"), [(math.nan, '"NaN"'), (-math.inf, '"-Infinity"'), (0.5, "0.5")])
def test_numbers_that_json_has_not_are_strings(value: float, text: str) -> None:
    adapter = TypeAdapter[float](Real)
    assert adapter.dump_json(value).decode() == text
    again = adapter.validate_json(text)
    assert again == value or (math.isnan(again) and math.isnan(value))


def test_a_failed_check_carries_the_worst_word() -> None:
    import numpy as np

    from diffcheck.compare import bits_equal

    a = np.zeros((2, 4), dtype=np.float32)
    b = a.copy()
    b[1, 2] = 1.0
    made = Check.of("bits", "builder", "twin", bits_equal(a, b))
    assert not made.holds
    assert made.worst_row is not None
    assert made.worst_row.worst is not None
    assert (made.worst_row.worst.head, made.worst_row.worst.index) == (1, 2)
    assert (made.worst_row.worst.a_bits, made.worst_row.worst.b_bits) == ("0x00000000", "0x3f800000")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "apr-kernel-receipt/v1"}', "\0\1\2", "[" * 100_000])
def test_other_files_are_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(BadInputError) as caught:
        read_receipt(path)
    assert "\n" not in str(caught.value)


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.json"
    path.write_text("old")

    def interrupt(*_args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_folders_are_made_and_files_are_no_folders(tmp_path: Path) -> None:
    write_text(tmp_path / "a" / "b.json", "x")
    assert (tmp_path / "a" / "b.json").read_text() == "x"
    with pytest.raises(BadInputError, match="is a file"):
        write_text(tmp_path / "a" / "b.json" / "c.json", "x")


def test_devices_and_links_are_not_replaced(tmp_path: Path) -> None:
    fifo, link, file = tmp_path / "fifo", tmp_path / "link", tmp_path / "file"
    os.mkfifo(fifo)
    with pytest.raises(BadInputError, match="not a device, pipe or socket"):
        write_text(fifo, "x")
    assert fifo.is_fifo()
    link.symlink_to(file)
    write_text(link, "x")
    assert link.is_symlink()
    assert file.read_text() == "x"
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(BadInputError, match="file: "):
        write_text(link, "x")


def test_the_longest_name_fits(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250 + ".json")
    write_text(path, "x")
    assert path.read_text() == "x"
    with pytest.raises(BadInputError, match="File name too long"):
        write_text(tmp_path / ("n" * 256), "x")
    with pytest.raises(BadInputError, match="null"):
        write_text(tmp_path / "a\0b", "x")


def test_tree_is_known_or_null() -> None:
    tree = source_tree()
    assert (tree.commit is None) == (tree.dirty is None)
    assert tree.commit is None or len(tree.commit) == 40


def test_a_recorded_command_tells_no_folder_of_the_host() -> None:
    given = [
        "parity",
        "--case",
        "a/b",
        "--receipt",
        "/home/someone/out/r.json",
        "--json=/srv/x.json",
        "--json=here/y.json",
    ]
    told = ("parity", "--case", "a/b", "--receipt", "r.json", "--json=x.json", "--json=here/y.json")
    assert recorded_command(given) == told

"""A/B receipts: the shipped schema, the digest, what the models refuse, and reading without the native module."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from diffcheck.errors import BadInputError
from diffcheck.receipts.ab.file import EditedReceiptError, read_ab_receipt, receipt_text, write_ab_receipt
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.canonical import canonical, content_digest, layout, parse
from tests.factory.ab import ab_content, ab_receipt, check, fail_parity, replan, sealed, small_experiment

ROOT = Path(__file__).resolve().parents[2]
SMALL = small_experiment()


@pytest.mark.parametrize("experiment", ["promote-oxide", "splitk-vs-naive"])
def test_receipt_survives_a_round_trip(tmp_path: Path, experiment: str) -> None:
    made = ab_receipt("h200", experiment)
    path = tmp_path / "h200.json"
    write_ab_receipt(path, made)
    assert read_ab_receipt(path) == made
    assert path.read_text() == receipt_text(made)


def test_an_edit_without_a_new_digest_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_ab_receipt(path, ab_receipt())
    text = path.read_text()
    edited = text.replace('"temperature_c": 41.0', '"temperature_c": 40.0', 1)
    assert edited != text
    path.write_text(edited)
    with pytest.raises(EditedReceiptError, match="digest"):
        read_ab_receipt(path)


def test_spaces_and_the_order_of_keys_are_no_edit(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    content = sealed(ab_content())
    path.write_text(json.dumps(dict(reversed(content.items())), indent=7))
    assert read_ab_receipt(path) == ab_receipt()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schema": "diffcheck-ab/1", "schema": "diffcheck-ab/1"}', "twice"),
        ('{"schema": NaN}', "NaN is no JSON number"),
        ('{"schema": 1e999}', "too large"),
        (f'{{"schema": {"1" * 50}}}', "too large"),
        ("[]", "a JSON object"),
        ('{"schema": "diffcheck-ab/2"}', "diffcheck-ab/1"),
        ('{"schema": "diffcheck-ab/1"}', "digest"),
        ("[" * 100_000, "JSON"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(BadInputError, match=message) as caught:
        read_ab_receipt(path)
    assert "\n" not in str(caught.value)


def _row(content: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = content["rows"][0]
    return row


def _check(content: dict[str, Any], name: str = "oracle") -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in _row(content)["parity"] if one["name"] == name)
    return found


def _whole(content: dict[str, Any], name: str = "oracle") -> dict[str, Any]:
    whole: dict[str, Any] = _check(content, name)["whole"]
    return whole


PEER = {"version": "1", "samples_us": [1.0], "median_us": 1.0, "ratio": 0.001, "reason": None}
REFUSED: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda c: c.update(verdict="PROMOTE"), "Extra inputs"),
    (lambda c: c.update(rows=[]), "at least 1 item"),
    (lambda c: c.update(rows=c["rows"][1:]), "status: complete contradicts the rows, which say partial"),
    (lambda c: c.update(rows=[c["rows"][0], *c["rows"]]), "rows: one is there twice"),
    (lambda c: _row(c)["case"].update(name="random-1x1-L1-f16"), "no row of the experiment"),
    (lambda c: _row(c)["candidate"].update(arm="naive"), "other arms"),
    (
        lambda c: _row(c)["candidate"]["plan"].update(key=_row(c)["candidate"]["plan"]["key"].replace("v8", "v4")),
        "bitwise between the plans",
    ),
    (lambda c: _row(c)["parity"][0].update(holds=False), "status: timed contradicts the parity"),
    (lambda c: _row(c).update(timing=None, above_peak=None), "timing: must be there"),
    (lambda c: _row(c).update(above_peak=True), "above_peak of"),
    (lambda c: _row(c)["timing"].update(baseline_us=1.0), "baseline_us: 1.0 contradicts the replays"),
    (lambda c: _row(c)["timing"].update(dropped_blocks=1), "dropped_blocks: 1 contradicts"),
    (lambda c: _row(c)["timing"]["ratio"].update(low=2.0), "are not in order"),
    (lambda c: _row(c)["timing"]["ratio"].update(high=float("nan")), "finite number"),
    (lambda c: _row(c)["timing"]["blocks"][0]["replays"][0].update(us=float("inf")), "finite number"),
    (lambda c: _row(c)["timing"]["blocks"][0]["replays"][0].update(side="baseline"), "is not balanced"),
    (lambda c: _row(c)["timing"]["blocks"][0]["readings"].pop(), "readings: 4 of them for 4 replays"),
    (lambda c: [block.update(dropped="throttled") for block in _row(c)["timing"]["blocks"]], "dropped_blocks"),
    (lambda c: _row(c)["peers"][0].update(reason=None), "a number or a reason"),
    (lambda c: c["controls"][0].update(passed=False), "passed: False contradicts the interval"),
    (lambda c: c["controls"][0].update(planted_percent=2.0), "in a control of kind a/a"),
    (lambda c: c["tool"]["source"].update(dirty_paths=["a.py"]), "contradicts 1 dirty paths"),
    (lambda c: c["tool"]["source"].update(commit=None), "must be there unless origin is unknown"),
    (lambda c: c["experiment"].update(name="another"), "contradicts promote-oxide"),
    (lambda c: c["tool"]["source"].update(commit="v1.0"), "should match pattern"),
    (lambda c: c["subjects"]["ptx"].append(c["subjects"]["ptx"][0]), "ptx: builder is there twice"),
    (lambda c: _row(c)["timing"]["blocks"][0]["replays"][0].update(us=5e-324), "greater than or equal to"),
    (lambda c: _row(c).update(rotated_bytes=1), "rotated_bytes: 1 contradicts"),
    (lambda c: _row(c)["candidate"].update(ptx_sha256=_row(c)["baseline"]["ptx_sha256"]), "the same module"),
    (lambda c: _row(c)["candidate"].update(calls=7), "calls: 320 and 7 share"),
    (lambda c: _row(c)["candidate"].update(ptx_sha256="5" * 64), "oxide ran two modules"),
    (lambda c: _row(c)["candidate"]["plan"].update(n_splits=1), "1 splits of 128 contradict"),
    (lambda c: _row(c)["candidate"]["plan"].update(chunk=64), "contradicts rtx4090 one-wave chunk=64"),
    (lambda c: _row(c)["candidate"]["plan"].update(tile="w12r4"), "contradicts rtx4090 one-wave chunk=128 w12r4"),
    (lambda c: replan(c, 0, profile="h200"), "rows: planned for h200 and for rtx4090"),
    (lambda c: c.update(contract="splitk/0"), "contract: splitk/0 contradicts the plan"),
    (lambda c: _row(c)["floors"].pop(), "floors: empty, and a row that is timed has empty and read"),
    (lambda c: _row(c)["floors"][0].update(median_us=9.0), "floor empty: median_us 9.0 contradicts"),
    (lambda c: _row(c)["peers"][0].update(PEER, median_us=5.0), "peer flashinfer: median_us 5.0 contradicts"),
    (lambda c: _row(c)["peers"][0].update(PEER), "peer flashinfer: a ratio of 0.001 contradicts"),
    (lambda c: _row(c)["peers"].append(_row(c)["peers"][0]), "peers: flashinfer is there twice"),
    (lambda c: c["experiment"]["content"]["arms"].update(peers=["a", "b", "a"]), "peers: a is there twice"),
    (lambda c: _row(c)["case"].update(num_kv_heads=10**18), "num_q_heads: 16 are no multiple of 10{18} KV heads"),
    (
        lambda c: _row(c)["case"].update(num_q_heads=10**18, num_kv_heads=10**18),
        "kv_bytes: 16777216 contradicts K and V of 4096 keys of",
    ),
    (lambda c: _row(c)["case"].update(head_dim=10**18), "kv_bytes: 16777216 contradicts K and V of 4096 keys of"),
    (lambda c: _row(c).update(kv_bytes=1, rotated_bytes=_row(c)["buffer_sets"]), "kv_bytes: 1 contradicts K and V"),
    (lambda c: _row(c)["case"].update(num_q_heads=10**18), "num_q_heads of random-16x4-L4096-f16 is 1000"),
    (lambda c: _row(c)["case"].update(generator="chain"), "generator of random-16x4-L4096-f16 is chain"),
    (lambda c: c["controls"][0].update(case="random-1x1-L1-f16"), "is no row that was timed"),
    (lambda c: c["controls"][0].update(kv_len=4096), "controls: kv_len 4096 contradicts"),
    (lambda c: c["controls"].append(c["controls"][0]), "controls: a/a on random-16x4-L60000-f16 is there twice"),
    (lambda c: c["parts"][0].update(rungs=[4096]), "parts: none measured random-16x4-L60000-f16"),
    (lambda c: _whole(c).update(cosine=1.5), "cosine: 1.5 is no cosine"),
    (lambda c: _whole(c).update(max_abs=-1.0), "max_abs: -1.0 is no distance"),
    (lambda c: _whole(c).update(max_rel="-Infinity"), "max_rel: -inf is no distance"),
    (lambda c: _whole(c).update(equal=5000), "equal, mismatched: 5000 and 0 of 4096 words"),
    (lambda c: _whole(c).update(bitwise_percent=100.0), "bitwise_percent: 100.0 contradicts"),
    (lambda c: _whole(c).update(mismatched=1), "mismatched: 1 words have no distance"),
    (lambda c: _whole(c, "bits").update(max_abs=0.5), "max_abs: must be 0 or null where all 4096 words are equal"),
    (lambda c: _check(c).update(compared=1), "compared: 1 contradicts 4096 words"),
    (lambda c: _check(c).update(ratio=-1.0), "ratio: -1.0 is no share"),
    (lambda c: _check(c).update(ratio=None), "no ratio says how far"),
    (lambda c: _check(c).update(worst_row={**_whole(c), "max_abs": 9e-4}), "worst_row: an error of 0.0009"),
    (lambda c: _whole(c).update(max_rel=0.0), "max_abs, max_rel: 2e-07 and 0.0; one is 0 where the other is"),
    (lambda c: _whole(c).update(max_abs=0.0, max_rel=5.0), "max_abs, max_rel: 0.0 and 5.0; one is 0 where the other"),
    (
        lambda c: _check(c).update(worst_row={**_whole(c), "max_rel": 1e-7}),
        "worst_row: its largest word is 2.0 by max_rel, and 1.0 in all rows together",
    ),
    (
        lambda c: _check(c).update(worst_row={**_whole(c)}, whole={**_whole(c), "max_rel": "Infinity"}),
        "worst_row: its largest word is 1.0 by max_rel, and 0.0 in all rows together",
    ),
    (lambda c: _check(c).update(worst_row=check("oracle", "a", "b", 9000)["whole"]), "worst_row: more of its words"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_contradicts_itself_is_refused(change: Callable[[dict[str, Any]], object], message: str) -> None:
    content = ab_content("rtx4090", SMALL)
    change(content)
    with pytest.raises(ValidationError, match=message):
        AbReceipt.model_validate(content)


@pytest.mark.parametrize("changes", [{"max_rel": 4e-7}, {"max_abs": 1e-7}, {"max_rel": "Infinity"}])
def test_a_row_of_small_words_has_the_larger_relative_error(changes: dict[str, Any]) -> None:
    content = ab_content("rtx4090", SMALL)
    _check(content).update(worst_row={**_whole(content), **changes})
    assert AbReceipt.model_validate(content).rows[0].timing


def test_a_row_that_fails_parity_has_no_time() -> None:
    content = ab_content()
    row = _row(content)
    row["parity"][0]["holds"] = False
    fail_parity(content)
    assert AbReceipt.model_validate(content).rows[0].timing is None


def test_canonical_json_has_one_spelling() -> None:
    assert canonical({"b": 1, "a": [1.0, "µ"]}) == '{"a":[1.0,"µ"],"b":1}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical(float("nan"))


def test_layout_is_the_same_content() -> None:
    content = sealed(ab_content())
    text = layout(content)
    assert parse(text) == content
    assert max(map(len, text.splitlines())) <= 160
    assert content_digest(parse(text)) == content["digest"]

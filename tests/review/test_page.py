"""The page to review a decision by: what it says, and that nothing of a receipt becomes markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from diffcheck.cli.main import run
from diffcheck.decide.model import Verdict
from diffcheck.experiment.load import load_policy
from diffcheck.review.gather import Review, gather
from diffcheck.review.markdown import as_code, as_text
from diffcheck.review.page import html, markdown
from diffcheck.review.tables.base import table
from diffcheck.review.tables.verdict import reason_groups
from tests.factory.ab import (
    Content,
    ab_content,
    comparison,
    fail_parity,
    small_experiment,
    small_experiment_file,
    write_evidence,
)
from tests.review.complete import complete_page

HOSTILE = "<script>alert(1)</script> $x$ \"'><img src=x onerror=alert(1)> | `b` --> @all \x07"
VOID = {"meta", "link", "br", "img", "use", "path", "rect", "circle", "line"}


class Page(HTMLParser):
    """Every tag, every id and every reference of a page; fails on tags that do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.refers: list[str] = []
        self.text: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.append((name, value or ""))
            if name == "id":
                self.ids.append(value or "")
            if name in {"href", "xlink:href"} and (value or "").startswith("#"):
                self.refers.append((value or "")[1:])
            self.refers += re.findall(r"url\(#([^)]+)\)", value or "")


def small(host: str, ratio: float = 0.99) -> Content:
    """A receipt of the experiment with two rows."""
    return ab_content(host, small_experiment(), ratio)


def read(folder: Path, policy: str | None = None) -> Review:
    return gather(small_experiment_file(folder), policy, folder)


def page(folder: Path, policy: str | None = None) -> Page:
    made = Page(html(read(folder, policy)))
    assert len(set(made.ids)) == len(made.ids)
    assert set(made.refers) <= set(made.ids)
    return made


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without pictures, which take longer than all else, for tests of what stands in plain receipts' pages."""
    for name in ("ratio", "latency", "bandwidth", "device"):
        monkeypatch.setattr(f"diffcheck.review.page.{name}_plot", lambda *_: None)


def test_without_receipts_the_page_says_what_is_missing_and_how_to_supply_it(tmp_path: Path) -> None:
    text = html(read(tmp_path))
    assert "HOLD" in text
    for host in ("rtx4090", "gb10"):
        assert f"diffcheck ab promote-oxide --host {host}\ngit add evidence/promote-oxide/{host}.json" in text
    assert "<svg" not in text
    page(tmp_path)


def test_complete_evidence_has_every_section_and_picture() -> None:
    made = Page(complete_page())
    said = " ".join("".join(made.text).split())
    assert "PROMOTE" in said
    # Three hosts with four pictures each, and one of all of them.
    assert made.tags.count("svg") == 13
    for wanted in ("Hosts side by side", "Bandwidth", "Parity on this device", "Controls", "Provenance", "2 % planted"):
        assert wanted in said
    assert "74 rows judged" in said


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("ratio", "verdict"), [(0.99, "PROMOTE"), (1.2, "INCONCLUSIVE"), (1.4, "REJECT")]
)  # fmt: skip
def test_the_verdict_comes_first_and_is_that_of_decide(tmp_path: Path, ratio: float, verdict: Verdict) -> None:
    write_evidence(tmp_path, [small("rtx4090", ratio), small("gb10")])
    assert run(["decide", small_experiment_file(tmp_path), "--evidence", str(tmp_path), "--expect", verdict]) == 0
    text = html(read(tmp_path))
    assert f"<strong>{verdict}</strong>" in text
    assert text.index(f"<strong>{verdict}</strong>") < text.index("Reasons</h2>") < text.index("What is asked</h2>")
    assert markdown(read(tmp_path)).startswith(f"## {verdict}: ")


@pytest.mark.usefixtures("undrawn")
def test_another_policy_moves_the_limit(tmp_path: Path) -> None:
    write_evidence(tmp_path, [small("rtx4090", 1.1), small("gb10")])
    made = page(tmp_path, "faster")
    assert "REJECT" in made.text
    assert load_policy("faster").title in "".join(made.text)


def test_nothing_of_a_receipt_becomes_markup(tmp_path: Path) -> None:
    content = small("h200")
    content["host"]["device"] = HOSTILE
    content["warnings"] = [HOSTILE]
    content["tool"]["command"] = ["ab", HOSTILE]
    content["tool"]["source"] = {"origin": "repository", "commit": "c" * 40, "dirty": True, "dirty_paths": [HOSTILE]}
    content["selftest"]["reason"] = HOSTILE
    for row in content["rows"]:
        twice = 2.0 * row["timing"]["baseline_us"]
        row["peers"][0].update({"name": HOSTILE, "version": HOSTILE, "samples_us": [twice], "median_us": twice})
        row["peers"][0].update({"ratio": 2.0, "reason": None})
        for check in row["parity"]:
            check["reason"] = HOSTILE
    write_evidence(tmp_path, [content])
    made = page(tmp_path)
    assert not {"script", "img", "iframe", "object"} & set(made.tags)
    assert not [name for name, _ in made.attributes if name.startswith("on")]
    assert HOSTILE.replace("\x07", "\ufffd") in "".join(made.text)
    assert "\x07" not in "".join(made.text)
    text = re.sub(r"`[^`\n]*`", "code", markdown(read(tmp_path)))
    assert set(re.findall(r"</?\w+", text)) == {"<details", "<summary", "</summary", "</details"}
    assert "`" not in text
    assert "@all" not in text
    cells = {line.count("|") for line in text.splitlines() if line.startswith("| 16/4 f16")}
    assert cells == {11}


def test_texts_and_code_stay_within_their_cell() -> None:
    assert as_text("a|b") == "a&#124;b"
    assert as_text("sm_89 _x_") == "sm_89 &#95;x&#95;"
    assert as_text("plain words 1.5 µs") == "plain words 1.5 µs"
    assert as_code("a`b|c\nd") == "`a'b¦c d`"
    assert as_text("see https://x @y") == "see https://\u200bx @\u200by"


def test_a_table_with_a_cell_too_few_is_refused() -> None:
    with pytest.raises(AssertionError, match="1 cells under 2 columns"):
        table(("a", "b"), [("1",)])


def test_a_page_asks_for_nothing_from_anywhere(tmp_path: Path) -> None:
    write_evidence(tmp_path, [small("h200")])
    made = page(tmp_path)
    assert not {"script", "iframe", "object", "embed", "audio", "video"} & set(made.tags)
    for name, value in made.attributes:
        if name in {"src", "href", "xlink:href", "srcset"}:
            assert value.startswith(("#", "data:")), (name, value)
    assert any(value.startswith("default-src 'none'") for _, value in made.attributes)


def test_many_reasons_of_one_kind_are_folded_and_few_are_not(tmp_path: Path) -> None:
    write_evidence(tmp_path, [small("rtx4090", 1.4), small("gb10", 1.4)])
    few = reason_groups(read(tmp_path).decision)
    assert [len(group.reasons) for group in few if group.first.code.value == "too-slow"] == [1, 1, 1, 1]
    whole = gather("promote-oxide", None, tmp_path)
    assert [
        len(group.reasons) for group in reason_groups(whole.decision) if group.first.code.value == "row-missing"
    ] == [
        *(35, 35),
    ]


def test_the_same_receipts_give_the_same_page(tmp_path: Path) -> None:
    write_evidence(tmp_path, [small("h200")])
    assert html(read(tmp_path)) == html(read(tmp_path))


def test_a_row_that_failed_parity_has_no_times_and_names_its_worst_word(tmp_path: Path) -> None:
    content = small("rtx4090")
    row = content["rows"][0]
    bits = next(check for check in row["parity"] if check["name"] == "bits")
    bits["whole"].update({"equal": 4000, "bitwise_percent": 97.65625})
    word = {"head": 3, "index": 17, "a_bits": "0x3f800001", "b_bits": "0x3f800000", "a": "1.0000001", "b": "1.0"}
    worst = {**bits["whole"], "head": 3, "words": 256, "equal": 224, "bitwise_percent": 87.5, "worst": word}
    bits.update({"holds": False, "worst_row": worst})
    fail_parity(content)
    write_evidence(tmp_path, [content])
    said = "".join(page(tmp_path).text)
    assert "not timed: fails parity" in said
    assert "0x3f800001 = 1.0000001" in said
    assert "0x3f800000 = 1.0" in said


def test_what_a_device_does_not_support_is_said(tmp_path: Path) -> None:
    content = small("gb10")
    content["host"].update({"driver": None, "uuid_sha256": None, "peak_memory_bytes_per_second": None})
    content["gpu_users"] = {"before": None, "after": None}
    nothing = dict.fromkeys(("sm_mhz", "memory_mhz", "temperature_c", "power_w", "throttle"))
    for row in content["rows"]:
        row["above_peak"] = None
        for block in row["timing"]["blocks"]:
            block["readings"] = [nothing] * 5
    for control in content["controls"]:
        for block in control["timing"]["blocks"]:
            block["readings"] = [nothing] * 5
    write_evidence(tmp_path, [content])
    said = "".join(page(tmp_path).text)
    assert said.count("not supported by this device") == 4
    assert "unknown: NVML did not say" in said


def test_dropped_blocks_and_stale_hashes_are_shown(tmp_path: Path) -> None:
    content = small("h200")
    timing = comparison(50.0, 1.0, blocks=20)
    timing["blocks"].append({**timing["blocks"][0], "dropped": "throttled: hw_slowdown"})
    timing["dropped_blocks"] = 1
    content["rows"][0]["timing"] = timing
    content["subjects"]["timing_sha256"] = "9" * 64
    write_evidence(tmp_path, [content])
    said = "".join(page(tmp_path).text)
    assert "1 of 25" in said
    assert "stale" in said
    assert "9" * 16 in said


@pytest.mark.usefixtures("undrawn")
def test_files_that_are_no_receipts_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "promote-oxide"
    folder.mkdir()
    (folder / "broken.json").write_text("{", encoding="utf-8")
    edited = small("h200")
    (folder / "edited.json").write_text(json.dumps({**edited, "digest": "0" * 64}), encoding="utf-8")
    said = "".join(page(tmp_path).text)
    assert "broken.json" in said
    assert "receipt-edited" in said


def test_the_command_writes_by_the_files_ending(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evidence = ["--evidence", str(tmp_path)]
    assert run(["review", "promote-oxide", "-o", str(tmp_path / "page.html"), *evidence]) == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert run(["review", "promote-oxide", "-o", str(tmp_path / "page.md"), *evidence]) == 0
    capsys.readouterr()
    assert run(["review", "promote-oxide", "--format", "md", *evidence]) == 0
    assert capsys.readouterr().out == (tmp_path / "page.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "output"),
        (["--format", "pdf"], "format"),
        (["-o", "page.html", "--policy", "none"], "policy"),
        (["-o", "page.html", "--evidence", "nowhere"], "evidence"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "evidence").mkdir()
    monkeypatch.chdir(tmp_path)
    assert run(["review", "promote-oxide", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"diffcheck: {says}: ")
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "page.html").exists()

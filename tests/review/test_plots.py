"""Pictures as files, and the roofline's numbers."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from diffcheck.cli.main import run
from diffcheck.cli.plot import PICTURES
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.review.roofline import fp32_peak, work_of
from tests.factory.ab import Content, ab_content, fail_parity, small_experiment, write_evidence

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script> var(--ink) $x$ & \"'\x07"


def file(folder: Path, content: Content) -> Path:
    return write_evidence(folder, [content], ["receipt"]) / "promote-oxide" / "receipt.json"


def small() -> Content:
    return ab_content("h200", small_experiment())


def peer(content: Content, name: str) -> None:
    for row in content["rows"]:
        us = 2.0 * row["timing"]["baseline_us"]
        row["peers"][0].update(name=name, version="1", samples_us=[us], median_us=us, ratio=2.0, reason=None)


@pytest.mark.parametrize("what", PICTURES)
def test_a_picture_is_a_whole_file_of_its_own_and_always_the_same(tmp_path: Path, what: str) -> None:
    content = small()
    peer(content, "flashinfer")
    receipt = file(tmp_path, content)
    first, second = tmp_path / "one.svg", tmp_path / "two.svg"
    for out in (first, second):
        assert run(["plot", what, str(receipt), "-o", str(out)]) == 0
    assert first.read_bytes() == second.read_bytes()
    root = ElementTree.parse(first).getroot()
    assert root.tag == f"{SVG}svg"
    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert {"builder", "oxide"} <= texts
    # Colours are the page's light ones, as numbers; whatever is referred to is there.
    text = first.read_text(encoding="utf-8")
    assert "var(" not in text
    assert 'fill="#ffffff"' in text
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(re.findall(r' id="([^"]+)"', text))


def test_times_have_a_line_for_each_arm_peer_and_floor_and_a_panel_for_each_family(tmp_path: Path) -> None:
    content = ab_content("h200")
    peer(content, "flashinfer")
    out = tmp_path / "times.svg"
    assert run(["plot", "times", str(file(tmp_path, content)), "-o", str(out)]) == 0
    texts = {element.text for element in ElementTree.parse(out).getroot().iter(f"{SVG}text")}
    assert {"builder", "oxide", "flashinfer", "read floor", "launch floor"} <= texts
    assert {f"{heads} {storage}" for heads in ("16/4", "24/4", "8/2") for storage in ("f16", "f32")} <= texts


def test_nothing_of_a_receipt_becomes_markup(tmp_path: Path) -> None:
    content = small()
    peer(content, HOSTILE)
    content["host"]["device"] = HOSTILE
    out = tmp_path / "times.svg"
    assert run(["plot", "times", str(file(tmp_path, content)), "-o", str(out)]) == 0
    root = ElementTree.parse(out).getroot()
    assert not list(root.iter(f"{SVG}script"))
    assert any("<script>" in (element.text or "") for element in root.iter(f"{SVG}text"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["plot", "heat", "{receipt}", "-o", "{folder}/a.svg"],
            "what: 'heat' is not allowed; allowed: times, bandwidth",
        ),
        (["plot", "times", "{receipt}", "-o", "{folder}/a.png"], "a file whose name ends in .svg"),
        (["plot", "times", "{folder}/none.json", "-o", "{folder}/a.svg"], "receipt: "),
        (["roofline", "{folder}/none.json"], "receipt: "),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    receipt = file(tmp_path, small())
    assert run([one.format(receipt=receipt, folder=tmp_path) for one in arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("a.*"))


def test_a_receipt_without_times_has_no_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = small()
    for place in range(2):
        content["rows"][place]["parity"][0]["holds"] = False
        fail_parity(content, place)
    assert run(["plot", "roofline", str(file(tmp_path, content)), "-o", str(tmp_path / "a.svg")]) == 2
    assert "one with a row that was timed" in capsys.readouterr().err


def test_the_work_of_a_row_follows_from_its_case() -> None:
    receipt = AbReceipt.model_validate(ab_content("h200"))
    works = {row.case.name: work_of(row) for row in receipt.rows}
    work = works["random-16x4-L4096-f16"]
    assert (work.kv_bytes, work.flops) == (2 * 4096 * 4 * 256 * 2, 2 * 2 * 16 * 4096 * 256)
    # 33 splits, 16 query heads, 256 elements with a maximum and a sum, in f32.
    assert work.scratch_bytes == 33 * 16 * 258 * 4
    assert work.flops_per_second(10.0) == pytest.approx(work.flops * 1e5)
    intensities = {name.split("-")[1] + name[-4:]: work.intensity for name, work in works.items()}
    # Two operations a byte and query head of a group, one in f32.
    assert intensities == {
        "16x4-f16": 4, "24x4-f16": 6, "8x2-f16": 4, "16x4-f32": 2, "24x4-f32": 3, "8x2-f32": 2,
    }  # fmt: skip


def test_the_f32_peak_follows_from_the_clock_that_was_read() -> None:
    receipt = AbReceipt.model_validate(small())
    assert fp32_peak(receipt) == 2 * 128 * 132 * 1980e6
    old = receipt.model_copy(update={"host": receipt.host.model_copy(update={"arch": "sm_75"})})
    assert fp32_peak(old) is None


def test_the_roofline_is_printed_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = small()
    content["host"]["peak_memory_bytes_per_second"] = None
    for row in content["rows"]:
        row["above_peak"] = None
    receipt = str(file(tmp_path, content))
    assert run(["roofline", receipt]) == 0
    printed = capsys.readouterr().out
    assert "16/4 f16" in printed
    assert run(["roofline", receipt, "--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    first = [cell.strip() for cell in lines[2].strip("|").split("|")]
    assert first[:6] == ["16/4 f16", "4,096", "16.0 MiB", "532 KiB", "0.067", "4"]
    assert first[7] == first[9] == "–", "the memory's peak is not known"

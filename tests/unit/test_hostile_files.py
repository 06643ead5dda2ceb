"""What lies in a folder of evidence, or stands in a receipt, that no run wrote: one line, HOLD, and nothing hangs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from diffcheck.cli.main import run
from diffcheck.errors import BadInputError
from diffcheck.experiment.load import load_experiment
from diffcheck.receipts.ab.file import read_ab_receipt
from diffcheck.receipts.model import read_receipt
from diffcheck.visible import visible
from tests.factory.ab import ab_content, sealed, small_experiment

Make = Callable[[Path], object]


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(300 * 1024 * 1024)


FILES: dict[str, Make] = {
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a folder": lambda path: path.mkdir(),
    "an empty file": lambda path: path.write_bytes(b""),
    "no UTF-8": lambda path: path.write_bytes(b"\xff\xfe{"),
    "a byte order mark": lambda path: path.write_bytes(b"\xef\xbb\xbf{}"),
    "a sparse file": _sparse,
    "half a character": lambda path: path.write_text('{"schema": "diffcheck-ab/1", "x": "\\uD800"}'),
    "a deep list": lambda path: path.write_text('{"schema": "diffcheck-ab/1", "x": ' + "[" * 990 + "]" * 990 + "}"),
}


@pytest.mark.parametrize("kind", FILES)
def test_decide_holds_whatever_a_file_is(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "promote-oxide"
    folder.mkdir()
    FILES[kind](folder / "rtx4090.json")
    assert run(["decide", "promote-oxide", "--evidence", str(tmp_path)]) == 10
    out = capsys.readouterr().out
    assert "receipt-unreadable" in out or "receipt-edited" in out


@pytest.mark.parametrize("read", [read_ab_receipt, read_receipt, lambda path: load_experiment(str(path))])
def test_no_reader_waits_for_a_pipe(read: Make, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.toml")
    with pytest.raises(BadInputError, match="a regular file"):
        read(tmp_path / "x.toml")


def test_a_name_in_another_encoding_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "promote-oxide"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\x1b[2K.json")).touch()
    assert run(["decide", "promote-oxide", "--evidence", str(tmp_path), "--json", str(tmp_path / "d.json")]) == 10
    assert "\\udcff\\x1b[2K" in capsys.readouterr().out
    (receipt,) = json.loads((tmp_path / "d.json").read_text())["receipts"]
    assert receipt["file"] == "\\udcff\\x1b[2K.json"


HOSTILE = "[/x][red]\x1b[2J\rPROMOTE \u202eevil"


def test_texts_of_a_receipt_do_nothing_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = ab_content("rtx4090", small_experiment())
    content["host"].update(device=HOSTILE, driver=HOSTILE)
    content["warnings"] = [HOSTILE]
    content["tool"]["source"].update(dirty=True, dirty_paths=[HOSTILE])
    folder = tmp_path / "promote-oxide"
    folder.mkdir()
    path = folder / "rtx4090.json"
    path.write_text(json.dumps(sealed(content)))
    assert run(["receipt", "show", str(path)]) == 0
    assert run(["decide", "promote-oxide", "--evidence", str(tmp_path)]) == 10
    shown = capsys.readouterr().out
    assert "[/x][red]\\x1b[2J\\rPROMOTE \\u202eevil" in shown
    assert not set(shown) & {"\x1b", "\r", "\u202e"}


def test_visible_keeps_what_can_be_read() -> None:
    assert visible("1.5 µs – 99 %, ≤ 3…\n[x]") == "1.5 µs – 99 %, ≤ 3…\n[x]"
    assert visible("\x00\x7f\x9b\u200f") == "\\x00\\x7f\\x9b\\u200f"


def test_an_error_line_does_nothing_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["receipt", "show", "no\x1b[2Jsuch\nfile"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "\x1b" not in error


@pytest.mark.parametrize(("command", "code"), [("validate", 1), ("show", 2), ("import", 2), ("export", 2)])
def test_no_command_waits_for_a_pipe(command: str, code: int, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "r.json")
    assert run(["receipt", command, str(tmp_path / "r.json")]) == code

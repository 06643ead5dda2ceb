"""The packed values of the tree: what is written is read again, and damage is refused with its place."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from diffcheck.errors import BadInputError
from diffcheck.opcodes import archive
from diffcheck.opcodes.store import Value, Values

RUN = {"device": "none"}


def values() -> Values:
    forms = {
        "add.u32": Value("0" * 16, "r", "measured", b"abcd"),
        "add.u64": Value("1" * 16, "r", "measured", b"efghijkl"),
        "mov.b32~out-in": Value("2" * 16, "r", "measured", b"mn"),
        "sub.u32": Value("3" * 16, "r", "refused", why="not today"),
    }
    return Values({"r": RUN, "unused": {}}, forms)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "values.jsonl"
    archive.write(path, values())
    return path


def test_what_is_written_is_read_again(index: Path) -> None:
    read = archive.read(index)
    assert read.forms == values().forms
    assert read.runs == {"r": RUN}
    assert sorted(path.name for path in index.with_suffix("").iterdir()) == ["add.xz", "mov.xz"]


def test_an_opcode_without_values_leaves_no_file(index: Path) -> None:
    left = values()
    del left.forms["mov.b32~out-in"]
    archive.write(index, left)
    assert [path.name for path in index.with_suffix("").iterdir()] == ["add.xz"]
    assert archive.read(index).forms == left.forms


def test_a_file_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert archive.read(tmp_path / "none.jsonl") == Values()


@pytest.mark.parametrize(
    ("memory", "what"),
    [
        (b"abcdefghijkx", "line 3.*add.xz has other bytes"),
        (b"abcd", "line 3.*add.xz has other bytes"),
        (b"abcdefghijklm", "add.xz.*1 bytes more"),
    ],
)
def test_packed_bytes_that_are_not_the_index_s_are_refused(index: Path, memory: bytes, what: str) -> None:
    (index.with_suffix("") / "add.xz").write_bytes(lzma.compress(memory))
    with pytest.raises(BadInputError, match=what):
        archive.read(index)


def test_a_packed_file_that_is_damaged_or_missing_is_refused(index: Path) -> None:
    packed = index.with_suffix("") / "add.xz"
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(BadInputError, match=r"line 2.*add\.xz"):
        archive.read(index)
    packed.unlink()
    with pytest.raises(BadInputError, match=r"line 2.*add\.xz"):
        archive.read(index)


def test_another_schema_and_an_unknown_run_are_refused(index: Path) -> None:
    text = index.read_text()
    index.write_text(text.replace("opcode-archive/1", "other"))
    with pytest.raises(BadInputError, match=r"line 1.*schema 'other'"):
        archive.read(index)
    index.write_text(text.replace('"run": "r", "status": "refused"', '"run": "x", "status": "refused"'))
    with pytest.raises(BadInputError, match=r"line 5.*run 'x'"):
        archive.read(index)

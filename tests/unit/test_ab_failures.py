"""The A/B's command ended from outside, and what it leaves: no half of a receipt, a free lock, one clear line."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from diffcheck.ab import lock as gpu
from diffcheck.ab.run import journal_path
from diffcheck.errors import BadInputError
from diffcheck.receipts.ab.file import read_ab_receipt, write_ab_receipt
from tests.factory.ab import ab_receipt, small_experiment, small_experiment_file
from tests.factory.ab_command import LOST

ROOT = Path(__file__).resolve().parents[2]
# Of the two rows the first takes fewer replays than this, and the run more.
IN_THE_SECOND_ROW = 200


@dataclass(frozen=True)
class Place:
    """Where a run keeps its files."""

    folder: Path
    experiment: str

    @property
    def receipt(self) -> Path:
        return self.folder / "evidence" / "h200.json"

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    def start(self, what: str = "nothing", at: int = IN_THE_SECOND_ROW) -> subprocess.Popen[str]:
        options = ("--host", "h200", "-o", str(self.receipt), "--lock", str(self.lock))
        command = [sys.executable, "-m", "tests.factory.ab_command", what, str(at), "ab", self.experiment, *options]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)

    def run(self, what: str = "nothing", at: int = IN_THE_SECOND_ROW) -> tuple[int, str]:
        with self.start(what, at) as process:
            _, said = process.communicate(timeout=120)
        return process.returncode, said

    def assert_nothing_half_written(self) -> None:
        """No receipt, no temporary file, and a lock that can be taken; a journal has whole lines but the last."""
        with gpu.gpu_lock(self.lock):
            pass
        left = sorted(path.name for path in self.receipt.parent.iterdir())
        assert set(left) <= {journal_path(self.receipt).name}, left

    def journal_rows(self) -> int:
        lines = journal_path(self.receipt).read_text(encoding="utf-8").splitlines()
        return sum(_is_json(line) for line in lines[1:])


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "evidence").mkdir()
    return Place(tmp_path, small_experiment_file(tmp_path))


def _one_line(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()]
    assert len(lines) == 1, said
    return lines[0]


def test_killed_while_another_waits_for_the_lock_and_then_taken_up(place: Place) -> None:
    with place.start("waits") as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "sampling\n"
        code, said = place.run()
        assert code == 2
        assert "another run holds the GPU's lock" in _one_line(said)
        assert place.journal_rows() == 1
        os.kill(first.pid, signal.SIGKILL)
    place.assert_nothing_half_written()
    code, said = place.run()
    assert (code, said) == (0, "")
    receipt = read_ab_receipt(place.receipt)
    assert receipt.status == "complete"
    assert receipt.parts[0].resumed
    assert not journal_path(place.receipt).exists()


def test_interrupted_by_the_keyboard(place: Place) -> None:
    with place.start("waits") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "sampling\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in _one_line(said)
    place.assert_nothing_half_written()
    assert place.journal_rows() == 1


def test_a_gpu_that_is_lost(place: Place) -> None:
    code, said = place.run("lost")
    assert code == 2
    assert _one_line(said) == f"diffcheck: {LOST}"
    place.assert_nothing_half_written()
    assert place.journal_rows() == 1


@pytest.mark.parametrize(("room", "rows", "what"), [(15_000, 1, "journal"), (30_000, 2, "file")])
def test_no_room_for_the_journal_or_the_receipt(room: int, rows: int, what: str, place: Place) -> None:
    code, said = place.run(str(room))
    assert code == 2
    line = _one_line(said)
    assert line.startswith(f"diffcheck: {what}: ")
    assert os.strerror(errno.EFBIG) in line
    place.assert_nothing_half_written()
    assert place.journal_rows() == rows


def test_a_full_disk_leaves_the_earlier_receipt(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    write_ab_receipt(place.receipt, ab_receipt("h200", small_experiment()))
    before = place.receipt.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInputError, match="No space left on device"):
        write_ab_receipt(place.receipt, ab_receipt("h200", small_experiment(), 1.1))
    assert place.receipt.read_bytes() == before
    assert [path.name for path in place.receipt.parent.iterdir()] == [place.receipt.name]

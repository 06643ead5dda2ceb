"""What an interrupted run has measured so far, so that the same command goes on from there.

One JSON line a row, after one that says what the run is. A line is written and synced as its row is done; a last line
that was cut off is ignored. A journal of another tree, device or experiment is not taken up.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from diffcheck.errors import BadInputError
from diffcheck.receipts.ab.host import HostFacts
from diffcheck.receipts.ab.rows import Control, Row
from diffcheck.receipts.ab.subjects import Subjects
from diffcheck.receipts.fields import Model, Name, Sha256


class Header(Model):
    """What a run is: only a run of the same goes on from a journal."""

    experiment: Name
    experiment_sha256: Sha256
    commit: Name | None
    dirty: bool | None
    host: HostFacts
    subjects: Subjects


class Entry(Model):
    """One row that is done, with the controls measured on its inputs."""

    row: Row
    controls: tuple[Control, ...]


class Journal:
    """The journal of a run, beside the receipt that it is to become."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self._header = header

    def resume(self) -> tuple[Entry, ...]:
        """Return the rows of an interrupted run of the same, and begin a journal with them."""
        entries = tuple(self._read())
        self._write(entries)
        return entries

    def add(self, entry: Entry) -> None:
        """Add a row that is done. Raises `BadInputError` when the file cannot be written."""
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(entry.model_dump_json(by_alias=True) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise BadInputError("journal", str(self.path), f"a file that can be written ({error.strerror})") from error

    def remove(self) -> None:
        """Remove the journal: its rows are in a receipt."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> Iterator[Entry]:
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            return
        if not lines or not self._is_mine(lines[0]):
            return
        seen: set[str] = set()
        for line in lines[1:]:
            try:
                entry = Entry.model_validate(json.loads(line))
            except (ValidationError, ValueError, RecursionError):
                return
            if entry.row.case.name not in seen:
                seen.add(entry.row.case.name)
                yield entry

    def _is_mine(self, line: str) -> bool:
        try:
            return Header.model_validate(json.loads(line)) == self._header
        except (ValidationError, ValueError, RecursionError):
            return False

    def _write(self, entries: tuple[Entry, ...]) -> None:
        from diffcheck.receipts.write import write_text

        lines = [model.model_dump_json(by_alias=True) for model in (self._header, *entries)]
        write_text(self.path, "".join(f"{line}\n" for line in lines))

"""The values of the tree: an index that a review can read, and beside it one packed file an opcode.

The index is JSON lines: first the runs, then a line for each form with the digest of what was run, the run, and the
length and the first digits of the SHA-256 of its result memory. The file `OPCODE.xz` in the folder of the index's name
holds the memories of an opcode's forms one after the other, in the order of the index: values of sibling forms are
alike, so that together they take a tenth of the space that they take alone.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from diffcheck.errors import BadInputError
from diffcheck.opcodes.store import Value, Values
from diffcheck.receipts.write import write_bytes, write_text

SCHEMA: Final = "opcode-archive/1"
_PRESET: Final = 9 | lzma.PRESET_EXTREME
_DIGITS: Final = 16


def _folder(index: Path) -> Path:
    return index.with_suffix("")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_DIGITS]


def _opcode(form: str) -> str:
    return form.partition(".")[0].partition("~")[0]


def read(index: Path) -> Values:
    """Read an index and its packed files; one that is not there is empty. Raises `BadInputError` with what is wrong."""
    if not index.exists():
        return Values()
    values = Values()
    packed: dict[str, memoryview] = {}
    for number, line in enumerate(index.read_text(encoding="utf-8").splitlines(), 1):
        _read_line(values, packed, index, line, number)
    left = [opcode for opcode, rest in packed.items() if rest]
    if left:
        raise BadInputError(f"{left[0]}.xz", f"{len(packed[left[0]])} bytes more", f"what {index.name} lists")
    return values


def _read_line(values: Values, packed: dict[str, memoryview], index: Path, line: str, number: int) -> None:
    try:
        _take(values, packed, index, json.loads(line), number)
    except (ValueError, KeyError, TypeError) as error:
        where = f"{index.name}, line {number}"
        raise BadInputError(where, line[:60], f"a line of schema {SCHEMA} ({error})") from error


def _take(values: Values, packed: dict[str, memoryview], index: Path, entry: dict[str, Any], number: int) -> None:
    if number == 1:
        if entry["schema"] != SCHEMA:
            raise ValueError(f"schema {entry['schema']!r}")
        values.runs.update(entry["runs"])
        return
    if entry["run"] not in values.runs:
        raise ValueError(f"run {entry['run']!r}")
    form = entry["form"]
    data = b""
    if "bytes" in entry:
        opcode = _opcode(form)
        rest = packed[opcode] if opcode in packed else _unpack(_folder(index) / f"{opcode}.xz")
        data, packed[opcode] = bytes(rest[: entry["bytes"]]), rest[entry["bytes"] :]
        if _digest(data) != entry["sha256"]:
            raise ValueError(f"{opcode}.xz has other bytes for it")
    values.forms[form] = Value(entry["digest"], entry["run"], entry["status"], data, entry.get("why", ""))


def _unpack(file: Path) -> memoryview:
    try:
        return memoryview(lzma.decompress(file.read_bytes()))
    except (OSError, lzma.LZMAError) as error:
        raise ValueError(f"{file.name}: {error}") from error


def write(index: Path, values: Values) -> None:
    """Write an index and its packed files, in alphabetical order; runs that gave none are left out.

    The packed files come first: where the writing is broken off, the old index tells that they are not its own.
    """
    used = {value.run for value in values.forms.values()}
    head = {"schema": SCHEMA, "runs": {run: facts for run, facts in values.runs.items() if run in used}}
    lines = [json.dumps(head)]
    memories: dict[str, bytearray] = {}
    for form, value in sorted(values.forms.items()):
        lines.append(json.dumps(_entry(form, value)))
        memories.setdefault(_opcode(form), bytearray()).extend(value.data)
    _write_packed(_folder(index), {opcode: bytes(memory) for opcode, memory in memories.items() if memory})
    write_text(index, "\n".join(lines) + "\n")


def _entry(form: str, value: Value) -> dict[str, Any]:
    entry: dict[str, Any] = {"form": form, "digest": value.digest, "run": value.run, "status": value.status}
    if value.why:
        entry["why"] = value.why
    if value.data:
        entry |= {"bytes": len(value.data), "sha256": _digest(value.data)}
    return entry


def _write_packed(folder: Path, memories: Mapping[str, bytes]) -> None:
    """Write the files that differ and remove those of opcodes that have no value any more."""
    for opcode, memory in memories.items():
        file = folder / f"{opcode}.xz"
        if not file.is_file() or lzma.decompress(file.read_bytes()) != memory:
            write_bytes(file, lzma.compress(memory, preset=_PRESET))
    for file in sorted(folder.glob("*.xz")):
        if file.stem not in memories:
            file.unlink()

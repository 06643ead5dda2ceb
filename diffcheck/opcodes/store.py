"""Files of values: one JSON object a line, first the runs that gave them, then a line for each form.

`data` is the result memory, field by field (each little-endian, all rows together), deflated, in Base64.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from diffcheck.errors import BadInputError
from diffcheck.opcodes.fields import Bits, Layout
from diffcheck.opcodes.probe import Probe
from diffcheck.receipts.write import write_text

SCHEMA: Final = "opcode-values/1"
_LEVEL: Final = 9


@dataclass(frozen=True)
class Value:
    """What a form gave. `digest` says what was run (`Probe.digest`), `run` who ran it; `why` stands for `data` where
    the driver refused the form (`status` refused) or the launch ended with an error (fault)."""

    digest: str
    run: str
    status: str
    data: bytes = b""
    why: str = ""

    def columns(self, probe: Probe) -> dict[str, Bits]:
        """The results, by field. Raises `BadInputError` when they are not as many as the form's rows."""
        return split(probe.outputs, probe.rows, self.data, probe.name)


@dataclass
class Values:
    """The contents of a file: facts about each run, and the values by form."""

    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    forms: dict[str, Value] = field(default_factory=dict)

    def fresh(self, probe: Probe) -> Value | None:
        """The value of a form, if it was measured on what the form is now."""
        value = self.forms.get(probe.name)
        return value if value is not None and value.digest == probe.digest else None


def join(layout: Layout, columns: Mapping[str, Bits]) -> bytes:
    """Result columns as `data` has them."""
    return b"".join(columns[item.name].astype(f"<u{item.bits // 8}").tobytes() for item in layout.fields)


def split(layout: Layout, rows: int, data: bytes, name: str) -> dict[str, Bits]:
    """The inverse of `join`; `name` names the form in a `BadInputError`."""
    wanted = rows * sum(item.bits // 8 for item in layout.fields)
    if len(data) != wanted:
        raise BadInputError(f"data of {name}", f"{len(data)} bytes", f"{wanted} bytes, {rows} rows")
    columns = {}
    start = 0
    for item in layout.fields:
        end = start + rows * item.bits // 8
        columns[item.name] = np.frombuffer(data[start:end], f"<u{item.bits // 8}").astype(np.uint64)
        start = end
    return columns


def read(path: Path) -> Values:
    """Read a file of values; one that is not there is empty. Raises `BadInputError` with the line that is wrong."""
    if not path.exists():
        return Values()
    values = Values()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        _read_line(values, line, number, path.name)
    return values


def _read_line(values: Values, line: str, number: int, name: str) -> None:
    try:
        _take(values, json.loads(line), number)
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise BadInputError(f"{name}, line {number}", line[:60], f"a line of schema {SCHEMA} ({error})") from error


def _take(values: Values, entry: dict[str, Any], number: int) -> None:
    if number == 1:
        if entry["schema"] != SCHEMA:
            raise ValueError(f"schema {entry['schema']!r}")
        values.runs.update(entry["runs"])
        return
    packed = entry.get("data", "")
    data = zlib.decompress(base64.b64decode(packed, validate=True)) if packed else b""
    if entry["run"] not in values.runs:
        raise ValueError(f"run {entry['run']!r}")
    values.forms[entry["form"]] = Value(entry["digest"], entry["run"], entry["status"], data, entry.get("why", ""))


def write(path: Path, values: Values) -> None:
    """Write a file of values, whole or not at all, forms in alphabetical order; runs that gave none are left out."""
    used = {value.run for value in values.forms.values()}
    head = {"schema": SCHEMA, "runs": {run: facts for run, facts in values.runs.items() if run in used}}
    lines = [json.dumps(head)]
    for name, value in sorted(values.forms.items()):
        entry = {"form": name, "digest": value.digest, "run": value.run, "status": value.status}
        if value.why:
            entry["why"] = value.why
        if value.data:
            entry["data"] = base64.b64encode(zlib.compress(value.data, _LEVEL)).decode()
        lines.append(json.dumps(entry))
    write_text(path, "\n".join(lines) + "\n")

"""The opcode table: the instruction forms of `opcodes.toml`, and the reading of a dotted mnemonic against them."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Final

from py_builder_kernel.ptx.dtype import DTYPES, DType, wide
from py_builder_kernel.ptx.errors import PtxBuildError
from py_builder_kernel.ptx.target import PtxVersion, parse_version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class Slot:
    """One dotted part of a mnemonic: its name, the words allowed there, and whether it may be left out."""

    name: str
    of: tuple[str, ...]
    optional: bool


@dataclass(frozen=True, slots=True)
class Need:
    """A word of a slot that needs a later PTX version or architecture than the form itself."""

    slot: str
    word: str
    ptx: PtxVersion
    sm: int


@dataclass(frozen=True, slots=True)
class Form:
    """One `[[op]]` of the table. `refused` holds the reason why the builder and the strict machine refuse the form."""

    opcode: str
    slots: tuple[Slot, ...]
    operands: tuple[str, ...]
    ptx: PtxVersion
    sm: int
    need: tuple[Need, ...]
    refused: str | None


@dataclass(frozen=True, slots=True)
class Bound:
    """A form with the words that one mnemonic puts into its slots."""

    mnemonic: str
    form: Form
    words: Mapping[str, str]

    def dtype(self, word: str) -> DType:
        """The type that an operand word such as `out:type`, `in:u32` or `out:wide` asks for."""
        name = word.partition(":")[2]
        if name == "wide":
            return wide(DTYPES[self.words["type"]])
        return DTYPES[self.words.get(name, name)]

    def requirements(self) -> tuple[PtxVersion, int]:
        """The first PTX version and the first architecture that have this form with these words."""
        needs = [need for need in self.form.need if self.words.get(need.slot) == need.word]
        return max([self.form.ptx, *(n.ptx for n in needs)]), max([self.form.sm, *(n.sm for n in needs)])


# The keys of each kind of table in the file: those that must be there, and those that may be.
_FILE_KEYS: Final = (("schema", "op"), ())
_FORM_KEYS: Final = (("opcode", "slots", "operands", "ptx", "sm"), ("need", "strict", "why"))
_SLOT_KEYS: Final = (("name", "of"), ("optional",))
_NEED_KEYS: Final = (("slot", "word", "ptx", "sm"), ())
_SCHEMA: Final = 1


def _check_keys(where: str, table: Mapping[str, Any], keys: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
    required, optional = keys
    unknown = [key for key in table if key not in required + optional]
    missing = [key for key in required if key not in table]
    if unknown or missing:
        what = f"key {unknown[0]!r} is not allowed" if unknown else f"key {missing[0]!r} is missing"
        raise PtxBuildError(f"{where}: {what}, allowed: {', '.join(required + optional)}")


def _form(where: str, entry: dict[str, Any]) -> Form:
    _check_keys(where, entry, _FORM_KEYS)
    for slot in entry["slots"]:
        _check_keys(f"{where}, slots", slot, _SLOT_KEYS)
    for need in entry.get("need", ()):
        _check_keys(f"{where}, need", need, _NEED_KEYS)
    if entry.get("strict") not in (None, "refuse") or ("strict" in entry) != ("why" in entry):
        raise PtxBuildError(f"{where}: strict is {entry.get('strict')!r}, allowed: 'refuse', with a why, or neither")
    slots = tuple(Slot(s["name"], tuple(s["of"]), bool(s.get("optional", False))) for s in entry["slots"])
    need = tuple(Need(n["slot"], n["word"], parse_version(n["ptx"]), int(n["sm"])) for n in entry.get("need", ()))
    refused = entry["why"] if entry.get("strict") == "refuse" else None
    ptx, sm = parse_version(entry["ptx"]), int(entry["sm"])
    return Form(entry["opcode"], slots, tuple(entry["operands"]), ptx, sm, need, refused)


@lru_cache(maxsize=1)
def forms() -> Mapping[str, tuple[Form, ...]]:
    """The table by opcode, in the order of the file."""
    text = resources.files("py_builder_kernel").joinpath("opcodes.toml").read_text(encoding="utf-8")
    return read_forms(text, "opcodes.toml")


def read_forms(text: str, name: str) -> Mapping[str, tuple[Form, ...]]:
    """The forms of a table that is given as text, by opcode; `name` is what errors call it.

    Raises PtxBuildError for text that is no TOML, another schema, and a key that is unknown or missing: a misspelt one
    must not read as one that was left out.
    """
    try:
        file = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PtxBuildError(f"{name}: {error}") from error
    _check_keys(name, file, _FILE_KEYS)
    if file["schema"] != _SCHEMA:
        raise PtxBuildError(f"{name}: schema is {file['schema']!r}, allowed: {_SCHEMA}")
    by_opcode: dict[str, list[Form]] = {}
    for number, entry in enumerate(file["op"], 1):
        form = _form(f"{name}, [[op]] number {number} ({entry.get('opcode', 'no opcode')})", entry)
        by_opcode.setdefault(form.opcode, []).append(form)
    return {opcode: tuple(entries) for opcode, entries in by_opcode.items()}


def _bindings(slots: tuple[Slot, ...], parts: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Every way in which the parts fill the slots, optional slots filled first."""
    if not slots:
        if not parts:
            yield {}
        return
    slot, rest = slots[0], slots[1:]
    if parts and parts[0] in slot.of:
        for words in _bindings(rest, parts[1:]):
            yield {slot.name: parts[0], **words}
    if slot.optional:
        yield from _bindings(rest, parts)


@lru_cache(maxsize=4096)
def bind(mnemonic: str) -> tuple[Bound, ...]:
    """The forms that a mnemonic such as `fma.rn.f32` may be, in the order of the table, never an empty tuple.

    Raises PtxBuildError, with what is allowed, for a mnemonic that is in no form or only in refused ones.
    """
    opcode, *parts = mnemonic.split(".")
    candidates = forms().get(opcode)
    if candidates is None:
        near = difflib.get_close_matches(opcode, forms(), n=3, cutoff=0.5)
        hint = f", nearest: {', '.join(near)}" if near else ""
        raise PtxBuildError(f"{mnemonic}: opcode {opcode!r} is not in the opcode table{hint}")
    bound = tuple(Bound(mnemonic, form, words) for form in candidates for words in _bindings(form.slots, tuple(parts)))
    live = tuple(b for b in bound if b.form.refused is None)
    if not live:
        raise PtxBuildError(f"{mnemonic}: {bound[0].form.refused}" if bound else _no_form(mnemonic, candidates))
    return live


def _no_form(mnemonic: str, candidates: tuple[Form, ...]) -> str:
    shapes = "; ".join(dict.fromkeys(_shape(form) for form in candidates if form.refused is None))
    return f"{mnemonic}: no such form, allowed: {shapes}"


def _shape(form: Form) -> str:
    slots = (f"[.{'|'.join(s.of)}]" if s.optional else f".{'|'.join(s.of)}" for s in form.slots)
    return form.opcode + "".join(slots)

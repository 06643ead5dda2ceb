"""What loads, stores, copies and addresses do: the bytes that went in come out. Rules of whole tests: they know the
outputs that the templates of memory and addresses have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from diffcheck.opcodes.definitions.rows import extended, low
from diffcheck.opcodes.fields import Bits, Columns, Field
from diffcheck.opcodes.probe import Probe
from diffcheck.opcodes.templates.async_copy import counts
from diffcheck.opcodes.templates.memory import BLOCK, CONSTANTS, constants, space_of
from py_builder_kernel.ptx.dtype import DTYPES
from py_builder_kernel.ptx.table import Bound

# What `named` and `parameter` variables hold in the tests of `cvta`.
_NAMED: Final = bytes(range(1, 9)) + bytes(4 * BLOCK - 8)
_FIRST_WORD: Final = 4


def words_of(data: bytes, at: Bits, size: int) -> Bits:
    """Little-endian words of a number of bytes at places of a memory."""
    taken = [data[int(place) : int(place) + size] for place in at]
    return np.array([int.from_bytes(word, "little") for word in taken], np.uint64)


def _threads(probe: Probe) -> Bits:
    return np.asarray(np.arange(probe.rows, dtype=np.uint64) % np.uint64(probe.body.block))


def _element(name: str) -> int:
    return int("".join(letter for letter in name if letter.isdigit()))


def load(probe: Probe) -> Columns:
    """`ld`: element i of an access is element i of what lies there, extended to its register."""
    dtype = DTYPES[probe.bound.words["type"]]
    size = dtype.bits // 8
    space = space_of(probe.bound)
    found = {}
    for field in probe.body.outputs:
        index = _element(field.name)
        if space == "param":
            start = size * index + (0 if field.name.startswith("d") else size * (len(probe.body.outputs) // 2))
            value = words_of(probe.body.parameter, np.full(probe.rows, start, np.uint64), size)
        elif space == "const" or field.name.startswith("dc"):
            place = _threads(probe) * np.uint64(CONSTANTS // BLOCK) + np.uint64(size * index)
            value = words_of(constants(), place, size)
        else:
            value = low(probe.columns[f"e{index}"], dtype.bits)
        found[field.name] = extended(dtype, value)
    return found


def store(probe: Probe) -> Columns:
    """`st`: what lies there afterwards is what was stored."""
    bits = DTYPES[probe.bound.words["type"]].bits
    return {field.name: low(probe.columns[f"e{_element(field.name)}"], bits) for field in probe.body.outputs}


def copy(probe: Probe) -> Columns:
    """`cp.async`: as many bytes as it is told, of its size at most; the rest of its size becomes zero."""
    if "what" in probe.bound.words:
        return {"d0": low(probe.columns["e0"], 32), "d1": low(probe.columns["e1"], 32)}
    found = {}
    rows = np.arange(probe.rows)
    words: dict[int, list[Field]] = {}
    for field in probe.body.outputs:
        words.setdefault(int(field.name[1:].partition("_")[0]), []).append(field)
    for number, fields in words.items():
        size = 4 * len(fields)
        is_told = counts(probe.bound)[number % len(counts(probe.bound))] is not None
        told = rows % (size + 1) if is_told else np.full(probe.rows, size)
        for place, field in enumerate(fields):
            kept = np.clip(told - 4 * place, 0, 4) * 8
            mask = np.array([(1 << int(bits)) - 1 for bits in kept], np.uint64)
            found[field.name] = probe.columns[f"e{place}"] & mask
    return found


def converted_address(probe: Probe) -> Columns:
    """`cvta`: the word that was stored through one kind of address is found through the other."""
    space = space_of(probe.bound)
    threads = _threads(probe)
    by_name = probe.bound.form.operands[-1] == "name"
    if space == "param":
        value = words_of(probe.body.parameter, np.full(probe.rows, _FIRST_WORD, np.uint64), 4)
    elif by_name and space in ("global", "const"):
        value = words_of(_NAMED, threads * np.uint64(4), 4)
    elif space == "const":
        value = words_of(constants(), threads * np.uint64(CONSTANTS // BLOCK), 4)
    else:
        value = low(probe.columns["e"], 32)
    return {"d": value}


def address_space(probe: Probe) -> Columns:
    """`isspacep`: an address lies in its own space and in no other."""
    asked = space_of(probe.bound)
    return {field.name: np.full(probe.rows, field.name == f"in_{asked}", np.uint64) for field in probe.body.outputs}


RULES: Final[Mapping[str, Callable[[Probe], Any]]] = {
    "ld": load,
    "ldu": load,
    "st": store,
    "cp": copy,
    "cvta": converted_address,
    "isspacep": address_space,
}


def covers(bound: Bound) -> bool:
    """Every form of these opcodes."""
    return True

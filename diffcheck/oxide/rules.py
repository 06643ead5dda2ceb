"""What the text of an entry must and must not have, whoever wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from diffcheck.oxide.abi import KernelAbi
from diffcheck.oxide.ptx_text import Entry


@dataclass(frozen=True)
class Forbidden:
    """A pattern that no instruction may match, and why."""

    pattern: re.Pattern[str]
    why: str


def _forbidden(pattern: str, why: str) -> Forbidden:
    return Forbidden(re.compile(pattern, re.MULTILINE), why)


# An opcode starts a statement, perhaps behind a predicate.
_OPCODE = r"(?:^|[;{}])\s*(?:@!?%?\w+\s+)?"
_ARITHMETIC = "(?:add|sub|mul|fma|mad|div|rcp|sqrt)"
FORBIDDEN = (
    _forbidden(r"\.local\b", "uses local memory"),
    _forbidden(rf"{_OPCODE}trap\b", "has a trap"),
    _forbidden(rf"{_OPCODE}call\b", "calls a function"),
    _forbidden(rf"{_OPCODE}brx\b", "branches through a table"),
    _forbidden(r"\.ftz\b", "flushes denormals to zero (.ftz)"),
    _forbidden(r"\.approx\b", "approximates (.approx)"),
    _forbidden(r"\.full\b", "approximates (.full)"),
    _forbidden(rf"{_OPCODE}{_ARITHMETIC}(?!\.rn\.)[.\w]*\.f32(?:x2)?\b", "leaves the rounding of f32 to the assembler"),
    _forbidden(rf"{_OPCODE}{_ARITHMETIC}[.\w]*\.sat[.\w]*\.f32\b", "saturates f32"),
    _forbidden(rf"{_OPCODE}{_ARITHMETIC}[.\w]*\.(?:f16|bf16|f64)(?:x2)?\b", "computes in another type than f32"),
)
_LOAD_16 = re.compile(r"\bld\.global\.nc\.v4\.[ubf]32\b")
# Past the size may stand how many bytes are read; the rest become zeros.
_ASYNC_16 = re.compile(r"\bcp\.async\.cg\.shared\.global\b[^;]*\], *16\b")
_NARROW = re.compile(r"\bld\.global\.nc(?!\.v4)[.\w]*")


def text_problems(entry: Entry, abi: KernelAbi) -> Iterator[str]:
    """Say what is wrong with an entry's text, one line each, beginning with its name."""
    if entry.params != abi.params:
        yield f"{entry.name}: parameters are {_listed(entry.params)}, must be {_listed(abi.params)}"
    if entry.max_threads != abi.threads:
        yield f"{entry.name}: .maxntid is {entry.max_threads}, must be {abi.threads}"
    instructions = entry.instructions
    for rule in FORBIDDEN:
        found = rule.pattern.search(instructions)
        if found:
            yield f"{entry.name}: {rule.why}: {_statement(instructions, found.end())}"
    if abi.row_loads:
        yield from _load_problems(entry.name, instructions, abi.row_loads)


def wide_loads(instructions: str) -> int:
    """Count the 16-byte loads of memory that no one writes, straight to registers or through shared memory."""
    return len(_LOAD_16.findall(instructions)) + len(_ASYNC_16.findall(instructions))


def _load_problems(name: str, instructions: str, needed: int) -> Iterator[str]:
    found = wide_loads(instructions)
    if found < needed:
        yield f"{name}: {found} loads of 16 bytes, a warp step alone takes {needed}"
    narrow = _NARROW.search(instructions)
    if narrow:
        yield f"{name}: a load of fewer than 16 bytes: {_statement(instructions, narrow.end())}"


def _statement(text: str, inside: int) -> str:
    first = max(text.rfind(sign, 0, inside - 1) for sign in ";{}\n") + 1
    end = text.find(";", inside)
    return " ".join(text[first : len(text) if end < 0 else end].split())[:100]


def _listed(types: tuple[str, ...]) -> str:
    return " ".join(f".{name}" for name in types) or "none"

"""PTX taken apart into statements, as far as planting a fault needs it.

A light reading: where a statement lies in the text, its guard, mnemonic and operands, and the register types that were
declared. Whether a changed text is still PTX is the machine's own parser to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from diffcheck.errors import DiffcheckError

_ENTRY = re.compile(r"\.entry\s+(?P<name>[\w$]+)")
_COMMENT = re.compile(r"//[^\n]*")
_LABEL = re.compile(r"(?P<name>[\w$]+):(?!:)")
_REGISTERS = re.compile(r"\.reg\s+\.(?P<type>\w+)\s+(?P<names>.+)")
_STATEMENT = re.compile(
    r"(?:@(?P<not>!?)(?P<guard>%?[\w$]+)\s+)?(?P<mnemonic>[A-Za-z_][\w.:]*)\s*(?P<operands>.*)", re.DOTALL
)
_WORD = re.compile(r"%?[A-Za-z_$][\w$]*(?:\.[xyz])?")


class MutationError(DiffcheckError):
    """A text that mutants cannot be made of, such as a module without a kernel."""


@dataclass(frozen=True)
class Statement:
    """One instruction: `start` and `end` are where it lies in the text, from its guard to behind its semicolon.

    `index` counts the kernel's statements, `line` the text's lines from 1. `scope` is the innermost pair of braces that
    it stands in (0 is the kernel's own), `guard` the predicate register without its sign.
    """

    index: int
    start: int
    end: int
    line: int
    scope: int
    guard: str | None
    negated: bool
    mnemonic: str
    operands: tuple[str, ...]

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The mnemonic's dotted words, the opcode first."""
        return tuple(self.mnemonic.split("."))

    @cached_property
    def opcode(self) -> str:
        """The mnemonic's first word."""
        return self.parts[0]

    @property
    def prefix(self) -> str:
        """The guard as the text writes it, empty where there is none."""
        return f"@{'!' if self.negated else ''}{self.guard} " if self.guard else ""

    def written(
        self, *, prefix: str | None = None, mnemonic: str | None = None, operands: Sequence[str] | None = None
    ) -> str:
        """Return the statement's text with some of its parts replaced."""
        chosen = self.operands if operands is None else tuple(operands)
        head = f"{self.prefix if prefix is None else prefix}{mnemonic or self.mnemonic}"
        return f"{head} {', '.join(chosen)};" if chosen else f"{head};"

    def with_operand(self, at: int, operand: str) -> str:
        """Return the statement's text with one operand replaced."""
        return self.written(operands=[*self.operands[:at], operand, *self.operands[at + 1 :]])


@dataclass(frozen=True, eq=False)
class Kernel:
    """A module's text and the statements of the one entry in it that faults are planted in.

    `head` is the entry's text up to its body: its parameters and directives. `labels` says which statement each label
    stands before; `types` has the type of every register by the scope that it was declared in, and `parents` the scope
    around each.
    """

    entry: str
    text: str
    head: str
    statements: tuple[Statement, ...]
    labels: Mapping[str, int]
    types: Mapping[tuple[int, str], str]
    parents: Mapping[int, int]
    _names: dict[tuple[int, str], str | None] = field(default_factory=dict, compare=False, repr=False)

    def register(self, scope: int, word: str) -> str | None:
        """Return the name under which a word of a scope is one register of the kernel; None for what is no register."""
        key = (scope, word)
        if key not in self._names:
            self._names[key] = self._find(scope, word)
        return self._names[key]

    def type_of(self, scope: int, word: str) -> str | None:
        """Return the declared type of a register, such as `f32`; None for what is no register."""
        at: int | None = scope
        while at is not None:
            if (at, word) in self.types:
                return self.types[at, word]
            at = self.parents.get(at)
        return None

    def _find(self, scope: int, word: str) -> str | None:
        at: int | None = scope
        while at is not None:
            if (at, word) in self.types:
                return f"{word}#{at}" if at else word
            at = self.parents.get(at)
        return None

    def line_text(self, statement: Statement) -> str:
        """Return a statement in one line, with single spaces."""
        return " ".join(self.text[statement.start : statement.end].split())


def words_of(operand: str) -> Iterator[str]:
    """Yield the names in an operand: registers, variables, special registers."""
    for match in _WORD.finditer(operand):
        yield match[0]


def without_words(operand: str) -> str:
    """Return an operand with a blank for each name in it."""
    return _WORD.sub(" ", operand)


def split_operands(text: str) -> tuple[str, ...]:
    """Divide operands at the commas outside braces and brackets."""
    parts: list[str] = []
    depth, first = 0, 0
    for at, char in enumerate(text):
        depth += char in "{[("
        depth -= char in "}])"
        if char == "," and not depth:
            parts.append(text[first:at].strip())
            first = at + 1
    rest = text[first:].strip()
    return (*parts, rest) if rest else tuple(parts)


def reread(statement: Statement, text: str) -> Statement | None:
    """Return a statement with another text in its place; None where the text is not one statement."""
    match = _STATEMENT.fullmatch(text[:-1].strip()) if text.endswith(";") and text.count(";") == 1 else None
    if match is None:
        return None
    return replace(
        statement,
        guard=match["guard"],
        negated=match["not"] == "!",
        mnemonic=match["mnemonic"],
        operands=split_operands(match["operands"]),
    )


def parse_kernel(text: str, entry: str) -> Kernel:
    """Take apart one entry of a module. Raises `MutationError` where it is not there or not closed."""
    found = next((match for match in _ENTRY.finditer(text) if match["name"] == entry), None)
    if found is None:
        raise MutationError(f"no entry {entry} in the module")
    # Comments become blanks, so that places stay what they are.
    bare = _COMMENT.sub(lambda match: " " * len(match[0]), text)
    start = bare.find("{", found.end())
    if start < 0:
        raise MutationError(f"entry {entry} has no body")
    return _Reader(text, bare, entry, bare[found.start() : start]).read(start + 1)


class _Reader:
    """Reads one body from its first character behind the opening brace to the closing one."""

    def __init__(self, text: str, bare: str, entry: str, head: str) -> None:
        self.text, self.bare, self.entry, self.head = text, bare, entry, head
        self.statements: list[Statement] = []
        self.labels: dict[str, int] = {}
        self.types: dict[tuple[int, str], str] = {}
        self.parents: dict[int, int] = {}
        self.scopes = [0]

    def read(self, at: int) -> Kernel:
        line, counted = 1, 0
        while self.scopes:
            while at < len(self.bare) and self.bare[at].isspace():
                at += 1
            if at >= len(self.bare):
                raise MutationError(f"the body of {self.entry} is not closed")
            line += self.bare.count("\n", counted, at)
            counted = at
            at = self._one(at, line)
        statements = tuple(self.statements)
        return Kernel(self.entry, self.text, self.head, statements, self.labels, self.types, self.parents)

    def _one(self, at: int, line: int) -> int:
        """Read what begins at `at` and return where the next thing may begin."""
        if self.bare[at] == "{":
            scope = len(self.parents) + 1
            self.parents[scope] = self.scopes[-1]
            self.scopes.append(scope)
            return at + 1
        if self.bare[at] == "}":
            self.scopes.pop()
            return at + 1
        label = _LABEL.match(self.bare, at)
        if label:
            self.labels[label["name"]] = len(self.statements)
            return label.end()
        end = self.bare.find(";", at) + 1
        if not end:
            raise MutationError(f"a statement of {self.entry} in line {line} has no semicolon")
        self._statement(at, end, line)
        return end

    def _statement(self, start: int, end: int, line: int) -> None:
        text = self.bare[start : end - 1].strip()
        if text.startswith("."):
            self._directive(text)
            return
        match = _STATEMENT.fullmatch(text)
        if match is None:
            raise MutationError(f"line {line} of {self.entry} is no statement: {text[:80]!r}")
        self.statements.append(
            Statement(
                index=len(self.statements),
                start=start,
                end=end,
                line=line,
                scope=self.scopes[-1],
                guard=match["guard"],
                negated=match["not"] == "!",
                mnemonic=match["mnemonic"],
                operands=split_operands(match["operands"]),
            )
        )

    def _directive(self, text: str) -> None:
        registers = _REGISTERS.fullmatch(text)
        for name in split_operands(registers["names"]) if registers else ():
            array = re.fullmatch(r"(?P<stem>[%\w$]+)<(?P<count>\d+)>", name)
            names = [f"{array['stem']}{at}" for at in range(int(array["count"]))] if array else [name]
            assert registers is not None
            self.types.update({(self.scopes[-1], each): registers["type"] for each in names})

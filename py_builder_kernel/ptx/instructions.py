"""The lines of a function's body, and their text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from py_builder_kernel.ptx.operands import Label, Operand, Pred


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its dotted mnemonic, its operands in PTX order, and the predicate that guards it."""

    mnemonic: str
    operands: tuple[Operand, ...]
    guard: Pred | None = None


@dataclass(frozen=True, slots=True)
class LabelLine:
    """The place where a label stands."""

    label: Label


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a line of its own. `phase: NAME` comments are anchors for tools that edit a kernel's text."""

    text: str


Line: TypeAlias = Instruction | LabelLine | Comment


def line_text(line: Line) -> str:
    """A line as PTX text, without a newline."""
    match line:
        case Instruction(mnemonic, operands, guard):
            guarded = f"@{guard} " if guard is not None else ""
            return f"    {guarded}{mnemonic}{' ' if operands else ''}{', '.join(map(str, operands))};"
        case LabelLine(label):
            return f"{label}:"
        case Comment(text):
            return f"    // {text}"

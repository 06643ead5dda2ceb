"""Operands against the operand words of a form."""

from __future__ import annotations

from dataclasses import dataclass

from py_builder_kernel.ptx.operand_words import OPERAND_WORDS, describe
from py_builder_kernel.ptx.operands import Joined, Operand
from py_builder_kernel.ptx.table import Bound


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why operands do not fit a form; `position` counts the operands before the one at fault, which did fit."""

    position: int
    message: str


def check_operands(bound: Bound, operands: tuple[Operand, ...]) -> Mismatch | None:
    """None when the operands fit the form's words in order, else the first that does not."""
    given = _split_joined(operands)
    position = 0
    for word in bound.form.operands:
        bare = word.strip("|?")
        if position == len(given) or given[position][1] != word.startswith("|"):
            if word.endswith("?"):
                continue
            return Mismatch(position, f"operand {position + 1} is missing, allowed: {_allowed(bound, bare)}")
        operand = given[position][0]
        if not OPERAND_WORDS[bare.partition(":")[0]].fits(bound, bare, operand):
            found = f"operand {position + 1} is {describe(operand)}"
            return Mismatch(position, f"{found}, allowed: {_allowed(bound, bare)}")
        position += 1
    if position < len(given):
        return Mismatch(
            position, f"operand {position + 1} is {describe(given[position][0])}, allowed: {position} operands"
        )
    return None


def _allowed(bound: Bound, word: str) -> str:
    return OPERAND_WORDS[word.partition(":")[0]].allowed(bound, word)


def _split_joined(operands: tuple[Operand, ...]) -> list[tuple[Operand, bool]]:
    given: list[tuple[Operand, bool]] = []
    for operand in operands:
        if isinstance(operand, Joined):
            given += [(operand.first, False), (operand.second, True)]
        else:
            given.append((operand, False))
    return given

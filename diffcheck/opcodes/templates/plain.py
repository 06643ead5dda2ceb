"""Forms that write registers and nothing else: operands in, results out, once for each way to write the operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Final

from diffcheck.opcodes.fields import Columns, Field
from diffcheck.opcodes.kernel import Body
from diffcheck.opcodes.operands.columns import rows_for
from py_builder_kernel.ptx.table import Bound

# The values of an immediate operand; one that no opcode names takes the last.
IMMEDIATES: Final[dict[str, tuple[int, ...]]] = {"lop3": tuple(range(256)), "": (0, 1, 3)}
# A form with that many results has rows that few enough to keep the data small.
_MANY = 64
_FEW_ROWS = 64
_PARTS: Final = (2, 4)
_NARROWEST_PART = 16
_NAMES: Final = "abcdefgh"


@dataclass(frozen=True)
class Choice:
    """One way to write one operand: its text, with the separator before it, and the fields that it reads and writes."""

    text: str
    inputs: tuple[Field, ...] = ()
    outputs: tuple[Field, ...] = ()


def plain(bound: Bound) -> Body:
    """A test of a form whose operands are registers, predicates and immediates."""
    places = [_choices(bound, word, place) for place, word in enumerate(bound.form.operands)]
    inputs: dict[str, Field] = {}
    outputs: list[Field] = []
    lines = []
    for shape, chosen in enumerate(product(*places)):
        renamed = {f"%{f.name}": f"%{f.name}{shape or ''}" for choice in chosen for f in choice.outputs}
        outputs += [Field(renamed[f"%{f.name}"][1:], f.type) for choice in chosen for f in choice.outputs]
        inputs |= {f.name: f for choice in chosen for f in choice.inputs}
        lines.append(f"{bound.mnemonic}{_operands(chosen, renamed)};")
    fields = tuple(inputs.values())
    return Body(fields, tuple(outputs), tuple(lines), partial(_rows, fields, len(outputs)))


def _rows(fields: Sequence[Field], results: int) -> Columns:
    columns = rows_for(fields)
    return {name: column[-_FEW_ROWS:] if results >= _MANY else column for name, column in columns.items()}


def _operands(chosen: Sequence[Choice], renamed: dict[str, str]) -> str:
    text = ""
    for choice in chosen:
        written = choice.text
        for field in choice.outputs:
            written = written.replace(f"%{field.name}", renamed[f"%{field.name}"])
        text += written if not text or written.startswith("|") or not written else f", {written}"
    return f" {text}" if text else ""


def _choices(bound: Bound, word: str, place: int) -> list[Choice]:
    """The ways to write the operand at a place of the form."""
    bare = word.removeprefix("|").removesuffix("?")
    joined = "|" if word.startswith("|") else ""
    found = [Choice(joined + c.text, c.inputs, c.outputs) for c in _written(bound, bare, _NAMES[place])]
    return [*found, Choice("")] if word.endswith("?") else found


def _written(bound: Bound, word: str, name: str) -> list[Choice]:
    kind, _, slot = word.partition(":")
    field = Field(name, bound.dtype(word).name if slot and kind in ("out", "in") else "pred")
    match kind:
        case "out" | "pout":
            found = [Choice(f"%{name}", outputs=(field,))]
        case "in" | "pin":
            found = [Choice(f"%{name}", inputs=(field,))]
        case "pin!":
            found = [Choice(f"{sign}%{name}", inputs=(field,)) for sign in ("", "!")]
        case "imm":
            found = [Choice(str(value)) for value in IMMEDIATES.get(bound.form.opcode, IMMEDIATES[""])]
        case "outpack":
            found = [Choice(_braces(parts), outputs=parts) for parts in _packs(bound, word, name)]
        case "inpack":
            found = [Choice(_braces(parts), inputs=parts) for parts in _packs(bound, word, name)]
        case _:
            raise ValueError(f"{bound.mnemonic}: no template writes the operand word {word!r}")
    return found


def _packs(bound: Bound, word: str, name: str) -> list[tuple[Field, ...]]:
    bits = bound.dtype(word).bits
    return [
        tuple(Field(f"{name}{count}{part}", f"b{bits // count}") for part in range(count))
        for count in _PARTS
        if bits // count >= _NARROWEST_PART
    ]


def _braces(parts: Sequence[Field]) -> str:
    return "{" + ", ".join(f"%{part.name}" for part in parts) + "}"

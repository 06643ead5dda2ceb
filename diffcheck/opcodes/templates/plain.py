"""Forms that write registers and nothing else: operands in, results out, once for each way to write the operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Final

from diffcheck.opcodes.fields import Columns, Field
from diffcheck.opcodes.kernel import Body
from diffcheck.opcodes.operands.columns import rows_for
from py_builder_kernel.ptx.table import Bound

# The values of an immediate operand; one that no opcode names takes the last.
IMMEDIATES: Final[dict[str, tuple[int, ...]]] = {"lop3": tuple(range(256)), "mov": (0, 1, 2), "": (0, 1, 3)}
# A form with that many results has rows that few enough to keep the data small.
_MANY = 64
_FEW_ROWS = 64
_PARTS: Final = (2, 4)
_NARROWEST_PART = 16
_NAMES: Final = "abcdefgh"


@dataclass(frozen=True)
class Choice:
    """One way to write one operand: its text, with the separator before it, and the fields that it reads and writes.

    It reads an immediate where that is given; `negated` says that it reads a predicate the other way round.
    """

    text: str
    inputs: tuple[Field, ...] = ()
    outputs: tuple[Field, ...] = ()
    immediate: int | None = None
    negated: bool = False


@dataclass(frozen=True)
class Shape:
    """One way to write an instruction: a choice for each operand, and what its outputs are called."""

    number: int
    choices: tuple[Choice, ...]

    def name(self, field: Field) -> str:
        """The name of an output, which every shape has for itself."""
        return f"{field.name}{self.number or ''}"


def shapes(bound: Bound) -> list[Shape]:
    """Every way to write the operands of a form."""
    places = [_choices(bound, word, place) for place, word in enumerate(bound.form.operands)]
    return [Shape(number, chosen) for number, chosen in enumerate(product(*places))]


def plain(bound: Bound) -> Body:
    """A test of a form whose operands are registers, predicates and immediates."""
    inputs: dict[str, Field] = {}
    outputs: list[Field] = []
    lines = []
    for shape in shapes(bound):
        outputs += [Field(shape.name(f), f.type) for choice in shape.choices for f in choice.outputs]
        inputs |= {f.name: f for choice in shape.choices for f in choice.inputs}
        lines.append(f"{bound.mnemonic}{_operands(shape)};")
    fields = tuple(inputs.values())
    return Body(fields, tuple(outputs), tuple(lines), partial(_rows, fields, len(outputs)))


def _rows(fields: Sequence[Field], results: int) -> Columns:
    columns = rows_for(fields)
    return {name: column[-_FEW_ROWS:] if results >= _MANY else column for name, column in columns.items()}


def _operands(shape: Shape) -> str:
    text = ""
    for choice in shape.choices:
        written = choice.text
        for field in choice.outputs:
            written = written.replace(f"%{field.name}", f"%{shape.name(field)}")
        text += written if not text or written.startswith("|") or not written else f", {written}"
    return f" {text}" if text else ""


def _choices(bound: Bound, word: str, place: int) -> list[Choice]:
    """The ways to write the operand at a place of the form."""
    bare = word.removeprefix("|").removesuffix("?")
    joined = "|" if word.startswith("|") else ""
    found = [replace(choice, text=joined + choice.text) for choice in _written(bound, bare, _NAMES[place])]
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
            found = [Choice(f"{sign}%{name}", inputs=(field,), negated=sign == "!") for sign in ("", "!")]
        case "imm":
            values = IMMEDIATES.get(bound.form.opcode, IMMEDIATES[""])
            found = [Choice(str(value), immediate=value) for value in values]
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

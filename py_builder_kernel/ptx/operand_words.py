"""The operand words of the opcode table: for each, what fits it and how an error message says so.

To add a word, add an entry to OPERAND_WORDS (and to the schema at the top of opcodes.toml).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from py_builder_kernel.ptx.address import Address
from py_builder_kernel.ptx.dtype import B32, B64, PRED, DType, allowed_registers, fits
from py_builder_kernel.ptx.literal import F32Literal
from py_builder_kernel.ptx.operands import Label, Operand, Param, Pred, Reg, Special, Symbol, Vec
from py_builder_kernel.ptx.special import SPECIAL_REGISTERS
from py_builder_kernel.ptx.table import Bound

_VECTOR_LENGTH: Final = {"v2": 2, "v4": 4}


@dataclass(frozen=True, slots=True)
class OperandWord:
    """Whether an operand fits the word in a bound form, and what is allowed there, in words."""

    fits: Callable[[Bound, str, Operand], bool]
    allowed: Callable[[Bound, str], str]


def describe(operand: Operand) -> str:
    """An operand as an error message shows it: its type and its text."""
    match operand:
        case Reg():
            return f"{operand.dtype} register {operand}"
        case Vec():
            return f"vector {operand} of {', '.join(r.dtype.name for r in operand.regs)}"
        case Address():
            return f"{operand.space or 'generic'} address {operand}"
        case int() | float():
            return f"immediate {operand!r}"
        case _:
            return f"{type(operand).__name__.lower()} {operand}"


def _register(operand: Operand, wanted: DType) -> bool:
    return isinstance(operand, Reg) and fits(operand.dtype, wanted)


def _immediate(operand: Operand, wanted: DType) -> bool:
    if isinstance(operand, F32Literal):
        return wanted.name in ("f32", "b32")
    if isinstance(operand, bool) or not isinstance(operand, int) or wanted.kind not in ("u", "s", "b"):
        return False
    low = 0 if wanted.kind == "u" else -(1 << (wanted.bits - 1))
    high = (1 << (wanted.bits - 1 if wanted.kind == "s" else wanted.bits)) - 1
    return low <= operand <= high


def _takes_immediates(wanted: DType) -> bool:
    return wanted.name == "f32" or wanted.kind in ("u", "s", "b")


def _in_allowed(bound: Bound, word: str) -> str:
    wanted = bound.dtype(word)
    immediate = f", or a {wanted} immediate" if _takes_immediates(wanted) else ""
    return f"a register of {allowed_registers(wanted)}{immediate}"


def _vector(bound: Bound, word: str, operand: Operand) -> bool:
    wanted, vec = bound.dtype(word), bound.words.get("vec")
    if vec is None:
        return _register(operand, wanted)
    regs = operand.regs if isinstance(operand, Vec) else ()
    return len(regs) == _VECTOR_LENGTH[vec] and all(fits(reg.dtype, wanted) for reg in regs)


def _vector_allowed(bound: Bound, word: str) -> str:
    vec = bound.words.get("vec")
    what = "a register" if vec is None else f"a vector of {_VECTOR_LENGTH[vec]} registers"
    return f"{what} of {allowed_registers(bound.dtype(word))}"


def _pack(bound: Bound, word: str, operand: Operand) -> bool:
    if not isinstance(operand, Vec) or len(operand.regs) not in (2, 4):
        return False
    part = bound.dtype(word).bits // len(operand.regs)
    return part >= 16 and all(reg.dtype.bits == part for reg in operand.regs)


def _predicate(_bound: Bound, _word: str, operand: Operand) -> bool:
    return isinstance(operand, Reg) and operand.dtype == PRED


def _space(bound: Bound, word: str) -> str:
    name = word.partition(":")[2]
    if name == "generic":
        return ""
    # A fixed space is written as itself; "space" names the slot, which a generic form leaves out.
    return bound.words.get("space", "") if name == "space" else name


def _address(bound: Bound, word: str, operand: Operand) -> bool:
    space = _space(bound, word)
    if not isinstance(operand, Address) or operand.space != space:
        return False
    match operand.base:
        case Param():
            return space == "param"
        case Symbol():
            return operand.base.space == space
        case Reg(dtype):
            return dtype.kind in ("u", "s", "b") and fits(dtype, B32 if space == "shared" else B64)


def _address_allowed(bound: Bound, word: str) -> str:
    space = _space(bound, word)
    if space == "param":
        return "a kernel parameter"
    width = 32 if space == "shared" else 64
    return f"an address in {space or 'generic'} space, its base a {width}-bit integer register or a variable there"


OPERAND_WORDS: Final[Mapping[str, OperandWord]] = {
    "out": OperandWord(
        lambda bound, word, operand: _register(operand, bound.dtype(word)),
        lambda bound, word: f"a register of {allowed_registers(bound.dtype(word))}",
    ),
    "in": OperandWord(
        lambda bound, word, operand: _register(operand, bound.dtype(word)) or _immediate(operand, bound.dtype(word)),
        _in_allowed,
    ),
    "imm": OperandWord(
        lambda bound, word, operand: _immediate(operand, bound.dtype(word)),
        lambda bound, word: f"a {bound.dtype(word)} immediate",
    ),
    "outvec": OperandWord(_vector, _vector_allowed),
    "invec": OperandWord(_vector, _vector_allowed),
    "outpack": OperandWord(_pack, lambda b, w: f"2 or 4 registers that together have {b.dtype(w).bits} bits"),
    "inpack": OperandWord(_pack, lambda b, w: f"2 or 4 registers that together have {b.dtype(w).bits} bits"),
    "pout": OperandWord(_predicate, lambda _b, _w: "a predicate register"),
    "pin": OperandWord(_predicate, lambda _b, _w: "a predicate register"),
    "pin!": OperandWord(
        lambda bound, word, operand: isinstance(operand, Pred) or _predicate(bound, word, operand),
        lambda _b, _w: "a predicate register or its negation",
    ),
    "addr": OperandWord(_address, _address_allowed),
    "label": OperandWord(lambda _b, _w, operand: isinstance(operand, Label), lambda _b, _w: "a label"),
    "sreg": OperandWord(
        lambda _b, _w, operand: isinstance(operand, Special) and operand.name in SPECIAL_REGISTERS,
        lambda _b, _w: f"a special register: {', '.join(SPECIAL_REGISTERS)}",
    ),
    "name": OperandWord(lambda _b, _w, operand: isinstance(operand, Symbol), lambda _b, _w: "a variable"),
    # The builder writes neither functions nor jump tables: nothing of its own fits.
    "targets": OperandWord(lambda _b, _w, _o: False, lambda _b, _w: "nothing: the builder has no jump tables"),
    "func": OperandWord(lambda _b, _w, _o: False, lambda _b, _w: "nothing: the builder has no functions"),
    "params": OperandWord(lambda _b, _w, _o: False, lambda _b, _w: "nothing: the builder has no functions"),
}

"""Operands against the operand words of a form."""

from __future__ import annotations

from py_builder_kernel.ptx.address import Address
from py_builder_kernel.ptx.dtype import DTYPES, PRED, DType, allowed_registers, fits
from py_builder_kernel.ptx.literal import F32Literal
from py_builder_kernel.ptx.operands import Joined, Label, Operand, Param, Pred, Reg, Special, Symbol, Vec
from py_builder_kernel.ptx.special import SPECIAL_REGISTERS
from py_builder_kernel.ptx.table import Bound

_VECTOR_LENGTH = {"v2": 2, "v4": 4}


class Mismatch(Exception):
    """An operand that does not fit its word; `position` counts the operands before it that did fit."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position


def describe(operand: Operand) -> str:
    """An operand as an error message shows it: its type and its text."""
    match operand:
        case Reg():
            return f"{operand.dtype} register {operand}"
        case Vec():
            return f"vector {operand} of {', '.join(r.dtype.name for r in operand.regs)}"
        case Address():
            return f"{operand.space or 'generic'} address {operand}"
        case bool() | int() | float():
            return f"immediate {operand!r}"
        case _:
            return f"{type(operand).__name__.lower()} {operand}"


def check_operands(bound: Bound, operands: tuple[Operand, ...]) -> None:
    """Raise Mismatch unless the operands fit the form's words in order."""
    words = bound.form.operands
    given = _split_joined(operands)
    position = 0
    for word in words:
        bare = word.rstrip("?")
        joined = bare.startswith("|")
        present = position < len(given) and given[position][1] == joined
        if not present:
            if word.endswith("?"):
                continue
            raise Mismatch(position, f"operand {position + 1} is missing, allowed: {_wanted(bound, bare.lstrip('|'))}")
        operand = given[position][0]
        problem = check_one(bound, bare.lstrip("|"), operand)
        if problem is not None:
            raise Mismatch(position, f"operand {position + 1} is {describe(operand)}, allowed: {problem}")
        position += 1
    if position < len(given):
        extra = given[position][0]
        raise Mismatch(position, f"operand {position + 1} is {describe(extra)}, allowed: {position} operands")


def _split_joined(operands: tuple[Operand, ...]) -> list[tuple[Operand, bool]]:
    given: list[tuple[Operand, bool]] = []
    for operand in operands:
        if isinstance(operand, Joined):
            given += [(operand.first, False), (operand.second, True)]
        else:
            given.append((operand, False))
    return given


def check_one(bound: Bound, word: str, operand: Operand) -> str | None:
    """None when the operand fits the word, else what is allowed."""
    return None if _fits(bound, word, operand) else _wanted(bound, word)


def _fits(bound: Bound, word: str, operand: Operand) -> bool:
    kind, _, _ = word.partition(":")
    match kind:
        case "out":
            return isinstance(operand, Reg) and fits(operand.dtype, bound.dtype(word))
        case "in":
            return _register_or_immediate(operand, bound.dtype(word))
        case "imm":
            return not isinstance(operand, Reg) and _immediate(operand, bound.dtype(word))
        case "outvec" | "invec":
            return _vector(bound, word, operand)
        case "outpack" | "inpack":
            return _pack(operand, bound.dtype(word))
        case "pout" | "pin":
            return isinstance(operand, Reg) and operand.dtype == PRED
        case "pin!":
            return isinstance(operand, Pred) or (isinstance(operand, Reg) and operand.dtype == PRED)
        case "addr":
            return isinstance(operand, Address) and _address(operand, _space(bound, word))
        case "label":
            return isinstance(operand, Label)
        case "sreg":
            return isinstance(operand, Special) and operand.name in SPECIAL_REGISTERS
        case "name":
            return isinstance(operand, Symbol)
    raise AssertionError(f"opcode table: operand word {word!r}")


def _register_or_immediate(operand: Operand, wanted: DType) -> bool:
    if isinstance(operand, Reg):
        return fits(operand.dtype, wanted)
    return _immediate(operand, wanted)


def _immediate(operand: Operand, wanted: DType) -> bool:
    if isinstance(operand, F32Literal):
        return wanted.name in ("f32", "b32")
    if isinstance(operand, bool) or not isinstance(operand, int) or wanted.kind not in ("u", "s", "b"):
        return False
    low = 0 if wanted.kind == "u" else -(1 << (wanted.bits - 1))
    high = (1 << (wanted.bits - 1 if wanted.kind == "s" else wanted.bits)) - 1
    return low <= operand <= high


def _vector(bound: Bound, word: str, operand: Operand) -> bool:
    wanted = bound.dtype(word)
    vec = bound.words.get("vec")
    if vec is None:
        return isinstance(operand, Reg) and fits(operand.dtype, wanted)
    return (
        isinstance(operand, Vec)
        and len(operand.regs) == _VECTOR_LENGTH[vec]
        and all(fits(reg.dtype, wanted) for reg in operand.regs)
    )


def _pack(operand: Operand, wanted: DType) -> bool:
    if not isinstance(operand, Vec) or len(operand.regs) not in (2, 4):
        return False
    part = wanted.bits // len(operand.regs)
    return part >= 16 and all(reg.dtype.bits == part and reg.dtype != PRED for reg in operand.regs)


def _space(bound: Bound, word: str) -> str:
    name = word.partition(":")[2]
    # A fixed space is written as itself; "space" names the slot, which a generic form leaves out.
    return bound.words.get("space", "") if name == "space" else name


def _address(address: Address, space: str) -> bool:
    if address.space != space:
        return False
    base = address.base
    if isinstance(base, Param):
        return space == "param"
    if isinstance(base, Symbol):
        return base.space == space
    pointer = DTYPES["b32"] if space == "shared" else DTYPES["b64"]
    return fits(base.dtype, pointer) and base.dtype.kind != "f"


def _wanted(bound: Bound, word: str) -> str:
    kind, _, _ = word.partition(":")
    match kind:
        case "out":
            return f"a register of {allowed_registers(bound.dtype(word))}"
        case "in":
            return f"a register of {allowed_registers(bound.dtype(word))}, or a {bound.dtype(word)} immediate"
        case "imm":
            return f"a {bound.dtype(word)} immediate"
        case "outvec" | "invec":
            count = f"a vector of {_VECTOR_LENGTH[bound.words['vec']]} registers" if "vec" in bound.words else "a register"
            return f"{count} of {allowed_registers(bound.dtype(word))}"
        case "outpack" | "inpack":
            return f"2 or 4 registers that together have {bound.dtype(word).bits} bits"
        case "pout" | "pin":
            return "a predicate register"
        case "pin!":
            return "a predicate register or its negation"
        case "addr":
            space = _space(bound, word)
            width = "32" if space == "shared" else "64"
            return f"an address in {space or 'generic'} space, its base a {width}-bit register or a {space} variable"
        case "sreg":
            return f"a special register: {', '.join(SPECIAL_REGISTERS)}"
        case "name":
            return "a variable"
    return "a label"

"""The templates: how a test shows what a form does. One registry, by opcode; what is in none is plain.

A form that cannot be shown has a line in UNTESTABLE, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from diffcheck.opcodes.kernel import Body
from diffcheck.opcodes.templates.address import cvta, isspacep, named_variable
from diffcheck.opcodes.templates.async_copy import async_copy
from diffcheck.opcodes.templates.atomic import atomic
from diffcheck.opcodes.templates.carry import carry
from diffcheck.opcodes.templates.collective import active, elect, one_value, shuffle, vote
from diffcheck.opcodes.templates.control import branch, end
from diffcheck.opcodes.templates.functions import call, indexed_branch, store_param
from diffcheck.opcodes.templates.memory import load, store
from diffcheck.opcodes.templates.order import barrier, fence
from diffcheck.opcodes.templates.plain import plain
from diffcheck.opcodes.templates.special import special_registers
from py_builder_kernel.ptx.table import Bound

Template = Callable[[Bound], Body]


def _move(bound: Bound) -> Body:
    """`mov` of a special register, of a variable's address, or of registers and numbers."""
    by_word = {"sreg": special_registers, "name": named_variable}
    return by_word.get(bound.form.operands[-1], plain)(bound)


def _store(bound: Bound) -> Body:
    return (store_param if bound.words.get("space") == "param" else store)(bound)


TEMPLATES: Final[dict[str, Template]] = {
    "activemask": active,
    "addc": carry,
    "atom": atomic,
    "bar": barrier,
    "barrier": barrier,
    "bra": branch,
    "brx": indexed_branch,
    "call": call,
    "cp": async_copy,
    "cvta": cvta,
    "elect": elect,
    "exit": end,
    "fence": fence,
    "griddepcontrol": fence,
    "isspacep": isspacep,
    "ld": load,
    "ldu": load,
    "madc": carry,
    "match": one_value,
    "membar": fence,
    "mov": _move,
    "red": atomic,
    "redux": one_value,
    "ret": end,
    "shfl": shuffle,
    "st": _store,
    "subc": carry,
    "vote": vote,
}

_HINT: Final = "it is a hint, which leaves no trace in memory or registers"

UNTESTABLE: Final[dict[str, str]] = {
    "applypriority": _HINT,
    "createpolicy": "what a policy looks like is not defined",
    "discard": "what it discards has no defined value",
    "nanosleep": _HINT,
    "pmevent": _HINT,
    "prefetch": _HINT,
    "prefetchu": _HINT,
    "trap": "it ends the launch with an error, so there is no result to compare",
}


def template_of(bound: Bound) -> Template:
    """The template of a form."""
    if "cc" in bound.words:
        return carry
    return TEMPLATES.get(bound.form.opcode, plain)


def untestable(bound: Bound) -> str | None:
    """Why a form has no test; None where it has one."""
    return UNTESTABLE.get(bound.form.opcode)

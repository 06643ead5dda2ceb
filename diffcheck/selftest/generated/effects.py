"""What an instruction reads, writes and does besides: the facts that proofs of equivalence rest on.

Where a form is not known here, the answer is the cautious one: it has an effect, and it may not be moved or left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from diffcheck.selftest.generated.ptx_text import Kernel, Statement, words_of

# Opcodes whose only effect is the value that they leave in their first operand, for the lane that executes them.
PURE = frozenset(
    (
        "abs", "add", "and", "bfe", "bfi", "brev", "clz", "cvt", "cvta", "div", "fma", "lop3", "mad", "max", "min",
        "mov", "mul", "neg", "not", "or", "popc", "prmt", "rem", "selp", "set", "setp", "shf", "shl", "shr", "slct",
        "sub", "xor",
    )
)  # fmt: skip
# They write no register: every operand is read.
NO_RESULT = frozenset(
    (
        "st", "red", "bra", "ret", "exit", "bar", "barrier", "membar", "fence", "cp", "trap", "call", "prefetch",
        "brkpt", "griddepcontrol",
    )
)  # fmt: skip
CONTROL = frozenset(("bra", "ret", "exit", "trap", "call", "brx"))
# They need other lanes to take part, or wait for others: their place among other instructions of the kind matters.
COLLECTIVE = frozenset(("bar", "barrier", "shfl", "vote", "match", "redux", "activemask", "membar", "fence"))


@dataclass(frozen=True)
class Effects:
    """What one statement does: the registers that it reads and writes, and whether it does anything else.

    `sure` says that it overwrites what it writes whenever it is reached: it has no guard. `memory` is what it does to
    memory: `""`, `"read"` or `"write"` (anything that other threads may see, copies in the background included).
    """

    reads: frozenset[str]
    writes: frozenset[str]
    sure: bool
    memory: str
    collective: bool
    control: bool

    @property
    def pure(self) -> bool:
        """Whether its only effect is its result."""
        return not (self.memory or self.collective or self.control)


def effects_of(kernel: Kernel, statement: Statement) -> Effects:
    """Return what a statement does."""
    reads = set(_registers(kernel, statement, statement.operands[has_result(statement) :]))
    writes = set(_registers(kernel, statement, statement.operands[: has_result(statement)]))
    if statement.guard:
        reads |= set(_registers(kernel, statement, (statement.guard,)))
    return Effects(
        reads=frozenset(reads),
        writes=frozenset(writes),
        sure=statement.guard is None,
        memory=_memory(statement),
        collective=statement.opcode in COLLECTIVE,
        control=statement.opcode in CONTROL,
    )


def has_result(statement: Statement) -> bool:
    """Tell whether the first operand is what the statement writes."""
    return statement.opcode not in NO_RESULT


def is_hint(statement: Statement) -> bool:
    """Tell whether the statement moves only when things happen: no thread, of this kernel or another, sees a result.

    A prefetch brings to the L2 what is read from memory all the same. A kernel that starts early as its predecessor
    lets it waits for the predecessor's end before it touches what that wrote (that wait is no hint).
    """
    return statement.opcode == "prefetch" or statement.mnemonic == "griddepcontrol.launch_dependents"


def constant_memory(statement: Statement) -> bool:
    """Tell whether the statement reads memory that nothing writes while a kernel runs: its parameters."""
    return statement.opcode == "ld" and "param" in statement.parts


def _memory(statement: Statement) -> str:
    if statement.opcode in PURE or statement.opcode in CONTROL or constant_memory(statement) or is_hint(statement):
        return ""
    if statement.opcode in COLLECTIVE:
        # What a barrier orders is memory; shuffles and votes exchange registers only.
        return "" if statement.opcode in ("shfl", "vote", "match", "redux", "activemask") else "write"
    return "read" if statement.opcode in ("ld", "ldu") else "write"


def _registers(kernel: Kernel, statement: Statement, operands: tuple[str, ...]) -> Iterator[str]:
    for operand in operands:
        for word in words_of(operand):
            name = kernel.register(statement.scope, word)
            if name is not None:
                yield name

"""An operation that is mistaken for one like it."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.operators.base import Change, become, operator
from diffcheck.selftest.generated.ptx_text import Statement

# From a mnemonic's beginning to those that it is mistaken for.
_SIBLINGS: dict[str, tuple[str, ...]] = {
    "add.": ("sub.",),
    "sub.": ("add.",),
    "min.": ("max.",),
    "max.": ("min.",),
    "max.f32": ("max.NaN.f32",),
    "and.": ("or.", "xor."),
    "or.": ("and.",),
    "xor.": ("and.",),
    "shl.b32": ("shr.u32",),
    "shl.b64": ("shr.u64",),
    "shr.u32": ("shl.b32",),
    "shr.s32": ("shl.b32",),
    "shr.u64": ("shl.b64",),
    "mul.lo.": ("mul.hi.",),
    "mad.lo.": ("mad.hi.",),
    "mul.rn.f32": ("add.rn.f32",),
    "add.rn.f32": ("mul.rn.f32",),
    "div.rn.f32": ("mul.rn.f32",),
    "vote.sync.any": ("vote.sync.all",),
    "vote.sync.all": ("vote.sync.any",),
}
_FLOAT = ("fma", "mul", "add", "sub", "div", "max")


@operator("opcode", "an operation is another one of the same shape")
def _opcode(_flow: Flow, statement: Statement) -> Iterator[Change]:
    for beginning, others in _SIBLINGS.items():
        if statement.mnemonic.startswith(beginning):
            for other in others:
                mnemonic = other + statement.mnemonic[len(beginning) :]
                yield become(statement, f"{statement.mnemonic} -> {mnemonic}", statement.written(mnemonic=mnemonic))
    if statement.mnemonic == "neg.f32":
        yield become(statement, "neg.f32 -> mov.b32", statement.written(mnemonic="mov.b32"))
    if statement.mnemonic == "fma.rn.f32":
        yield become(statement, "fma.rn.f32 -> mul.rn.f32", _without_addend(statement))


@operator("negate", "an operand of a floating-point operation has the other sign")
def _negate(flow: Flow, statement: Statement) -> Iterator[Change]:
    if statement.opcode not in _FLOAT or statement.parts[-1] != "f32":
        return
    for at in range(1, len(statement.operands)):
        operand = statement.operands[at]
        if flow.kernel.type_of(statement.scope, operand) in ("f32", "b32"):
            negated = f"neg.f32 %mutant, {operand};"
            text = f"{{ .reg .f32 %mutant; {negated} {statement.with_operand(at, '%mutant')} }}"
            yield become(statement, f"operand {at}", text)


@operator("unfuse", "a product is rounded before it is added")
def _unfuse(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if statement.mnemonic == "fma.rn.f32" and statement.operands[3] != "0f00000000":
        # Adding 0 rounds nothing.
        d, a, b, c = statement.operands
        product = f"mul.rn.f32 %mutant, {a}, {b};"
        text = f"{{ .reg .f32 %mutant; {product} {statement.prefix}add.rn.f32 {d}, %mutant, {c}; }}"
        yield become(statement, statement.mnemonic, text)


def _without_addend(statement: Statement) -> str:
    return statement.written(mnemonic="mul.rn.f32", operands=statement.operands[:3])

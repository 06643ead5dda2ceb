"""Other registers that hold the same."""

from __future__ import annotations

from diffcheck.selftest.generated.equivalence.base import rule
from diffcheck.selftest.generated.lanes import lanes_of
from diffcheck.selftest.generated.population import GeneratedMutant
from diffcheck.selftest.generated.ptx_text import reread, without_words, words_of


@rule("same value")
def same_value(mutant: GeneratedMutant) -> bool:
    """An operand is another register, which holds the same bits in every lane.

    `diffcheck.selftest.generated.lanes` proves it: both were computed by the same operations from the same operands,
    and since neither of them was written.
    """
    statement, changed = mutant.statement, reread(mutant.statement, mutant.change.text)
    if mutant.operator.name != "register" or changed is None:
        return False
    if (changed.prefix, changed.mnemonic) != (statement.prefix, statement.mnemonic):
        return False
    if list(map(without_words, changed.operands)) != list(map(without_words, statement.operands)):
        return False
    lanes = lanes_of(mutant.subject.flow)
    words = (tuple(word for operand in made.operands for word in words_of(operand)) for made in (statement, changed))
    return all(old == new or lanes.alike(statement, old, new) for old, new in zip(*words, strict=True))

"""The forms under test: every way to fill the slots of a table entry, or a pairwise cover where there are too many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, product

from diffcheck.opcodes.legal import is_legal
from py_builder_kernel.ptx.table import Bound, Form, forms

# Up to here a form is tested in every combination of its words; above, each pair of words of two slots meets once.
FULL_PRODUCT = 128

Words = tuple[str | None, ...]


@cache
def all_bound() -> tuple[Bound, ...]:
    """Every form under test with its words, in the order of the table, none twice."""
    seen: set[tuple[str, tuple[str, ...]]] = set()
    found = []
    for entries in forms().values():
        for form in entries:
            for bound in bind_words(form):
                key = (bound.mnemonic, form.operands)
                if key not in seen:
                    seen.add(key)
                    found.append(bound)
    return tuple(found)


def bind_words(form: Form) -> list[Bound]:
    """The legal combinations of a form's words that are tested."""
    legal = legal_words(form)
    return legal if len(legal) <= FULL_PRODUCT else pairwise(form, legal)


def legal_words(form: Form) -> list[Bound]:
    """Every legal combination of a form's words."""
    return [bound for words in product(*_choices(form)) if is_legal(bound := _bound(form, words))]


def pairwise(form: Form, legal: Sequence[Bound]) -> list[Bound]:
    """A subset of `legal` in which every pair of words of two slots appears that appears in `legal`.

    Greedy: the combination with the most pairs that are still missing, the first of equals; so it is reproducible.
    """
    names = [slot.name for slot in form.slots]
    pairs = [_pairs(names, bound.words) for bound in legal]
    missing = frozenset().union(*pairs)
    chosen = []
    while missing:
        best = max(range(len(legal)), key=lambda index: len(pairs[index] & missing))
        chosen.append(best)
        missing -= pairs[best]
    return [legal[index] for index in sorted(chosen)]


def _choices(form: Form) -> list[tuple[str | None, ...]]:
    return [(*slot.of, None) if slot.optional else slot.of for slot in form.slots]


def _bound(form: Form, words: Words) -> Bound:
    mnemonic = ".".join([form.opcode, *(word for word in words if word is not None)])
    filled = {slot.name: word for slot, word in zip(form.slots, words, strict=True) if word is not None}
    return Bound(mnemonic, form, filled)


def _pairs(names: Sequence[str], words: Mapping[str, str]) -> frozenset[tuple[tuple[str, str], tuple[str, str]]]:
    filled = [(name, words.get(name, "")) for name in names]
    return frozenset(combinations(filled, 2))

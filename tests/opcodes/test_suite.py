"""The suite's files and values, and the machine against them."""

from __future__ import annotations

from itertools import combinations

from diffcheck.opcodes.forms import all_bound, bind_words, legal_words
from diffcheck.opcodes.hold import hold
from diffcheck.opcodes.probe import all_probes
from diffcheck.opcodes.templates import UNTESTABLE
from diffcheck.opcodes.tree import stale_files
from py_builder_kernel.ptx.table import Bound, forms


def test_the_files_are_what_the_table_gives() -> None:
    assert not stale_files()


def test_the_machine_gives_the_values() -> None:
    assert not hold(all_probes()).lines


def _pairs(bound: Bound) -> set[tuple[tuple[str, str], ...]]:
    filled = [(slot.name, bound.words.get(slot.name, "")) for slot in bound.form.slots]
    return set(combinations(filled, 2)) | {(word,) for word in filled}


def test_every_word_and_every_pair_of_words_is_tested() -> None:
    for entries in forms().values():
        for form in entries:
            legal = legal_words(form)
            assert legal, form
            tested = set().union(*(_pairs(bound) for bound in bind_words(form)))
            assert tested == set().union(*(_pairs(bound) for bound in legal)), form.opcode


def test_a_form_of_the_table_is_tested_once() -> None:
    mnemonics = [(bound.mnemonic, bound.form.operands) for bound in all_bound()]
    assert len(set(mnemonics)) == len(mnemonics)
    assert {bound.form.opcode for bound in all_bound()} == set(forms())


def test_the_list_of_what_cannot_be_tested_is_closed() -> None:
    assert set(UNTESTABLE) == {"trap"}
    assert set(UNTESTABLE) <= set(forms())

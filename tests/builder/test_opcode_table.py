"""The opcode table as data: every entry is well formed, and means one thing."""

from __future__ import annotations

import itertools

import pytest

from py_builder_kernel.ptx.dtype import DTYPES
from py_builder_kernel.ptx.operand_words import OPERAND_WORDS
from py_builder_kernel.ptx.table import Form, forms

FORMS = [form for entries in forms().values() for form in entries]


def name(form: Form) -> str:
    return ".".join([form.opcode, *(s.name for s in form.slots), str(len(form.operands))])


@pytest.mark.parametrize("form", FORMS, ids=name)
def test_operand_words_are_known_and_their_types_exist(form: Form) -> None:
    slots = {slot.name: slot for slot in form.slots}
    assert len(slots) == len(form.slots)
    for word in form.operands:
        kind, _, of = word.strip("|?").partition(":")
        assert kind in OPERAND_WORDS
        if kind == "addr":
            assert of in ("space", "param", "global", "shared", "const", "local")
            assert of != "space" or "space" in slots
        elif of == "wide":
            assert "type" in slots
        elif of:
            assert of in DTYPES or set(slots[of].of) <= set(DTYPES)
    for kind in ("outvec", "invec"):
        assert not any(word.startswith(kind) for word in form.operands) or "vec" in slots


@pytest.mark.parametrize("form", FORMS, ids=name)
def test_needs_name_words_of_the_form_and_ask_for_more_than_it(form: Form) -> None:
    slots = {slot.name: slot for slot in form.slots}
    for need in form.need:
        assert need.word in slots[need.slot].of
        assert need.ptx >= form.ptx
        assert need.sm >= form.sm


def test_no_two_entries_of_an_opcode_are_the_same() -> None:
    for entries in forms().values():
        for a, b in itertools.combinations(entries, 2):
            assert (a.slots, a.operands) != (b.slots, b.operands)


def test_f32_arithmetic_that_may_be_fused_or_approximated_is_refused_with_a_reason() -> None:
    refused = {form.opcode for form in FORMS if form.refused}
    assert {"add", "sub", "mul", "div", "sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos"} <= refused
    assert all(form.refused is None or form.refused.strip() for form in FORMS)

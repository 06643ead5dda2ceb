"""The opcode table as data: every entry is well formed, and means one thing."""

from __future__ import annotations

import itertools

import pytest

from py_builder_kernel.ptx.dtype import DTYPES
from py_builder_kernel.ptx.errors import PtxBuildError
from py_builder_kernel.ptx.operand_words import OPERAND_WORDS
from py_builder_kernel.ptx.table import Form, forms, read_forms

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
            assert of in ("space", "generic", "param", "global", "shared", "const", "local")
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


ENTRY = """schema = 1
[[op]]
opcode = "fma"
slots = [{ name = "rnd", of = ["rn"] }, { name = "type", of = ["f32"] }]
operands = ["out:type"]
ptx = "2.0"
sm = 20
strict = "refuse"
why = "a reason"
need = [{ slot = "type", word = "f32", ptx = "8.6", sm = 100 }]
"""


def test_a_table_is_read_from_its_text() -> None:
    ((form,),) = read_forms(ENTRY, "table").values()
    assert (form.opcode, form.sm, form.refused, form.need[0].sm) == ("fma", 20, "a reason", 100)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("strict =", "strct =", "table, [[op]] number 1 (fma): key 'strct' is not allowed, allowed: opcode, slots, "),
        ('of = ["rn"]', 'of = ["rn"], optionl = true', "(fma), slots: key 'optionl' is not allowed, allowed: name, of"),
        ("word =", "wrd =", "(fma), need: key 'wrd' is not allowed, allowed: slot, word, ptx, sm"),
        ("sm = 20", "", "(fma): key 'sm' is missing"),
        ('"refuse"', '"refused"', "(fma): strict is 'refused', allowed: 'refuse'"),
        ('why = "a reason"', "", "(fma): strict is 'refuse', allowed: 'refuse', with a why"),
        ("schema = 1", "schema = 2", "table: schema is 2, allowed: 1"),
        ("schema = 1", "scheme = 1", "table: key 'scheme' is not allowed, allowed: schema, op"),
        ("sm = 20", "sm = ", "table: Invalid value"),
    ],
)
def test_a_table_with_a_wrong_key_is_refused_in_one_line(old: str, new: str, message: str) -> None:
    assert old in ENTRY
    with pytest.raises(PtxBuildError) as caught:
        read_forms(ENTRY.replace(old, new, 1), "table")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)

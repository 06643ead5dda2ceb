"""The suite's files and values, and the machine against them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from diffcheck.cli.main import run
from diffcheck.opcodes import derive, hold, tree
from diffcheck.opcodes.executors import MachineProbes
from diffcheck.opcodes.forms import all_bound, bind_words, legal_words
from diffcheck.opcodes.measure import drop_stale, select
from diffcheck.opcodes.probe import Probe, all_probes
from diffcheck.opcodes.templates import UNTESTABLE
from diffcheck.opcodes.tree import stale_files
from py_builder_kernel.ptx.table import Bound, forms


def test_the_files_are_what_the_table_and_the_definitions_give() -> None:
    assert not stale_files()
    assert not drop_stale(check=True)
    assert not derive.is_stale()


def test_machine_values_and_definitions_agree() -> None:
    found = hold.hold(all_probes())
    assert not found.lines
    assert found.counts["measured"] > 4500
    assert found.counts["derived"] >= 52
    assert set(found.counts) <= {"measured", "derived", "bounded", "unmeasured"}
    # An approximation has a bound in the place of a definition.
    assert found.defined + found.counts["bounded"] == len(all_probes())


def test_the_command_fails_where_they_differ(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("diffcheck.opcodes.commands.stale_files", list)
    assert run(["opcodes", "run", "--only", "fma.rn.f16"]) == 0
    assert "1 have a definition" in capsys.readouterr().out
    held = hold.Held(lines=["fma.rn.f16 row 0 differs"])
    monkeypatch.setattr("diffcheck.opcodes.commands.hold", lambda _probes: held)
    assert run(["opcodes", "run"]) == 1
    assert "fma.rn.f16 row 0 differs" in capsys.readouterr().out


# A measured form, a derived one, and one that is only bounded.
FORMS = ("fma.rn.f16", "fma.rn.f32x2", "rsqrt.approx.f32")


@pytest.mark.parametrize("name", FORMS)
def test_a_machine_with_other_bits_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    sound = MachineProbes.run

    def other(self: MachineProbes, probe: Probe, siblings: tuple[Probe, ...]) -> bytes:
        memory = bytearray(sound(self, probe, siblings))
        # The highest byte of the first result, which is no NaN, as that one bound holds for all of them.
        memory[probe.outputs.stride - 1] ^= 0x40
        return bytes(memory)

    monkeypatch.setattr(MachineProbes, "run", other)
    (line,) = hold.hold(select(name)).lines
    assert line.startswith(f"{name} row 0 ")


@pytest.mark.parametrize("name", [FORMS[0], FORMS[2]])
def test_a_value_that_the_definition_does_not_give_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    measured, derived = hold.load_values()
    value = measured.forms[name]
    data = bytearray(value.data)
    data[3] ^= 0x40
    measured.forms[name] = type(value)(value.digest, value.run, value.status, bytes(data))
    monkeypatch.setattr(hold, "load_values", lambda: (measured, derived))
    assert any(line.startswith("the measured value is not the definition's") for line in hold.hold(select(name)).lines)


def test_a_value_of_another_form_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, derived = hold.load_values()
    value = measured.forms["add.u32"]
    measured.forms["add.u32"] = type(value)("0" * 16, value.run, value.status, value.data)
    monkeypatch.setattr(hold, "load_values", lambda: (measured, derived))
    found = hold.hold(select("add.u32"))
    assert found.counts == {"stale": 1}
    assert found.lines


def test_without_measured_values_nothing_is_derived(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tree, "suite_folder", lambda: tmp_path)
    assert not derive.derived_values().forms


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
    hints = {"applypriority", "nanosleep", "pmevent", "prefetch", "prefetchu"}
    assert set(UNTESTABLE) == {*hints, "createpolicy", "discard", "trap"}
    assert set(UNTESTABLE) <= set(forms())

"""The kinds of mutants that are equivalent in writing: none is stale, and each says all that it must."""

from __future__ import annotations

import pytest

from diffcheck.errors import BadInputError
from diffcheck.selftest.generated.justified import (
    COUNTED_FOR,
    justification_of,
    justifications,
    parse_justifications,
    population_of,
)
from diffcheck.selftest.generated.operators import select_operators
from diffcheck.selftest.generated.population import made, subjects

KIND = """
[[kind]]
name = "a kind"
operators = ["drop"]
arms = ["builder"]
kernels = "splitk_reduce_*"
line = 'bar\\.sync 0;'
count = 1
because = "a reason"
"""


@pytest.mark.parametrize("entry", justifications(), ids=lambda entry: entry.name)
def test_a_kind_has_the_mutants_that_it_says(entry: object) -> None:
    (kind,) = (each for each in justifications() if each is entry)
    count = sum(1 for _ in population_of(kind))
    assert count == kind.count, f"{kind.name}: {count} mutants for {COUNTED_FOR}; look at them, then correct the count"
    assert len(kind.because) > 60


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('operators = ["drop"]', 'operators = ["dorp"]', "operator: 'dorp'"),
        ('operators = ["drop"]', 'operators = "drop"', "a kind: operators"),
        ('arms = ["builder"]', 'arms = ["naive"]', "a kind: arms: 'naive'"),
        ("count = 1", "count = 0", "a kind: count: 0"),
        ('because = "a reason"', "", "no because"),
        ("count = 1", 'count = 1\ncuont = "2"', "'cuont' is not allowed"),
        ("[[kind]]", f"{KIND}\n[[kind]]", "a name that no other kind has"),
    ],
)
def test_an_entry_that_is_not_whole_is_refused(old: str, new: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        parse_justifications(KIND.replace(old, new, 1))


def test_surroundings_and_change_decide() -> None:
    (subject,) = subjects(("builder",), "sm_90", ["splitk_reduce_*"])
    (operator,) = select_operators(["barrier-dropped"])
    (mutant,) = (each for each in made(subject, operator) if each.line_text == "bar.sync 0;")
    text = KIND.replace('"drop"', '"barrier-dropped"')
    for more, fits in (
        ("", True),
        ("change = 'nothing$'", True),
        ("change = 'something'", False),
        (r"before = '@%p\d+ st\.shared\.f32 [^\n]*;$'", True),
        (r"before = '^bar'", False),
        (r"behind = '^setp\.ne\.u32'", True),
        (r"behind = '^bra'", False),
    ):
        (kind,) = parse_justifications(f"{text}\n{more}\n")
        assert kind.fits(mutant) is fits, more
    assert justification_of(mutant) is None

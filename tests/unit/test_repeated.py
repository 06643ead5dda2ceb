"""The first of what is there more than once."""

from __future__ import annotations

from diffcheck.repeated import first_repeated


def test_the_first_that_is_there_again_is_named() -> None:
    assert first_repeated(["a", "b", "c", "b", "a"]) == "a"
    assert first_repeated(iter([(1, "x"), (0, ""), (0, "")])) == (0, "")


def test_where_each_is_there_once_nothing_is() -> None:
    assert first_repeated([0, 1, 2]) is None
    assert first_repeated([]) is None


def test_what_is_false_is_found_too() -> None:
    assert first_repeated([1, 0, 0]) == 0

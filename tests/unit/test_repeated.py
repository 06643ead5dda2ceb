"""The first of what is there more than once."""

from __future__ import annotations

import pytest

from diffcheck.repeated import first_repeated, require_once


def test_the_first_that_is_there_again_is_named() -> None:
    assert first_repeated(["a", "b", "c", "b", "a"]) == "a"
    assert first_repeated(iter([(1, "x"), (0, ""), (0, "")])) == (0, "")


def test_where_each_is_there_once_nothing_is() -> None:
    assert first_repeated([0, 1, 2]) is None
    assert first_repeated([]) is None


def test_what_is_false_is_found_too() -> None:
    assert first_repeated([1, 0, 0]) == 0


def test_the_error_says_of_what_there_are_two() -> None:
    require_once("peers", ["a", "b"])
    with pytest.raises(ValueError, match=r"^peers: 0 is there twice$"):
        require_once("peers", iter([0, 1, 0]))

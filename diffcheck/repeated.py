"""What is there more than once where it may be there once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

_T = TypeVar("_T", bound=Hashable)


def first_repeated(items: Iterable[_T]) -> _T | None:
    """Return the first item that is there more than once; None where each is there once."""
    return next((item for item, count in Counter(items).items() if count > 1), None)


def require_once(what: str, items: Iterable[Hashable]) -> None:
    """Raise `ValueError`, naming `what`, for the first item that is there more than once."""
    twice = first_repeated(items)
    if twice is not None:
        raise ValueError(f"{what}: {twice} is there twice")

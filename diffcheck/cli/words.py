"""Lists that a user writes with commas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from diffcheck.errors import BadInputError, choose

if TYPE_CHECKING:
    from diffcheck.arms import DeviceArm
    from diffcheck.cases import Case


def words_of(text: str) -> tuple[str, ...]:
    """Return the words between commas, each once."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def numbers_of(field: str, text: str) -> tuple[int, ...]:
    """Return whole numbers from 1, each once. Raises `BadInputError` for anything else, and for none."""
    words = words_of(text)
    if not words or not all(re.fullmatch(r"[1-9]\d{0,8}", word) for word in words):
        raise BadInputError(field, text, "whole numbers from 1, with commas between")
    return tuple(int(word) for word in words)


def heads_of(word: str) -> tuple[int, int]:
    """Return query heads and KV heads, written `16:4`. Raises `BadInputError`."""
    found = re.fullmatch(r"([1-9]\d{0,4}):([1-9]\d{0,4})", word)
    if found is None or int(found[1]) % int(found[2]):
        raise BadInputError("heads", word, "query heads, a colon and KV heads that divide them, such as 16:4")
    return int(found[1]), int(found[2])


def cases_of(heads: str, storages: str, kv_lens: str) -> tuple[Case, ...]:
    """Return a dense case of random values for each storage, heads and length. Raises `BadInputError`."""
    from diffcheck import suites
    from diffcheck.cases import STORAGES

    chosen = [choose("storages", storage, STORAGES) for storage in words_of(storages) or (storages,)]
    pairs = [heads_of(word) for word in words_of(heads) or (heads,)]
    return tuple(
        suites.case("random", pair, kv_len, storage, suites=())
        for storage in STORAGES
        if storage in chosen
        for pair in pairs
        for kv_len in numbers_of("kv-lens", kv_lens)
    )


def exact_arms_of(arms: str) -> tuple[DeviceArm, ...]:
    """Return the arms. Raises `BadInputError` for one that does not exist or need not have the reference's bits."""
    from diffcheck.arms import select_arms
    from diffcheck.timing.run import require_exact

    chosen = select_arms(words_of(arms))
    for arm in chosen:
        require_exact([arm])
    return chosen

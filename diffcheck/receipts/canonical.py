"""Canonical JSON, and the content digest that stands in a file: an edit without a new digest shows.

The digest proves no origin: whoever edits a file can compute another.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from diffcheck import digest
from diffcheck.repeated import first_repeated

DIGEST_KEY = "digest"
_LINE = 118


# Half of a pair in UTF-16: as an escape it is JSON, and no UTF-8 has it.
_LONE = re.compile("[\ud800-\udfff]")


class NotCanonicalError(ValueError):
    """A text is no JSON of the kind that is digested: a key twice, or a number or character that is none."""


def canonical(content: Any) -> str:
    """Return the one JSON text of a value: keys sorted, no spaces, no escapes but those that JSON needs.

    Raises `ValueError` for NaN and infinities, which JSON has not.
    """
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_digest(content: dict[str, Any]) -> str:
    """Return the SHA-256 (hex) of the canonical JSON of everything but the digest itself."""
    return digest.of_text(canonical({key: value for key, value in content.items() if key != DIGEST_KEY}))


def parse(text: str) -> Any:
    """Parse JSON strictly.

    Raises `NotCanonicalError` for a key that is there twice, for NaN and infinities, and for half a character, and
    `RecursionError` for what is nested so deeply that it could not be written again.
    """
    made = json.loads(
        text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite, parse_int=_parse_int
    )
    if "\\ud" in text.lower() and _LONE.search(canonical(made)):
        raise NotCanonicalError("a character is half of a pair")
    return made


def layout(content: Any, indent: str = "") -> str:
    """Return JSON text for people: what fits a line stands on one, everything else is broken up."""
    line = json.dumps(content, ensure_ascii=False, allow_nan=False)
    if len(indent) + len(line) <= _LINE or not isinstance(content, dict | list) or not content:
        return line
    inner = indent + " "
    if isinstance(content, dict):
        items = [f"{json.dumps(key, ensure_ascii=False)}: {layout(value, inner)}" for key, value in content.items()]
        return "{\n" + ",\n".join(inner + item for item in items) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + layout(value, inner) for value in content) + f"\n{indent}]"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = first_repeated(name for name, _ in pairs)
        raise NotCanonicalError(f"the key {twice!r} is there twice")
    return made


def _no_constant(word: str) -> Any:
    raise NotCanonicalError(f"{word} is no JSON number")


def _finite(word: str) -> float:
    value = float(word)
    if math.isinf(value):
        raise NotCanonicalError(f"{word} is too large a number")
    return value


def _parse_int(word: str) -> int:
    # Longer ones are no number of ours, and would make Python's own limit speak.
    if len(word) > 40:
        raise NotCanonicalError(f"{word[:12]}... is too large a number")
    return int(word)

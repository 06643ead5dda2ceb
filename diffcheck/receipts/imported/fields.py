"""Reading single fields of a foreign file, each refused by its own name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from diffcheck.errors import BadInputError

Json = Mapping[str, Any]


class Reader:
    """A JSON object whose fields are asked for by name; knows which were never asked for."""

    def __init__(self, content: Any, where: str) -> None:
        if not isinstance(content, dict):
            raise BadInputError(where, content, "a JSON object")
        self._content: Json = content
        self._where = where
        self._asked: set[str] = set()

    def text(self, name: str) -> str | None:
        """Return a text, or None where it is absent, null or empty."""
        value = self._get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            raise self._wrong(name, value, "a text")
        return value

    def whole(self, name: str) -> int | None:
        """Return a whole number >= 0."""
        value = self._get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(name, value, "a whole number >= 0")
        return value

    def number(self, name: str, *, positive: bool = False) -> float | None:
        """Return a finite number, above 0 where `positive`."""
        value = self._get(name)
        if value is None:
            return None
        # Compared so that a NaN is refused.
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self._wrong(name, value, "a finite number")
        if positive and not value > 0:
            raise self._wrong(name, value, "a number above 0")
        return float(value)

    def flag(self, name: str) -> bool | None:
        """Return a yes or no."""
        value = self._get(name)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(name, value, "true or false")
        return value

    def words(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; none where it is absent."""
        value = self._get(name) or []
        if not isinstance(value, list) or not all(isinstance(word, str) and word for word in value):
            raise self._wrong(name, value, "a list of texts")
        return tuple(value)

    def objects(self, name: str) -> list[Reader]:
        """Return a list of objects, which must not be empty."""
        value = self._get(name)
        if not isinstance(value, list) or not value:
            raise self._wrong(name, value, "a list that is not empty")
        return [Reader(one, f"{self._where}, {name}.{index}") for index, one in enumerate(value)]

    def part(self, name: str) -> Reader:
        """Return an object; an empty one where it is absent."""
        return Reader(self._get(name) or {}, f"{self._where}, {name}")

    def storage(self, name: str) -> Literal["f32", "f16"] | None:
        """Return a storage of K and V."""
        value = self.text(name)
        if value == "f32":
            return "f32"
        if value == "f16":
            return "f16"
        if value is None:
            return None
        raise self._wrong(name, value, "f32, f16")

    def passed(self, name: str) -> bool | None:
        """Return whether a text says PASS; anything else than PASS and FAIL is refused."""
        value = self.text(name)
        if value is None:
            return None
        if value not in {"PASS", "FAIL"}:
            raise self._wrong(name, value, "PASS, FAIL")
        return value == "PASS"

    def arch(self, name: str) -> str | None:
        """Return an architecture, written `sm_89` or `8.9`."""
        value = self.text(name)
        if value is None:
            return None
        digits = value.removeprefix("sm_").replace(".", "", 1)
        if not (digits.isascii() and digits.isdecimal()) or not 2 <= len(digits) <= 3:
            raise self._wrong(name, value, "an architecture such as sm_89 or 8.9")
        return f"sm_{digits}"

    def states(self, name: str) -> bool:
        """Return whether a field is there and not null, whatever it says."""
        return self._get(name) is not None

    def take(self, *names: str) -> None:
        """Say of fields that they are understood and kept in the raw content only."""
        self._asked.update(names)

    def leftovers(self) -> list[str]:
        """Return the fields that were never asked for."""
        return [name for name in self._content if name not in self._asked]

    def _get(self, name: str) -> Any:
        self._asked.add(name)
        return self._content.get(name)

    def _wrong(self, name: str, value: object, allowed: str) -> BadInputError:
        return BadInputError(f"{self._where}, {name}", value, allowed)

"""Edits of PTX text: find the place by entry and phase, change it, and refuse when it is not there.

A kernel's text is divided by the comments `// phase: NAME` that its author left; an edit names the phase and a pattern
in it, so that it still finds its place when registers are renumbered or other phases change.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from diffcheck.selftest.base import StaleMutantError

Edit = Callable[[str], str]


@dataclass(frozen=True)
class Place:
    """A phase of the kernels whose entry name starts with `entry`; `occurrence` counts from 0, -1 is the last."""

    entry: str
    phase: str
    occurrence: int = 0

    def __str__(self) -> str:
        return f"phase {self.phase!r} of {self.entry}*"

    def span(self, text: str) -> tuple[int, int]:
        """Return where the phase begins and ends in a module's text. Raises `StaleMutantError` without it."""
        entry = re.search(rf"\.entry {re.escape(self.entry)}\w*\(", text)
        if entry is None:
            raise StaleMutantError(f"no kernel {self.entry}* to change")
        end = text.find("\n}", entry.end())
        found = list(re.finditer(rf"// phase: {re.escape(self.phase)}\n", text[entry.end() : end]))
        try:
            first = entry.end() + found[self.occurrence].end()
        except IndexError:
            raise StaleMutantError(f"no {self} (occurrence {self.occurrence})") from None
        following = text.find("// phase: ", first, end)
        return first, end if following < 0 else following


def within(place: Place, change: Edit) -> Edit:
    """Return the edit that applies `change` to one phase."""

    def edit(text: str) -> str:
        first, end = place.span(text)
        return text[:first] + change(text[first:end]) + text[end:]

    return edit


def substitute(pattern: str, replacement: str | Callable[[re.Match[str]], str], count: int = 1) -> Edit:
    """Return the edit that replaces the first `count` matches of a pattern (0: all of them).

    It raises `StaleMutantError` when there are fewer, or when nothing changes.
    """

    def edit(text: str) -> str:
        changed, times = re.subn(pattern, replacement, text, count=count, flags=re.MULTILINE)
        if times == 0 or times < count or changed == text:
            raise StaleMutantError(f"pattern {pattern!r} no longer matches as it must")
        return changed

    return edit


def unfuse(match: re.Match[str]) -> str:
    """Replace `fma.rn.f32 d, a, b, c` by a rounded product and a rounded sum."""
    d, a, b, c = match["d"], match["a"], match["b"], match["c"]
    guard = match["guard"] or ""
    product = f"{guard}mul.rn.f32 %mutant_f, {a}, {b};"
    return f"    .reg .f32 %mutant_f;\n    {product}\n    {guard}add.rn.f32 {d}, %mutant_f, {c};"


FMA = r"^ *(?P<guard>@!?%p\d+ )?fma\.rn\.f32 (?P<d>%f\d+), (?P<a>[%\w]+), (?P<b>[%\w]+), (?P<c>[%\w]+);"

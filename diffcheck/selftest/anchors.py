"""Places in PTX that a compiler wrote: there are no comments to go by, only instructions and how they hang together.

Registers are numbered anew by every build, so an edit names no register: it goes from barriers, stores and the only
division or waits of a kernel, and follows definitions from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from diffcheck.selftest.base import StaleMutantError
from diffcheck.selftest.edit import Edit

# Four registers, so no term of a polynomial, whose coefficients are constants, and no first sum with +0.
REGISTER_FMA = re.compile(
    r"^[ \t]*fma\.rn\.f32[ \t]+(?P<d>%\w+), (?P<a>%\w+), (?P<b>%\w+), (?P<c>%\w+);\n", re.MULTILINE
)
REGISTER_ADD = re.compile(r"^[ \t]*add\.rn\.f32[ \t]+(?P<d>%\w+), (?P<a>%\w+), (?P<b>%\w+);\n", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """A part of the first kernel whose name starts with `entry`: from a pattern's match to another's.

    `first` and `end` are (pattern, occurrence), an occurrence below 0 counting from the last; None is the kernel's own
    begin or end. The matches themselves are left out.
    """

    entry: str
    first: tuple[str, int] | None = None
    end: tuple[str, int] | None = None

    def span(self, text: str) -> tuple[int, int]:
        """Return where the part begins and ends in a module's text. Raises `StaleMutantError` without it."""
        head = re.search(rf"\.entry {re.escape(self.entry)}\w*\(", text)
        if head is None:
            raise StaleMutantError(f"no kernel {self.entry}* to change")
        start, stop = head.start(), text.find("\n}", head.end())
        first = start if self.first is None else self._match(text, start, stop, self.first).end()
        end = stop if self.end is None else self._match(text, first, stop, self.end).start()
        return first, end

    def _match(self, text: str, start: int, stop: int, wanted: tuple[str, int]) -> re.Match[str]:
        pattern, occurrence = wanted
        found = list(re.compile(pattern, re.MULTILINE).finditer(text, start, stop))
        try:
            return found[occurrence]
        except IndexError:
            raise StaleMutantError(f"no {pattern!r} (occurrence {occurrence}) in {self.entry}*") from None


def inside(part: Part, change: Edit) -> Edit:
    """Return the edit that applies `change` to one part."""

    def edit(text: str) -> str:
        first, end = part.span(text)
        changed = change(text[first:end])
        if changed == text[first:end]:
            raise StaleMutantError(f"nothing changed in {part.entry}*")
        return text[:first] + changed + text[end:]

    return edit


def nth(pattern: re.Pattern[str], which: int, replacement: Callable[[re.Match[str]], str]) -> Edit:
    """Return the edit that replaces one match of a pattern, counted from 0 or, below 0, from the last."""

    def edit(text: str) -> str:
        found = list(pattern.finditer(text))
        try:
            chosen = found[which]
        except IndexError:
            raise StaleMutantError(f"no match number {which} of {pattern.pattern!r}") from None
        return text[: chosen.start()] + replacement(chosen) + text[chosen.end() :]

    return edit


def unfused(match: re.Match[str]) -> str:
    """Replace an FMA by a rounded product and a rounded sum."""
    product = f"mul.rn.f32 %mutant_f, {match['a']}, {match['b']};"
    return f"\t.reg .f32 %mutant_f;\n\t{product}\n\tadd.rn.f32 {match['d']}, %mutant_f, {match['c']};\n"


def exchange_links(link: re.Pattern[str], which: int, summand: str) -> Edit:
    """Return the edit that exchanges two neighbours of a chain of sums.

    `link` matches one sum into `d`, the group `summand` being the running sum that it takes. The chain is the longest
    one; `which` is the earlier neighbour, counted from 0.
    """

    def edit(text: str) -> str:
        links = list(link.finditer(text))
        chain = longest_chain(links, summand)
        if len(chain) < which + 2:
            raise StaleMutantError(f"the longest chain of {link.pattern!r} has {len(chain)} links")
        early, late = chain[which], chain[which + 1]
        # The later sum's operands may be made after the earlier one: both go where the later one is, in reverse order.
        moved = _with(late, summand, early[summand], late["d"]) + _with(early, summand, late["d"], late["d"])
        return text[: early.start()] + text[early.end() : late.start()] + moved + text[late.end() :]

    return edit


def longest_chain(links: list[re.Match[str]], summand: str) -> list[re.Match[str]]:
    """Return the longest sequence of sums in which each takes the one before it."""
    chains: dict[str, list[re.Match[str]]] = {}
    for link in links:
        chains[link["d"]] = [*chains.get(link[summand], []), link]
    return max(chains.values(), key=len, default=[])


def _with(link: re.Match[str], summand: str, running: str, result: str) -> str:
    operands = {name: value for name, value in link.groupdict().items() if name != "d"}
    operands[summand] = running
    opcode = link[0].split()[0]
    return f"\t{opcode} {result}, {', '.join(operands[name] for name in sorted(operands))};\n"

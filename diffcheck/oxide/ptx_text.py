"""PTX as LLVM writes it, taken apart into header, variables and entries; no instruction is looked at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from diffcheck.errors import DiffcheckError

_ENTRY = re.compile(
    r"^\.visible \.entry (?P<name>\w+)\(\n?(?P<params>[^)]*)\)\n(?P<directives>(?:\.[^\n]*\n)*)\{\n(?P<body>.*?)^\}\n?",
    re.MULTILINE | re.DOTALL,
)
_PARAM = re.compile(r"\.param\s+\.(?P<type>\w+)(?:\s+\.ptr)?(?:\s+\.align\s+\d+)?\s+\w+(?P<array>\[\d*\])?")
_VARIABLE = re.compile(r"(?:\.extern|\.visible)? ?\.(?:shared|global|const)\b.*?(?P<name>\w+)\[[^\]]*\]")
_COMMENT = re.compile(r"//[^\n]*")


class PtxTextError(DiffcheckError):
    """A text that is not what LLVM's NVPTX back end writes for kernels without functions."""


@dataclass(frozen=True)
class Entry:
    """One entry: the types of its parameters in order, the most threads of a block (None: not stated), its text."""

    name: str
    params: tuple[str, ...]
    max_threads: int | None
    text: str

    @property
    def instructions(self) -> str:
        """The entry's text without comments."""
        return _COMMENT.sub("", self.text)


@dataclass(frozen=True)
class ModuleText:
    """A module: PTX version and target as stated, declarations of module variables by name, entries by name."""

    version: tuple[int, int]
    target: str
    variables: dict[str, str]
    entries: dict[str, Entry]

    def only(self, names: Sequence[str]) -> str:
        """Return a module with these entries, each unaltered, and the variables that they name.

        Raises `PtxTextError` for an entry that is not there.
        """
        missing = [name for name in names if name not in self.entries]
        if missing:
            raise PtxTextError(f"no entry {missing[0]} in the PTX for {self.target}")
        texts = [self.entries[name].text for name in names]
        words = set(re.findall(r"\w+", "\n".join(texts)))
        used = [line for name, line in self.variables.items() if name in words]
        header = f".version {self.version[0]}.{self.version[1]}\n.target {self.target}\n.address_size 64\n"
        return "\n".join([header, *used, "", *texts])


def parse_module(text: str, name: str) -> ModuleText:
    """Take a module apart. Raises `PtxTextError`, which begins with `name`, for anything that has no place in it."""
    entries = [_entry(match) for match in _ENTRY.finditer(text)]
    outside = _COMMENT.sub("", _ENTRY.sub("", text))
    stated: dict[str, str] = {}
    variables: dict[str, str] = {}
    for line in filter(None, map(str.strip, outside.splitlines())):
        directive = re.fullmatch(r"\.(version|target|address_size)\s+(\S+)", line)
        variable = _VARIABLE.match(line)
        if directive:
            stated[directive[1]] = directive[2]
        elif variable:
            variables[variable["name"]] = line
        else:
            raise PtxTextError(f"{name}: {line[:80]!r} stands outside an entry; allowed: the header and variables")
    version = re.fullmatch(r"(\d+)\.(\d+)", stated.get("version", ""))
    if version is None or "target" not in stated or stated.get("address_size") != "64":
        raise PtxTextError(f"{name}: the header must state version, target and an address size of 64")
    return ModuleText(
        version=(int(version[1]), int(version[2])),
        target=stated["target"],
        variables=variables,
        entries={entry.name: entry for entry in entries},
    )


def _entry(match: re.Match[str]) -> Entry:
    params = tuple(f"{found['type']}{found['array'] or ''}" for found in _PARAM.finditer(match["params"]))
    threads = re.search(r"\.maxntid\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?", match["directives"])
    limit = None
    if threads:
        limit = int(threads[1]) * int(threads[2] or 1) * int(threads[3] or 1)
    return Entry(match["name"], params, limit, match[0])

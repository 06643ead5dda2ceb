"""Probes: forms made into kernels with rows, and the modules that hold them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from diffcheck.opcodes.fields import Bits, Layout
from diffcheck.opcodes.forms import all_bound
from diffcheck.opcodes.kernel import Body, entry_text, module_text
from diffcheck.opcodes.templates import template_of, untestable
from py_builder_kernel.ptx.table import Bound
from py_builder_kernel.ptx.target import version_text

# The first architecture that a probe is written for: the oldest one that this project supports, and its PTX version.
# Forms that need more get the first target that has them.
_TARGETS = (
    (80, (7, 0)),
    (86, (7, 1)),
    (89, (7, 8)),
    (90, (7, 8)),
    (100, (8, 6)),
    (103, (8, 8)),
    (120, (8, 7)),
    (121, (8, 8)),
)
# What output memory holds before a launch: a value that the kernel did not write is seen.
FILL = 0xA5


@dataclass(frozen=True, eq=False)
class Probe:
    """A form under test. `name` is its mnemonic, with `~words` behind it where the table has more of it."""

    name: str
    bound: Bound
    body: Body
    sm: int
    ptx: tuple[int, int]

    @property
    def opcode(self) -> str:
        """The mnemonic's first part."""
        return self.bound.form.opcode

    @property
    def entry(self) -> str:
        """The name of its kernel."""
        return "".join(letter if letter.isalnum() else "_" for letter in self.name)

    @property
    def group(self) -> str:
        """The file that holds it, without its suffix: one for each opcode and type, and for later architectures."""
        types = [self.bound.words[slot] for slot in ("type", "dtype", "atype") if slot in self.bound.words]
        later = [f"sm_{self.sm}"] if self.sm > _TARGETS[0][0] else []
        return f"{self.opcode}/{'.'.join([*types, *later]) or self.opcode}"

    @property
    def text(self) -> str:
        """The text of its kernel."""
        return entry_text(self.entry, self.name, self.body)

    @property
    def module(self) -> str:
        """A module that holds its kernel alone."""
        return module_text(version_text(self.ptx), f"sm_{self.sm}", [self.text])

    @cached_property
    def columns(self) -> dict[str, Bits]:
        """Its operands, by field."""
        return {name: np.asarray(column, np.uint64) for name, column in self.body.rows().items()}

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return max((len(column) for column in self.columns.values()), default=self.body.block)

    @property
    def inputs(self) -> bytes:
        """The input memory; never empty, as a kernel gets an address."""
        return Layout.of(self.body.inputs).pack(self.columns, self.rows).tobytes()

    @property
    def outputs(self) -> Layout:
        """How a row of results lies in memory."""
        return Layout.of(self.body.outputs)

    @property
    def digest(self) -> str:
        """What was run, in 16 digits: text, operands, launch. A value that belongs to another digest is stale."""
        summed = hashlib.sha256()
        for part in (self.text.encode(), self.inputs, self.body.parameter, str(self.body.block).encode()):
            summed.update(len(part).to_bytes(8, "little") + part)
        return summed.hexdigest()[:16]


@cache
def all_probes() -> tuple[Probe, ...]:
    """Every probe, in the order of the table."""
    bounds = [bound for bound in all_bound() if untestable(bound) is None]
    names = _names(bounds)
    return tuple(_probe(name, bound) for name, bound in zip(names, bounds, strict=True))


def _names(bounds: Sequence[Bound]) -> list[str]:
    """Mnemonics, told apart by an operand word where the table has one more than once."""
    taken: set[str] = set()
    names = []
    for bound in bounds:
        name = bound.mnemonic
        if name in taken:
            name = f"{name}~{'-'.join(word.partition(':')[0].strip('|?!') for word in bound.form.operands)}"
        if name in taken:
            raise ValueError(f"{name}: the table has this form twice")
        taken.add(name)
        names.append(name)
    return names


def _probe(name: str, bound: Bound) -> Probe:
    version, sm = bound.requirements()
    target, least = next(((t, v) for t, v in _TARGETS if t >= sm), _TARGETS[-1])
    return Probe(name, bound, template_of(bound)(bound), target, max(version, least))


def groups(probes: Sequence[Probe]) -> dict[str, tuple[Probe, ...]]:
    """Probes by the file that holds them."""
    found: dict[str, list[Probe]] = {}
    for probe in probes:
        found.setdefault(probe.group, []).append(probe)
    return {group: tuple(members) for group, members in found.items()}


def group_text(members: Sequence[Probe]) -> str:
    """The text of a file: the newest PTX version of its members, which have one target."""
    version = version_text(max(probe.ptx for probe in members))
    return module_text(version, f"sm_{members[0].sm}", [probe.text for probe in members])

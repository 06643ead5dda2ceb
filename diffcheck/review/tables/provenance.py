"""Where a receipt comes from, and whether it speaks of this tree."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from diffcheck.receipts.ab.model import Part
from diffcheck.review.gather import HostReview
from diffcheck.review.tables.base import Cell, Table, table, yes
from diffcheck.selftest.model import SelfTest


def facts(one: HostReview) -> Table:
    """Return what made the receipt."""
    receipt, source = one.receipt, one.receipt.tool.source
    dirty = ", ".join(source.dirty_paths or ())
    rows: list[Sequence[Cell | str]] = [
        ("command", Cell(shlex.join(("diffcheck", *receipt.tool.command)), code=True)),
        *((f"part {place}", _part(part.command, part.seconds, part.resumed)) for place, part in _parts(one)),
        ("commit", Cell(source.commit or "unknown", code=source.commit is not None)),
        ("commit known by", source.origin),
        ("changed files", Cell(dirty, "warn") if dirty else Cell("none" if source.commit else "unknown")),
        ("diffcheck, contract", f"{receipt.tool.version}, {receipt.contract}"),
        ("cuda-oxide", Cell(receipt.cuda_oxide_commit or "unknown", code=receipt.cuda_oxide_commit is not None)),
        ("ptxas", receipt.ptxas.version if receipt.ptxas else "not installed"),
        ("CUDA", f"driver {receipt.host.cuda_driver}, runtime {receipt.host.cuda_runtime}, CuPy {receipt.host.cupy}"),
        ("device, hashed", Cell(receipt.host.uuid_sha256 or "unknown", code=receipt.host.uuid_sha256 is not None)),
        ("self-test", _selftest(one)),
        ("experiment's file", Cell(receipt.experiment.sha256, code=True)),
        ("digest", Cell(one.judged.digest or "none", code=True)),
    ]
    return table(("what", "value"), rows)


def subjects(one: HostReview) -> Table:
    """Return each hash as recorded and as the tree has it."""
    rows = [
        (
            subject.name,
            yes(subject.fresh, "fresh", "stale", "warn"),
            Cell(_short(subject.recorded), code=True),
            Cell(_short(subject.current), code=True),
        )
        for subject in one.subjects
    ]
    return table(("subject", "state", "recorded", "the tree's"), rows)


def _parts(one: HostReview) -> list[tuple[int, Part]]:
    return list(enumerate(one.receipt.parts, start=1)) if len(one.receipt.parts) > 1 else []


def _part(command: Sequence[str], seconds: float, resumed: bool) -> Cell:
    resumption = ", resumed" if resumed else ""
    return Cell(f"{shlex.join(('diffcheck', *command))}  ({seconds:,.0f} s{resumption})", code=True)


def _selftest(one: HostReview) -> Cell:
    test = one.receipt.selftest
    if not isinstance(test, SelfTest):
        return Cell(f"not run: {test.reason}", "dim")
    caught = sum(mutant.caught for mutant in test.mutants)
    return yes(
        caught == len(test.mutants), f"{caught} of {len(test.mutants)} planted faults caught", f"{caught} caught"
    )


def _short(value: str | None) -> str:
    return "absent" if value is None else value[:16]

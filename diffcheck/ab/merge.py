"""Parts of one experiment, measured by several commands, in one receipt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from diffcheck.ab.journal import Header
from diffcheck.errors import BadInputError
from diffcheck.receipts.ab.file import read_ab_receipt
from diffcheck.receipts.ab.host import ForeignProcess
from diffcheck.receipts.ab.model import AbReceipt, Part
from diffcheck.receipts.ab.rows import Control, Row

Users = tuple[ForeignProcess, ...] | None


@dataclass(frozen=True)
class Earlier:
    """What an earlier part found: nothing, or the receipt that is to be completed."""

    receipt: AbReceipt | None = None

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that are there."""
        return self.receipt.rows if self.receipt else ()

    @property
    def controls(self) -> tuple[Control, ...]:
        """The controls that are there."""
        return self.receipt.controls if self.receipt else ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """The commands that measured them."""
        return self.receipt.parts if self.receipt else ()

    def has(self, row: str) -> bool:
        """Whether a row is there."""
        return any(row == one.case.name for one in self.rows)

    def merged(self, users: Users, moment: Literal["before", "after"]) -> Users:
        """Return everyone who was on the GPU before, or after, any part; None where one part did not know."""
        if self.receipt is None:
            return users
        known: Users = getattr(self.receipt.gpu_users, moment)
        return None if users is None or known is None else (*known, *users)


def earlier_part(path: Path, header: Header) -> Earlier:
    """Return the part that a receipt's file holds, to be completed by a run of `--rungs`.

    A receipt that is complete, or of another tree, device or experiment, is not completed but replaced: nothing of it
    is kept. Raises `BadInputError` for a file that is there and is no A/B receipt: it is not overwritten.
    """
    if not path.exists():
        return Earlier()
    receipt = read_ab_receipt(path)
    same = (
        receipt.experiment.name == header.experiment
        and receipt.experiment.sha256 == header.experiment_sha256
        and receipt.subjects == header.subjects
        and receipt.host == header.host
        and (receipt.tool.source.commit, receipt.tool.source.dirty) == (header.commit, header.dirty)
    )
    return Earlier(receipt) if same and receipt.status == "partial" else Earlier()


def require_replaceable(path: Path) -> None:
    """Raise `BadInputError` for a file that is there and is no A/B receipt."""
    if path.exists():
        try:
            read_ab_receipt(path)
        except BadInputError as error:
            raise BadInputError("receipt", str(path), f"a new file, or an A/B receipt to replace ({error})") from error

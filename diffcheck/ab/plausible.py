"""Whether what stands beside the times of a row's arms fits them: its floors, its peers, its controls, the seconds."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.ab.rows import FLOOR_PLACES
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.rows import Row
from diffcheck.receipts.ab.samples import Comparison

# What reads the same bytes at other moments of one row's few seconds differs by 1 % at the most, on an H200.
FAR = 0.05


def misfits(receipt: AbReceipt) -> Iterator[tuple[str, str]]:
    """Yield what does not fit the times of its row: the row's name, and in one line what is wrong."""
    for row in receipt.rows:
        if row.timing is not None:
            for message in _of_floors(row, row.timing):
                yield row.case.name, message


def _of_floors(row: Row, timing: Comparison) -> Iterator[str]:
    most = 2 * FLOOR_PLACES
    counts = {floor.name: len(floor.samples_us) for floor in row.floors}
    for name, count in counts.items():
        # Two at a place, there and back; a place that a slow-down struck does not count.
        if count % 2 or count > most:
            yield f"the {name} floor has {count} samples, and a run takes two at each of up to {FLOOR_PLACES} places"
    if len(set(counts.values())) > 1:
        said = " and ".join(f"{count} of the {name} floor" for name, count in counts.items())
        yield f"there are {said}, and a run takes them in turn"
    fastest = min(timing.baseline_us, timing.candidate_us)
    for floor in row.floors:
        if floor.name == "read" and not floor.median_us <= fastest * (1.0 + FAR):
            yield (
                f"the read floor takes {floor.median_us:.6g} µs, and the faster arm {fastest:.6g}: "
                f"no arm reads the same bytes so much faster"
            )

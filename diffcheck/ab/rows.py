"""Measure one row: parity, the two sides, the floors, the peers, and the controls that use its inputs."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from diffcheck.ab.bench import BASELINE, BASELINE_AGAIN, CANDIDATE, EMPTY, Bench, RowBench, planted
from diffcheck.ab.beside import time_peers
from diffcheck.ab.nvml import Monitor
from diffcheck.ab.pace import Pace
from diffcheck.ab.sampler import Sampler, ThrottledError
from diffcheck.ab.stats import CONFIDENCE, CONTROL_CONFIDENCE
from diffcheck.ab.undisturbed import replay_in_turn
from diffcheck.errors import DiffcheckError
from diffcheck.experiment.model import Experiment
from diffcheck.experiment.rows import ExperimentRow
from diffcheck.receipts.ab.rows import Control, Floor, PeerRow, Row, RowCase
from diffcheck.receipts.ab.samples import Comparison, Side

FLOOR_PLACES = 5
"""A floor depends on the places of the buffers, too."""
SIDES: Mapping[Side, str] = {"baseline": BASELINE, "candidate": CANDIDATE}


@dataclass(frozen=True)
class ControlPlan:
    """The controls that one row's inputs serve for: an A/A, and slow-downs of so many percent."""

    a_a: bool = False
    planted_percent: tuple[float, ...] = ()


@dataclass(frozen=True)
class MeasuredRow:
    """A row and the controls measured with its inputs."""

    row: Row
    controls: tuple[Control, ...]


def measure_row(
    bench: Bench, row: ExperimentRow, experiment: Experiment, controls: ControlPlan, seed: int, *, pace: Pace
) -> MeasuredRow:
    """Measure a row. One that fails parity is not timed, and has no controls.

    Raises `DiffcheckError` when the device fails, or is throttled for as long as it is sampled.
    """
    opened = bench.open_row(row)
    try:
        if not all(check.holds for check in opened.parity):
            return MeasuredRow(_row(bench, row, opened, experiment), ())
        sampler = Sampler(opened.fresh, bench.monitor, experiment.budget, pace)
        timing = sampler.compare(SIDES, seed)
        floors = _floors(opened, bench.monitor, pace)
        peers = time_peers(opened, experiment.arms.peers, timing.baseline_us, bench.monitor, pace)
        made = _row(bench, row, opened, experiment, timing=timing, floors=floors, peers=peers)
        return MeasuredRow(made, _controls(sampler, row, controls, seed))
    except ThrottledError as error:
        raise DiffcheckError(f"row {row.name}: the device held its clock down all the time ({error})") from error
    finally:
        opened.close()


def _row(
    bench: Bench,
    row: ExperimentRow,
    opened: RowBench,
    experiment: Experiment,
    *,
    timing: Comparison | None = None,
    floors: tuple[Floor, ...] = (),
    peers: tuple[PeerRow, ...] = (),
) -> Row:
    case = row.baseline_case
    return Row(
        case=RowCase(
            name=row.name,
            num_q_heads=case.num_q_heads,
            num_kv_heads=case.num_kv_heads,
            head_dim=case.head_dim,
            kv_len=case.kv_len,
            storage=case.storage,
            layout=case.layout,
            generator=case.generator,
            seed=case.seed,
        ),
        relation=experiment.relation,
        status="fails parity" if timing is None else "timed",
        kv_bytes=opened.kv_bytes,
        buffer_sets=opened.buffer_sets,
        rotated_bytes=opened.kv_bytes * opened.buffer_sets,
        baseline=opened.baseline,
        candidate=opened.candidate,
        parity=opened.parity,
        timing=timing,
        above_peak=above_peak(bench, opened.kv_bytes, timing),
        floors=floors,
        peers=peers,
    )


def above_peak(bench: Bench, kv_bytes: int, timing: Comparison | None) -> bool | None:
    """Return whether a median would take more than the memory's peak; None where that is unknown."""
    peak = bench.host(None).peak_memory_bytes_per_second
    if peak is None or timing is None:
        return None
    return kv_bytes / (min(timing.baseline_us, timing.candidate_us) * 1e-6) > peak


def _floors(opened: RowBench, monitor: Monitor, pace: Pace) -> tuple[Floor, ...]:
    """Return the launch floor and the fastest of those that read.

    They are replayed in turn with both arms, there and back: a device that has streamed for longer is slower.
    """
    reads = dict(opened.read_floors())
    names = [BASELINE, CANDIDATE, EMPTY, *reads]
    samples = replay_in_turn(monitor, pace, FLOOR_PLACES, names, opened.fresh)
    best = min(reads, key=lambda name: statistics.median(samples[name]))
    details = ((EMPTY, "empty", f"{opened.empty_launches} empty kernels"), (best, "read", reads[best]))
    return tuple(
        Floor.model_validate(
            {"name": kind, "detail": detail, "samples_us": samples[name], "median_us": statistics.median(samples[name])}
        )
        for name, kind, detail in details
    )


def _controls(sampler: Sampler, row: ExperimentRow, plan: ControlPlan, seed: int) -> tuple[Control, ...]:
    made: list[Control] = []
    if plan.a_a:
        names: Mapping[Side, str] = {"baseline": BASELINE, "candidate": BASELINE_AGAIN}
        made.append(_control("a/a", row, 0.0, sampler.compare(names, seed + 1, CONTROL_CONFIDENCE)))
    for percent in plan.planted_percent:
        names = {"baseline": BASELINE, "candidate": planted(percent)}
        made.append(_control("planted", row, percent, sampler.compare(names, seed + 2, CONFIDENCE)))
    return tuple(made)


def _control(kind: str, row: ExperimentRow, percent: float, timing: Comparison) -> Control:
    ratio = timing.ratio
    passed = ratio.low <= 1 <= ratio.high if kind == "a/a" else ratio.low > 1
    return Control.model_validate(
        {
            "kind": kind,
            "case": row.name,
            "kv_len": row.baseline_case.kv_len,
            "planted_percent": percent,
            "timing": timing,
            "passed": passed,
        }
    )

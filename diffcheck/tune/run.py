"""A sweep: for each kind of call its variants, their bits, and their times."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from diffcheck.ab.pace import Pace
from diffcheck.ab.source import source_state
from diffcheck.arms import DeviceArm, HostArm
from diffcheck.cases import Case
from diffcheck.errors import DiffcheckError
from diffcheck.parity.prepare import facts_of, prepare
from diffcheck.planning import planner_profiles
from diffcheck.receipts.ab.host import AbTool
from diffcheck.tune.bench import CheckedVariant, TuneBench, check_variants
from diffcheck.tune.measure import Samples, read_floors, take_rounds
from diffcheck.tune.model import RefusedVariant, TunedCase, TunedRow, TunedVariant, TuneResult
from diffcheck.tune.ratio import ratio_of
from diffcheck.tune.variants import Refused, Sweep, choice_of_plan, name_of, variants_of
from diffcheck.version import CONTRACT, tool_version
from rust_kernel.plan import Plan, TileTable

SEED = 20_261_130
"""Of the orders of variants and of the bootstrap; each row adds its place."""


@dataclass(frozen=True)
class Asked:
    """What a user asked for."""

    cases: tuple[Case, ...]
    arms: tuple[DeviceArm, ...]
    sweep: Sweep
    seconds: float
    tiles: TileTable
    """The table whose choices are the incumbents."""
    command: tuple[str, ...]
    pace: Pace


def run_tune(bench: TuneBench, asked: Asked, reference: HostArm, advance: Callable[[str], None]) -> TuneResult:
    """Sweep every kind of call and return the result; `advance` is called with a case's name as it is done."""
    rows: list[TunedRow] = []
    for place, case in enumerate(asked.cases):
        rows.append(tune_case(bench, asked, case, reference, SEED + 1000 * place))
        advance(case.name)
    wrong = any(not one.holds for row in rows for one in row.variants)
    return TuneResult(
        tool=AbTool(version=tool_version(), command=asked.command, source=source_state()),
        contract=CONTRACT,
        host=bench.host(),
        target=bench.target,
        profile=bench.profile,
        profile_arch=next(arch for name, arch, _ in planner_profiles() if name == bench.profile),
        table=asked.tiles.name,
        table_sha256=asked.tiles.sha256,
        seconds_per_row=asked.seconds,
        status="fails" if wrong else "holds",
        rows=tuple(rows),
    )


def tune_case(bench: TuneBench, asked: Asked, case: Case, reference: HostArm, seed: int) -> TunedRow:
    """Sweep one kind of call. A variant that fails a check is not timed."""
    prepared = prepare(case, bench.profile, reference, threads=0, tiles=asked.tiles)
    variants, refused = variants_of(case, asked.arms, asked.sweep, prepared.plan, bench.target)
    if not variants:
        raise DiffcheckError(f"{case.name}: no arm can run what the table has ({refused[0].reason})")
    checked = check_variants(prepared, variants, bench.executor, bench.target, reference)
    sound = [one for one in checked if one.holds]
    row = _row(case, prepared.plan, checked, refused)
    # Without an arm's incumbent there is nothing to measure the arm's others against.
    incumbents = {one.variant.arm.name for one in sound if _is_incumbent(one, prepared.plan)}
    timed = [one for one in sound if one.variant.arm.name in incumbents]
    if not timed:
        return row
    opened = bench.open_row(prepared, timed)
    try:
        names = [one.variant.name for one in timed]
        samples = take_rounds(bench.monitor, opened, names, asked.seconds, seed=seed, pace=asked.pace)
        floors = read_floors(bench.monitor, opened, names[0], asked.pace)
        facts = {"buffer_sets": opened.buffer_sets, "calls": opened.calls, "floors": floors}
    finally:
        opened.close()
    return _with_samples(row.model_copy(update=facts), samples, seed)


def _row(case: Case, incumbent: Plan, checked: Sequence[CheckedVariant], refused: Sequence[Refused]) -> TunedRow:
    return TunedRow(
        case=TunedCase(
            name=case.name,
            num_q_heads=case.num_q_heads,
            num_kv_heads=case.num_kv_heads,
            head_dim=case.head_dim,
            kv_len=case.kv_len,
            storage=case.storage,
        ),
        kv_bytes=case.kv_bytes,
        buffer_sets=0,
        calls=0,
        rounds=(),
        variants=tuple(_untimed(case, incumbent, one) for one in checked),
        refused=tuple(
            RefusedVariant(name=name_of(one.arm, one.choice), arm=one.arm.name, reason=one.reason) for one in refused
        ),
        floors=(),
    )


def _is_incumbent(one: CheckedVariant, incumbent: Plan) -> bool:
    return one.variant.choice == choice_of_plan(incumbent)


def _untimed(case: Case, incumbent: Plan, one: CheckedVariant) -> TunedVariant:
    variant = one.variant
    return TunedVariant(
        name=variant.name,
        arm=variant.arm.name,
        warps=variant.choice.warps,
        rows=variant.choice.rows,
        policy=variant.choice.policy,
        incumbent=_is_incumbent(one, incumbent),
        plan=facts_of(case, variant.plan).plan,
        ptx_sha256=one.ptx_sha256,
        checks=one.checks,
        samples_us=(),
        median_us=None,
        ratio=None,
    )


def _with_samples(row: TunedRow, samples: Samples, seed: int) -> TunedRow:
    """Return the row with the samples, then with what follows from them."""
    sampled = row.model_copy(
        update={
            "rounds": samples.rounds,
            "variants": tuple(
                one.model_copy(update={"samples_us": samples.us.get(one.name, ())}) for one in row.variants
            ),
        }
    )
    derived = tuple(_derived(sampled, one, seed + place) for place, one in enumerate(sampled.variants))
    return TunedRow.model_validate(sampled.model_copy(update={"variants": derived}).model_dump())


def _derived(row: TunedRow, one: TunedVariant, seed: int) -> TunedVariant:
    if not one.samples_us:
        return one
    ratio = None if one.incumbent else ratio_of(row, one, seed)
    return one.model_copy(update={"median_us": statistics.median(row.used(one)), "ratio": ratio})

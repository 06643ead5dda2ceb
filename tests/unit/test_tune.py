"""Sweeps: what is tried, that nothing wrong is timed, what is recorded, and which table follows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffcheck.arms import BuilderArm, DeviceArm, OxideArm
from diffcheck.assemble.limits import SHARED_BYTES
from diffcheck.cases import Case
from diffcheck.cli.main import run
from diffcheck.errors import BadInputError, DiffcheckError
from diffcheck.executors import get_executor
from diffcheck.executors.program import Outcome, Program
from diffcheck.planning import plan_for
from diffcheck.tune.choose import Measured, ranges, table_of
from diffcheck.tune.model import MIN_ROUNDS, TuneResult
from diffcheck.tune.results import read_result
from diffcheck.tune.table_text import LAST, one_tile, rows_of, table_text
from diffcheck.tune.variants import Choice, Sweep, Variant, variants_of
from rust_kernel.plan import TileTable
from tests.factory.bench import Watch
from tests.factory.tune import BASE, W2, W4, FormulaTuneBench, call, fast, swept, won


def table_from(*results: TuneResult, base: TileTable | None = None) -> TileTable:
    measured = [Measured(one, f"{place:064x}") for place, one in enumerate(results)]
    return TileTable.parse(table_text(table_of(measured, base or BASE)))


def chosen(table: TileTable, case: Case) -> str:
    plan = plan_for(case, "h200", table)
    return f"{plan.tile.name} {plan.policy}"


# --- what is tried


def test_a_sweep_holds_every_variant_to_the_twin_and_times_it_beside_the_incumbent() -> None:
    bench = fast(W2)
    result = swept(bench)
    (row,) = result.rows
    assert result.status == "holds"
    assert [one.name for one in row.variants] == [
        "builder w12r4 one-wave",
        "builder w2r2 fixed:2",
        "builder w4r2 fixed:2",
    ]
    for one in row.variants:
        assert {check.name for check in one.checks} >= {"bits", "oracle", "memory", "scratch"}
        assert len(one.samples_us) == 2 * len(row.rounds)
    incumbent, winner, other = row.variants
    assert incumbent.incumbent
    assert incumbent.ratio is None
    assert winner.ratio is not None
    assert winner.ratio.high < 0.91
    assert other.ratio is not None
    assert other.ratio.low < 1.0 < other.ratio.high
    # Two others: both intervals hold at once with 95 %.
    assert winner.ratio.confidence == pytest.approx(0.975)
    assert [floor.name for floor in row.floors] == ["read"]
    assert bench.opened[0].closed


def test_every_round_has_its_own_order_there_and_back() -> None:
    bench = FormulaTuneBench()
    (row,) = swept(bench, seconds=20.0).rows
    assert len(row.rounds) == 20
    counted = bench.opened[0].log[2 : 2 + len(row.rounds)]
    for round_, replayed in zip(row.rounds, counted, strict=True):
        assert replayed == [*round_.order, *reversed(round_.order)]
    assert len({round_.order for round_ in row.rounds}) > 1
    assert len(swept(FormulaTuneBench(), seconds=0.0).rows[0].rounds) == MIN_ROUNDS


def test_both_arms_are_swept_each_against_its_own_incumbent() -> None:
    sweep = Sweep(warps=(8, 12), rows=(4,), policies=("one-wave", "fixed:2"))
    (row,) = swept(FormulaTuneBench(), arms=[BuilderArm(), OxideArm()], sweep=sweep, cases=[call(200)]).rows
    assert row.incumbent_of("oxide").name == "oxide w12r4 one-wave"
    assert {one.arm for one in row.variants} == {"builder", "oxide"}
    assert any(one.arm == "oxide" and one.policy == "fixed:2" for one in row.variants)


@pytest.mark.parametrize(
    ("arm", "sweep", "heads", "target", "reason"),
    [
        (BuilderArm(), Sweep((33,), (4,), ("note",)), (4, 1), "sm_90", "warps is 33; allowed: 1 to 32"),
        (BuilderArm(), Sweep((8,), (16,), ("note",)), (4, 1), "sm_90", "rows is 16; allowed: 1, 2, 4, 8"),
        (BuilderArm(), Sweep((8,), (4,), ("three",)), (4, 1), "sm_90", '"three"'),
        (BuilderArm(), Sweep((8,), (4,), ("chunk:1",)), (4, 1), "sm_90", "n_splits is 70000"),
        (BuilderArm(), Sweep((16,), (4,), ("note",)), (8, 1), "sm_89", f"sm_89 has {SHARED_BYTES['sm_89']}"),
        (OxideArm(), Sweep((5,), (4,), ("note",)), (4, 1), "sm_90", "oxide has no splitk_partial_f16_g4_d256_w5r4"),
        (BuilderArm(), Sweep((12,), (4,), ("fixed:33",)), (16, 4), "sm_90", "the same plan as builder w12r4 one-wave"),
    ],
)
def test_what_no_kernel_can_be_made_for_is_left_out_with_the_reason(
    arm: Any, sweep: Sweep, heads: tuple[int, int], target: str, reason: str
) -> None:
    case = call(70_000, heads)
    found, refused = variants_of(case, [arm], sweep, plan_for(case, "h200", BASE), target)
    assert len(found) == 1
    (one,) = refused
    assert reason in one.reason
    assert "\n" not in one.reason


def test_an_arm_that_cannot_run_the_incumbent_is_left_out() -> None:
    base = one_tile(5, 2, "one-wave", "a test")
    (row,) = swept(
        FormulaTuneBench(), arms=[BuilderArm(), OxideArm()], tiles=base, sweep=Sweep((12,), (4,), ("fixed:2",))
    ).rows
    assert {one.arm for one in row.variants} == {"builder"}
    reasons = {one.name: one.reason for one in row.refused}
    assert reasons["oxide w5r2 one-wave"] == "oxide has no splitk_partial_f16_g4_d256_w5r2"
    assert reasons["oxide w12r4 fixed:2"] == "oxide cannot run what the table has, w5r2 one-wave"
    with pytest.raises(DiffcheckError, match="random-4x1-L65-f16: no arm can run what the table has"):
        swept(FormulaTuneBench(), arms=[OxideArm()], tiles=base)


# --- nothing wrong is timed


@dataclass
class Flipping:
    """The PTX machine, which flips a bit of the output of some kernels."""

    kernels: str
    name: str = "machine"
    tier: str = "interpreted"

    def __getattr__(self, name: str) -> Any:
        return getattr(get_executor("machine"), name)

    def run(self, program: Program) -> Outcome:
        outcome = get_executor("machine").run(program)
        if self.kernels in program.steps[0].entry:
            outcome.out.view("u4")[0, 0] ^= 1
        return outcome


def test_a_variant_without_the_twins_bits_is_not_timed_and_fails_the_result() -> None:
    executor: Any = Flipping("w4r2")
    bench = FormulaTuneBench(executor=executor)
    result = swept(bench)
    assert result.status == "fails"
    wrong = next(one for one in result.rows[0].variants if one.name == "builder w4r2 fixed:2")
    assert [check.name for check in wrong.checks if not check.holds] == ["bits"]
    assert (wrong.samples_us, wrong.median_us, wrong.ratio) == ((), None, None)
    assert list(bench.opened[0].variants) == ["builder w12r4 one-wave", "builder w2r2 fixed:2"]
    with pytest.raises(BadInputError, match="a result that holds"):
        table_from(result)


def test_an_arm_whose_incumbent_is_wrong_is_not_timed() -> None:
    executor: Any = Flipping("w12r4")
    bench = FormulaTuneBench(executor=executor)
    result = swept(bench)
    assert result.status == "fails"
    assert bench.opened == []
    assert result.rows[0].rounds == ()


def test_rounds_in_which_the_clock_was_held_down_do_not_count() -> None:
    hot = Watch(throttle=lambda reading: ("hw_thermal_slowdown",) if reading % 10 == 0 else ())
    (row,) = swept(FormulaTuneBench(monitor=hot), seconds=0.0).rows
    dropped = [round_ for round_ in row.rounds if round_.dropped]
    assert dropped
    assert len(row.rounds) - len(dropped) == MIN_ROUNDS
    assert all(len(row.used(one)) == 2 * MIN_ROUNDS for one in row.variants)
    always = FormulaTuneBench(monitor=Watch(throttle=lambda _: ("hw_slowdown",)))
    with pytest.raises(DiffcheckError, match="held its clock down all the time"):
        swept(always)
    assert always.opened[0].closed


# --- which table follows


def test_the_fastest_choice_takes_the_row_and_nothing_else_changes() -> None:
    table = table_from(won())
    assert chosen(table, call()) == "w2r2 fixed:2"
    assert chosen(table, call(heads=(5, 1))) == "w12r4 one-wave"
    assert chosen(table, call(storage="f32")) == "w12r4 one-wave"
    assert plan_for(call(), "gb10", table).tile.name == "w12r4"
    measured = [row for row in table.rows if row["source"] == "measured"]
    assert [(row["arch"], row["group_size"], row["kv_len"]) for row in measured] == [((90, 90), (4, 4), (0, LAST))]
    assert measured[0]["result"] == "0" * 64
    assert measured[0]["ground"].startswith("A device, 65 keys, builder: 0.9")


def test_a_difference_within_the_interval_displaces_nothing() -> None:
    table = table_from(swept(FormulaTuneBench()))
    assert chosen(table, call()) == "w12r4 one-wave"
    (row,) = (row for row in table.rows if row["source"] == "measured")
    assert row["ground"] == "A device, 65 keys, builder: nothing that was tried beats w12r4 one-wave"


def test_lengths_between_two_measured_ones_are_split_at_their_geometric_mean() -> None:
    bench = FormulaTuneBench(lambda variant, case: 0.8 if variant.choice == W2 and case.kv_len < 200 else 1.0)
    table = table_from(swept(bench, cases=[call(50), call(100), call(400)]))
    assert [chosen(table, call(length)) for length in (1, 75, 200)] == ["w2r2 fixed:2"] * 3
    assert [chosen(table, call(length)) for length in (201, 262_144)] == ["w12r4 one-wave"] * 2
    # Neighbours with one choice are one row, which rests on both.
    measured = [row for row in table.rows if row["source"] == "measured"]
    assert [row["kv_len"] for row in measured] == [(0, 200), (201, LAST)]
    assert measured[0]["ground"].count("of the time of") == 2


@given(st.sets(st.integers(1, 1 << 20), min_size=1, max_size=8))
def test_ranges_hold_every_length_once_and_each_measured_one_in_its_own(lengths: set[int]) -> None:
    measured = sorted(lengths)
    made = ranges(measured)
    assert (made[0][0], made[-1][1]) == (0, LAST)
    for (_, end), (first, _) in pairwise(made):
        assert end + 1 == first
    for (first, last), length in zip(made, measured, strict=True):
        assert first <= length <= last


def test_what_is_slower_for_one_arm_or_number_of_heads_is_not_chosen() -> None:
    def split(variant: Variant, case: Case) -> float:
        if variant.choice == W4:
            return 0.95
        return (0.8 if case.num_kv_heads == 1 else 1.02) if variant.choice == W2 else 1.0

    table = table_from(swept(FormulaTuneBench(split), cases=[call(), call(heads=(8, 2))]))
    assert chosen(table, call()) == "w4r2 fixed:2"


def test_what_only_one_arm_has_is_not_chosen_for_both() -> None:
    arms: list[DeviceArm] = [BuilderArm(), OxideArm()]
    two_splits = Choice(12, 4, "fixed:2")
    bench = FormulaTuneBench(lambda variant, _case: {W2: 0.5, two_splits: 0.9}.get(variant.choice, 1.0))
    sweep = Sweep(warps=(2, 12), rows=(2, 4), policies=("fixed:2", "fixed:1"))
    result = swept(bench, arms=arms, sweep=sweep, cases=[call(200)])
    assert "oxide w2r2 fixed:2" in {one.name for one in result.rows[0].refused}
    assert chosen(table_from(result), call(200)) == "w12r4 fixed:2"


def test_a_second_result_adds_to_a_table_and_is_measured_against_it() -> None:
    first = table_from(won())
    second = swept(fast(W4), cases=[call(heads=(6, 1))], tiles=first)
    both = table_from(second, base=first)
    assert chosen(both, call()) == "w2r2 fixed:2"
    assert chosen(both, call(heads=(6, 1))) == "w4r2 fixed:2"
    assert chosen(both, call(heads=(5, 1))) == "w12r4 one-wave"
    with pytest.raises(BadInputError, match="measured against the table tuned-"):
        table_from(second)
    with pytest.raises(BadInputError, match="two of sm_90, f16, group of 4 at 65 keys"):
        table_from(won(), won())


def test_any_rows_that_were_cut_out_still_make_a_table() -> None:
    base = BASE
    for heads in ((1, 1), (4, 1), (6, 1), (7, 1), (8, 1)):
        base = table_from(swept(fast(W2), cases=[call(heads=heads)], tiles=base), base=base)
    assert {chosen(base, call(heads=(group, 1))) for group in (1, 4, 6, 7, 8)} == {"w2r2 fixed:2"}
    assert {chosen(base, call(heads=(group, 1))) for group in (2, 3, 5)} == {"w12r4 one-wave"}


# --- the command line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--heads", "16:5"], "heads: '16:5'"),
        (["--heads", "16x4"], "heads: '16x4'"),
        (["--warps", "4,many"], "warps: '4,many'"),
        (["--kv-lens", "0"], "kv-lens: '0'"),
        (["--storages", "bf16"], "storages: 'bf16'"),
        (["--arms", "naive"], "at least one that has the reference's bits"),
        (["--arms", "oxyde"], "arm: 'oxyde'"),
        (["--tiles", "no/such/file"], "cannot be read"),
        (["--table", "no/such/file"], "no/such/file"),
    ],
)
def test_bad_words_are_one_line(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "result.json"
    assert run(["tune", *arguments, "-o", str(output)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not output.exists()


@pytest.mark.gpu
def test_a_sweep_runs_on_a_gpu(cupy: Any, tmp_path: Path) -> None:
    result, tiles = tmp_path / "result.json", tmp_path / "tiles.toml"
    assert cupy.cuda.runtime.getDeviceCount() > 0
    sweep = ["--warps", "4,8", "--rows", "4", "--policies", "one-wave,fixed:5", "--kv-lens", "700", "--heads", "8:2"]
    assert run(["tune", *sweep, "--seconds", "0", "--lock", str(tmp_path / "lock"), "-o", str(result)]) == 0
    (row,) = read_result(result).result.rows
    assert len(row.variants) >= 4
    assert all(one.median_us is not None for one in row.variants)
    assert row.floors[0].median_us < min(one.median_us or 0.0 for one in row.variants) * 2
    assert run(["tune", "--table", str(result), "-o", str(tiles)]) == 0
    assert TileTable.load(tiles).name.startswith("tuned-")


def test_the_built_in_rows_survive_a_table_without_measurements() -> None:
    rows = rows_of(TileTable.built_in())
    assert list(table_of([], TileTable.built_in())) == sorted(
        rows, key=lambda row: (row.head_dim, row.storage, row.arch, row.group_size, row.kv_len)
    )

"""Tile tables: the contract's copy, another one in its place, and what the rules say of a plan by either."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diffcheck.arms import BuilderArm, OxideArm, reference_arm
from diffcheck.cases import get_case
from diffcheck.cli.main import run
from diffcheck.errors import BadInputError
from diffcheck.executors import get_executor
from diffcheck.parity.judge_case import run_case
from diffcheck.parity.prepare import prepare
from diffcheck.plan_check import choice_of, plan_faults
from diffcheck.planning import plan_for
from diffcheck.receipts.model import read_receipt
from diffcheck.subjects.computed import tile_table_sha256
from diffcheck.tune.table_text import ANY, LAST, TableRow, one_tile, rows_of, span_text, table_text
from rust_kernel.plan import PlanError, TileTable

ROOT = Path(__file__).resolve().parents[2]
CASE = "random-8x2-L65-f16"


def by_length() -> TileTable:
    """Short calls of f16 in four warps and fixed splits, all others in twelve and one wave."""
    f16, f32 = rows_of(one_tile(12, 4, "one-wave", "a test"))
    short = replace(f16, kv_len=(1, 64), warps=4, rows=2, policy="fixed:3")
    return TileTable.parse(table_text([short, replace(f16, kv_len=(65, LAST)), f32]))


def test_the_contract_says_what_is_built_in() -> None:
    text = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
    start = text.index("| architecture | storage |")
    lines = text[start : text.index("\n\n", start)].splitlines()[2:]
    stated = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    assert stated == [
        (
            *(span_text(row.arch), row.storage, span_text(row.group_size), span_text(row.kv_len)),
            *(str(row.warps), str(row.rows), row.policy),
        )
        for row in rows_of(TileTable.built_in())
    ]


def test_a_table_reads_back_what_was_written() -> None:
    rows = rows_of(TileTable.built_in())
    read = TileTable.parse(table_text(rows, comment=("a copy", "")))
    assert rows_of(read) == rows
    assert read.name == f"tuned-{read.sha256[:12]}"
    measured = replace(rows[0], source="measured", result="ab" * 32, ground='quoted "so", and ° too')
    assert rows_of(TileTable.parse(table_text([measured, *rows[1:]])))[0] == measured


@pytest.mark.parametrize("text", ["any", "89", "1-6", "20001-"])
def test_both_readers_of_ranges_agree(text: str) -> None:
    f32 = TableRow(ANY, 256, "f32", ANY, ANY, 8, 4, "note", "reasoned", "a test")
    source = table_text([f32]).replace('arch = "any"', f'arch = "{text}"')
    case = get_case("random-8x2-L65-f32")
    for arch in (80, 88, 89, 90, 20_000, 20_001):
        low, high = {"any": ANY, "89": (89, 89), "1-6": (1, 6), "20001-": (20_001, LAST)}[text]
        if low <= arch <= high:
            assert choice_of(source, arch, case).tile == "w8r4"
        else:
            with pytest.raises(ValueError, match="tiles: 0 rows fit random-8x2-L65-f32"):
                choice_of(source, arch, case)


def test_plans_by_another_table_keep_the_rules_and_are_told_apart() -> None:
    table = by_length()
    for name in (CASE, "random-8x2-L37-f16", "random-16x4-L4097-f16", "random-8x2-L203-f32-chunk7"):
        case = get_case(name)
        plan = plan_for(case, "h200", table)
        assert plan_faults(plan, case, "h200", table) == []
        assert table.name in plan.key.split("|")
        assert plan.table == table.name
        assert plan.key != plan_for(case).key
        # Held to the table that is built in, it is another plan.
        assert {fault.rule for fault in plan_faults(plan, case, "h200")} >= {"the call that was asked for"}
    short = plan_for(get_case("random-8x2-L37-f16"), "h200", table)
    assert (short.tile.name, short.policy) == ("w4r2", "fixed:3")


@pytest.mark.parametrize(("warps", "rows"), [(1, 1), (4, 2), (5, 8), (16, 4)])
@pytest.mark.parametrize("storage", ["f16", "f32"])
def test_a_tile_that_is_in_no_table_has_the_twins_bits(warps: int, rows: int, storage: str) -> None:
    tiles = one_tile(warps, rows, "fixed:2", "a test")
    prepared = prepare(get_case(f"random-8x2-L65-{storage}"), "h200", reference_arm(), threads=1, tiles=tiles)
    assert prepared.facts.plan.tile == f"w{warps}r{rows}"
    ran = run_case(prepared, get_executor("machine"), "sm_90", (BuilderArm(),))
    assert ran.holds, [check.reason for check in ran.checks if not check.holds]


def test_oxide_takes_the_tiles_that_its_ptx_has_and_names_one_that_it_has_not() -> None:
    case = get_case("random-4x1-L5-f16")
    known = prepare(case, "h200", reference_arm(), threads=1, tiles=one_tile(12, 4, "note", "a test"))
    assert run_case(known, get_executor("machine"), "sm_90", (OxideArm(),)).holds
    other = prepare(case, "h200", reference_arm(), threads=1, tiles=one_tile(5, 4, "note", "a test"))
    with pytest.raises(BadInputError, match="entry: 'splitk_partial_f16_g4_d256_w5r4' is not allowed"):
        OxideArm().program(other.problem("p"), "sm_90")


def test_a_receipt_by_another_table_says_so(tmp_path: Path) -> None:
    file, receipt = tmp_path / "tiles.toml", tmp_path / "receipt.json"
    file.write_text(by_length().text, encoding="utf-8")
    asked = ["parity", "--executor", "machine", "--arm", "builder", "--case", CASE]
    assert run([*asked, "--tiles", str(file), "--receipt", str(receipt)]) == 0
    made = read_receipt(receipt)
    assert made.tool.tile_table_sha256 == tile_table_sha256(by_length())
    assert made.tool.tile_table_sha256 != tile_table_sha256()
    assert by_length().name in made.reference.cases[0].case.plan.key


@pytest.mark.parametrize("command", [["parity", "--executor", "machine", "--case", CASE]])
def test_a_file_that_is_no_table_is_refused_in_one_line(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tiles.toml"
    file.write_text(table_text(rows_of(TileTable.built_in())[1:]), encoding="utf-8")
    for path, said in [(file, "a table without a row for (sm_80, "), (tmp_path / "absent", "cannot be read")]:
        assert run([*command, "--tiles", str(path)]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1


def test_a_table_is_loaded_from_a_path_and_is_a_value(tmp_path: Path) -> None:
    file = tmp_path / "tiles.toml"
    file.write_text(by_length().text, encoding="utf-8")
    assert TileTable.load(file) == by_length() != TileTable.built_in()
    assert len({TileTable.load(str(file)), by_length(), TileTable.built_in()}) == 2
    rows = len(TileTable.built_in().rows)
    assert repr(TileTable.built_in()) == f"TileTable(name='splitk/1', rows={rows})"
    with pytest.raises(PlanError, match=r"^tiles is no table"):
        TileTable.parse("[")
    with pytest.raises(TypeError, match=r"^tiles is 'no' of type str; allowed: a TileTable or None$"):
        plan_for(get_case(CASE), "h200", "no")  # type: ignore[arg-type]

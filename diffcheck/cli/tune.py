"""`diffcheck tune`: sweep tiles and policies on this GPU, and make a tile table of the results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffcheck import terminal
from diffcheck.cli.options import TilesFile, check_files, load_tiles
from diffcheck.cli.tune_table import show_tune
from diffcheck.cli.words import cases_of, exact_arms_of, numbers_of, words_of
from diffcheck.errors import BadInputError
from diffcheck.receipts.provenance import recorded_command
from diffcheck.receipts.write import write_json, write_text

if TYPE_CHECKING:
    from diffcheck.tune.model import TuneResult
    from diffcheck.tune.run import Asked


def tune_command(
    *,
    arms: Annotated[str, typer.Option(metavar="ARM,…", help="Arms to sweep.")] = "builder,oxide",
    heads: Annotated[str, typer.Option(metavar="Q:KV,…", help="Query heads and KV heads.")] = "16:4",
    storages: Annotated[str, typer.Option(metavar="f16,f32", help="Storages of K and V.")] = "f16",
    kv_lens: Annotated[str, typer.Option(metavar="L,…", help="Lengths.")] = "4096,8192,20000,60000,148000,262144",
    warps: Annotated[str, typer.Option(metavar="W,…", help="Warps a block.")] = "4,8,12,16",
    rows: Annotated[str, typer.Option(metavar="R,…", help="Rows a warp step.")] = "2,4,8",
    policies: Annotated[str, typer.Option(metavar="POLICY,…", help="Split policies.")] = "one-wave,three-quarter-wave",
    seconds: Annotated[float, typer.Option(min=0.0, max=3600.0, help="Seconds of timing for each call.")] = 10.0,
    tiles: TilesFile = None,
    table: Annotated[
        list[Path] | None,
        typer.Option(metavar="RESULT.json", help="Time nothing: make a table of this result; may be repeated."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The result, or the table with --table.")
    ] = None,
    lock: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The GPU's lock file, shared by all who time on it.")
    ] = None,
) -> None:
    """Sweep tiles and policies on this GPU; with --table, make a tile table of results.

    Each variant is held to the twin's bits and the oracle's bound before it is timed. A table has the fastest choice of
    each kind of call where it beats the one in use beyond the interval; commands take it with --tiles. Does not hold
    when a variant fails a check.
    """
    if output is None:
        raise BadInputError("output", "none", "-o FILE")
    check_files(output)
    if table:
        _make_table(table, tiles, output)
        return
    sweep = (numbers_of("warps", warps), numbers_of("rows", rows), words_of(policies))
    result = _measure(_asked((arms, heads, storages, kv_lens), sweep, seconds, tiles), lock)
    write_json(output, result)
    show_tune(result)
    raise typer.Exit(0 if result.status == "holds" else 1)


def _measure(asked: Asked, lock: Path | None) -> TuneResult:
    from diffcheck.ab.lock import gpu_lock, lock_path
    from diffcheck.arms import reference_arm
    from diffcheck.tune.gpu import GpuTuneBench
    from diffcheck.tune.run import run_tune

    bench = GpuTuneBench()
    with (
        gpu_lock(lock_path(lock, bench.pci_address)),
        terminal.progress(len(asked.cases), "tune", remaining=True) as advance,
    ):
        return run_tune(bench, asked, reference_arm(), advance)


def _asked(
    calls: tuple[str, str, str, str],
    sweep: tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...]],
    seconds: float,
    tiles: Path | None,
) -> Asked:
    from diffcheck.ab.pace import Pace
    from diffcheck.tune.run import Asked
    from diffcheck.tune.variants import Sweep
    from rust_kernel.plan import TileTable

    arms, heads, storages, kv_lens = calls
    chosen = exact_arms_of(arms)
    return Asked(
        cases=cases_of(heads, storages, kv_lens),
        arms=chosen,
        sweep=Sweep(*sweep),
        seconds=seconds,
        tiles=load_tiles(tiles) or TileTable.built_in(),
        command=recorded_command(sys.argv[1:]),
        pace=Pace(),
    )


def _make_table(paths: list[Path], tiles: Path | None, output: Path) -> None:
    from diffcheck.tune.choose import table_of
    from diffcheck.tune.results import read_result
    from diffcheck.tune.table_text import table_text
    from rust_kernel.plan import PlanError, TileTable

    results = [read_result(path) for path in paths]
    made = table_of(results, load_tiles(tiles) or TileTable.built_in())
    devices = ", ".join(dict.fromkeys(one.result.host.device for one in results))
    comment = [f"Made by `diffcheck tune --table` from what was measured on {devices}.", ""]
    try:
        read = TileTable.parse(table_text(made, comment))
    except PlanError as error:
        raise BadInputError(
            "table", ", ".join(path.name for path in paths), f"results that make a table ({error})"
        ) from error
    write_text(output, read.text)
    out = terminal.console()
    measured = [row for row in made if row.source == "measured"]
    out.print(f"{output.name}: {read.name}, {len(made)} rows, {len(measured)} of them measured", markup=False)
    for row in measured:
        out.print(f"  {row.ground}", markup=False)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("tune")(tune_command)

"""`diffcheck ab`: two arms against each other on this GPU, and the receipt."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffcheck import terminal
from diffcheck.cli.options import TilesFile, check_files, load_tiles
from diffcheck.errors import BadInputError, DiffcheckError
from diffcheck.experiment.load import LoadedExperiment, load_experiment, load_hosts
from diffcheck.experiment.rows import experiment_rows, select_rungs
from diffcheck.receipts.provenance import recorded_command

if TYPE_CHECKING:
    from diffcheck.ab.gpu import GpuBench
    from diffcheck.ab.peers.llama_cpp import Measured
    from diffcheck.experiment.hosts import Host
    from diffcheck.receipts.ab.model import AbReceipt
    from diffcheck.selftest.model import SelfTest, SelfTestNotRun

_COLUMNS = ("row", "baseline µs", "candidate µs", "ratio", "95 % interval", "blocks", "read floor µs", "parity")


def ab_command(
    *,
    experiment: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="A name that `list experiments` prints.")],
    host: Annotated[
        str | None, typer.Option(metavar="ID", help="This host's id in hosts.toml. Without it nothing counts.")
    ] = None,
    rungs: Annotated[
        str | None, typer.Option(metavar="L,L,…", help="Only rows of these lengths; run the others later.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The receipt. Default: evidence/EXPERIMENT/HOST.json."),
    ] = None,
    tiles: TilesFile = None,
    lock: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The GPU's lock file, shared by all who time on it.")
    ] = None,
    llama_cpp: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="What llama.cpp's test-backend-ops perf printed (--output sql): a column to inform."
        ),
    ] = None,
    llama_cpp_commit: Annotated[
        str | None, typer.Option(metavar="COMMIT", help="The llama.cpp that was built, where FILE does not say.")
    ] = None,
    selftest: Annotated[bool, typer.Option("--selftest", help="Run the self-test first and put it in.")] = False,
) -> None:
    """Run an experiment on this GPU: parity first, then both arms in turn, with controls, floors and peers.

    Rows that were measured are kept in a journal: after an interruption the same command goes on from there. Does not
    hold when a row fails parity or a control does not pass.
    """
    from diffcheck.ab.gpu import GpuBench
    from diffcheck.ab.lock import gpu_lock, lock_path

    asked = load_experiment(experiment)
    lengths = _lengths(rungs)
    select_rungs(experiment_rows(asked.content), lengths)
    imported = _llama_cpp(llama_cpp, llama_cpp_commit)
    listed = None if host is None else _listed(host)
    check_files(output)
    bench = GpuBench(tiles=load_tiles(tiles))
    _check_arch(listed, bench.host(None).arch)
    path = output or Path("evidence") / asked.content.name / f"{host or _slug(bench.host(None).device)}.json"
    check_files(path)
    with gpu_lock(lock_path(lock, bench.pci_address)):
        receipt = _run(bench, asked, host, lengths, path, selftest=selftest, imported=imported)
    _show(receipt)
    held = receipt.status != "fails" and all(control.passed for control in receipt.controls)
    terminal.console().print(f"{path.name}: {receipt.status}, ", terminal.status_text(held), sep="")
    raise typer.Exit(0 if held else 1)


def _run(
    bench: GpuBench,
    loaded: LoadedExperiment,
    host: str | None,
    rungs: tuple[int, ...],
    path: Path,
    *,
    selftest: bool,
    imported: tuple[Measured, ...],
) -> AbReceipt:
    from diffcheck.ab.merge import earlier_part, require_replaceable
    from diffcheck.ab.pace import Pace
    from diffcheck.ab.peers.llama_cpp import with_llama_cpp
    from diffcheck.ab.run import Asked, Run, facts_of
    from diffcheck.receipts.ab.file import write_ab_receipt

    require_replaceable(path)
    tested = _selftest(selftest)
    command = recorded_command(sys.argv[1:])
    asked = Asked(loaded, host, rungs, command, path, Pace(), tested)
    facts = facts_of(bench, asked)
    earlier = earlier_part(path, facts.header)
    rows = [row for row in select_rungs(experiment_rows(loaded.content), rungs) if not earlier.has(row.name)]
    if not rows:
        raise BadInputError("rungs", ",".join(map(str, rungs)) or "all", "rows that the receipt does not have yet")
    with terminal.progress(len(rows), loaded.content.name, remaining=True) as advance:
        receipt, journal = Run(bench, asked, facts, earlier).measure(advance)
    if imported:
        receipt = with_llama_cpp(receipt, imported)
    write_ab_receipt(path, receipt)
    journal.remove()
    return receipt


def _llama_cpp(path: Path | None, commit: str | None) -> tuple[Measured, ...]:
    from diffcheck.ab.peers.llama_cpp import read_llama_cpp

    if path is None:
        if commit is not None:
            raise BadInputError("llama-cpp-commit", commit, "a commit beside --llama-cpp FILE")
        return ()
    return read_llama_cpp(path, commit)


def _selftest(wanted: bool) -> SelfTest | SelfTestNotRun:
    from diffcheck.selftest.model import SelfTestNotRun

    if not wanted:
        return SelfTestNotRun(reason="not asked for (--selftest)")
    from diffcheck.cli.selftest import run_with_progress

    return run_with_progress()


def _lengths(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,9}", part) for part in parts):
        raise BadInputError("rungs", text, "lengths separated by commas, such as 4096,8192")
    return tuple(dict.fromkeys(int(part) for part in parts))


def _listed(host: str) -> Host:
    hosts = load_hosts()
    known = hosts.find(host)
    if known is None:
        raise BadInputError("host", host, ", ".join(one.id for one in hosts.hosts))
    return known


def _check_arch(host: Host | None, arch: str) -> None:
    if host is not None and host.arch != arch:
        listed = f"host: {host.id} is listed with {host.arch}"
        raise DiffcheckError(f"{listed}, and this GPU is {arch}; name a host of {arch}")


def _slug(device: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")[:64] or "gpu"


def _show(receipt: AbReceipt) -> None:
    out = terminal.console()
    cells: list[tuple[object, ...]] = []
    for row in receipt.rows:
        floor = next((f"{one.median_us:.2f}" for one in row.floors if one.name == "read"), "-")
        times: tuple[object, ...] = ("-",) * 5
        if row.timing is not None:
            ratio = row.timing.ratio
            times = (
                *(f"{row.timing.baseline_us:.2f}", f"{row.timing.candidate_us:.2f}", f"{ratio.estimate:.4f}"),
                *(f"{ratio.low:.4f} – {ratio.high:.4f}", len(row.timing.used())),
            )
        cells.append((row.case.name, *times, floor, terminal.status_text(row.status == "timed")))
    title = f"{receipt.experiment.name} on {receipt.host.device}, {receipt.host.arch}"
    out.print(terminal.table(title, _COLUMNS, cells, _COLUMNS[1:7]))
    for control in receipt.controls:
        ratio = control.timing.ratio
        name = "A/A" if control.kind == "a/a" else f"planted {control.planted_percent:g} %"
        text = f"{name} on {control.case}: {ratio.estimate:.4f}, {ratio.low:.4f} – {ratio.high:.4f}: "
        out.print(text, terminal.status_text(control.passed, "passed", "NOT PASSED"), sep="")
    for warning in receipt.warnings:
        out.print(f"note: {warning}", markup=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("ab")(ab_command)

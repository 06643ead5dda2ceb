"""`diffcheck limits`: what limits the partial kernel on a device that is not at hand."""

from __future__ import annotations

from typing import Annotated

import typer

from diffcheck import terminal
from diffcheck.assemble.ptxas import find_ptxas, ptxas_version
from diffcheck.assemble.sass.nvdisasm import nvdisasm_version
from diffcheck.assemble.sass.run import disassemble_all
from diffcheck.cli.options import JsonFile, check_files, write_file
from diffcheck.cli.words import heads_of, numbers_of, words_of
from diffcheck.errors import choose
from diffcheck.limits.model import Limit, Limits
from diffcheck.limits.published import published

_COLUMNS = ("tile", "regs", "shared KB", "blocks", "memory", "core", "busiest", "in flight KB", "needed KB", "tail µs")


def limits_command(
    *,
    profiles: Annotated[str, typer.Option(metavar="NAME,…", help="Device profiles.")] = "rtx4090,gb10,h200",
    heads: Annotated[str, typer.Option(metavar="Q:KV", help="Query heads and KV heads.")] = "16:4",
    storages: Annotated[str, typer.Option(metavar="f16,f32", help="Storages of K and V.")] = "f16,f32",
    kv_lens: Annotated[str, typer.Option(metavar="L,…", help="Lengths.")] = "4096,20000,262144",
    warps: Annotated[str, typer.Option(metavar="W,…", help="Warps a block.")] = "4,8,12",
    rows: Annotated[str, typer.Option(metavar="R,…", help="Rows a warp step.")] = "4",
    latency: Annotated[
        float | None, typer.Option(metavar="µs", min=0.01, max=100.0, help="From a request to its bytes, under load.")
    ] = None,
    json: JsonFile = None,
) -> None:
    """Calculate what limits the builder's partial kernel: machine code, occupancy, published rates and bytes.

    No device is asked, and nothing is measured: this is the ground for a tile where no such GPU is at hand. Memory and
    core are bytes of K and V a clock and SM: what the memory gives, and what the busiest pipe could compute.
    """
    check_files(json)
    numbers = published()
    made = calculate(
        tuple(choose("profiles", name, [one.profile for one in numbers.device]) for name in words_of(profiles)),
        heads_of(heads),
        words_of(storages),
        (numbers_of("warps", warps), numbers_of("rows", rows), numbers_of("kv-lens", kv_lens)),
        numbers.latency_us if latency is None else latency,
    )
    show_limits(made)
    write_file(json, made)


def calculate(
    names: tuple[str, ...],
    heads: tuple[int, int],
    storages: tuple[str, ...],
    sweep: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
    latency_us: float,
) -> Limits:
    """Return the limits of every tile (of warps, rows, lengths in `sweep`) on every device, by name of its profile."""
    from diffcheck.cases import STORAGES
    from diffcheck.limits.compute import Call, job_of, limit_of, profile_named, shapes_of

    for storage in storages:
        choose("storages", storage, STORAGES)
    find_ptxas()
    warps, rows, kv_lens = sweep
    shapes = shapes_of(storages, heads[0] // heads[1], warps, rows)
    call = Call(heads[1], kv_lens, latency_us)
    pairs = [(shape, profile_named(name)) for name in names for shape in shapes]
    jobs = list(dict.fromkeys(job_of(shape, profile) for shape, profile in pairs))
    with terminal.progress(len(jobs), "disassemble") as advance:
        found = dict(zip(jobs, disassemble_all(jobs, advance).kernels, strict=True))
    return Limits(
        ptxas_version=ptxas_version(),
        nvdisasm_version=nvdisasm_version(),
        latency_us=latency_us,
        limits=tuple(
            limit_of(shape, found[job_of(shape, profile)], profile, call, published()) for shape, profile in pairs
        ),
    )


def show_limits(made: Limits) -> None:
    """Print a table a device and storage, and what the model says of each length."""
    out = terminal.console()
    groups: dict[tuple[str, str, str], list[Limit]] = {}
    for one in made.limits:
        kernel = one.entry.removeprefix("splitk_partial_").rpartition("_")[0]
        groups.setdefault((one.profile, one.arch, kernel), []).append(one)
    for (profile, arch, kernel), limits in groups.items():
        lengths = [f"{one.kv_len} keys µs" for one in limits[0].predicted]
        columns = (*_COLUMNS, *lengths, "limited by")
        title = f"{kernel} on {profile}, {arch}: bytes a clock and SM; latency {made.latency_us:g} µs assumed"
        out.print(terminal.table(title, columns, [_row(one) for one in limits], columns[1:-1]))
    out.print(f"calculated from the code of ptxas {made.ptxas_version}; nothing was measured")


def _row(one: Limit) -> tuple[object, ...]:
    return (
        f"{one.tile}{', ring' if one.ring else ''}",
        one.registers,
        f"{one.shared_bytes / 1024:.0f}",
        one.blocks_per_sm,
        f"{one.memory_bytes_per_clock:.1f}",
        f"{one.core_bytes_per_clock:.1f}",
        one.pipes[0].pipe,
        f"{one.flight_bytes / 1024:.0f}",
        f"{one.needed_bytes / 1024:.1f}",
        f"{one.tail_us:.2f}",
        *(f"{predicted.total_us:.1f}" for predicted in one.predicted),
        one.limited_by,
    )


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("limits")(limits_command)

"""Disassemble kernels side by side and compare the arms' hot loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from diffcheck.arms import Kernel
from diffcheck.assemble.ptxas import Resources, ptx_version, ptxas_version
from diffcheck.assemble.run import Job
from diffcheck.assemble.sass.flow import Graph, Loop, cheapest_turn, graph_of, natural_loops
from diffcheck.assemble.sass.mix import is_padding, mix_of, row_bytes_requested
from diffcheck.assemble.sass.model import HotLoop, SassKernel, SassRatio, SassReport
from diffcheck.assemble.sass.nvdisasm import DisassembleError, Listing, find_nvdisasm, nvdisasm_version
from diffcheck.assemble.sass.occupancy import blocks_per_sm, occupancy
from diffcheck.assemble.sass.reasons import LIMIT, reason_for
from diffcheck.assemble.sass.together import disassemble_together
from diffcheck.workers import in_threads, usable_cores

INSTRUCTION_BYTES = 16
_PARTIAL = re.compile(r"splitk_partial_(?P<storage>f16|f32)_g(?P<group>\d+)_d(?P<head_dim>\d+)_w\d+r(?P<rows>\d+)")
_STORAGE_BYTES = {"f16": 2, "f32": 4}
_LANES = 32


def disassemble_all(jobs: Sequence[Job], advance: Callable[[str], None]) -> SassReport:
    """Assemble and disassemble every job, an arm's kernels for a target together; results in the order of the jobs.

    `advance` is called with a kernel's name as it is done. Raises `MissingRequirementError` without ptxas or nvdisasm.
    """
    find_nvdisasm()
    groups: dict[tuple[str, ...], list[tuple[Job, Kernel]]] = {}
    for job in jobs:
        kernel = job.arm.kernel(job.entry, job.target)
        # A module has one version, and some kernels ask for a newer one than others.
        groups.setdefault((job.arm.name, job.target, ptx_version(kernel.ptx)), []).append((job, kernel))
    members = list(groups.values())
    found: dict[Job, SassKernel] = {}
    for index, disassembled in in_threads(_group, members, usable_cores()):
        for (job, _), one in zip(members[index], disassembled, strict=True):
            found[job] = one
            advance(job.entry)
    kernels = tuple(found[job] for job in jobs)
    ratios = tuple(compare_arms(kernels, "oxide", "builder"))
    return SassReport(
        ptxas_version=ptxas_version(),
        nvdisasm_version=nvdisasm_version(),
        status="holds" if all(ratio.holds for ratio in ratios) else "fails",
        kernels=kernels,
        ratios=ratios,
    )


def compare_arms(kernels: Sequence[SassKernel], a: str, b: str) -> list[SassRatio]:
    """Return the ratio a : b for every kernel that both arms have and whose hot loop loads rows."""
    by_name = {(kernel.arm, kernel.entry, kernel.target): kernel.loop for kernel in kernels}
    ratios: list[SassRatio] = []
    for (arm, entry, target), loop in by_name.items():
        other = by_name.get((b, entry, target))
        if arm == a and loop and other and loop.per_row and other.per_row:
            ratios.append(_ratio(entry, target, (a, loop.per_row), (b, other.per_row)))
    return ratios


def _ratio(entry: str, target: str, a: tuple[str, float], b: tuple[str, float]) -> SassRatio:
    ratio = a[1] / b[1]
    reason = "" if ratio <= LIMIT else reason_for(entry, target)
    return SassRatio(
        entry=entry,
        target=target,
        a=a[0],
        b=b[0],
        a_per_row=a[1],
        b_per_row=b[1],
        ratio=ratio,
        holds=ratio <= LIMIT or reason != "",
        reason=reason,
    )


def _group(members: Sequence[tuple[Job, Kernel]]) -> list[SassKernel]:
    listed = disassemble_together([kernel for _, kernel in members], members[0][0].target)
    return [_one(job, kernel, *listed[job.entry]) for job, kernel in members]


def _one(job: Job, kernel: Kernel, used: Resources, listing: Listing) -> SassKernel:
    blocks = blocks_per_sm(job.target, kernel.threads, used.registers, used.static_shared + kernel.dynamic_shared)
    instructions = without_padding(listing)
    return SassKernel(
        arm=job.arm.name,
        entry=job.entry,
        target=job.target,
        registers=used.registers,
        blocks_per_sm=blocks,
        occupancy=occupancy(job.target, kernel.threads, blocks),
        code_bytes=INSTRUCTION_BYTES * instructions,
        instructions=instructions,
        mix=mix_of(listing.instructions),
        loop=hot_loop(listing, kernel),
    )


def without_padding(listing: Listing) -> int:
    """Count the instructions that are not padding."""
    return sum(not is_padding(instruction) for instruction in listing.instructions)


def hot_loop(listing: Listing, kernel: Kernel) -> HotLoop | None:
    """Return the loop with the most FFMA, None where no loop has any."""
    graph = graph_of(listing)
    loops = [(ffmas(graph, loop), loop) for loop in natural_loops(graph)]
    most, loop = max(loops, key=lambda one: (one[0], -len(one[1].blocks)), default=(0, None))
    if loop is None or most == 0:
        return None
    blocks = cheapest_turn(graph, loop, row_bytes_requested)
    turn = [one for block in blocks for one in graph.instructions(block) if not is_padding(one)]
    rows = rows_of_turn(kernel.entry, sum(one.base == "FFMA" for one in turn), sum(map(row_bytes_requested, turn)))
    return HotLoop(
        instructions=len(turn),
        instructions_all=sum(not is_padding(one) for block in loop.blocks for one in graph.instructions(block)),
        rows=rows,
        per_row=len(turn) / rows if rows else None,
        mix=mix_of(turn),
    )


def ffmas(graph: Graph, loop: Loop) -> int:
    """Count the FFMA of a loop."""
    return sum(one.base == "FFMA" for block in loop.blocks for one in graph.instructions(block))


def rows_of_turn(entry: str, ffma: int, lane_bytes: int) -> int:
    """Return the rows of K, and as many of V, that a turn computes; 0 for a kernel whose loop has no rows.

    A row costs a head `2 E - 1` FFMA (`E` elements a lane; the exponentials add less than a step's). How many are
    requested cannot be counted alone: where branches became predicates, the loads of a full and of a part step both
    stand in the turn. But at least the rows that it computes must be requested, `lane_bytes` a lane, or the loop is not
    the one that was meant: then raises `DisassembleError`.
    """
    name = _PARTIAL.fullmatch(entry)
    if name is None:
        return 0
    elements = int(name["head_dim"]) // _LANES
    step = int(name["rows"]) * int(name["group"]) * (2 * elements - 1)
    rows = int(name["rows"]) * (ffma // step)
    needed = 2 * rows * elements * _STORAGE_BYTES[name["storage"]]
    if rows == 0 or lane_bytes < needed:
        raise DisassembleError(
            f"{entry}: the loop with the most FFMA has {ffma} and requests {lane_bytes} bytes a lane; "
            f"a step of its rows has {step} and {rows} rows are {needed} bytes"
        )
    return rows

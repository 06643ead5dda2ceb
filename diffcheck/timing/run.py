"""Time partial and reduce of one arm, its launches alone, and the floors, interleaved."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from diffcheck import digest
from diffcheck.arms import DeviceArm, HostArm, Problem
from diffcheck.buffers import FloatArray
from diffcheck.cases import Case
from diffcheck.compare import bits_equal
from diffcheck.errors import BadInputError, DiffcheckError
from diffcheck.executors.gpu import GpuExecutor, launch, load_module
from diffcheck.executors.program import Program
from diffcheck.layouts import allocate_outputs
from diffcheck.parity.prepare import facts_of
from diffcheck.planning import plan_for
from diffcheck.receipts.metrics import Check
from diffcheck.timing.floors import FLOOR_THREADS, VECTOR_BYTES, empty_ptx, read_ptx
from diffcheck.timing.graph import Timed, capture, choose_calls, sample_interleaved, spread_percent
from diffcheck.timing.model import LAUNCH_FLOOR, TimedCase, Variant
from diffcheck.timing.sets import DeviceSets, count_sets, timing_inputs, upload

if TYPE_CHECKING:
    from rust_kernel.plan import TileTable

# Grids of the read-only floor, in blocks of 512 threads an SM for K and as many for V: the best depends on the bytes.
FLOOR_BLOCKS_PER_SM = (1, 2, 4)


@dataclass(frozen=True)
class Settings:
    """How long to sample: `rounds` replays of each graph, `pause_s` seconds apart."""

    target: str
    profile: str
    rounds: int
    pause_s: float
    tiles: TileTable | None = None
    """The table that plans are made by; None stands for the one that is built in."""


@dataclass(frozen=True)
class Candidate:
    """A variant before it was timed."""

    kind: str
    detail: str
    ptx: str
    timed: Timed
    kv_bytes: int | None


def time_case(case: Case, arms: Sequence[DeviceArm], reference: HostArm, settings: Settings) -> TimedCase:
    """Time every arm on one case; then compare each one that promises the reference's bits with the reference."""
    plan = plan_for(case, settings.profile, settings.tiles)
    inputs = timing_inputs(case)
    problem = Problem(case.name, inputs, allocate_outputs(case, plan.n_splits), plan)
    programs = {arm.name: arm.program(problem, settings.target) for arm in arms}
    count = count_sets(case.kv_bytes, _l2_bytes())
    # Each arm has its own sets: one that widens K and V reads other memory than one that does not.
    sets = {name: upload(program, count) for name, program in programs.items()}
    candidates = [
        candidate
        for name, program in programs.items()
        for candidate in _of_program(name, program, sets[name], case.kv_bytes)
    ]
    first = next(iter(programs))
    candidates += floor_candidates(case, programs[first], sets[first], settings.target)
    timed = _sample(candidates, count, settings)
    return TimedCase(
        case=facts_of(case, plan),
        kv_bytes=case.kv_bytes,
        buffer_sets=count,
        rotated_bytes=count * case.kv_bytes,
        parity=_parity(problem, [arm.name for arm in arms if arm.role == "bits"], programs, sets, reference),
        variants=tuple(timed),
    )


def _sample(candidates: Sequence[Candidate], sets: int, settings: Settings) -> list[Variant]:
    graphs = [capture(candidate.timed, choose_calls(candidate.timed, sets)) for candidate in candidates]
    samples = sample_interleaved(graphs, settings.rounds, settings.pause_s)
    variants: list[Variant] = []
    for candidate, graph in zip(candidates, graphs, strict=True):
        taken = samples[graph.name]
        median = statistics.median(taken)
        variants.append(
            Variant.model_validate(
                {
                    "name": graph.name,
                    "kind": candidate.kind,
                    "detail": candidate.detail,
                    "ptx_sha256": digest.of_text(candidate.ptx),
                    "calls": graph.calls,
                    "samples_us": taken,
                    "median_us": median,
                    "spread_percent": spread_percent(taken),
                    "bytes_per_second": None if candidate.kv_bytes is None else candidate.kv_bytes / (median * 1e-6),
                }
            )
        )
    return variants


def _of_program(name: str, program: Program, sets: DeviceSets, kv_bytes: int) -> list[Candidate]:
    module = load_module(program.ptx)
    functions = [(step, module.get_function(step.entry)) for step in program.steps]

    def enqueue(chosen: Sequence[Any], call: int) -> None:
        for step, function in chosen:
            launch(function, step, sets.bases[call % len(sets.bases)])

    entries = " + ".join(step.entry for step in program.steps)
    found = [Candidate("arm", entries, program.ptx, Timed(name, lambda call: enqueue(functions, call)), kv_bytes)]
    if len(functions) > 1:
        # The first launch is the one that reads K and V; the others only what it left.
        alone = Timed(f"{name}, first launch", lambda call: enqueue(functions[:1], call))
        found.append(Candidate("part", program.steps[0].entry, program.ptx, alone, kv_bytes))
    return found


def floor_candidates(case: Case, program: Program, sets: DeviceSets, target: str) -> list[Candidate]:
    """Return what a decode is held against: two empty kernels, then reading K and V on several grids."""
    import cupy

    inputs = program.decode_inputs
    empty, read = empty_ptx(target), read_ptx(target)
    nothing = load_module(empty).get_function("empty")
    read_both = load_module(read).get_function("read_both")
    sink = cupy.zeros(1, dtype=np.uint32)
    sms = int(cupy.cuda.Device().attributes["MultiProcessorCount"])
    vectors = np.uint64(case.kv_bytes // 2 // VECTOR_BYTES)

    def two_empty(_call: int) -> None:
        nothing((1, 1, 1), (1, 1, 1), ())
        nothing((1, 1, 1), (1, 1, 1), ())

    def reading(blocks: int) -> Timed:
        def enqueue(call: int) -> None:
            bases = sets.bases[call % len(sets.bases)]
            first, second = (np.uint64(bases[array.buffer.name] + array.byte_offset) for array in (inputs.k, inputs.v))
            given = (first, second, vectors, np.uint64(sink.data.ptr))
            read_both((blocks, 2, 1), (FLOOR_THREADS, 1, 1), given)

        return Timed(f"read only, {blocks} blocks", enqueue)

    found = [Candidate("floor", "two empty kernels", empty, Timed(LAUNCH_FLOOR, two_empty), None)]
    for share in FLOOR_BLOCKS_PER_SM:
        detail = f"K and V in one launch, {share} blocks of {FLOOR_THREADS} threads an SM for each"
        found.append(Candidate("floor", detail, read, reading(share * sms), case.kv_bytes))
    return found


def _parity(
    problem: Problem,
    names: Sequence[str],
    programs: Mapping[str, Program],
    sets: Mapping[str, DeviceSets],
    reference: HostArm,
) -> tuple[Check, ...]:
    expected = reference.compute(problem).out
    return tuple(
        Check.of("bits", name, reference.name, bits_equal(_result(programs[name], sets[name]), expected))
        for name in names
    )


def _result(program: Program, sets: DeviceSets) -> FloatArray:
    """Return what one call of the program leaves in its output."""
    import cupy

    out = program.outputs.out
    array = sets.arrays[0][out.buffer.name]
    array.set(out.buffer.raw)  # the poison again: what is compared was written by the one call below
    module = load_module(program.ptx)
    for step in program.steps:
        launch(module.get_function(step.entry), step, sets.bases[0])
    cupy.cuda.get_current_stream().synchronize()
    return out.over(array.get())


def _l2_bytes() -> int:
    import cupy

    return int(cupy.cuda.Device().attributes["L2CacheSize"])


def device_facts(executor: GpuExecutor) -> dict[str, str | int]:
    """Return what a timing says of the device."""
    return {**executor.device_facts(), "l2_bytes": _l2_bytes()}


def require_dense(cases: Sequence[Case]) -> None:
    """Raise `DiffcheckError` for a case whose layout a timing cannot rotate, or that reads no K and V."""
    for case in cases:
        if case.stage != "decode":
            raise DiffcheckError(f"case: {case.name} has the stage {case.stage}; timing takes single decodes")
        if case.layout != "dense":
            raise DiffcheckError(f"case: {case.name} has the layout {case.layout}; timing takes dense cases")


def require_exact(arms: Sequence[DeviceArm]) -> None:
    """Raise `BadInputError` for arms of which none can show, after the timing, that what was timed is right."""
    if not any(arm.role == "bits" for arm in arms):
        raise BadInputError("arm", ", ".join(arm.name for arm in arms), "at least one that has the reference's bits")

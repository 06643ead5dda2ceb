"""Assemble kernels side by side and say which of them hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from diffcheck import digest
from diffcheck.arms import DeviceArm
from diffcheck.assemble.limits import SHARED_BYTES
from diffcheck.assemble.model import Assembled, AssembledKernel
from diffcheck.assemble.ptxas import AssembleError, Resources, assemble, ptxas_version
from diffcheck.errors import BadInputError
from diffcheck.workers import in_threads, usable_cores

# The register file of an SM, the most registers a thread can name, and the unit in which a warp takes registers
# (256 a warp, so 8 a thread): the same on every target here.
SM_REGISTERS = 65536
MAX_REGISTERS = 255
REGISTER_UNIT = 8


@dataclass(frozen=True)
class Job:
    """One kernel to assemble for one target."""

    arm: DeviceArm
    entry: str
    target: str


def register_limit(threads: int, blocks_per_sm: int) -> int:
    """Return the most registers a thread may use so that `blocks_per_sm` blocks of `threads` threads fit an SM."""
    share = SM_REGISTERS // (threads * blocks_per_sm)
    return min(MAX_REGISTERS, share // REGISTER_UNIT * REGISTER_UNIT)


def list_jobs(arms: Iterable[DeviceArm], targets: Sequence[str], entries: Sequence[str] = ()) -> list[Job]:
    """Return a job for every kernel of the arms on every target; `entries` keeps only those names.

    Raises `BadInputError` for an entry that no arm has.
    """
    jobs = [Job(arm, entry, target) for arm in arms for target in targets for entry in arm.entries(target)]
    known = list(dict.fromkeys(job.entry for job in jobs))
    for entry in entries:
        if entry not in known:
            raise BadInputError("entry", entry, ", ".join(known))
    return [job for job in jobs if not entries or job.entry in entries]


def assemble_all(jobs: Sequence[Job], advance: Callable[[str], None]) -> Assembled:
    """Assemble every job, as many at a time as there are cores, and return the results in the order of the jobs.

    `advance` is called with a kernel's name as each one is done. Raises `MissingRequirementError` without ptxas.
    """
    version = ptxas_version()
    found: dict[int, AssembledKernel] = {}
    for index, kernel in in_threads(_assemble_one, jobs, usable_cores()):
        found[index] = kernel
        advance(kernel.entry)
    kernels = tuple(found[i] for i in range(len(jobs)))
    status = "fails" if any(kernel.problems for kernel in kernels) else "holds"
    return Assembled.model_validate({"ptxas_version": version, "status": status, "kernels": kernels})


def _assemble_one(job: Job) -> AssembledKernel:
    kernel = job.arm.kernel(job.entry, job.target)
    limit = register_limit(kernel.threads, kernel.blocks_per_sm)
    shared_limit = SHARED_BYTES[job.target] // kernel.blocks_per_sm
    try:
        used = assemble(kernel.ptx, kernel.entry, job.target)
        problems = _problems(used, limit, used.static_shared + kernel.dynamic_shared, shared_limit)
    except AssembleError as error:
        used = Resources(registers=0, static_shared=0, stack=0, spill_stores=0, spill_loads=0)
        problems = [str(error)]
    return AssembledKernel(
        arm=job.arm.name,
        entry=job.entry,
        target=job.target,
        ptx_sha256=digest.of_text(kernel.ptx),
        threads=kernel.threads,
        registers=used.registers,
        register_limit=limit,
        static_shared=used.static_shared,
        dynamic_shared=kernel.dynamic_shared,
        shared_limit=shared_limit,
        stack=used.stack,
        spill_stores=used.spill_stores,
        spill_loads=used.spill_loads,
        problems=tuple(problems),
    )


def _problems(used: Resources, limit: int, shared: int, shared_limit: int) -> list[str]:
    problems: list[str] = []
    if used.stack:
        problems.append(f"stack of {used.stack} bytes, must be 0")
    if used.spill_stores or used.spill_loads:
        problems.append(f"spills {used.spill_stores} bytes out and {used.spill_loads} in, must be 0")
    if used.registers > limit:
        problems.append(f"{used.registers} registers a thread, at most {limit} leave room for the blocks an SM")
    if shared > shared_limit:
        problems.append(f"{shared} bytes of shared memory, at most {shared_limit} fit")
    return problems

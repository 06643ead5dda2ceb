"""The PTX machine: runs a kernel's PTX on the CPU, with every access checked. Tier: interpreted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from diffcheck.executors.base import Availability, ExecutionError, Tier
from diffcheck.executors.program import Address, Outcome, Program, Raw, Region, Step

if TYPE_CHECKING:
    from rust_kernel import ptx


class MachineExecutor:
    """Runs programs in `rust_kernel.ptx`.

    Inputs are read-only, scratch starts uninitialised, and only the live part of a buffer exists, without its guard
    words: a write to an input, a read past `kv_len`, a read of what was never written and a step outside a buffer are
    faults that name the instruction. So is what a programmatic launch does before its wait that conflicts with a
    launch before it, and each program is taken to follow one that writes its inputs and reads all else. `threads` is
    the number of host threads a launch uses (0: all), `step_limit` the warp instructions after which a block counts as
    never ending (None: the machine's own limit). From a `schedule` the order of blocks and warps is drawn, on one host
    thread (None: the machine's own order).
    """

    name: str = "machine"
    tier: Tier = "interpreted"

    def __init__(self, threads: int = 0, step_limit: int | None = None, schedule: int | None = None) -> None:
        self.threads = threads
        self.step_limit = step_limit
        self.schedule = schedule

    def available(self) -> Availability:
        """Tell whether the native module is built."""
        try:
            from rust_kernel import ptx  # noqa: F401
        except ImportError as error:
            return Availability(False, f"the native module of rust_kernel is not built ({error})")
        return Availability(True)

    def default_target(self) -> str:
        """Return sm_90, the architecture of the default profile."""
        return "sm_90"

    def default_profile(self) -> str:
        """Return h200."""
        return "h200"

    def run(self, program: Program) -> Outcome:
        """Run a program; see `Executor.run`."""
        from rust_kernel import ptx

        memory = ptx.Memory()
        regions = {region.buffer.name: region for region in program.regions()}
        bases = {name: _allocate(memory, region) for name, region in regions.items()}
        _follow_another(memory, regions, bases)
        start = time.perf_counter()
        try:
            module = ptx.PtxModule(program.ptx, name=program.name)
            executed = sum(self._launch(module, memory, step, regions, bases) for step in program.steps)
        except (ptx.PtxError, ptx.PtxFault) as error:
            raise ExecutionError(" ".join(str(error).split())) from error
        seconds = time.perf_counter() - start
        after: dict[str, Raw] = {}
        for name, region in regions.items():
            live = memory.read(bases[name], region.live.dtype, region.live.shape)
            after[name] = region.whole(live)
        out = program.outputs.out
        return Outcome(out.over(after[out.buffer.name]), after, seconds, executed)

    def _launch(
        self,
        module: ptx.PtxModule,
        memory: ptx.Memory,
        step: Step,
        regions: dict[str, Region],
        bases: dict[str, int],
    ) -> int:
        from rust_kernel import ptx

        args: list[int] = []
        for arg in step.args:
            if isinstance(arg, Address):
                region = regions[arg.array.buffer.name]
                # The machine's memory starts at the live part, not at the guard words before it.
                offset = arg.array.byte_offset - region.first * region.buffer.raw.itemsize
                args.append(bases[region.buffer.name] + offset)
            else:
                args.append(arg.value)
        stats = ptx.launch(
            module,
            step.entry,
            memory,
            grid=step.grid,
            block=step.block,
            args=args,
            dynamic_shared=step.dynamic_shared,
            threads=self.threads,
            step_limit=self.step_limit,
            schedule=self.schedule,
            programmatic=step.programmatic,
        )
        return int(stats.instructions)


def _follow_another(memory: ptx.Memory, regions: dict[str, Region], bases: dict[str, int]) -> None:
    """Have the first launch follow one that may still write q and the newest rows of K and V, and read what it left."""
    inputs = [base for name, base in bases.items() if regions[name].role == "input"]
    memory.follow(writes=inputs, reads=[base for base in bases.values() if base not in inputs])


def _allocate(memory: ptx.Memory, region: Region) -> int:
    name = region.buffer.name
    if region.role == "scratch":
        return memory.alloc_uninit(region.live.nbytes, name=name)
    return memory.alloc(region.live, name=name, writable=region.role == "output")

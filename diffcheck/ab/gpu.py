"""The device of a run: CUDA through CuPy, watched by NVML."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from diffcheck.ab.gpu_row import GpuRow, GpuSettings, Sided
from diffcheck.ab.graph_row import gpu_errors
from diffcheck.ab.nvml import Monitor, Nvml, open_monitor
from diffcheck.arms import DeviceArm, get_arm, reference_arm
from diffcheck.arms.base import Problem
from diffcheck.assemble.ptxas import AssembleError, assemble_all_entries, ptxas_version
from diffcheck.assemble.sass.occupancy import LIMITS, blocks_per_sm
from diffcheck.errors import BadInputError, DiffcheckError, MissingRequirementError
from diffcheck.executors.gpu import GpuExecutor
from diffcheck.experiment.rows import ExperimentRow
from diffcheck.layouts import allocate_outputs
from diffcheck.parity.judge_case import CaseRun, run_case
from diffcheck.parity.prepare import Prepared, prepare
from diffcheck.receipts.ab.host import HostFacts, KernelBuild, PtxasFacts
from diffcheck.receipts.metrics import Check

if TYPE_CHECKING:
    from rust_kernel.plan import TileTable


class GpuBench:
    """The current CUDA device. See `Bench`.

    Raises `MissingRequirementError` where there is none, in the name of `what` is to be done.
    """

    def __init__(
        self,
        target: str | None = None,
        profile: str | None = None,
        tiles: TileTable | None = None,
        what: str = "the A/B",
    ) -> None:
        executor = GpuExecutor()
        availability = executor.available()
        if not availability:
            raise MissingRequirementError(f"{what} needs a GPU ({availability.reason})", "run it where there is one")
        self.executor = executor
        self.target = target or executor.default_target()
        self.profile = profile or executor.default_profile()
        self.tiles = tiles
        self.pci_address = _pci_address()
        self.monitor: Monitor = open_monitor(self.pci_address)
        self._host = self._host_facts()

    def open_row(self, row: ExperimentRow) -> GpuRow:
        """Prepare a row and run both arms; see `Bench`."""
        arms = (_device_arm(row.baseline), _device_arm(row.candidate))
        prepared = prepare(row.baseline_case, self.profile, reference_arm(), threads=0, tiles=self.tiles)
        others = {row.baseline: prepared, row.candidate: prepared}
        if row.candidate_case != row.baseline_case:
            others[row.candidate] = prepare(
                row.candidate_case, self.profile, reference_arm(), threads=0, tiles=self.tiles
            )
        runs = self._runs(arms, others)
        parity = _checks(runs)
        sides = tuple(self._side(arm, others[arm.name], runs) for arm in arms)
        settings = GpuSettings(self.target, self._host.l2_bytes)
        return GpuRow(prepared, (sides[0], sides[1]), parity, settings)

    def host(self, host_id: str | None) -> HostFacts:
        """Return what a receipt says of the host; see `Bench`."""
        return self._host.model_copy(update={"id": host_id})

    def ptxas(self, arms: Sequence[str], entries: Sequence[str]) -> PtxasFacts | None:
        """Assemble the arms' kernels of these names for the device; see `Bench`."""
        target = self._host.arch if self._host.arch in LIMITS else self.target
        try:
            version = ptxas_version()
            kernels = [build for name in arms for build in self._builds(_device_arm(name), entries, target)]
        except (AssembleError, MissingRequirementError):
            return None
        return PtxasFacts(version=version, kernels=tuple(kernels))

    def _builds(self, arm: DeviceArm, entries: Sequence[str], target: str) -> list[KernelBuild]:
        made: list[KernelBuild] = []
        for entry in entries:
            try:
                kernel = arm.kernel(entry, self.target)
            except BadInputError:
                continue  # the other arm's
            used = assemble_all_entries(kernel.ptx, (entry,), target)[entry]
            shared = used.static_shared + kernel.dynamic_shared
            made.append(
                KernelBuild(
                    arm=arm.name,
                    entry=entry,
                    registers=used.registers,
                    spill_stores=used.spill_stores,
                    spill_loads=used.spill_loads,
                    stack=used.stack,
                    blocks_per_sm=blocks_per_sm(target, kernel.threads, used.registers, shared),
                )
            )
        return made

    def _runs(self, arms: Sequence[DeviceArm], prepared: Mapping[str, Prepared]) -> list[CaseRun]:
        """Run both arms on the device: together where they share a plan, so that they are compared, too."""
        with gpu_errors(f"row {prepared[arms[0].name].case.name}, parity"):
            if prepared[arms[0].name] is prepared[arms[1].name]:
                return [run_case(prepared[arms[0].name], self.executor, self.target, arms)]
            return [run_case(prepared[arm.name], self.executor, self.target, (arm,)) for arm in arms]

    def _side(self, arm: DeviceArm, prepared: Prepared, runs: Sequence[CaseRun]) -> Sided:
        problem = Problem(
            prepared.case.name,
            prepared.inputs,
            allocate_outputs(prepared.case, prepared.plan.n_splits),
            prepared.plan,
        )
        sha256 = next(record.ptx_sha256 for run in runs for record in run.arms if record.name == arm.name)
        return Sided(arm.name, arm.program(problem, self.target), prepared.facts.plan, sha256)

    def _host_facts(self) -> HostFacts:
        import cupy

        facts = self.executor.device_facts()
        device = cupy.cuda.Device()
        nvml = self.monitor if isinstance(self.monitor, Nvml) else None
        uuid = nvml.uuid() if nvml else None
        return HostFacts(
            id=None,
            machine=platform.machine(),
            device=str(facts["device"]),
            arch=str(facts["arch"]),
            sms=int(facts["sms"]),
            uuid_sha256=hashlib.sha256(uuid.encode()).hexdigest() if uuid else None,
            l2_bytes=int(device.attributes["L2CacheSize"]),
            memory_bytes=int(device.mem_info[1]),
            driver=nvml.driver() if nvml else None,
            cuda_driver=str(facts["driver_version"]),
            cuda_runtime=str(facts["runtime_version"]),
            cupy=str(facts["cupy_version"]),
            peak_memory_bytes_per_second=nvml.peak_bytes_per_second() if nvml else None,
        )


def _checks(runs: Sequence[CaseRun]) -> tuple[Check, ...]:
    """Return the checks of both arms, and of the reference itself: an arm equal to a wrong reference is wrong."""
    found = [check for run in runs for check in (*run.reference.checks, *run.checks)]
    return tuple(dict.fromkeys(found))


def _device_arm(name: str) -> DeviceArm:
    arm = get_arm(name)
    if not isinstance(arm, DeviceArm):
        raise DiffcheckError(f"arm {name} is not made of kernels")
    return arm


def _pci_address() -> str:
    import cupy

    runtime = cupy.cuda.runtime
    return str(runtime.deviceGetPCIBusId(cupy.cuda.Device().id))

"""The device of a sweep: CUDA through CuPy, with the A/B's placement, graphs and floors."""

from __future__ import annotations

from collections.abc import Sequence

from diffcheck.ab.gpu import GpuBench
from diffcheck.ab.graph_row import GraphRow
from diffcheck.ab.nvml import Monitor
from diffcheck.executors import Executor
from diffcheck.parity.prepare import Prepared
from diffcheck.receipts.ab.host import HostFacts
from diffcheck.tune.bench import CheckedVariant


class GpuTuneBench:
    """The current CUDA device. See `TuneBench`.

    Raises `MissingRequirementError` where there is none.
    """

    def __init__(self) -> None:
        self._ab = GpuBench(what="tune")
        self.target = self._ab.target
        self.profile = self._ab.profile
        self.monitor: Monitor = self._ab.monitor
        self.executor: Executor = self._ab.executor
        self.pci_address = self._ab.pci_address

    def host(self) -> HostFacts:
        """Return what a result says of the host; see `TuneBench`."""
        return self._ab.host(None)

    def open_row(self, prepared: Prepared, variants: Sequence[CheckedVariant]) -> GraphRow:
        """Place the variants' buffers; see `TuneBench`."""
        programs = {one.variant.name: one.program for one in variants}
        return GraphRow(prepared.case, programs, self.target, self.host().l2_bytes)

"""Planted faults in the PTX machine."""

from __future__ import annotations

from diffcheck.errors import DiffcheckError
from diffcheck.sanitize.launch import planted_launch
from diffcheck.sanitize.model import MachineVerdict
from diffcheck.sanitize.registry import Planted, Version


def run_in_machine(planted: Planted, version: Version) -> MachineVerdict:
    """Run one version of a planted fault and return what the machine reports.

    Raises `DiffcheckError` when the machine does not accept the text: a planted kernel that cannot run plants nothing.
    """
    from rust_kernel import ptx

    launch = planted_launch(planted)
    try:
        module = ptx.PtxModule(planted.ptx, name=f"{planted.name}.ptx")
    except ptx.PtxError as error:
        raise DiffcheckError(f"planted fault {planted.name}: {error}") from error
    memory = ptx.Memory()
    source = 0 if launch.inputs is None else memory.alloc(launch.inputs, name="in", writable=False)
    args = [source, memory.alloc_uninit(launch.output_bytes, name="out")]
    args += [] if launch.count is None else [launch.count]
    try:
        ptx.launch(module, version, memory, grid=launch.grid, block=launch.block, args=args)
    except ptx.PtxFault as fault:
        return MachineVerdict(fault=fault.kind, message=" ".join(str(fault).split()))
    return MachineVerdict(fault=None, message="")

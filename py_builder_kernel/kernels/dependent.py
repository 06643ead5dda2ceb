"""Programmatic dependent launch: a kernel may start while the one before it on the stream still runs.

Started so, a kernel waits, before its first access of memory that others write, until the kernel before it has ended
and its writes are visible (PTX ISA, `griddepcontrol`; architectures from sm_90 on). What it may do earlier is compute
addresses and prefetch into the L2, which serves writes too, so that nothing stale can come of it. Launched plainly, or
after anything but a kernel, neither instruction does anything.
"""

from __future__ import annotations

from py_builder_kernel.ptx import Function, Target

_FIRST_SM = 90


def can_start_early(target: Target) -> bool:
    """Whether the architecture has programmatic dependent launch."""
    return target.sm >= _FIRST_SM


def let_next_start(f: Function) -> None:
    """Once every block is here or has ended, the next kernel may start, where it was launched as a dependent one."""
    if can_start_early(f.target):
        f.phase("let the next kernel start")
        f.emit("griddepcontrol.launch_dependents")


def wait_for_previous(f: Function) -> None:
    """Wait until the kernel before this one has ended and its writes are visible."""
    if can_start_early(f.target):
        f.phase("wait for the previous kernel")
        f.emit("griddepcontrol.wait")

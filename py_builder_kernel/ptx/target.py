"""The architectures that kernels are built for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from py_builder_kernel.ptx.errors import PtxBuildError

PtxVersion = tuple[int, int]

# Driver 580 (CUDA 13.0) reads PTX up to this version; a newer header would need a newer driver for nothing.
NEWEST_PTX: Final[PtxVersion] = (9, 0)


@dataclass(frozen=True, slots=True)
class Target:
    """An architecture `sm_NN`, the first PTX version that knows it, and the shared memory of a block and an SM (bytes).

    The limits are those of the CUDA C++ Programming Guide's table "Technical Specifications per Compute Capability",
    and the least among the devices that have no nearer target: PTX for sm_80 also runs on sm_86, which has 99 KB a
    block, not 163.
    """

    name: str
    sm: int
    ptx: PtxVersion
    shared_per_block: int
    shared_per_sm: int

    @property
    def shared_alone(self) -> int:
        """The shared memory of a block, in bytes, with which no second one fits: the driver takes 1 KB of each too."""
        return self.shared_per_sm // 2


TARGETS: Final[dict[str, Target]] = {
    target.name: target
    for target in (
        Target("sm_80", 80, (7, 0), 99 * 1024, 100 * 1024),
        Target("sm_89", 89, (7, 8), 99 * 1024, 100 * 1024),
        Target("sm_90", 90, (7, 8), 227 * 1024, 228 * 1024),
        Target("sm_120", 120, (8, 7), 99 * 1024, 100 * 1024),
        Target("sm_121", 121, (8, 8), 99 * 1024, 100 * 1024),
    )
}


def target_named(name: str) -> Target:
    """The target called `name`; raises PtxBuildError for one that is not in TARGETS."""
    if name not in TARGETS:
        raise PtxBuildError(f"target is {name!r}; allowed: {', '.join(TARGETS)}")
    return TARGETS[name]


def parse_version(text: str) -> PtxVersion:
    """`"7.4"` as (7, 4)."""
    major, minor = text.split(".")
    return int(major), int(minor)


def version_text(version: PtxVersion) -> str:
    """(7, 4) as `"7.4"`."""
    return f"{version[0]}.{version[1]}"

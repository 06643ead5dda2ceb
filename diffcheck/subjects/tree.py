"""The subject hashes of the tree that this package was imported from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from diffcheck.arms import get_arm
from diffcheck.errors import BadInputError, DiffcheckError
from diffcheck.oxide.files import PACKAGE as OXIDE
from diffcheck.oxide.files import PTX_FOLDER, file_target, installed_files
from diffcheck.oxide.manifest import built_sha256
from diffcheck.receipts.ab.subjects import ArmPtx, Subjects
from diffcheck.subjects.computed import builder_ptx_sha256, plans_sha256, tile_table_sha256
from diffcheck.subjects.lock import RENEW, Lock, read_lock
from diffcheck.subjects.sources import BUILDER, cases_sha256, timing_sha256

if TYPE_CHECKING:
    from rust_kernel.plan import TileTable


def tree_subjects(arms: Sequence[str], target: str, lock: Lock | None = None) -> Subjects:
    """Return the hashes of everything that a run of some arms with PTX for `target` speaks of.

    Needs neither the native module nor a GPU: `lock` (default: the package's) has what takes the native module. Raises
    `BadInputError` for an arm that does not exist and for a target that PTX is not built for.
    """
    known = read_lock() if lock is None else lock
    return Subjects(
        ptx=tuple(_arm_ptx(name, target, known) for name in arms),
        manifest_sha256=built_sha256(installed_files().manifest),
        contract_sha256=known.contract_sha256,
        tile_table_sha256=known.tile_table_sha256,
        plans_sha256=known.plans_sha256,
        cases_sha256=cases_sha256(),
        timing_sha256=timing_sha256(),
    )


class TreeHashes:
    """The tree's hashes, each computed once: what receipts are compared with.

    A tree that changes meanwhile is seen by a new object only, so that one decision speaks of one tree.
    """

    def __init__(self, lock: Lock | None = None) -> None:
        self.lock = read_lock() if lock is None else lock
        self._known: dict[tuple[tuple[str, ...], str], Subjects] = {}

    @cached_property
    def moved(self) -> tuple[str, ...]:
        """The sources that the lock no longer describes: while there are any, nothing is fresh."""
        return self.lock.moved()

    def subjects(self, arms: tuple[str, ...], arch: str) -> Subjects:
        """Return the hashes of what a device of `arch` runs of some arms; errors as `tree_subjects`."""
        if (arms, arch) not in self._known:
            self._known[arms, arch] = tree_subjects(arms, newest_target(arch, self.lock), self.lock)
        return self._known[arms, arch]


def run_subjects(arms: Sequence[str], target: str, tiles: TileTable | None = None) -> Subjects:
    """Return the same for a receipt that is about to be written, after checking the lock against the native module.

    `tiles` is the tile table that calls were planned by; None stands for the one that is built in.
    Raises `DiffcheckError` when the lock does not describe what runs here: a receipt would then name another thing.
    """
    lock = read_lock()
    moved = list(lock.moved())
    moved += ["tile table"] if lock.tile_table_sha256 != tile_table_sha256() else []
    moved += ["plans"] if lock.plans_sha256 != plans_sha256() else []
    moved += ["builder's PTX"] if lock.builder_ptx != builder_ptx_sha256() else []
    if moved:
        raise DiffcheckError(f"the tree's hashes are out of date ({', '.join(moved)}); renew them: {RENEW}")
    subjects = tree_subjects(arms, target, lock)
    return subjects if tiles is None else subjects.model_copy(update={"tile_table_sha256": tile_table_sha256(tiles)})


def newest_target(arch: str, lock: Lock) -> str:
    """Return the newest target whose PTX a device of `arch` runs. Raises `BadInputError` for a device too old."""
    usable = [target for target in lock.builder_ptx if _number(target) <= _number(arch)]
    if not usable:
        raise BadInputError("arch", arch, f"{min(lock.builder_ptx, key=_number)} or newer")
    return max(usable, key=_number)


def _arm_ptx(name: str, target: str, lock: Lock) -> ArmPtx:
    sources = get_arm(name).sources()
    if BUILDER in sources:
        if target not in lock.builder_ptx:
            raise BadInputError("target", target, ", ".join(lock.builder_ptx))
        return ArmPtx(arm=name, target=target, sha256=lock.builder_ptx[target])
    have = file_target(target, installed_files().targets())
    file = f"{OXIDE}/{PTX_FOLDER}/{have}.ptx"
    if file not in sources:
        raise BadInputError("arm", name, "an arm that is made of kernels")
    return ArmPtx(arm=name, target=have, sha256=sources[file])


def _number(target: str) -> int:
    return int(target.removeprefix("sm_"))

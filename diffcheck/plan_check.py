"""Whether a plan is one that the contract allows (docs/contract.md, section 3), by rules of its own.

The planner is Rust that every arm shares, so that a wrong plan would make all of them agree on the wrong keys. This is
its formulas a second time; `diffcheck.parity.prepare` holds every case's plan to them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, SupportsIndex

import tomli

from diffcheck.cases import Case

if TYPE_CHECKING:
    from rust_kernel.plan import TileTable

MOST_SPLITS = 65_535
LEAST_CHUNK = 64
TABLE_POLICY = "table"
"""How the policy of a call's row in the tile table is asked for."""


class WavesLike(Protocol):
    """The constants of a device that decide splits."""

    @property
    def sms(self) -> int:
        """Streaming multiprocessors."""

    @property
    def blocks_per_sm(self) -> int:
        """Blocks that are resident on one of them."""


class ProfileLike(WavesLike, Protocol):
    """The constants of a device that decide a plan."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def arch(self) -> int:
        """Compute capability times ten."""


class NamedTile(Protocol):
    """A tile by its name."""

    @property
    def name(self) -> str:
        """Its name, such as `w12r4`."""


class WholePlan(Protocol):
    """All of a plan that decides bits; `rust_kernel.plan.Plan` is one."""

    @property
    def kv_len(self) -> int:
        """Keys of the call."""

    @property
    def num_kv_heads(self) -> int:
        """KV heads."""

    @property
    def group_size(self) -> int:
        """Query heads a KV head."""

    @property
    def storage(self) -> str:
        """Storage of K and V."""

    @property
    def head_dim(self) -> int:
        """Elements of a head."""

    @property
    def policy(self) -> str:
        """The split policy."""

    @property
    def profile(self) -> ProfileLike:
        """The device that was planned for."""

    @property
    def chunk(self) -> int:
        """Keys a split."""

    @property
    def n_splits(self) -> int:
        """Splits of the call."""

    @property
    def tile(self) -> NamedTile:
        """How a block walks its split."""

    @property
    def table(self) -> str:
        """Name of the tile table."""

    @property
    def partial_launch(self) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """Grid and block of the partial kernel."""

    def split_range(self, split: SupportsIndex, /) -> tuple[int, int]:
        """First key of a split, and the first behind it."""


class PlanFault(NamedTuple):
    """A rule that a plan breaks, and how."""

    rule: str
    text: str


class TileChoice(NamedTuple):
    """What a table has for a call."""

    tile: str
    policy: str


def plan_faults(plan: WholePlan, case: Case, profile: str, tiles: TileTable | None = None) -> list[PlanFault]:
    """Return what is wrong with the plan of a case for a device profile; nothing for one that the contract allows.

    `tiles` is the table that it was to be planned by; None stands for the one that is built in.
    """
    from rust_kernel.plan import TileTable

    table = TileTable.built_in() if tiles is None else tiles
    chosen = choice_of(table.text, plan.profile.arch, case)
    found: list[PlanFault] = []
    if not 1 <= plan.n_splits <= MOST_SPLITS:
        found.append(PlanFault("number of splits", f"{plan.n_splits} splits; allowed: 1 to {MOST_SPLITS}"))
    else:
        found += _keys(plan)
    policy = chosen.policy if case.policy == TABLE_POLICY else case.policy
    asked = (case.kv_len, case.num_kv_heads, case.group_size, case.head_dim, case.storage, policy, profile, table.name)
    heads = (plan.num_kv_heads, plan.group_size, plan.head_dim)
    planned = (plan.kv_len, *heads, plan.storage, plan.policy, plan.profile.name, plan.table)
    if planned != asked:
        found.append(PlanFault("the call that was asked for", f"planned for {planned}, asked for {asked}"))
    chunk = chunk_of(plan.policy, plan.kv_len, plan.num_kv_heads, plan.profile)
    if plan.chunk != chunk:
        found.append(PlanFault("chunk of the policy", f"chunk {plan.chunk}; {plan.policy} makes {chunk}"))
    if plan.tile.name != chosen.tile:
        found.append(PlanFault("tile of the table", f"tile {plan.tile.name}; the table has {chosen.tile}"))
    grid = (plan.num_kv_heads, plan.n_splits, 1)
    if plan.partial_launch[0] != grid:
        found.append(PlanFault("grid", f"grid {plan.partial_launch[0]}; the plan's is {grid}"))
    return found


def _keys(plan: WholePlan) -> list[PlanFault]:
    """Every key lies in exactly one split, in order, and no split is empty."""
    behind = 0
    for split in range(plan.n_splits):
        first, end = plan.split_range(split)
        if first != behind:
            what = "twice" if first < behind else "in no split"
            return [
                PlanFault("each key once", f"split {split} begins at key {first}: key {min(first, behind)} is {what}")
            ]
        if end <= first:
            return [PlanFault("no empty split", f"split {split} has the keys {first} to {end}")]
        if end - first > plan.chunk:
            return [PlanFault("chunk of the policy", f"split {split} has {end - first} keys, more than {plan.chunk}")]
        behind = end
    if behind != plan.kv_len:
        return [PlanFault("each key once", f"the splits end at key {behind} of {plan.kv_len}")]
    return []


def chunk_of(policy: str, kv_len: int, num_kv_heads: int, profile: WavesLike) -> int:
    """Return the keys a split that a policy makes. Raises `ValueError` for one that the contract does not have."""
    waves = profile.sms * profile.blocks_per_sm
    counted = re.fullmatch(r"(fixed|chunk):(\d+)", policy)
    if counted and counted[1] == "chunk":
        return int(counted[2])
    targets = {
        "note": 4 * profile.sms // num_kv_heads,
        "one-wave": waves // num_kv_heads,
        "three-quarter-wave": waves * 3 // 4 // num_kv_heads,
    }
    if not counted and policy not in targets:
        raise ValueError(f"policy {policy!r} is not in the contract")
    target = max(1, int(counted[2]) if counted else targets[policy])
    return max(LEAST_CHUNK, -(-kv_len // target))


def choice_of(text: str, arch: int, case: Case) -> TileChoice:
    """Return tile and policy of a case by the text of a table. Raises `ValueError` where not exactly one row fits."""
    wanted = {"arch": arch, "group_size": case.group_size, "kv_len": case.kv_len}
    fitting = [
        row
        for row in _rows(text)
        if (row["head_dim"], row["storage"]) == (case.head_dim, case.storage)
        and all(_holds(str(row[field]), value) for field, value in wanted.items())
    ]
    if len(fitting) != 1:
        raise ValueError(f"tiles: {len(fitting)} rows fit {case.name} on sm_{arch}")
    (row,) = fitting
    return TileChoice(f"w{row['warps']}r{row['rows']}", str(row["policy"]))


@lru_cache(maxsize=16)
def _rows(text: str) -> tuple[dict[str, object], ...]:
    return tuple(tomli.loads(text)["row"])


def _holds(span: str, value: int) -> bool:
    """Whether `any`, `N`, `N-M` or `N-` has a number."""
    if span == "any":
        return True
    first, dash, last = span.partition("-")
    end = last if dash else first
    return int(first) <= value and (not end or value <= int(end))

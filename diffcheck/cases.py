"""What a case is, and the registry of all of them.

A case says everything that decides its inputs and what is expected of the outputs: shape, storage, split policy, layout
in memory, generator, seed. The cases themselves are listed in `diffcheck.suites`; adding one touches that file only.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from diffcheck.errors import BadInputError, choose

Storage = Literal["f32", "f16"]
Expect = Literal["bound", "exact"]
Stage = Literal["decode", "reduce", "chain"]

STORAGES: tuple[Storage, ...] = get_args(Storage)
STAGES: tuple[Stage, ...] = get_args(Stage)
STORAGE_BYTES: dict[Storage, int] = {"f32": 4, "f16": 2}
SUITES: tuple[str, ...] = ("quick", "matrix", "rungs", "kernels", "faults")
DECODES: dict[Stage, int] = {"reduce": 0, "decode": 1, "chain": 2}
"""Decodes of a case that read K and V, by its stage."""
F32_BYTES = 4


def kv_bytes(kv_len: int, num_kv_heads: int, head_dim: int, storage: Storage) -> int:
    """Return the bytes of K and V, `[kv_len, num_kv_heads, head_dim]` each, that one decode reads once."""
    return 2 * kv_len * num_kv_heads * head_dim * STORAGE_BYTES[storage]


@dataclass(frozen=True, slots=True)
class Case:
    """One decode call: q `[num_q_heads, head_dim]` f32 against K and V `[kv_len, num_kv_heads, head_dim]`.

    Where `stage` is "reduce", the reduce kernel alone: it merges hand-made partials of the splits that the plan has.
    Where it is "chain", two decodes in a row, of the same K, V and scratch: the first one's result is the second one's
    q, so that each kernel but the first touches what the kernel before it touched.
    `storage` is the dtype of K and V. `policy` is the split policy, spelled as in the contract ("fixed:3", "chunk:7"),
    or "table" for that of the call's row in the tile table. `layout` names how the arrays lie in memory (see
    `diffcheck.layouts`). `expect` is "exact" where the generator knows every word of the result, and "bound" where the
    oracle and a derived bound decide.
    """

    name: str
    num_q_heads: int
    num_kv_heads: int
    kv_len: int
    storage: Storage
    generator: str
    expect: Expect
    head_dim: int = 256
    policy: str = "table"
    layout: str = "dense"
    seed: int = 0
    suites: tuple[str, ...] = ("matrix",)
    stage: Stage = "decode"

    @property
    def group_size(self) -> int:
        """Query heads per KV head."""
        return self.num_q_heads // self.num_kv_heads

    @property
    def family(self) -> str:
        """The name without the storage: the cases of one family draw the same values, so only storage differs."""
        return self.name.replace(f"-{self.storage}", "", 1)

    @property
    def decodes(self) -> int:
        """How many decodes read K and V."""
        return DECODES[self.stage]

    @property
    def kv_bytes(self) -> int:
        """Bytes of K and V, read once by each decode: the traffic that decode attention cannot avoid."""
        return self.decodes * kv_bytes(self.kv_len, self.num_kv_heads, self.head_dim, self.storage)

    @property
    def q_bytes(self) -> int:
        """Bytes of the queries."""
        return self.decodes * self.num_q_heads * self.head_dim * F32_BYTES

    @property
    def out_bytes(self) -> int:
        """Bytes of the outputs."""
        return max(1, self.decodes) * self.num_q_heads * self.head_dim * F32_BYTES

    def scratch_bytes(self, n_splits: int) -> int:
        """Bytes of `part_m`, `part_s` and `part_acc` for `n_splits` splits."""
        return self.num_q_heads * n_splits * (2 + self.head_dim) * F32_BYTES

    def bytes_moved(self, n_splits: int) -> int:
        """Bytes that the case's kernels move when each is read once: K, V, q, out, and scratch written and read."""
        scratch = self.scratch_bytes(n_splits) * max(1, 2 * self.decodes)
        return self.kv_bytes + self.q_bytes + self.out_bytes + scratch

    def to_json(self) -> dict[str, object]:
        """Every field and the bytes that do not depend on the plan, as JSON types."""
        return {
            "name": self.name,
            "stage": self.stage,
            "num_q_heads": self.num_q_heads,
            "num_kv_heads": self.num_kv_heads,
            "head_dim": self.head_dim,
            "kv_len": self.kv_len,
            "storage": self.storage,
            "policy": self.policy,
            "layout": self.layout,
            "generator": self.generator,
            "seed": self.seed,
            "expect": self.expect,
            "suites": list(self.suites),
            "kv_bytes": self.kv_bytes,
            "q_bytes": self.q_bytes,
            "out_bytes": self.out_bytes,
        }


def collect(cases: Iterable[Case]) -> dict[str, Case]:
    """Index `cases` by name and check each one.

    Raises `BadInputError` for two cases of one name and for a field that no generator, layout, storage or suite has.
    """
    found: dict[str, Case] = {}
    for case in cases:
        if case.name in found:
            raise BadInputError("case", case.name, "a name that no other case has")
        _check(case)
        found[case.name] = case
    return found


def all_cases() -> tuple[Case, ...]:
    """Every registered case, in the order of `diffcheck.suites`."""
    return tuple(_registry().values())


def get_case(name: str) -> Case:
    """The case called `name`; raises `BadInputError` that offers the nearest names."""
    registry = _registry()
    if name in registry:
        return registry[name]
    near = difflib.get_close_matches(name, registry, n=3)
    allowed = f"a name that `diffcheck list cases` prints{', such as ' + ' or '.join(near) if near else ''}"
    raise BadInputError("case", name, allowed)


def select(suite: str | None = None, names: Sequence[str] = ()) -> tuple[Case, ...]:
    """The cases of `suite` (None: of any), or only those in `names` where names are given, in registry order.

    Raises `BadInputError` for an unknown suite or name, and for a choice that leaves no case: a run over nothing must
    not look like a run in which all held.
    """
    wanted = {get_case(name).name for name in names}
    if suite is not None:
        choose("suite", suite, SUITES)
    chosen = tuple(
        case for case in all_cases() if (suite is None or suite in case.suites) and (not names or case.name in wanted)
    )
    if not chosen:
        raise BadInputError("case", ", ".join(names) or "none", f"a case of the suite {suite}")
    return chosen


@cache
def _registry() -> dict[str, Case]:
    # Imported late: the list of cases is written in terms of `Case`.
    from diffcheck.suites import list_cases

    return collect(list_cases())


def _check(case: Case) -> None:
    from diffcheck.generators import expectation
    from diffcheck.layouts import OVERLAPPING_LAYOUTS, layouts

    choose("storage", case.storage, STORAGES)
    choose("layout", case.layout, layouts())
    choose("stage", case.stage, STAGES)
    expect = expectation(case.stage, case.generator)
    if case.expect != expect:
        raise BadInputError("expect", case.expect, f"{expect} for the generator {case.generator}")
    if case.stage == "reduce" and case.layout != "dense":
        raise BadInputError("layout", case.layout, "dense where only partials are merged: scratch is always dense")
    if not case.suites:
        raise BadInputError("suites", "()", ", ".join(SUITES))
    for suite in case.suites:
        choose("suite", suite, SUITES)
    for field in ("num_q_heads", "num_kv_heads", "head_dim", "kv_len"):
        value: int = getattr(case, field)
        if value < 1:
            raise BadInputError(field, value, "a whole number >= 1")
    if case.num_q_heads % case.num_kv_heads:
        raise BadInputError("num_q_heads", case.num_q_heads, f"a multiple of num_kv_heads ({case.num_kv_heads})")
    if case.expect == "exact" and case.layout in OVERLAPPING_LAYOUTS:
        raise BadInputError("layout", case.layout, "one without strides of 0, as an exact generator writes every row")
    if case.seed < 0:
        raise BadInputError("seed", case.seed, "a whole number >= 0")

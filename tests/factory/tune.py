"""A device for sweeps: the PTX machine checks the bits, a formula gives the times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

from diffcheck.ab.bench import Replayed
from diffcheck.ab.nvml import Monitor
from diffcheck.ab.pace import Pace
from diffcheck.arms import BuilderArm, DeviceArm, reference_arm
from diffcheck.cases import Case
from diffcheck.executors import Executor, get_executor
from diffcheck.parity.prepare import Prepared
from diffcheck.receipts.ab.host import HostFacts
from diffcheck.suites import case
from diffcheck.timing.sets import count_sets
from diffcheck.tune.bench import CheckedVariant
from diffcheck.tune.model import TuneResult
from diffcheck.tune.run import Asked, run_tune
from diffcheck.tune.table_text import ANY, Span, TableRow, table_text
from diffcheck.tune.variants import Choice, Sweep, Variant
from rust_kernel.plan import TileTable
from tests.factory.bench import Watch

Speed = Callable[[Variant, Case], float]
"""A variant's time over that of any other."""


def _base(storage: str, groups: Span, warps: int) -> TableRow:
    return TableRow(ANY, 256, storage, groups, ANY, warps, 4, "one-wave", "reasoned", "a test")


BASE = TileTable.parse(
    table_text([_base("f16", (1, 6), 12), _base("f16", (7, 8), 8), _base("f32", (1, 4), 12), _base("f32", (5, 8), 8)])
)
"""The table that is tuned, whatever the one that is built in says. Both arms have its kernels."""

SMALL = Sweep(warps=(2, 4), rows=(2,), policies=("fixed:2",))
HOST = HostFacts(
    id=None,
    machine="x86_64",
    device="A device",
    arch="sm_90",
    sms=132,
    uuid_sha256=None,
    l2_bytes=1 << 20,
    memory_bytes=1 << 30,
    driver="1.0",
    cuda_driver="13.0",
    cuda_runtime="13.0",
    cupy="14.0",
    peak_memory_bytes_per_second=None,
)


@dataclass
class FormulaTuneRow:
    """Variants that take 10 µs times their speed, each replay with 0.1 % noise."""

    kv_case: Case
    variants: dict[str, Variant]
    speed: Speed
    buffer_sets: int = field(init=False)
    calls: int = field(init=False)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))
    log: list[list[str]] = field(default_factory=list)
    closed: bool = False

    def __post_init__(self) -> None:
        self.buffer_sets = count_sets(self.kv_case.kv_bytes, HOST.l2_bytes)
        self.calls = 2 * self.buffer_sets

    def _replay(self, name: str) -> float:
        self.log[-1].append(name)
        share = self.speed(self.variants[name], self.kv_case) if name in self.variants else 0.5
        return 10.0 * share * float(np.exp(self.rng.normal(0.0, 0.001)))

    def fresh(self, names: Sequence[str]) -> Sequence[Replayed]:
        self.log.append([])
        return [partial(self._replay, name) for name in names]

    def read_floors(self) -> Sequence[tuple[str, str]]:
        return (("read, 1", "one block"), ("read, 2", "two blocks"))

    def close(self) -> None:
        self.closed = True


@dataclass
class FormulaTuneBench:
    """The device; its clock is read by `pace` and stands still but for pauses."""

    speed: Speed = lambda _variant, _case: 1.0
    executor: Executor = field(default_factory=lambda: get_executor("machine"))
    monitor: Monitor = field(default_factory=Watch)
    target: str = "sm_90"
    profile: str = "h200"
    opened: list[FormulaTuneRow] = field(default_factory=list)

    def host(self) -> HostFacts:
        return HOST

    def open_row(self, prepared: Prepared, variants: Sequence[CheckedVariant]) -> FormulaTuneRow:
        named = {one.variant.name: one.variant for one in variants}
        self.opened.append(FormulaTuneRow(prepared.case, named, self.speed))
        return self.opened[-1]


def ticking() -> Pace:
    """A clock that moves a second with every pause."""
    now = [0.0]

    def sleep(_seconds: float) -> None:
        now[0] += 1.0

    return Pace(pause_s=1.0, sleep=sleep, clock=lambda: now[0])


def call(kv_len: int = 65, heads: tuple[int, int] = (4, 1), storage: str = "f16") -> Case:
    """A kind of call to tune."""
    return case("random", heads, kv_len, "f32" if storage == "f32" else "f16", suites=())


def swept(
    bench: FormulaTuneBench,
    *,
    cases: Sequence[Case] = (),
    arms: Sequence[DeviceArm] = (),
    sweep: Sweep = SMALL,
    tiles: TileTable | None = None,
    seconds: float = 20.0,
) -> TuneResult:
    """The result of a sweep."""
    asked = Asked(
        cases=tuple(cases) or (call(),),
        arms=tuple(arms) or (BuilderArm(),),
        sweep=sweep,
        seconds=seconds,
        tiles=tiles or BASE,
        command=("tune", "-o", "result.json"),
        pace=ticking(),
    )
    return run_tune(bench, asked, reference_arm(), lambda _name: None)


W2, W4 = Choice(2, 2, "fixed:2"), Choice(4, 2, "fixed:2")


def fast(winner: Choice, share: float = 0.9) -> FormulaTuneBench:
    """A device on which one choice takes a share of what the others take."""
    return FormulaTuneBench(lambda variant, _case: share if variant.choice == winner else 1.0)


@cache
def won() -> TuneResult:
    """A sweep of one kind of call that `W2` wins, for tests of what is made of a result."""
    return swept(fast(W2))

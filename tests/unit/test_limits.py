"""The calculation of limits: each number worked out by hand, and the command on one kernel."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diffcheck.assemble.ptxas import find_ptxas
from diffcheck.assemble.sass.model import HotLoop, SassKernel
from diffcheck.assemble.sass.nvdisasm import find_nvdisasm
from diffcheck.cli.main import run
from diffcheck.errors import BadInputError, DiffcheckError, MissingRequirementError
from diffcheck.limits.compute import (
    Call,
    flight_bytes,
    limit_of,
    pipe_loads,
    profile_named,
    ring_bytes,
    shapes_of,
)
from diffcheck.limits.model import Limits
from diffcheck.limits.published import published
from py_builder_kernel.kernels.spec import PartialSpec
from rust_kernel.plan import profiles

SHAPE = PartialSpec("f16", 4, 256, 8, 4)
CALL = Call(num_kv_heads=4, kv_lens=(4096,), latency_us=1.0)
MIX = {"FFMA": 240, "f32 add, multiply": 16, "conversion": 64, "shuffle": 32, "copy to shared 128": 8, "move": 40}


def loop(mix: dict[str, int] | None = None, rows: int = 4) -> HotLoop:
    counted = MIX if mix is None else mix
    total = sum(counted.values())
    return HotLoop(instructions=total, instructions_all=total, rows=rows, per_row=total / max(rows, 1), mix=counted)


def sass(target: str = "sm_89", hot: HotLoop | None = None) -> SassKernel:
    return SassKernel(
        arm="builder",
        entry=SHAPE.entry,
        target=target,
        registers=127,
        blocks_per_sm=1,
        occupancy=17.0,
        code_bytes=16,
        instructions=400,
        mix=MIX,
        loop=loop() if hot is None else hot,
    )


def test_each_pipe_is_busy_for_its_lanes_over_the_published_rate() -> None:
    loads = {load.pipe: load.clocks for load in pipe_loads(loop(), "sm_89", published())}
    assert loads["issue"] == 400 / 4
    assert loads["f32 arithmetic"] == 256 * 32 / 128
    assert loads["conversion"] == 64 * 32 / 64
    assert loads["shuffle"] == 32 * 32 / 32
    assert loads["shared memory"] == 8 * 4
    assert pipe_loads(loop(), "sm_89", published())[0].pipe == "issue"
    # Half as many f32 units: they are the busiest.
    assert pipe_loads(loop(), "sm_80", published())[0].pipe == "f32 arithmetic"


def test_an_rtx_4090_is_limited_by_its_memory() -> None:
    limit = limit_of(SHAPE, sass(), profile_named("rtx4090"), CALL, published())
    assert limit.turn_bytes == 2 * 4 * 512
    assert limit.core_bytes_per_clock == pytest.approx(4096 / 100)
    assert limit.memory_bytes_per_clock == pytest.approx(1008 / (128 * 2.52))
    # Two of the ring's three steps are in flight; 1008 GB/s for 1 µs are 1,008,000 bytes, over 128 multiprocessors.
    assert (limit.flight_bytes, limit.needed_bytes) == (2 * 8 * 4096, 7875)
    assert limit.limited_by == "memory"
    merge = 2 * 4 * 8 * 4 * 258 / 128
    assert limit.tail_us == pytest.approx((8 * 100 + merge) / 2520)
    (predicted,) = limit.predicted
    assert predicted.memory_us == pytest.approx(2 * 4096 * 4 * 512 / 1008e3)
    assert predicted.total_us == pytest.approx(1.0 + predicted.memory_us + limit.tail_us)


def test_too_few_bytes_in_flight_are_told_from_a_memory_that_is_busy() -> None:
    profile, slow = profile_named("h200"), replace(CALL, latency_us=3.0)
    soon = limit_of(SHAPE, sass("sm_90"), profile, CALL, published())
    late = limit_of(SHAPE, sass("sm_90"), profile, slow, published())
    assert (soon.needed_bytes, late.needed_bytes) == (36364, 109091)
    assert (soon.limited_by, late.limited_by) == ("memory", "bytes in flight")
    assert late.predicted[0].memory_us == pytest.approx(3.0 * 2 * 4096 * 4 * 512 / (2 * 8 * 4096 * 132))
    assert limit_of(replace(SHAPE, warps=12), sass("sm_90"), profile, CALL, published()).tail_us > soon.tail_us


def test_few_instructions_a_byte_are_what_memory_needs() -> None:
    slow = loop({"FFMA": 40_000})
    assert limit_of(SHAPE, sass(hot=slow), profile_named("rtx4090"), CALL, published()).limited_by == "instructions"


def test_all_of_a_ring_but_the_step_that_is_computed_is_in_flight_and_half_a_step_in_registers() -> None:
    step = 8 * 4096
    assert ring_bytes(SHAPE, "sm_89") == 3 * step
    assert flight_bytes(SHAPE, 3 * step) == 2 * step
    # Two steps of f32 in eight warps are more than a block of an RTX 4090 has; an H200's has the room.
    wide = replace(SHAPE, storage="f32")
    assert ring_bytes(wide, "sm_89") is None
    assert flight_bytes(wide, None) == step
    assert ring_bytes(wide, "sm_90") == 4 * step
    assert limit_of(SHAPE, sass(), profile_named("rtx4090"), CALL, published()).ring


def test_a_kernel_without_rows_and_numbers_that_no_kernel_has_are_refused() -> None:
    with pytest.raises(DiffcheckError, match="no loop over rows"):
        limit_of(SHAPE, sass(hot=loop(rows=0)), profile_named("gb10"), CALL, published())
    refused: list[tuple[Any, str]] = [
        ((["f16"], 9, [8], [4]), "group: 9"),
        ((["f16"], 4, [33], [4]), "warps: 33"),
        ((["f16"], 4, [8], [3]), "rows: 3"),
    ]
    for arguments, message in refused:
        with pytest.raises(BadInputError, match=message):
            shapes_of(*arguments)


def test_every_device_is_one_of_the_planners_with_a_rate_for_each_pipe() -> None:
    numbers = published()
    by_name = {one.name: one for one in profiles()}
    for device in numbers.device:
        target = f"sm_{by_name[device.profile].arch}"
        assert all(target in pipe.results for pipe in numbers.pipe)
    # All but the one that stands for no device.
    assert {one.profile for one in numbers.device} == set(by_name) - {"generic"}
    kinds = [kind for pipe in numbers.pipe for kind in pipe.kinds]
    assert len(kinds) == len(set(kinds))


def test_the_command_calculates_from_the_code_of_the_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "limits.json"
    asked = ["limits", "--profiles", "gb10", "--storages", "f16", "--warps", "8", "--kv-lens", "4096"]
    try:
        find_ptxas()
        find_nvdisasm()
    except MissingRequirementError as error:
        pytest.skip(str(error))
    assert run([*asked, "--json", str(file)]) == 0
    (limit,) = Limits.model_validate(json.loads(file.read_text())).limits
    assert (limit.arch, limit.tile, limit.limited_by) == ("sm_121", "w8r4", "memory")
    assert limit.core_bytes_per_clock > 5 * limit.memory_bytes_per_clock
    assert "nothing was measured" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--profiles", "generic"], "profiles: 'generic'"),
        (["--heads", "16"], "heads: '16'"),
        (["--warps", "40"], "warps: 40"),
        (["--storages", "bf16"], "storages: 'bf16'"),
    ],
)
def test_bad_words_are_one_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["limits", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1

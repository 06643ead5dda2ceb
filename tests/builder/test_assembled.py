"""Every kernel on every target through ptxas: no stack, no spills, and registers that leave room for the block."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from diffcheck.assemble.ptxas import Resources, parse_report
from py_builder_kernel import TARGETS, build_module, entry_names
from py_builder_kernel.kernels import spec
from py_builder_kernel.kernels.registry import kernel_named
from py_builder_kernel.ptx import Module, target_named

Resourcer = Callable[[str, str], Resources]
CASES = [(entry, target) for target in TARGETS for entry in entry_names(target)]


@pytest.mark.parametrize(("entry", "target"), CASES)
def test_a_kernel_assembles_within_its_registers(entry: str, target: str, resources: Resourcer) -> None:
    used = resources(entry, target)
    assert (used.stack, used.spill_stores, used.spill_loads) == (0, 0, 0)
    threads = build_module([entry], target).entries[entry].block[0]
    # An SM has 65,536 registers, given out by eights a thread; a thread can name 255.
    assert used.registers <= min(255, 65_536 // threads // 8 * 8)


@pytest.mark.parametrize("group", range(1, 7))
def test_twelve_warps_leave_room_for_a_block_of_the_reduce_kernel(group: int, resources: Resourcer) -> None:
    partial = 32 * 12 * resources(f"splitk_partial_f16_g{group}_d256_w12r4", "sm_90").registers
    assert partial + 256 * resources("splitk_reduce_d256", "sm_90").registers <= 65_536


def test_the_reduce_kernels_shared_memory_does_not_depend_on_the_splits(resources: Resourcer) -> None:
    assert resources("splitk_reduce_d256", "sm_90").static_shared == 4 * 8 * (32 + 1)


@pytest.mark.parametrize("storage", ["f16", "f32"])
def test_head_dim_128_is_a_parameter(
    storage: str, monkeypatch: pytest.MonkeyPatch, assembled: Callable[[str, str], str]
) -> None:
    monkeypatch.setattr(spec, "HEAD_DIMS", (128, 256))
    entries = (f"splitk_partial_{storage}_g4_d128_w8r8", "splitk_reduce_d128", f"naive_decode_{storage}_d128")
    module = Module(target_named("sm_90"))
    for entry in entries:
        kind, kernel = kernel_named(entry)
        kind.emit(module, kernel)
    text = module.text()
    report = assembled(text, "sm_90")
    assert [parse_report(report, entry).stack for entry in entries] == [0, 0, 0]
    # sqrt(128) is no power of two: scores are divided by it, one in partial (for G = 4 and R = 8) and one in naive.
    assert text.count(", 0f413504F3;") == 2

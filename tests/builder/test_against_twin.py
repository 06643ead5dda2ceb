"""The kernels' PTX, run by the PTX machine, against the CPU twin: every bit, with every memory access checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from py_builder_kernel import TARGETS, BuiltModule, build_module, emit
from rust_kernel import ptx, twin
from rust_kernel.plan import Plan, make_plan

HEAD_DIM = 256
HOST_TYPES = {"f16": np.float16, "f32": np.float32}
F32 = npt.NDArray[np.float32]


def inputs(plan: Plan, seed: int = 1) -> tuple[F32, npt.NDArray[Any], npt.NDArray[Any]]:
    rng = np.random.default_rng(seed)
    shape = (plan.kv_len, plan.num_kv_heads, HEAD_DIM)
    q = rng.standard_normal((plan.num_q_heads, HEAD_DIM), dtype=np.float32)
    k, v = (rng.standard_normal(shape, dtype=np.float32).astype(HOST_TYPES[plan.storage]) for _ in range(2))
    return q, k, v


def run(plan: Plan, q: F32, k: npt.NDArray[Any], v: npt.NDArray[Any], target: str) -> tuple[F32, ...]:
    return run_built(build_module([plan], target), plan, q, k, v)


def run_built(built: BuiltModule, plan: Plan, q: F32, k: npt.NDArray[Any], v: npt.NDArray[Any]) -> tuple[F32, ...]:
    """Partial and reduce; the scratch's m, s and acc, and out. Memory past `kv_len` rows does not exist."""
    module = ptx.PtxModule(built.text, "builder")
    memory = ptx.Memory()
    arrays = [memory.alloc(x, name=name, writable=False) for name, x in (("q", q), ("k", k), ("v", v))]
    heads, splits, row = plan.num_q_heads, plan.n_splits, plan.num_kv_heads * HEAD_DIM
    shapes: list[tuple[int, ...]] = [(heads, splits), (heads, splits), (heads, splits, HEAD_DIM), (heads, HEAD_DIM)]
    names = ("part_m", "part_s", "part_acc", "out")
    *parts, out = [memory.alloc_uninit(4 * int(np.prod(s)), name=n) for n, s in zip(names, shapes, strict=True)]
    counts = (plan.kv_len, plan.chunk, splits)
    strides = (HEAD_DIM, row, HEAD_DIM, row, HEAD_DIM)
    for entry, (grid, block), args in (
        (plan.partial_entry, plan.partial_launch, (*arrays, *parts, *counts, *strides)),
        (plan.reduce_entry, plan.reduce_launch, (*parts, out, splits, HEAD_DIM)),
    ):
        shared = built.entries[entry].dynamic_shared_bytes
        ptx.launch(module, entry, memory, grid=grid, block=block, args=args, dynamic_shared=shared)
    return tuple(memory.read(a, np.float32, s) for a, s in zip((*parts, out), shapes, strict=True))


def assert_equal(got: F32, want: F32) -> None:
    """The contract's meaning of equal: the same bits, any NaN equals any NaN."""
    same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    assert same.all()


def check(plan: Plan, q: F32, k: npt.NDArray[Any], v: npt.NDArray[Any], target: str = "sm_90") -> F32:
    m, s, acc, out = run(plan, q, k, v, target)
    want_m, want_s, want_acc = twin.partial(q, k, v, plan)
    assert_equal(m + np.float32(0), want_m + np.float32(0))  # +0 equals -0 in a maximum
    assert_equal(s, want_s)
    assert_equal(acc, want_acc)
    assert_equal(out, twin.decode(q, k, v, plan))
    return out


@pytest.mark.parametrize("storage", ["f16", "f32"])
@pytest.mark.parametrize("group", range(1, 9))
@pytest.mark.parametrize(("kv_len", "policy"), [(5, "fixed:1"), (203, "chunk:7"), (203, "chunk:101"), (300, "fixed:2")])
@pytest.mark.parametrize("target", ["sm_89", "sm_90"])  # rows wait in registers or in a ring, by the target's room
def test_every_group_size(group: int, storage: str, kv_len: int, policy: str, target: str) -> None:
    plan = make_plan(kv_len=kv_len, num_q_heads=group, num_kv_heads=1, storage=storage, policy=policy)
    check(plan, *inputs(plan), target)


def test_many_steps_a_warp() -> None:
    plan = make_plan(kv_len=16_385, num_q_heads=2, num_kv_heads=1, policy="fixed:3")
    q, k, v = inputs(plan)
    check(plan, q, k, v)


@pytest.mark.parametrize("edit", ["cp.async.wait_group 5;", "cp.async.wait_group 4;", "cp.async.commit_group;"])
def test_a_missing_wait_is_reported(edit: str) -> None:
    """The machine lands an asynchronous copy when it is waited for, and not before."""
    plan = make_plan(kv_len=130, num_q_heads=4, num_kv_heads=1, policy="fixed:1")
    built = build_module([plan])
    assert edit in built.text
    damaged = BuiltModule(built.text.replace(edit, ""), built.target, built.version, built.entries)
    with pytest.raises(ptx.PtxFault, match=r"asynchronous copy of line \d+ \(not waited for\)"):
        run_built(damaged, plan, *inputs(plan))


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_the_same_bits(target: str) -> None:
    plan = make_plan(kv_len=130, num_q_heads=6, num_kv_heads=2, policy="chunk:64")
    arrays = inputs(plan)
    assert_equal(run(plan, *arrays, target)[-1], twin.decode(*arrays, plan))


@pytest.mark.parametrize("storage", ["f16", "f32"])
def test_special_values(storage: str) -> None:
    plan = make_plan(kv_len=150, num_q_heads=4, num_kv_heads=1, storage=storage, policy="chunk:64")
    q, k, v = inputs(plan)
    q[1] = np.nan
    q[2] = 0
    q[3] *= np.float32(1e-42)  # denormal
    k[140] = np.inf
    v[7, 0, 9] = -np.inf
    v[8, 0, 10] = np.nan
    k[3] = -0.0
    out = check(plan, q, k, v)
    assert np.isnan(out[1]).all()
    assert np.isnan(out[:, 10]).all()


@pytest.mark.parametrize("storage", ["f16", "f32"])
def test_maxima_that_move_often_and_weights_that_vanish(storage: str) -> None:
    plan = make_plan(kv_len=400, num_q_heads=3, num_kv_heads=1, storage=storage, policy="fixed:2")
    q, k, v = inputs(plan)
    q[0] *= 30
    k[:, 0] *= (np.arange(400) / 100).astype(k.dtype)[:, None]
    check(plan, q, k, v)


@pytest.mark.parametrize("splits", [1, 7, 8, 9, 33, 256, 257, 700])
def test_reduce_merges_any_number_of_splits(splits: int) -> None:
    rng = np.random.default_rng(splits)
    m = (3 * rng.standard_normal((2, splits))).astype(np.float32)
    s, acc = rng.random((2, splits), dtype=np.float32), rng.standard_normal((2, splits, HEAD_DIM), dtype=np.float32)
    # Empty splits contribute nothing; where all are empty the result is 0 / 0.
    m[0, 1::3], s[0, 1::3], acc[0, 1::3] = -np.inf, 0, 0
    m[1], s[1], acc[1] = -np.finfo(np.float32).max, 0, 0
    memory = ptx.Memory()
    addresses = [memory.alloc(x, name=name) for name, x in (("part_m", m), ("part_s", s), ("part_acc", acc))]
    out = memory.alloc_uninit(2 * HEAD_DIM * 4, name="out")
    module = ptx.PtxModule(emit("splitk_reduce_d256"))
    args = (*addresses, out, splits, HEAD_DIM)
    ptx.launch(module, "splitk_reduce_d256", memory, grid=(2, HEAD_DIM // 32), block=256, args=args)
    got = memory.read(out, np.float32, (2, HEAD_DIM))
    assert_equal(got, twin.reduce(m, s, acc))
    assert np.isnan(got[1]).all()
    assert np.isfinite(got[0]).all()


@pytest.mark.parametrize("storage", ["f16", "f32"])
@pytest.mark.parametrize("kv_len", [1, 7, 8, 9, 100])
def test_the_naive_kernel_is_close_to_a_softmax_in_f64(storage: str, kv_len: int) -> None:
    plan = make_plan(kv_len=kv_len, num_q_heads=6, num_kv_heads=2, storage=storage)
    q, k, v = inputs(plan)
    memory = ptx.Memory()
    arrays = [memory.alloc(x, name=name, writable=False) for name, x in (("q", q), ("k", k), ("v", v))]
    out = memory.alloc_uninit(6 * HEAD_DIM * 4, name="out")
    module = ptx.PtxModule(emit(plan.naive_entry))
    grid, block = plan.naive_launch
    args = (*arrays, out, kv_len, 3, HEAD_DIM, 2 * HEAD_DIM, HEAD_DIM, 2 * HEAD_DIM, HEAD_DIM, HEAD_DIM)
    ptx.launch(module, plan.naive_entry, memory, grid=grid, block=block, args=args)
    got = memory.read(out, np.float32, (6, HEAD_DIM))
    for head in range(6):
        keys, values = (x[:, head // 3].astype(np.float64) for x in (k, v))
        scores = keys @ q[head].astype(np.float64) / 16
        weights = np.exp(scores - scores.max())
        want = (weights / weights.sum()) @ values
        assert np.abs(got[head] - want).max() <= 1e-6 * np.abs(want).max()

"""The twin's bindings: zero-copy views, options, and what bad input is told. The arithmetic is tested in the crate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rust_kernel import twin
from rust_kernel.plan import Plan, make_plan

HEAD_DIM = 256
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Problem:
    plan: Plan
    q: Array
    k: Array
    v: Array

    def decode(self, **options: Any) -> Array:
        return twin.decode(self.q, self.k, self.v, self.plan, **options)


def aligned(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """An array of zeros at a multiple of 64 bytes; NumPy itself promises 16 only by habit of the allocator."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


def random(shape: tuple[int, ...], dtype: npt.DTypeLike, seed: int) -> Array:
    array = aligned(shape, dtype)
    array[...] = np.random.default_rng(seed).standard_normal(shape)
    return array


def problem(
    storage: str = "f16", kv_len: int = 203, heads: tuple[int, int] = (8, 2), policy: str = "chunk:64"
) -> Problem:
    q_heads, kv_heads = heads
    plan = make_plan(kv_len=kv_len, num_q_heads=q_heads, num_kv_heads=kv_heads, storage=storage, policy=policy)
    dtype = {"f16": np.float16, "f32": np.float32}[storage]
    shape = (kv_len, kv_heads, HEAD_DIM)
    return Problem(plan, random((q_heads, HEAD_DIM), np.float32, 1), random(shape, dtype, 2), random(shape, dtype, 3))


def with_nan_rows(array: Array, rows: int) -> Array:
    """A copy of K or V with rows of NaN behind it."""
    longer = aligned((len(array) + rows, *array.shape[1:]), array.dtype)
    longer[: len(array)], longer[len(array) :] = array, np.nan
    return longer


def bits(array: Array) -> Array:
    return array.view(np.uint32)


def same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and bool(np.array_equal(bits(a), bits(b)))


def test_equal_scores_give_the_mean() -> None:
    given = problem("f16", kv_len=128)
    given.k[...] = 0
    given.v[...] = np.arange(128, dtype=np.float16)[:, None, None] % 4
    assert np.array_equal(given.decode(), np.full((8, HEAD_DIM), 1.5, np.float32))


@pytest.mark.parametrize("storage", ["f16", "f32"])
def test_decode_is_partial_then_reduce(storage: str) -> None:
    given = problem(storage)
    m, s, acc = twin.partial(given.q, given.k, given.v, given.plan)
    splits = given.plan.n_splits
    assert (m.shape, s.shape, acc.shape) == ((8, splits), (8, splits), (8, splits, HEAD_DIM))
    assert {array.dtype for array in (m, s, acc)} == {np.dtype(np.float32)}
    assert same(twin.reduce(m, s, acc), given.decode())


@pytest.mark.parametrize("storage", ["f16", "f32"])
@pytest.mark.parametrize("options", [{"threads": 1}, {"threads": 3}, {"path": "portable"}])
def test_options_never_change_a_bit(storage: str, options: dict[str, Any]) -> None:
    given = problem(storage)
    assert same(given.decode(**options), given.decode())


def test_the_simd_path_is_the_portable_one_to_the_bit() -> None:
    if not twin.simd_available():
        pytest.skip("this processor does not run the simd path")
    given = problem()
    assert same(given.decode(path="simd"), given.decode(path="portable"))


@pytest.mark.parametrize("storage", ["f16", "f32"])
def test_strides_are_obeyed(storage: str) -> None:
    given = problem(storage)
    kv_len, kv_heads = given.plan.kv_len, given.plan.num_kv_heads
    wide = aligned((kv_heads, kv_len + 3, 2, HEAD_DIM), given.k.dtype)  # head-major, every other row of both
    wide[...] = np.nan
    k, v = wide[:, :kv_len, 0].transpose(1, 0, 2), wide[:, :kv_len, 1].transpose(1, 0, 2)
    k[...], v[...] = given.k, given.v
    queries = aligned((16, HEAD_DIM + 8), np.float32)
    q = queries[::2, :HEAD_DIM]
    q[...] = given.q
    assert k.strides != given.k.strides
    assert kv_heads == 2
    assert same(twin.decode(q, k, v, given.plan), given.decode())


def test_a_stride_of_zero_means_what_it_says() -> None:
    given = problem("f32", kv_len=9)
    one_head = given.k[:, :1]
    shared = np.broadcast_to(one_head, given.k.shape)
    assert shared.strides[1] == 0
    copied = np.ascontiguousarray(shared)
    assert same(twin.decode(given.q, shared, given.v, given.plan), twin.decode(given.q, copied, given.v, given.plan))


def test_rows_past_kv_len_are_not_read() -> None:
    given = problem("f16", kv_len=65)
    k, v = with_nan_rows(given.k, 15), with_nan_rows(given.v, 15)
    assert same(twin.decode(given.q, k, v, given.plan), given.decode())


def test_inputs_are_read_where_they_lie() -> None:
    given = problem("f32", kv_len=70)
    given.q.flags.writeable = False
    before = given.decode()
    given.k[69, 1, 255] += 1
    after = given.decode()
    assert same(before[:4], after[:4])
    assert not same(before[4:], after[4:])


@pytest.mark.parametrize("fault", twin.faults())
def test_every_fault_can_be_planted(fault: str) -> None:
    # Several splits, a ragged end and NaN behind it: there each fault has something to damage.
    given = problem("f32", kv_len=1000, policy="chunk:130")
    k, v = with_nan_rows(given.k * 4, 32), with_nan_rows(given.v, 32)
    clean = twin.decode(given.q, k, v, given.plan)
    assert not same(twin.decode(given.q, k, v, given.plan, fault=fault), clean)


def test_exp_is_exact_at_the_ends() -> None:
    x = np.array([0.0, -0.0, -87.1, -np.inf, np.nan], np.float32)
    e = twin.exp(x)
    assert e[0] == e[1] == 1
    assert bits(e)[2] == bits(e)[3] == 0
    assert np.isnan(e[4])
    assert same(twin.exp(x[:4], path="portable"), e[:4])


def test_other_threads_run_during_a_decode(ticks_during: Callable[[Callable[[], object]], int]) -> None:
    given = problem("f32", kv_len=4096)
    assert ticks_during(lambda: given.decode(path="portable", threads=1)) >= 3


def misaligned(array: Array) -> Array:
    raw = np.zeros(array.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64 + 4
    moved = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def reversed_rows(array: Array) -> Array:
    return array[::-1]


def every_other_element(array: Array) -> Array:
    wide = aligned((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    return wide[..., ::2]


def padded_by_one(array: Array) -> Array:
    return aligned((*array.shape[:-1], array.shape[-1] + 1), array.dtype)[..., :-1]


@pytest.mark.parametrize(
    ("field", "change", "error", "message"),
    [
        ("q", lambda q: q.astype(np.float64), ValueError, r"q is of dtype float64; allowed: float32"),
        ("q", lambda q: q.astype(">f4"), ValueError, r"q is of dtype >f4; allowed: float32"),
        ("q", lambda q: q.tolist(), TypeError, r"q is \[\[.* of type list; allowed: a numpy.ndarray of float32, shape"),
        ("q", lambda q: None, TypeError, r"q is None of type NoneType; allowed: a numpy.ndarray"),
        ("q", lambda q: q[:7], ValueError, r"q is of shape \[7, 256\]; allowed: shape \[8, 256\]"),
        ("q", lambda q: q[0], ValueError, r"q is of shape \[256\]; allowed: shape \[num_q_heads, head_dim\]"),
        ("q", reversed_rows, ValueError, r"q is an array with byte strides .*none of them negative"),
        ("q", every_other_element, ValueError, r"q is an array with element strides \[512, 2\]; .* inner stride of 1"),
        ("q", padded_by_one, ValueError, r"q_stride_head is 257 elements of 4 bytes; allowed: multiples of 16 bytes"),
        ("q", misaligned, ValueError, r"q address is 0x\w+; allowed: multiples of 16 bytes"),
        ("k", lambda k: k.astype(np.float32), ValueError, r"k is of dtype float32; allowed: float16"),
        ("k", lambda k: k[:202], ValueError, r"k is of shape \[202, 2, 256\]; .* at least 203 rows"),
        ("k", lambda k: k[:, :1], ValueError, r"k is of shape \[203, 1, 256\]; allowed: shape \[rows, 2, 256\]"),
        ("k", lambda k: k[..., :128], ValueError, r"k is of shape \[203, 2, 128\]; allowed: shape \[rows, 2, 256\]"),
        ("k", padded_by_one, ValueError, r"k_stride_\w+ is \d+ elements of 2 bytes; allowed: multiples of 16 bytes"),
        ("v", misaligned, ValueError, r"v address is 0x\w+; allowed: multiples of 16 bytes"),
        ("v", lambda v: v[:0], ValueError, r"v is of shape \[0, 2, 256\]; .* at least 203 rows"),
        (
            "plan",
            lambda plan: plan.key,
            TypeError,
            r"plan is 'splitk/1.* of type str; allowed: a rust_kernel.plan.Plan",
        ),
    ],
)
def test_bad_input_is_named(field: str, change: Any, error: type[Exception], message: str) -> None:
    given = problem()
    values: dict[str, Any] = {"q": given.q, "k": given.k, "v": given.v, "plan": given.plan}
    values[field] = change(values[field])
    with pytest.raises(error, match=f"^{message}") as raised:
        twin.decode(**values)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"threads": -1}, ValueError, r"threads is -1; allowed: a whole number from 0 to 1024"),
        ({"threads": 1.5}, TypeError, r"threads is 1.5 of type float"),
        ({"path": "gpu"}, ValueError, r'path is "gpu"; allowed: auto, simd, portable'),
        ({"fault": "typo"}, ValueError, r'fault is "typo"; allowed: '),
        ({"path": "simd", "fault": twin.faults()[0]}, ValueError, r"fault is .*; allowed: none on the simd path"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}"):
        problem().decode(**options)


def test_reduce_takes_dense_arrays_that_fit_together() -> None:
    given = problem()
    m, s, acc = twin.partial(given.q, given.k, given.v, given.plan)
    with pytest.raises(ValueError, match=r"^m is of shape \[8, 3\]; allowed: shape \[8, 4\]"):
        twin.reduce(m[:, :3], s, acc)
    with pytest.raises(ValueError, match=r"^s is an array with element strides \[1, 8\]; allowed: a dense array"):
        twin.reduce(m, np.asfortranarray(s), acc)
    with pytest.raises(ValueError, match=r"^acc is of dtype float64; allowed: float32"):
        twin.reduce(m, s, acc.astype(np.float64))


def test_exp_is_not_defined_above_zero() -> None:
    with pytest.raises(ValueError, match=r"^x is 0.5 at index 1; allowed: at most 0, or NaN"):
        twin.exp(np.array([-1, 0.5], np.float32))

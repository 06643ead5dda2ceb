"""SplitKDecode and NaiveDecode on a CUDA device against the CPU twin; skipped, with the reason, where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from py_builder_kernel import ArgumentTypeError, ArgumentValueError, NaiveDecode, SplitKDecode
from tests.on_gpu import HEAD_DIM, assert_bits, expected, inputs, on_device

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("storage", ["f16", "f32"])
@pytest.mark.parametrize(
    ("heads", "kv_heads"), [(8, 2), (16, 4), (24, 4), (1, 1), (4, 2), (3, 1), (5, 1), (7, 1), (8, 1)]
)
def test_bits_are_the_twins(cupy: Any, heads: int, kv_heads: int, storage: str) -> None:
    lengths = (1, 5, 37, 64, 65, 203, 4097, 20_000, 70_000) if (heads, kv_heads) == (16, 4) else (5, 65, 203, 4097)
    decode = SplitKDecode(heads, kv_heads, max(lengths), storage=storage)
    for kv_len in lengths:
        host = inputs(kv_len, heads, kv_heads, storage)
        out = decode(*on_device(cupy, host), kv_len)
        assert_bits(out, expected(decode, host))


@pytest.mark.parametrize("policy", ["note", "three-quarter-wave", "fixed:7", "chunk:70"])
def test_any_policy_and_profile_runs_on_the_device(cupy: Any, policy: str) -> None:
    host = inputs(1000)
    for profile in ("gb10", "rtx4090"):
        decode = SplitKDecode(16, 4, 1000, policy=policy, profile=profile)
        out = decode(*on_device(cupy, host), 1000)
        assert_bits(out, expected(decode, host))


def test_a_result_does_not_depend_on_the_capacity_or_on_what_ran_before(cupy: Any) -> None:
    host = inputs(203)
    device = on_device(cupy, host)
    exact, large = SplitKDecode(16, 4, 203), SplitKDecode(16, 4, 50_000)
    longer = inputs(40_000)
    large(*on_device(cupy, longer), 40_000)
    want = expected(exact, host)
    assert_bits(exact(*device, 203), want)
    assert_bits(large(*device, 203), want)


def test_strides_are_obeyed_and_guard_words_survive(cupy: Any) -> None:
    host = inputs(257)
    decode = SplitKDecode(16, 4, 257)
    guard = np.uint32(0xDEADBEEF).view(np.float32)
    # q is a slice of packed QKV; K and V are [head, row, dim] seen as [row, head, dim]; out has room between heads.
    packed = cupy.full((16, 3 * HEAD_DIM), guard, dtype=np.float32)
    packed[:, HEAD_DIM : 2 * HEAD_DIM] = cupy.asarray(host.q)
    k, v = (cupy.asarray(np.ascontiguousarray(x.transpose(1, 0, 2))).transpose(1, 0, 2) for x in (host.k, host.v))
    area = cupy.full((18, 2 * HEAD_DIM), guard, dtype=np.float32)
    before = [x.copy() for x in (packed, k, v)]
    decode(packed[:, HEAD_DIM : 2 * HEAD_DIM], k, v, 257, out=area[1:17, HEAD_DIM:])
    assert_bits(cupy.ascontiguousarray(area[1:17, HEAD_DIM:]), expected(decode, host))
    words = area.get().view(np.uint32)
    words[1:17, HEAD_DIM:] = 0xDEADBEEF
    assert (words == 0xDEADBEEF).all()
    for array, old in zip((packed, k, v), before, strict=True):
        assert bytes(array.get().tobytes()) == bytes(old.get().tobytes())


def test_the_scratch_is_not_written_past_its_end(cupy: Any) -> None:
    decode = SplitKDecode(16, 4, 4097)
    host = inputs(4097)
    scratch = decode._scratch
    guarded = cupy.full((scratch.nbytes + 8192,), 0xA5, dtype=np.uint8)
    guarded[4096:-4096] = 0xFF  # all NaN: a partial that is not written shows
    base = int(guarded.data.ptr) + 4096
    decode._parts = tuple(np.uint64(base + int(part) - int(scratch.data.ptr)) for part in decode._parts)
    out = decode(*on_device(cupy, host), 4097)
    assert_bits(out, expected(decode, host))
    words = guarded.get()
    assert (words[:4096] == 0xA5).all()
    assert (words[-4096:] == 0xA5).all()


def test_a_call_allocates_nothing(cupy: Any) -> None:
    decode = SplitKDecode(16, 4, 70_000)
    host = inputs(4097)
    device = on_device(cupy, host)
    out = cupy.empty((16, HEAD_DIM), dtype=np.float32)
    pool = cupy.get_default_memory_pool()
    free_before = cupy.cuda.runtime.memGetInfo()[0]
    before = (pool.used_bytes(), pool.total_bytes())
    for kv_len in (1, 64, 4097):
        decode(*device, kv_len, out=out)
    assert (pool.used_bytes(), pool.total_bytes()) == before
    cupy.cuda.runtime.deviceSynchronize()
    assert cupy.cuda.runtime.memGetInfo()[0] == free_before


def test_a_captured_graph_replays_its_length_on_new_data(cupy: Any) -> None:
    first, second = inputs(300, seed=1), inputs(300, seed=2)
    decode = SplitKDecode(16, 4, 1000)
    q, k, v = on_device(cupy, first)
    out = cupy.full((16, HEAD_DIM), np.nan, dtype=np.float32)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.runtime.deviceSynchronize()
    with stream:
        stream.begin_capture()
        decode(q, k, v, 300, out=out)
        graph = stream.end_capture()
        stream.synchronize()
        assert np.isnan(out.get()).all()
        for host in (first, second):
            for array, new in ((q, host.q), (k, host.k), (v, host.v)):
                array.set(new)
            graph.launch(stream)
            stream.synchronize()
            assert_bits(out, expected(decode, host))


def test_two_objects_on_two_streams_give_the_bits_of_one_after_the_other(cupy: Any) -> None:
    hosts = [inputs(3000, seed=seed) for seed in (1, 2)]
    decoders = [SplitKDecode(16, 4, 3000) for _ in hosts]
    device = [on_device(cupy, host) for host in hosts]
    wanted = [expected(decoder, host) for decoder, host in zip(decoders, hosts, strict=True)]
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in hosts]
    outs = [[cupy.full((16, HEAD_DIM), np.nan, dtype=np.float32) for _ in range(100)] for _ in hosts]
    cupy.cuda.runtime.deviceSynchronize()
    for number in range(100):
        for decoder, arrays, out, stream in zip(decoders, device, outs, streams, strict=True):
            decoder(*arrays, 3000, out=out[number], stream=stream)
    for stream in streams:
        stream.synchronize()
    for out, want in zip(outs, wanted, strict=True):
        for result in out:
            assert_bits(result, want)


def test_every_way_to_name_a_stream_queues_on_it(cupy: Any) -> None:
    host = inputs(100)
    decode = SplitKDecode(16, 4, 100)
    device = on_device(cupy, host)
    cupy.cuda.runtime.deviceSynchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    for given in (stream, int(stream.ptr)):
        out = cupy.full((16, HEAD_DIM), np.nan, dtype=np.float32)
        cupy.cuda.runtime.deviceSynchronize()
        stream.begin_capture()
        decode(*device, 100, out=out, stream=given)
        graph = stream.end_capture()
        # A call on any other stream would not have been captured: it would have run.
        cupy.cuda.runtime.deviceSynchronize()
        assert np.isnan(out.get()).all()
        graph.launch(stream)
        stream.synchronize()
        assert_bits(out, expected(decode, host))


@pytest.mark.parametrize("storage", ["f16", "f32"])
def test_torch_tensors_are_read_and_written_in_place(cupy: Any, torch: Any, storage: str) -> None:
    host = inputs(4097, storage=storage)
    decode = SplitKDecode(16, 4, 4097, storage=storage)
    q, k, v = (torch.from_numpy(array).cuda() for array in (host.q, host.k, host.v))
    out = torch.full((16, HEAD_DIM), float("nan"), device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        assert decode(q, k, v, 4097, out=out) is out
    stream.synchronize()
    assert_bits(out, expected(decode, host))
    out.fill_(float("nan"))
    torch.cuda.synchronize()
    decode(q, k, v, 4097, out=out, stream=stream)
    stream.synchronize()
    assert_bits(out, expected(decode, host))
    with pytest.raises(ArgumentTypeError, match="q is "):
        decode(q.requires_grad_(), k, v, 4097, out=out)
    with pytest.raises(ArgumentTypeError, match="k is "):
        decode(q.detach(), k.cpu(), v, 4097, out=out)


def test_a_torch_graph_captures_a_call(cupy: Any, torch: Any) -> None:
    host = inputs(300)
    decode = SplitKDecode(16, 4, 300)
    q, k, v = (torch.from_numpy(array).cuda() for array in (host.q, host.k, host.v))
    out = torch.full((16, HEAD_DIM), float("nan"), device="cuda")
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        decode(q, k, v, 300, out=out)
    graph.replay()
    torch.cuda.synchronize()
    assert_bits(out, expected(decode, host))


def test_host_arrays_and_wrong_dtypes_are_refused(cupy: Any) -> None:
    host = inputs(100)
    decode = SplitKDecode(16, 4, 100)
    q, k, v = on_device(cupy, host)
    with pytest.raises(ArgumentTypeError, match="q is "):
        decode(host.q, k, v, 100)
    with pytest.raises(ArgumentTypeError, match=r"k\.dtype is f32; allowed: f16"):
        decode(q, k.astype(np.float32), v, 100)
    with pytest.raises(ArgumentValueError, match=r"v\.address is "):
        decode(q, k, cupy.empty(v.size + 1, dtype=np.float16)[1:].reshape(v.shape), 100)
    with pytest.raises(ArgumentValueError, match=r"device is 99; allowed: 0 to "):
        SplitKDecode(16, 4, 100, device=99)


@pytest.mark.parametrize("storage", ["f16", "f32"])
def test_the_naive_kernel_is_close_to_a_softmax_in_f64(cupy: Any, storage: str) -> None:
    host = inputs(1000, 24, 4, storage)
    decode = NaiveDecode(24, 4, 1000, storage=storage)
    out = decode(*on_device(cupy, host), 1000).get()
    for head in range(24):
        k, v = (array[:1000, head // 6].astype(np.float64) for array in (host.k, host.v))
        scores = k @ host.q[head].astype(np.float64) / 16
        weights = np.exp(scores - scores.max())
        want = (weights / weights.sum()) @ v
        assert np.abs(out[head] - want).max() <= 2e-6 * np.abs(want).max()

"""`rust_kernel.decode` on a CUDA device, against the CPU twin; skipped, with the reason, where there is none."""

from __future__ import annotations

import gc
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rust_kernel.decode import ContextError, DeviceArray, SplitKDecode, ptx_text
from tests.on_gpu import HEAD_DIM, assert_bits, expected, inputs, on_device

pytestmark = pytest.mark.gpu

MANIFEST = Path(__file__).resolve().parents[2] / "rust_kernel" / "ptx" / "manifest.json"


def run(decode: SplitKDecode, arrays: tuple[Any, Any, Any], kv_len: int, **keywords: Any) -> Any:
    q, k, v = arrays
    return decode(q, k, v, kv_len, **keywords)


@pytest.mark.parametrize("storage", ["f16", "f32"])
@pytest.mark.parametrize(
    ("heads", "kv_heads"), [(8, 2), (16, 4), (24, 4), (1, 1), (4, 2), (3, 1), (5, 1), (7, 1), (8, 1)]
)
def test_bits_are_the_twins(cupy: Any, heads: int, kv_heads: int, storage: str) -> None:
    lengths = (1, 5, 37, 64, 65, 203, 4097, 20_000, 70_000) if (heads, kv_heads) == (16, 4) else (5, 65, 203, 4097)
    decode = SplitKDecode(heads, kv_heads, max(lengths), storage=storage)
    out = cupy.full((heads, HEAD_DIM), np.nan, dtype=np.float32)
    for kv_len in lengths:
        host = inputs(kv_len, heads, kv_heads, storage)
        assert run(decode, on_device(cupy, host), kv_len, out=out) is out
        assert_bits(out, expected(decode, host))


@pytest.mark.parametrize("policy", ["note", "three-quarter-wave", "fixed:7", "chunk:70"])
def test_any_policy_and_profile_runs_on_the_device(cupy: Any, policy: str) -> None:
    host = inputs(1000)
    for profile in ("gb10", "rtx4090"):
        decode = SplitKDecode(16, 4, 1000, policy=policy, profile=profile)
        out = cupy.asarray(run(decode, on_device(cupy, host), 1000))
        assert_bits(out, expected(decode, host))


def test_the_objects_own_array_is_read_in_place(cupy: Any) -> None:
    host = inputs(203)
    decode = SplitKDecode(16, 4, 203)
    out = run(decode, on_device(cupy, host), 203)
    assert isinstance(out, DeviceArray)
    array = cupy.asarray(out)
    assert array.data.ptr == out.__cuda_array_interface__["data"][0]
    assert_bits(array, expected(decode, host))


@pytest.mark.parametrize("storage", ["f16", "f32"])
def test_the_same_ptx_loaded_by_cupy_gives_the_same_result(cupy: Any, storage: str, tmp_path: Path) -> None:
    host = inputs(4097, storage=storage)
    decode = SplitKDecode(16, 4, 4097, storage=storage)
    plan = decode.plan(4097)
    arrays = on_device(cupy, host)
    # By path: CuPy takes `code` for CUDA C++.
    file = tmp_path / "kernels.ptx"
    file.write_text(ptx_text(decode.target))
    module = cupy.RawModule(path=str(file))
    partial, reduce = (module.get_function(name) for name in (plan.partial_entry, plan.reduce_entry))
    kernels = json.loads(MANIFEST.read_text())["targets"][decode.target]["kernels"]
    shared = kernels[plan.partial_entry]["dynamic_shared"]
    partial.max_dynamic_shared_size_bytes = shared
    pairs = (16, plan.n_splits)
    parts = [cupy.full(shape, np.nan, dtype=np.float32) for shape in (pairs, pairs, (*pairs, HEAD_DIM))]
    counts = tuple(np.uint32(n) for n in (plan.kv_len, plan.chunk, plan.n_splits))
    strides = tuple(np.uint64(n) for n in (HEAD_DIM, 4 * HEAD_DIM, HEAD_DIM, 4 * HEAD_DIM, HEAD_DIM))
    partial(*plan.partial_launch, (*arrays, *parts, *counts, *strides), shared_mem=shared)
    other = cupy.full((16, HEAD_DIM), np.nan, dtype=np.float32)
    reduce(*plan.reduce_launch, (*parts, other, counts[2], np.uint64(HEAD_DIM)))
    out = cupy.full((16, HEAD_DIM), np.nan, dtype=np.float32)
    run(decode, arrays, 4097, out=out)
    assert_bits(out, other.get())
    assert_bits(out, expected(decode, host))


def test_strides_are_obeyed_and_guard_words_survive(cupy: Any) -> None:
    host = inputs(257)
    decode = SplitKDecode(16, 4, 257)
    guard = np.uint32(0xDEADBEEF).view(np.float32)
    packed = cupy.full((16, 3 * HEAD_DIM), guard, dtype=np.float32)
    packed[:, HEAD_DIM : 2 * HEAD_DIM] = cupy.asarray(host.q)
    k, v = (cupy.asarray(np.ascontiguousarray(x.transpose(1, 0, 2))).transpose(1, 0, 2) for x in (host.k, host.v))
    area = cupy.full((18, 2 * HEAD_DIM), guard, dtype=np.float32)
    decode(packed[:, HEAD_DIM : 2 * HEAD_DIM], k, v, 257, out=area[1:17, HEAD_DIM:])
    assert_bits(cupy.ascontiguousarray(area[1:17, HEAD_DIM:]), expected(decode, host))
    words = area.get().view(np.uint32)
    words[1:17, HEAD_DIM:] = 0xDEADBEEF
    assert (words == 0xDEADBEEF).all()


def test_a_call_allocates_nothing(cupy: Any) -> None:
    decode = SplitKDecode(16, 4, 70_000)
    arrays = on_device(cupy, inputs(4097))
    out = cupy.empty((16, HEAD_DIM), dtype=np.float32)
    free_before = cupy.cuda.runtime.memGetInfo()[0]
    for kv_len in (1, 64, 4097):
        run(decode, arrays, kv_len, out=out)
    cupy.cuda.runtime.deviceSynchronize()
    assert cupy.cuda.runtime.memGetInfo()[0] == free_before


def test_a_captured_graph_replays_its_length_on_new_data(cupy: Any) -> None:
    first, second = inputs(300, seed=1), inputs(300, seed=2)
    decode = SplitKDecode(16, 4, 1000)
    arrays = on_device(cupy, first)
    out = cupy.full((16, HEAD_DIM), np.nan, dtype=np.float32)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.runtime.deviceSynchronize()
    with stream:
        stream.begin_capture()
        run(decode, arrays, 300, out=out)
        graph = stream.end_capture()
        stream.synchronize()
        assert np.isnan(out.get()).all()
        for host in (first, second):
            for array, new in zip(arrays, (host.q, host.k, host.v), strict=True):
                array.set(new)
            graph.launch(stream)
            stream.synchronize()
            assert_bits(out, expected(decode, host))


def test_objects_come_and_go_while_a_stream_captures(cupy: Any) -> None:
    host = inputs(300)
    decode, unused = SplitKDecode(16, 4, 300), SplitKDecode(16, 4, 300)
    arrays = on_device(cupy, host)
    out = cupy.full((16, HEAD_DIM), np.nan, dtype=np.float32)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.runtime.deviceSynchronize()
    stream.begin_capture()
    run(decode, arrays, 300, out=out, stream=stream)
    made = SplitKDecode(24, 4, 300)
    del unused
    gc.collect()
    graph = stream.end_capture()
    graph.launch(stream)
    stream.synchronize()
    assert_bits(out, expected(decode, host))
    assert made.kv_capacity == 300


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
            run(decoder, arrays, 3000, out=out[number], stream=stream)
    for stream in streams:
        stream.synchronize()
    for out, want in zip(outs, wanted, strict=True):
        for result in out:
            assert_bits(result, want)


def test_every_way_to_name_a_stream_queues_on_it(cupy: Any) -> None:
    host = inputs(100)
    decode = SplitKDecode(16, 4, 100)
    arrays = on_device(cupy, host)
    cupy.cuda.runtime.deviceSynchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    for given in (stream, int(stream.ptr)):
        out = cupy.full((16, HEAD_DIM), np.nan, dtype=np.float32)
        cupy.cuda.runtime.deviceSynchronize()
        stream.begin_capture()
        run(decode, arrays, 100, out=out, stream=given)
        graph = stream.end_capture()
        # A call on any other stream would not have been captured: it would have run.
        cupy.cuda.runtime.deviceSynchronize()
        assert np.isnan(out.get()).all()
        graph.launch(stream)
        stream.synchronize()
        assert_bits(out, expected(decode, host))


@pytest.mark.parametrize("storage", ["f16", "f32"])
def test_torch_tensors_are_read_and_written_in_place(torch: Any, storage: str) -> None:
    host = inputs(4097, storage=storage)
    decode = SplitKDecode(16, 4, 4097, storage=storage)
    arrays = tuple(torch.from_numpy(array).cuda() for array in (host.q, host.k, host.v))
    out = torch.full((16, HEAD_DIM), float("nan"), device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        assert run(decode, arrays, 4097, out=out) is out
    stream.synchronize()
    assert_bits(out, expected(decode, host))
    out.fill_(float("nan"))
    torch.cuda.synchronize()
    run(decode, arrays, 4097, out=out, stream=stream)
    stream.synchronize()
    assert_bits(out, expected(decode, host))
    with pytest.raises(TypeError, match=r"^q is "):
        decode(arrays[0].clone().requires_grad_(), arrays[1], arrays[2], 4097, out=out)
    with pytest.raises(TypeError, match=r"^k is "):
        decode(arrays[0], arrays[1].cpu(), arrays[2], 4097, out=out)


def test_a_torch_graph_captures_a_call(torch: Any) -> None:
    host = inputs(300)
    decode = SplitKDecode(16, 4, 300)
    arrays = tuple(torch.from_numpy(array).cuda() for array in (host.q, host.k, host.v))
    out = torch.full((16, HEAD_DIM), float("nan"), device="cuda")
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        run(decode, arrays, 300, out=out)
    graph.replay()
    torch.cuda.synchronize()
    assert_bits(out, expected(decode, host))


def test_a_thread_without_a_context_is_told(cupy: Any) -> None:
    host = inputs(100)
    decode = SplitKDecode(16, 4, 100)
    arrays = on_device(cupy, host)
    out = cupy.full((16, HEAD_DIM), np.nan, dtype=np.float32)
    caught: list[str] = []

    def work() -> None:
        try:
            run(decode, arrays, 100, out=out, stream=0)
        except ContextError as error:
            caught.append(str(error))
        cupy.cuda.Device(0).use()
        cupy.cuda.runtime.free(0)  # makes the primary context current, as any use of the device does
        run(decode, arrays, 100, out=out, stream=0)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert caught in ([], ["no CUDA context is current on this thread; allowed: the decoder's, of device 0"])
    assert_bits(out, expected(decode, host))


def test_a_refused_call_leaves_the_next_one_right(cupy: Any) -> None:
    host = inputs(100)
    decode = SplitKDecode(16, 4, 100)
    q, k, v = on_device(cupy, host)
    out = cupy.full((16, HEAD_DIM), np.nan, dtype=np.float32)
    refused: list[tuple[type[Exception], str, Any]] = [
        (TypeError, r"^q is ", (host.q, k, v, 100)),
        (TypeError, r"^k\.dtype is f32; allowed: f16$", (q, k.astype(np.float32), v, 100)),
        (ValueError, r"^v\.address is ", (q, k, cupy.empty(v.size + 1, dtype=np.float16)[1:].reshape(v.shape), 100)),
        (ValueError, r"^k\.shape is ", (q, k[:99], v, 100)),
        (ValueError, r"^kv_len is 101; allowed: ", (q, k, v, 101)),
    ]
    for error, line, (*arrays, kv_len) in refused:
        with pytest.raises(error, match=line):
            run(decode, arrays, kv_len, out=out)
        run(decode, (q, k, v), 100, out=out)
        assert_bits(out, expected(decode, host))
        out.fill(np.nan)
    with pytest.raises(ValueError, match=r"^device is 99; allowed: 0"):
        SplitKDecode(16, 4, 100, device=99)


def test_arrays_of_two_devices_and_a_stream_of_another_are_refused(cupy: Any) -> None:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("needs two devices")
    host = inputs(100)
    decode = SplitKDecode(16, 4, 100, device=0)
    q, k, v = on_device(cupy, host)
    with cupy.cuda.Device(1):
        other = cupy.asarray(host.k)
        foreign = cupy.cuda.Stream(non_blocking=True)
        with pytest.raises(ContextError, match=r"another one, of device 1; allowed: the decoder's, of device 0$"):
            decode(q, k, v, 100)
    with pytest.raises(ValueError, match=r"^k\.device is 1; allowed: 0, the device of this decoder$"):
        decode(q, other, v, 100)
    with pytest.raises(ValueError, match=r"^stream is 0x[0-9a-f]+, of another context; allowed: "):
        decode(q, k, v, 100, stream=int(foreign.ptr))
    assert_bits(cupy.asarray(decode(q, k, v, 100)), expected(decode, host))

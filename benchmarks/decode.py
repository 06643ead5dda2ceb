"""Times one decode step in the PTX machine and in the CPU twin: `.venv/bin/python benchmarks/decode.py`.

The machine runs the builder's partial and reduce kernel at 4,096 keys with all its checks on, on one and on two
threads; the twin runs 262,144 keys on two threads. 16 query heads, 4 KV heads, head_dim 256, f16. Prints the median
and all samples, in seconds. `--kv-len` and `--twin-kv-len` change the lengths, `--runs` the number of samples.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from py_builder_kernel import build_module
from rust_kernel import ptx, twin
from rust_kernel.plan import Plan, make_plan

HEADS = (16, 4)
HEAD_DIM = 256
Arrays = tuple[npt.NDArray[np.float32], npt.NDArray[np.float16], npt.NDArray[np.float16]]


def inputs(kv_len: int) -> Arrays:
    """Return N(0,1) q [16, 256] f32 and K, V [kv_len, 4, 256] f16."""
    rng = np.random.default_rng(0)
    q = rng.standard_normal((HEADS[0], HEAD_DIM), dtype=np.float32)
    k, v = (rng.standard_normal((kv_len, HEADS[1], HEAD_DIM), dtype=np.float32).astype(np.float16) for _ in range(2))
    return q, k, v


def machine_run(plan: Plan, arrays: Arrays, threads: int) -> Callable[[], None]:
    """Return what launches partial and reduce in the PTX machine, and compares the result with the twin's bits."""
    built = build_module([plan])
    module = ptx.PtxModule(built.text, name="decode")
    expected = twin.decode(*arrays, plan)

    def run() -> None:
        memory = ptx.Memory()
        q, k, v = (memory.alloc(arrays[i], name=name, writable=False) for i, name in enumerate(("q", "k", "v")))
        pairs = HEADS[0] * plan.n_splits
        m, s = (memory.alloc_uninit(4 * pairs, name=name) for name in ("part_m", "part_s"))
        acc = memory.alloc_uninit(4 * pairs * HEAD_DIM, name="part_acc")
        out = memory.alloc_uninit(4 * HEADS[0] * HEAD_DIM, name="out")
        row, head = HEADS[1] * HEAD_DIM, HEAD_DIM
        partial = [q, k, v, m, s, acc, plan.kv_len, plan.chunk, plan.n_splits, head, row, head, row, head]
        reduce = [m, s, acc, out, plan.n_splits, head]
        for entry, (grid, block), args in (
            (plan.partial_entry, plan.partial_launch, partial),
            (plan.reduce_entry, plan.reduce_launch, reduce),
        ):
            shared = built.entries[entry].dynamic_shared_bytes
            ptx.launch(module, entry, memory, grid=grid, block=block, args=args, dynamic_shared=shared, threads=threads)
        result = memory.read(out, np.float32, expected.shape)
        if not np.array_equal(result.view(np.uint32), expected.view(np.uint32)):
            raise SystemExit("the machine's result has not the twin's bits")

    return run


def report(title: str, runs: int, run: Callable[[], object]) -> None:
    """Run once to warm up, then `runs` times; print the median and the samples."""
    run()
    samples = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        samples.append(time.perf_counter() - start)
    print(f"{title}: {statistics.median(samples):.3f} s   ({', '.join(f'{sample:.3f}' for sample in samples)})")


def main() -> None:
    """Parse the command line and time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kv-len", type=int, default=4096)
    parser.add_argument("--twin-kv-len", type=int, default=262_144)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()

    def plan(kv_len: int) -> Plan:
        return make_plan(kv_len=kv_len, num_q_heads=HEADS[0], num_kv_heads=HEADS[1], storage="f16")

    arrays = inputs(options.kv_len)
    for threads in (1, 2):
        run = machine_run(plan(options.kv_len), arrays, threads)
        report(f"PTX machine, {options.kv_len:,} keys, {threads} thread(s)", options.runs, run)
    arrays, long = inputs(options.twin_kv_len), plan(options.twin_kv_len)
    title = f"twin, {options.twin_kv_len:,} keys, 2 threads"
    report(title, options.runs, lambda: twin.decode(*arrays, long, threads=2))


if __name__ == "__main__":
    main()

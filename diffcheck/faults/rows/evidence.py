"""Faults of timing and evidence. They are the A/B comparison's to cover, and listed here so that none is forgotten."""

from diffcheck.faults.model import Fault


def _fault(name: str, reports: tuple[str, ...], brought_out_by: str, right: str) -> Fault:
    return Fault(name, "timing and evidence", reports, brought_out_by, right)


FAULTS = (
    _fault(
        "cached-kv",
        ("ROCm/vllm PR 1311",),
        "K and V that stay in the L2",
        "buffers rotate over several times the L2; a rate above that of the memory is flagged",
    ),
    _fault(
        "synchronised-loop",
        ("flashinfer-bench 195",),
        "a synchronisation in the timed loop",
        "none there; the time of an empty kernel is reported",
    ),
    _fault(
        "clocks",
        ("flashinfer PR 2899", "nvbench 231"),
        "clocks that move, a result without samples",
        "clocks are recorded; an empty result is an error",
    ),
    _fault(
        "order",
        ("tensai PR 199",),
        "one arm always timed first",
        "the order is balanced; an interval of an arm against itself includes 1",
    ),
    _fault(
        "two-harnesses",
        ("sparkinfer PR 878",),
        "each arm timed by a program of its own",
        "one harness for both; the compiler is recorded",
    ),
    _fault(
        "stale-receipt",
        ("imp 1624", "aprender PR 2173"),
        "a receipt of another commit; a path that never ran",
        "refused; the GPU path is proven to have run",
    ),
    _fault(
        "shared-gpu",
        ("Rapid-MLX 1527",),
        "other users of the GPU",
        "recorded before and after",
    ),
    _fault(
        "aggregates",
        ("KernelBench 165", "aiter 5032"),
        "one wrong row under a good average",
        "bounds a row; a cosine over all alone proves nothing",
    ),
    _fault(
        "nan-passes",
        ("Tensors PR 883", "aprender 615"),
        "NaN in a comparison; a gate over no case",
        "NaN never passes; no case is a failure",
    ),
)

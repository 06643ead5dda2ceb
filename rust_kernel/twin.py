"""The CPU twin: the numeric contract (`docs/contract.md`) in Rust, to the bit what every kernel must give.

    >>> out = decode(q, k, v, plan)  # float32 [num_q_heads, head_dim]

Arrays are NumPy's and are read where they lie, without a copy: `q` float32 `[num_q_heads, head_dim]`, `k` and `v`
`[rows, num_kv_heads, head_dim]` of the plan's storage (float32 or float16) with at least `kv_len` rows. The inner
stride is 1 element; the others, 0 included, and the addresses are multiples of 16 bytes. The interpreter is let go of
during a call, so other threads run; they must not write to the arrays meanwhile.

`threads` is the number of threads (0: one a core); it never changes a bit. `path` is `simd`, `portable` (scalar, with
fused multiply-adds in software: what a host without AVX2 runs) or `auto`; both give the same bits. `fault` plants one
of `faults()`, so that a test can show that a comparison notices; the portable path runs then.

What is not allowed raises `TypeError` (not an array, not a plan) or `ValueError`, with one line that names the field,
the value and what is allowed.
"""

from rust_kernel._native import decode, exp, faults, partial, reduce, simd_available, source_sha256

__all__ = ["decode", "exp", "faults", "partial", "reduce", "simd_available", "source_sha256"]

"""The suite `kernels`: each kernel of the tile table through the same list of small cases, every rule of it exercised.

It is what generated mutants are tried on (`diffcheck mutants`), so a fault in one instruction of one kernel must show
in one of these cases; a mutant that survives asks for another case here. All have the seed 9, which keeps their names
apart from those of the other suites.
"""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.cases import STORAGES, Case, Storage

SEED = 9
GROUPS = range(1, 9)

# (generator, KV heads, kv_len, policy, layout), those that find most first.
_PARTIAL = (
    ("random", 2, 203, "chunk:61", "dense"),
    ("random", 1, 333, "chunk:150", "dense"),
    ("inf-rows", 1, 203, "fixed:1", "dense"),
    ("inf-rows", 1, 201, "fixed:1", "dense"),
    ("inf-rows", 1, 202, "fixed:1", "dense"),
    ("needles", 2, 131, "chunk:50", "padded"),
    ("rising", 1, 203, "fixed:1", "dense"),
    ("large-logits", 2, 203, "chunk:100", "packed"),
    ("denormals", 2, 131, "chunk:5", "dense"),
    ("denormals", 2, 203, "fixed:1", "dense"),
    ("nan-key", 2, 203, "fixed:1", "dense"),
    ("nan-query", 2, 65, "table", "dense"),
    ("nan-value", 2, 203, "chunk:100", "kv-head-major"),
    ("inf-key", 2, 203, "chunk:100", "dense"),
    ("all-minus-inf", 2, 203, "chunk:100", "dense"),
    ("minus-inf-prefix", 1, 203, "chunk:50", "dense"),
    ("inf-value", 1, 250, "chunk:61", "dense"),
    ("rising-steep", 1, 203, "fixed:1", "dense"),
    ("falling-steep", 1, 203, "chunk:61", "dense"),
    ("one-hot-v", 2, 203, "chunk:61", "padded"),
    ("random", 1, 1, "table", "packed"),
    ("random", 1, 5, "chunk:1", "dense"),
    ("random", 1, 48, "table", "shared-row"),
    ("random", 1, 515, "fixed:1", "dense"),
    ("random", 2, 1500, "chunk:50", "dense"),
    ("negative-zeros", 1, 200, "fixed:1", "dense"),
    ("negative-zero-warps", 1, 288, "fixed:1", "dense"),
    # Full steps of 12 and of 8 warps, but for the last row.
    ("negative-zero-rows", 1, 287, "chunk:96", "dense"),
    # One step of 12 and of 8 warps, twice as it is and once with its last row masked; the last warps have none.
    ("negative-zero-rows", 1, 143, "chunk:48", "dense"),
    ("negative-zero-rows", 1, 95, "chunk:32", "dense"),
    ("negative-zero-rows", 1, 28, "fixed:1", "dense"),
    ("exponential-weights", 1, 203, "chunk:97", "dense"),
    # As many splits as eight warps of each need to see every argument, of one head too.
    ("exponential-steps", 1, 864, "chunk:96", "dense"),
    ("hops", 1, 203, "chunk:61", "dense"),
)
# The reduce kernel alone (generator, splits), and behind a partial kernel.
_MERGES = (
    ("merge-even", 203),
    ("merge-steps", 89),
    *(("merge-one-live", n_splits) for n_splits in (101, 49, 130, 170, 193, 840)),
    *(("merge-lowest", n_splits) for n_splits in (50, 101)),
    ("merge-nan", 101),
    ("merge-kept", 64),
    ("merge-random", 1),
    ("merge-counted", 257),
    ("merge-empty", 65),
    ("merge-exponential", 640),
    # Classes without a split, and without one in a turn that other classes of their warp have some in, too.
    *(("merge-denormal", n_splits) for n_splits in (333, 5, 73)),
    # Classes 4 and 5, which half a warp each sums: 2 splits and 1, 3 and 2, up to 21 and 20, which is more than two
    # turns of the kernel that takes 10 a turn.
    *(("merge-negative-zeros", n_splits) for n_splits in range(13, 166, 8)),
    # More splits of a class than a warp has lanes.
    ("merge-negative-zeros", 300),
    ("merge-zero-sums", 17),
    *(("merge-one-class", n_splits) for n_splits in (16, 47, 65, 79, 80, 128)),
    ("merge-random", 521),
    ("merge-steps", 768),
)
_REDUCE = (
    ("rising", 1, 89, "chunk:1", "padded"),
    ("inf-rows", 1, 101, "chunk:1", "dense"),
    ("needles", 1, 64, "chunk:7", "dense"),
    ("minus-inf-prefix", 1, 203, "chunk:5", "dense"),
    ("all-minus-inf", 2, 65, "chunk:5", "dense"),
    ("denormals", 1, 131, "chunk:5", "dense"),
    ("nan-value", 2, 203, "chunk:50", "dense"),
    ("nan-key", 2, 65, "chunk:5", "dense"),
    ("inf-value", 1, 250, "chunk:9", "dense"),
    ("rising-steep", 1, 65, "chunk:1", "dense"),
    ("falling-steep", 1, 65, "chunk:1", "dense"),
    ("inf-rows", 1, 300, "chunk:1", "dense"),
)


def kernel_cases(storage: Storage, group: int) -> tuple[Case, ...]:
    """Return the cases of the partial kernels for `group` query heads a KV head."""
    from diffcheck.generators.exponential import ARGUMENTS

    # Each warp of a block merges by instructions of its own, and each is to see every argument (twice as many splits as
    # heads take).
    splits = 2 * -(-len(ARGUMENTS) // group)
    merges = ("exponential-warps", 1, 48 * splits, "chunk:48", "dense")
    return tuple(_case(row, storage, group) for row in (*_PARTIAL, merges))


def reduce_cases() -> tuple[Case, ...]:
    """Return the cases of the reduce kernel: by itself, and behind the smallest partial kernel."""
    from diffcheck.suites import merge_case

    # Six heads, as no other suite has.
    alone = tuple(merge_case(generator, (6, 1), n_splits, suites=("kernels",)) for generator, n_splits in _MERGES)
    return (*alone, *(_case(row, "f16", 1) for row in _REDUCE))


def all_kernel_cases() -> Iterator[Case]:
    """Yield the whole suite."""
    for storage in STORAGES:
        for group in GROUPS:
            yield from kernel_cases(storage, group)
    yield from reduce_cases()


def _case(row: tuple[str, int, int, str, str], storage: Storage, group: int) -> Case:
    from diffcheck.suites import case

    generator, kv_heads, kv_len, policy, layout = row
    heads = (group * kv_heads, kv_heads)
    return case(generator, heads, kv_len, storage, suites=("kernels",), policy=policy, layout=layout, seed=SEED)

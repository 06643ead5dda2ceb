"""Every case, and the suites that it belongs to.

To add a case, add it to a function here, or a new function to `FAMILIES`. The suites:

- `quick`: a few seconds in the PTX machine; each generator and layout at least once.
- `matrix`: every length, group size, storage and generator that the workspace promises.
- `rungs`: lengths up to 262,144, meant for a GPU.
- `kernels`: each kernel of the tile table through one list of small cases (`diffcheck.kernel_cases`).
- `faults`: what would have caught the faults that others shipped. The rows of `diffcheck.faults` name its cases; one
  that is listed here too joins the suite, the others are added to these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from diffcheck.cases import STORAGES, Case, Storage
from diffcheck.errors import BadInputError
from diffcheck.generators import expectation, generator_info
from diffcheck.kernel_cases import all_kernel_cases

GEOMETRIES = ((8, 2), (16, 4), (24, 4))
LENGTHS = (1, 5, 37, 64, 65, 4096, 4097, 8192)
RUNG_LENGTHS = (4096, 8192, 20000, 60000, 148000, 262144)
RUNG_GEOMETRIES = ((16, 4), (24, 4))

QUICK = ("quick", "matrix")
MATRIX = ("matrix",)


def list_cases() -> Iterator[Case]:
    """Every case, those of one kind together."""
    from diffcheck.faults import fault_cases  # imported late: its rows are written with `case`

    named = fault_cases()
    for family in FAMILIES:
        for listed in family():
            other = named.pop(listed.name, None)
            if other is not None and replace(listed, suites=other.suites) != other:
                raise BadInputError("case", listed.name, "the same case here and in the faults that name it")
            yield listed if other is None else replace(listed, suites=listed.suites + other.suites)
    yield from named.values()


def case(
    generator: str,
    heads: tuple[int, int],
    kv_len: int,
    storage: Storage,
    *,
    suites: tuple[str, ...] = MATRIX,
    policy: str = "table",
    layout: str = "dense",
    seed: int = 0,
) -> Case:
    """Make a case whose name says everything in which it differs from the usual."""
    extras = [policy.replace(":", "") if policy != "table" else "", layout if layout != "dense" else ""]
    extras.append(f"seed{seed}" if seed else "")
    name = "-".join([generator, f"{heads[0]}x{heads[1]}", f"L{kv_len}", storage, *(e for e in extras if e)])
    info = generator_info(generator)
    return Case(
        name=name,
        num_q_heads=heads[0],
        num_kv_heads=heads[1],
        kv_len=kv_len,
        storage=storage,
        generator=generator,
        expect=info.expect,
        policy=policy,
        layout=layout,
        seed=seed,
        suites=suites,
        stage=info.stage,
    )


def merge_case(
    generator: str, heads: tuple[int, int], n_splits: int, *, suites: tuple[str, ...] = MATRIX, seed: int = 0
) -> Case:
    """Make a case of the reduce kernel alone, with one key a split, as only the number of splits matters to it."""
    name = "-".join([generator, f"{heads[0]}x{heads[1]}", f"S{n_splits}", *([f"seed{seed}"] if seed else [])])
    return Case(
        name=name,
        num_q_heads=heads[0],
        num_kv_heads=heads[1],
        kv_len=n_splits,
        storage="f32",
        generator=generator,
        expect=expectation("reduce", generator),
        policy="chunk:1",
        seed=seed,
        suites=suites,
        stage="reduce",
    )


def _device_matrix() -> Iterator[Case]:
    """Random inputs over lengths, geometries and storages; the long ones of the rungs' geometries are rungs too."""
    lengths = tuple(dict.fromkeys(LENGTHS + RUNG_LENGTHS))
    for kv_len in lengths:
        for heads in GEOMETRIES:
            suites: tuple[str, ...] = ("quick",) if kv_len < 4096 and heads == (8, 2) else ()
            suites += MATRIX if kv_len in LENGTHS else ()
            suites += ("rungs",) if kv_len in RUNG_LENGTHS and heads in RUNG_GEOMETRIES else ()
            if suites:
                yield from (case("random", heads, kv_len, storage, suites=suites) for storage in STORAGES)


def _group_sizes() -> Iterator[Case]:
    """Every G from 1 to 8, powers of two or not."""
    for group in range(1, 9):
        for kv_len in (5, 65, 203):
            suites = QUICK if kv_len == 65 else MATRIX
            for storage in STORAGES:
                # The device matrix already has (8, 2) at 5 and 65.
                heads = (group, 1) if group == 4 else (2 * group, 2)
                yield case("random", heads, kv_len, storage, suites=suites)


def _split_edges() -> Iterator[Case]:
    """Chunks that are no multiple of the warps' rows, single keys a split, one split for all."""
    for storage in STORAGES:
        for heads in GEOMETRIES:
            yield case("random", heads, 203, storage, policy="chunk:7", suites=QUICK if heads == (8, 2) else MATRIX)
        for policy in ("chunk:1", "chunk:13", "chunk:61", "chunk:65", "chunk:100", "fixed:3", "fixed:1", "note"):
            yield case("random", (6, 2), 203, storage, policy=policy)
        yield case("random", (4, 1), 1000, storage, policy="chunk:333")
        yield case("random", (5, 1), 1000, storage, policy="three-quarter-wave")
        # Several steps a warp within one split, and more splits than the reduce kernel's eight classes.
        yield case("random", (4, 1), 4097, storage, policy="fixed:3")
        yield case("random", (2, 1), 1031, storage, policy="chunk:11")
        # The reduce kernels take 72 or 80 splits a turn: turns in the middle and a last one of 43, so that three
        # of the eight classes have one more than the others. They look at 96 maxima at once, and at 91 last.
        yield case("random", (4, 1), 763, storage, policy="chunk:1")
        # The last of many splits has the maximum.
        yield case("rising", (4, 1), 763, storage, policy="chunk:1")
    # As many splits as made another kernel's shared memory pass its limit.
    yield case("needles", (1, 1), 12_289, "f16", policy="chunk:1")


def _long() -> Iterator[Case]:
    """Splits of many steps a warp, with one KV head to keep them cheap."""
    for storage in STORAGES:
        yield case("random", (4, 1), 16384, storage, policy="fixed:7")
        yield case("random", (7, 1), 8193, storage, policy="fixed:3")


def _needles() -> Iterator[Case]:
    for storage in STORAGES:
        yield case("needles", (8, 2), 203, storage, suites=QUICK)
        yield case("needles", (8, 2), 203, storage, policy="chunk:7", suites=QUICK)
        yield case("needles", (24, 4), 257, storage)
        yield case("needles", (16, 4), 1000, storage, policy="chunk:61")
        yield case("needles", (8, 1), 515, storage, policy="fixed:1")
        yield case("needles", (1, 1), 1, storage)
        # A length at which someone's cap dropped the last key.
        yield case("needles", (1, 1), 16384, storage)
        yield case("needles", (1, 1), 16385, storage)
        yield case("needles", (8, 1), 4097, storage, policy="fixed:9")


def _large_scores() -> Iterator[Case]:
    for storage in STORAGES:
        yield case("large-logits", (8, 2), 203, storage, suites=QUICK)
        yield case("large-logits", (24, 4), 1000, storage)
        yield case("rising", (8, 2), 203, storage, policy="fixed:1", suites=QUICK)
        yield case("rising", (16, 4), 1000, storage)
        for generator in ("rising-steep", "falling-steep"):
            yield case(generator, (8, 2), 203, storage, policy="chunk:61", suites=QUICK)
            yield case(generator, (12, 2), 700, storage)
        yield case("one-ulp", (8, 2), 33, storage, suites=QUICK)


def _exponential() -> Iterator[Case]:
    """Chosen arguments of the exponential, in the weights, rescales and merges of the partial kernel."""
    for storage in STORAGES:
        for generator, chunk in (("weights", 64), ("steps", 96), ("warps", 48)):
            yield case(f"exponential-{generator}", (8, 2), 192, storage, policy=f"chunk:{chunk}", suites=QUICK)
            yield case(f"exponential-{generator}", (5, 1), 960, storage, policy=f"chunk:{chunk}")
        for zeros, policy in (("zeros", "fixed:1"), ("zero-warps", "fixed:1"), ("zero-rows", "chunk:48")):
            yield case(f"negative-{zeros}", (8, 2), 203, storage, policy=policy, suites=QUICK)


def _counting() -> Iterator[Case]:
    for storage in STORAGES:
        for generator in ("kept-values", "v-one", "v-head-index", "one-hot-v", "v-512", "v-one-random"):
            yield case(generator, (8, 2), 203, storage, suites=QUICK)
            yield case(generator, (24, 4), 300, storage, policy="chunk:100")
        # Lengths and geometries at which others' kernels went wrong.
        for kv_len in (1, 2, 33, 4097):
            yield case("one-hot-v", (4, 2), kv_len, storage)
        for kv_len in (127, 128):
            yield case("v-512", (8, 2), kv_len, storage)
        for heads in ((24, 4), (14, 7)):
            yield case("v-head-index", heads, 203, storage)
        yield case("kept-values", (16, 2), 2000, storage, policy="chunk:7")


def _special_values() -> Iterator[Case]:
    generators = (
        "denormals", "nan-query", "nan-key", "nan-value", "inf-key", "all-minus-inf", "minus-inf-prefix", "inf-value",
    )  # fmt: skip
    for storage in STORAGES:
        for generator in generators:
            yield case(generator, (8, 2), 203, storage, suites=QUICK)
            yield case(generator, (6, 2), 250, storage, policy="chunk:7")
        # Stale rows behind the mask of a warp's last step, and stale sums behind that of the reduce kernel's.
        for kv_len in (201, 202, 203):
            yield case("inf-rows", (8, 2), kv_len, storage, policy="fixed:1", suites=QUICK)
            yield case("inf-rows", (8, 1), kv_len, storage, policy="fixed:1")
        yield case("inf-rows", (4, 1), 300, storage, policy="chunk:1")


def _layouts() -> Iterator[Case]:
    """Every layout but the dense one, at lengths that leave a tail; (16, 2) packed is the row stride 5120."""
    for storage in STORAGES:
        for layout in ("kv-head-major", "padded", "packed", "shared-head", "shared-row"):
            yield case("random", (8, 2), 65, storage, layout=layout, suites=QUICK)
        for layout in ("kv-head-major", "padded", "packed"):
            yield case("kept-values", (16, 2), 257, storage, layout=layout)
            yield case("random", (1, 1), 1, storage, layout=layout)
        yield case("nan-value", (12, 4), 203, storage, layout="packed")
        yield case("needles", (24, 4), 203, storage, layout="padded", policy="chunk:13")


def _chains() -> Iterator[Case]:
    """Two decodes in a row, on each geometry and on strides of the first result that are not those of q."""
    for storage in STORAGES:
        yield case("hops", (8, 2), 203, storage, policy="chunk:61", suites=QUICK)
        yield case("hops", (8, 2), 65, storage, layout="padded")
        yield case("hops", (16, 4), 1000, storage)
        yield case("hops", (24, 4), 257, storage, layout="packed", policy="chunk:13")


def _other_seeds() -> Iterator[Case]:
    """The same shape under other draws."""
    for seed in (1, 2, 3):
        yield from (case("random", (16, 4), 515, storage, seed=seed) for storage in STORAGES)


def _merges() -> Iterator[Case]:
    """The reduce kernel alone: splits for some of its classes (8), for a second turn (past 72 or 80), and for many."""
    drawn = ("merge-kept", "merge-steps", "merge-random", "merge-even", "merge-denormal", "merge-exponential")
    single = ("merge-one-live", "merge-lowest", "merge-nan", "merge-one-class", "merge-counted")
    for generator in ("merge-empty", *single, *drawn, "merge-negative-zeros", "merge-zero-sums"):
        for n_splits in (1, 2, 9, 203):
            yield merge_case(generator, (8, 2), n_splits, suites=QUICK if n_splits in (2, 203) else MATRIX)
        for n_splits in (255, 256, 257, 700):
            yield merge_case(generator, (3, 1), n_splits)


FAMILIES: tuple[Callable[[], Iterator[Case]], ...] = (
    _device_matrix,
    _group_sizes,
    _split_edges,
    _long,
    _needles,
    _large_scores,
    _exponential,
    _counting,
    _special_values,
    _layouts,
    _chains,
    _other_seeds,
    all_kernel_cases,
    _merges,
)

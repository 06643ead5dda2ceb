"""Faults of addresses: strides, tails, splits, heads, pages, windows."""

from diffcheck.faults.model import Fault, in_both
from diffcheck.suites import case, merge_case

_TESTS = "tests/faults/test_indexing.py"
_PAGES = "an arm with pages"

FAULTS = (
    Fault(
        name="guards",
        topic="indexing",
        reports=("flash-attention 1076",),
        input="257 keys, guard words round every buffer",
        right="guards, gaps and inputs are as they were",
        cases=in_both(*(case("kept-values", (16, 2), 257, "f16", layout=layout) for layout in ("padded", "packed"))),
        tests=(f"{_TESTS}::test_strides_are_obeyed_and_guards_survive",),
    ),
    Fault(
        name="split-counts",
        topic="indexing",
        reports=("llama.cpp PR 13852",),
        input="64, 65, 128 and 256 splits",
        right="every split is written and every one is merged",
        cases=(
            *(case("needles", (2, 1), 3 * splits - 1, "f16", policy="chunk:3") for splits in (64, 65, 128, 256)),
            *(merge_case("merge-counted", (3, 1), splits) for splits in (64, 65, 128, 256)),
        ),
        tests=(f"{_TESTS}::test_every_split_is_merged_once",),
    ),
    Fault(
        name="last-key",
        topic="indexing",
        reports=("tinygrad PR 18009",),
        input="16,384 and 16,385 keys, a needle in the last one",
        right="the needle is found: no cap drops keys",
        cases=in_both(*(case("needles", (1, 1), kv_len, "f16") for kv_len in (16_384, 16_385))),
        tests=(f"{_TESTS}::test_needles_at_every_edge_are_found",),
    ),
    Fault(
        name="next-page",
        topic="indexing",
        reports=("pegainfer 291",),
        input="pages of 16 keys, 15, 16, 17 and 32 keys, the next page poisoned",
        right="the next page is never read",
        waits_for=_PAGES,
    ),
    Fault(
        name="block-table-tail",
        topic="indexing",
        reports=("flash-attention PR 2711", "sparkinfer PR 185"),
        input="a block table whose unused entries are -1 or huge",
        right="the same result",
        waits_for=_PAGES,
    ),
    Fault(
        name="packed-qkv",
        topic="indexing",
        reports=("FlagGems 5235", "flash-attention 2886"),
        input="q, K and V slices of packed rows (stride 5120), called twice",
        right="strides obeyed, inputs unchanged, the same bits again",
        cases=in_both(case("kept-values", (16, 2), 257, "f16", layout="packed")),
        tests=(f"{_TESTS}::test_a_second_call_on_the_same_arrays_has_the_same_bits",),
    ),
    Fault(
        name="window-edges",
        topic="indexing",
        reports=("flashinfer PR 4992", "ik_llama.cpp 2186"),
        input="4096 keys, a window of 333, 8 splits, needles at both edges",
        right="both edges exact",
        waits_for="an arm with a sliding window",
    ),
    Fault(
        name="group-sizes",
        topic="indexing",
        reports=("llama.cpp PR 19115", "flashinfer 996"),
        input="24/4 and 24/2 heads, V = its KV head's index",
        right="each head's own index; groups of more than 8 are refused",
        cases=in_both(*(case("v-head-index", heads, 203, "f16") for heads in ((24, 4), (14, 7)))),
        tests=(
            f"{_TESTS}::test_each_head_reads_its_own_kv_head",
            f"{_TESTS}::test_groups_that_are_too_large_are_refused",
        ),
    ),
    Fault(
        name="long-path",
        topic="indexing",
        reports=("sparkinfer 330", "sparkinfer 299", "sparkinfer 388"),
        input="16/2/256 and 16/4/256 where a warp takes many steps",
        right="exact: nothing assumes another head_dim",
        cases=(
            *in_both(*(case("kept-values", heads, 1100, "f16", policy="fixed:1") for heads in ((16, 2), (16, 4)))),
            *in_both(case("kept-values", (16, 2), 2000, "f16", policy="chunk:7")),
        ),
        tests=(f"{_TESTS}::test_needles_at_every_edge_are_found",),
    ),
    Fault(
        name="head-dims",
        topic="indexing",
        reports=("flashinfer 4299",),
        input="head_dim 72 and 136",
        right="right, or refused in a line that names what is supported",
        tests=(f"{_TESTS}::test_head_dims_without_kernels_are_refused",),
    ),
)

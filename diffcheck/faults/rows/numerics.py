"""Faults of the arithmetic: empty sums, masks, precision, bases."""

from diffcheck.faults.model import Fault, in_both
from diffcheck.suites import case, merge_case

_TESTS = "tests/faults/test_numerics.py"

FAULTS = (
    Fault(
        name="empty-merge",
        topic="numerics",
        reports=("flashinfer 4051", "pegainfer PR 21"),
        input="two empty splits merged; then three empty ones and a live one",
        right="nothing merged with nothing is nothing (NaN here), and the live split passes through as it is",
        cases=(
            *(merge_case("merge-empty", (8, 2), n_splits) for n_splits in (2, 203)),
            *(merge_case("merge-one-live", (8, 2), n_splits) for n_splits in (4, 203)),
            *in_both(case("all-minus-inf", (6, 2), 250, "f16", policy="chunk:7")),
        ),
        tests=(f"{_TESTS}::test_empty_splits_weigh_nothing",),
    ),
    Fault(
        name="empty-context",
        topic="numerics",
        reports=("vllm PR 57094",),
        input="a context of 0 keys, beside rows that have keys",
        right="refused; no other row changes a bit",
        tests=(
            f"{_TESTS}::test_a_context_of_no_keys_is_refused",
            "tests/native/test_plan.py::test_what_is_not_allowed_is_named",
        ),
        waits_for="an arm with batches, for the rows beside it",
    ),
    Fault(
        name="nan-tail",
        topic="numerics",
        reports=("flash-attention 1745", "vllm PR 936"),
        input="1 key in a cache of several rows, the rest of K and V NaN",
        right="the bits that a tail of zeros gives: V is masked as well as the scores",
        cases=in_both(
            case("needles", (1, 1), 1, "f16"),
            case("random", (1, 1), 1, "f16", layout="padded"),
            case("one-hot-v", (4, 2), 1, "f16"),
        ),
        tests=(f"{_TESTS}::test_rows_past_the_context_never_count",),
    ),
    Fault(
        name="f16-sums",
        topic="numerics",
        reports=("llama.cpp PR 17746", "llama.cpp 13991"),
        input="f16, equal scores, V = 512, 127 and 128 keys",
        right="exactly 512: the sum passes the largest f16 and is held in f32",
        cases=(
            *(case("v-512", (8, 2), kv_len, "f16") for kv_len in (127, 128)),
            case("v-512", (4, 1), 8192, "f16", policy="fixed:1"),
        ),
        tests=(f"{_TESTS}::test_sums_past_the_largest_f16",),
    ),
    Fault(
        name="narrow-partials",
        topic="numerics",
        reports=("flashinfer 5107",),
        input="8192 keys in 1 split and in 8",
        right="both within their bounds, for which partials have to be f32",
        cases=tuple(
            case(generator, (4, 1), 8192, "f16", policy=policy)
            for generator in ("random", "v-512")
            for policy in ("fixed:1", "fixed:8")
        ),
        tests=(f"{_TESTS}::test_any_two_plans_differ_by_their_bounds_at_most",),
    ),
    Fault(
        name="log-base",
        topic="numerics",
        reports=("sglang 40903", "flashinfer 4485"),
        input="two splits whose log-sums are 0 and 3",
        right="weights e^-3 and 1: base e throughout, never mixed with base 2",
        cases=(
            *(merge_case("merge-steps", (8, 2), n_splits) for n_splits in (2, 9)),
            *in_both(case("random", (8, 2), 203, "f16", policy="chunk:7")),
        ),
        tests=(f"{_TESTS}::test_log_sums_are_merged_in_base_e",),
    ),
    Fault(
        name="first-split-empty",
        topic="numerics",
        reports=("rocm-libraries 12227",),
        input="a first split without a live key",
        right="the rest merged as if it were not there, nothing counted twice",
        cases=(
            *(merge_case("merge-kept", (8, 2), n_splits) for n_splits in (2, 9, 203)),
            *in_both(case("minus-inf-prefix", (6, 2), 250, "f16", policy="chunk:7")),
        ),
        tests=(f"{_TESTS}::test_splits_without_a_live_key",),
    ),
    Fault(
        name="batch-invariance",
        topic="numerics",
        reports=("aiter PR 4378", "FlashMLA 212"),
        input="a row alone, and the same row among others",
        right="the same plan, the same bits",
        tests=(
            f"{_TESTS}::test_a_group_of_heads_has_the_same_bits_alone_and_among_others",
            f"{_TESTS}::test_the_same_call_again_has_the_same_plan_and_bits",
        ),
        waits_for="an arm with batches: so far the rows are the query heads of one call",
    ),
    Fault(
        name="one-ulp",
        topic="numerics",
        reports=("aprender 3208",),
        input="two logits one ULP apart",
        right="a report that names rank and gap of the largest word, not only that something differs",
        cases=in_both(case("one-ulp", (8, 2), 33, "f16")),
        tests=("tests/unit/test_compare.py::test_a_largest_word_that_moves_is_named_with_rank_and_gap",),
    ),
)

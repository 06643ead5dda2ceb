"""Faults of timing and evidence: the A/B comparison, its receipts and the verdict. They name no case."""

from diffcheck.faults.model import Fault

_HERE = "tests/faults/test_evidence.py"
_RUN, _DECIDE = "tests/unit/test_ab_run.py", "tests/unit/test_decide.py"
_ALWAYS = "tests/unit/test_decide_properties.py"
_COMPARE = "tests/unit/test_compare.py"


def _fault(name: str, reports: tuple[str, ...], brought_out_by: str, right: str, *tests: str) -> Fault:
    return Fault(name, "timing and evidence", reports, brought_out_by, right, tests=tests)


FAULTS = (
    _fault(
        "cached-kv",
        ("ROCm/vllm PR 1311",),
        "K and V that stay in the L2",
        "buffers rotate over several times the L2; a rate above that of the memory is flagged",
        "tests/unit/test_timing.py::test_sets_exceed_the_l2",
        f"{_HERE}::test_a_rate_above_the_memorys_is_flagged_and_not_judged",
    ),
    _fault(
        "synchronised-loop",
        ("flashinfer-bench 195",),
        "a synchronisation in the timed loop",
        "none there; the time of an empty kernel is reported",
        f"{_HERE}::test_nothing_waits_between_the_calls_that_are_timed",
        f"{_HERE}::test_the_time_of_an_empty_kernel_is_in_every_row",
    ),
    _fault(
        "clocks",
        ("flashinfer PR 2899", "nvbench 231"),
        "clocks that move, a result without samples",
        "clocks are recorded; an empty result is an error",
        f"{_HERE}::test_clocks_stand_beside_every_replay",
        f"{_HERE}::test_a_result_without_samples_is_an_error",
        f"{_RUN}::test_throttled_blocks_are_dropped_and_counted_and_a_power_cap_is_not",
    ),
    _fault(
        "order",
        ("tensai PR 199",),
        "one arm always timed first",
        "the order is balanced; an interval of an arm against itself includes 1",
        "tests/unit/test_ab_statistics.py::test_of_every_two_blocks_one_is_of_each_order",
        f"{_HERE}::test_each_side_goes_first_as_often_as_the_other",
        f"{_HERE}::test_an_arm_against_itself_that_differs_holds_the_verdict_back",
    ),
    _fault(
        "two-harnesses",
        ("sparkinfer PR 878",),
        "each arm timed by a program of its own",
        "one harness for both; the compiler is recorded",
        f"{_HERE}::test_both_arms_take_turns_in_one_run_and_their_compilers_are_recorded",
    ),
    _fault(
        "stale-receipt",
        ("imp 1624", "aprender PR 2173"),
        "a receipt of another commit; a path that never ran",
        "refused; the GPU path is proven to have run",
        f"{_ALWAYS}::test_an_aged_receipt_never_promotes",
        f"{_HERE}::test_an_output_that_no_kernel_wrote_fails",
    ),
    _fault(
        "shared-gpu",
        ("Rapid-MLX 1527",),
        "other users of the GPU",
        "recorded before and after",
        f"{_RUN}::test_users_of_every_part_are_kept",
        "tests/unit/test_ab_nvml.py::test_phantoms_are_told_from_live_processes_and_this_one_is_neither",
        f"{_DECIDE}::test_graphics_and_phantoms_are_not_foreign",
    ),
    _fault(
        "aggregates",
        ("KernelBench 165", "aiter 5032"),
        "one wrong row under a good average",
        "bounds a row; a cosine over all alone proves nothing",
        f"{_COMPARE}::test_one_row_out_of_its_bound_fails_and_is_named",
        f"{_HERE}::test_a_perfect_cosine_saves_no_wrong_row",
    ),
    _fault(
        "nan-passes",
        ("Tensors PR 883", "aprender 615"),
        "NaN in a comparison; a gate over no case",
        "NaN never passes; no case is a failure",
        f"{_COMPARE}::test_nan_against_a_number_never_passes",
        f"{_ALWAYS}::test_what_is_no_number_never_promotes",
        f"{_DECIDE}::test_nothing_at_all_is_held",
        f"{_COMPARE}::test_nothing_compared_is_a_failure",
    ),
)

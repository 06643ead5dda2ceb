"""Faults of launches and plans: limits, scratch, streams, the planner's whole range."""

from diffcheck.faults.model import Fault, in_both
from diffcheck.suites import case, merge_case

_TESTS = "tests/faults/test_launch.py"
_PLANNER = "crates/splitk_plan/tests/whole_range.rs"

FAULTS = (
    Fault(
        name="many-splits",
        topic="launch and plan",
        reports=("beellama PR 116", "sparkinfer PR 724"),
        input="12,287, 12,288 and 12,289 splits",
        right="the reduce kernel works: its shared memory does not grow with them",
        cases=tuple(
            made
            for splits in (12_287, 12_288, 12_289)
            for made in (
                case("needles", (1, 1), splits, "f16", policy="chunk:1"),
                merge_case("merge-counted", (1, 1), splits),
            )
        ),
        tests=(f"{_TESTS}::test_many_splits_are_merged",),
    ),
    Fault(
        name="scratch-size",
        topic="launch and plan",
        reports=("vllm PR 52879", "vllm 45844"),
        input="scratch of the exact size between guards",
        right="every word of it is written and none past it",
        cases=(
            *in_both(case("random", (8, 2), 203, "f16", policy="chunk:7")),
            *in_both(case("needles", (8, 2), 203, "f16")),
        ),
        tests=(
            f"{_TESTS}::test_scratch_of_the_exact_size_is_filled_and_not_passed",
            "tests/builder/test_gpu.py::test_the_scratch_is_not_written_past_its_end",
        ),
    ),
    Fault(
        name="shared-scratch",
        topic="launch and plan",
        reports=("flashinfer PR 4476",),
        input="two streams, 100 rounds",
        right="the bits of one after the other: scratch is not shared",
        tests=(
            f"{_TESTS}::test_calls_that_overlap_do_not_meet",
            "tests/builder/test_gpu.py::test_two_objects_on_two_streams_give_the_bits_of_one_after_the_other",
            "tests/native/test_decode_gpu.py::test_two_objects_on_two_streams_give_the_bits_of_one_after_the_other",
            "tests/native/on_machine/launches.py::test_two_objects_on_two_streams_give_the_bits_of_one_after_the_other",
        ),
    ),
    Fault(
        name="planner",
        topic="launch and plan",
        reports=("atlas PR 1047", "flash-attention PR 2901", "FlashMLA PR 199"),
        input="14 to 170 multiprocessors, 0 to 1,048,576 keys, every policy",
        right="every key in exactly one split, 1 <= splits <= min(chunks, cap), 0 keys refused",
        tests=(
            f"{_PLANNER}::every_length_on_a_few_devices",
            f"{_PLANNER}::every_device_at_every_edge",
            f"{_PLANNER}::no_keys_are_refused",
            "crates/splitk_plan/tests/properties.rs::every_key_is_in_exactly_one_split",
            f"{_TESTS}::test_the_bindings_plan_as_the_contract_says",
        ),
    ),
)

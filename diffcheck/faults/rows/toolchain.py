"""Faults that assemblers, compilers and loaders brought in."""

from diffcheck.faults.model import Fault, in_both
from diffcheck.suites import case

_TESTS = "tests/faults/test_toolchain.py"

FAULTS = (
    Fault(
        name="every-target",
        topic="toolchain",
        reports=("triton 8539", "cuda-oxide PR 1203"),
        input="every kernel for sm_80, 89, 90, 120 and 121",
        right="assembled; a refusal names both versions, the text's and the assembler's",
        tests=(
            "tests/unit/test_assemble.py::test_every_kernel_assembles_within_its_limits",
            f"{_TESTS}::test_a_version_that_the_assembler_does_not_know_is_named_with_its_own",
            f"{_TESTS}::test_a_version_that_the_driver_does_not_know_is_named_with_its_own",
            "tests/builder/test_launch_objects.py::test_a_driver_that_refuses_the_text_is_named_with_both_versions",
        ),
        commands=("diffcheck assemble",),
    ),
    Fault(
        name="counted-once",
        topic="toolchain",
        reports=("trueno PR 186", "trueno PR 188"),
        input="equal scores, V one-hot by position mod head_dim, 1, 2, 33 and 4097 keys",
        right="each key counted once; the driver's assembler and an offline cubin agree",
        cases=in_both(*(case("one-hot-v", (4, 2), kv_len, "f16") for kv_len in (1, 2, 33, 4097))),
        tests=("tests/faults/test_indexing.py::test_each_key_counts_once",),
        commands=("diffcheck toolchain",),
    ),
    Fault(
        name="optimisation-levels",
        topic="toolchain",
        reports=("pytorch 190973",),
        input="ptxas -O0 and -O3",
        right="the same bits",
        tests=(f"{_TESTS}::test_kernels_assemble_at_every_level",),
        commands=("diffcheck toolchain",),
    ),
    Fault(
        name="convergence",
        topic="toolchain",
        reports=("cuda-oxide 229", "rust-cuda 359", "llvm PR 132881"),
        input="a number of its own in each lane, through each mode of the shuffle",
        right="the lane that the ISA says; no collective is moved into divergent code",
        tests=(
            f"{_TESTS}::test_every_shuffle_moves_the_lane_that_it_names",
            f"{_TESTS}::test_a_shuffle_before_a_branch_has_every_lane",
            "crates/ptx_machine/tests/machine/shuffles.rs::every_mode_amount_and_segment",
        ),
    ),
    Fault(
        name="no-driver",
        topic="toolchain",
        reports=("mistral.rs 2411",),
        input="import where there is no GPU and no driver",
        right="works; the driver is opened when it is first used",
        tests=(f"{_TESTS}::test_importing_opens_no_driver",),
    ),
)

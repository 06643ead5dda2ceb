"""What an architecture has, for whoever plans or checks a launch."""

# The most shared memory of one block (CUDA C++ Programming Guide, technical specifications per compute capability), the
# least of those that run the target's PTX: for sm_80 that of sm_86.
# Written down here again, as a check of what the arms believe.
SHARED_BYTES = {
    "sm_80": 99 * 1024,
    "sm_89": 99 * 1024,
    "sm_90": 227 * 1024,
    "sm_120": 99 * 1024,
    "sm_121": 99 * 1024,
}

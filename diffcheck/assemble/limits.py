"""What an architecture has, for whoever plans or checks a launch."""

# The most shared memory of one block (CUDA C++ Programming Guide, technical specifications per compute capability).
# Written down here again, as a check of what the arms believe.
SHARED_BYTES = {
    "sm_80": 163 * 1024,
    "sm_89": 99 * 1024,
    "sm_90": 227 * 1024,
    "sm_120": 99 * 1024,
    "sm_121": 99 * 1024,
}

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

# The first architecture with programmatic dependent launch.
_FIRST_EARLY = 90


def alone_bytes(target: str) -> int:
    """Return the shared memory that blocks of kernels which may start early take, so that no two meet on an SM.

    Half of what an SM has, which is 1 KB more than a block may use; the driver takes 1 KB of each block. 0 where no
    kernel starts early.
    """
    return (SHARED_BYTES[target] + 1024) // 2 if int(target.removeprefix("sm_")) >= _FIRST_EARLY else 0

"""Where the time of a call goes: NVIDIA's Nsight Compute on one call of each arm."""

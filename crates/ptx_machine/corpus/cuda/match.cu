// Lanes with the same key: match, votes, reductions of a warp, a leader that adds for its group.

extern "C" __global__ void groups(const unsigned* __restrict__ keys, unsigned* __restrict__ peers, unsigned* __restrict__ counts,
                                  int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned active = __ballot_sync(0xffffffffu, i < n);
    if (i >= n) return;
    const unsigned same = __match_any_sync(active, keys[i]);
    peers[i] = same;
    if (__ffs(same) - 1 == (threadIdx.x & 31)) atomicAdd(&counts[keys[i]], __popc(same));
}

// For each warp: sum, minimum, and, xor, maximum, whether all 64-bit keys are one, whether any is odd, whether all agree.
extern "C" __global__ void reductions(const int* __restrict__ in, const unsigned long long* __restrict__ keys, int* __restrict__ out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned all = 0xffffffffu;
    const int value = in[i];
    int one = 0;
    const unsigned same = __match_all_sync(all, keys[i], &one);
    const int results[9] = {__reduce_add_sync(all, value),
                            __reduce_min_sync(all, value),
                            static_cast<int>(__reduce_and_sync(all, static_cast<unsigned>(value))),
                            static_cast<int>(__reduce_xor_sync(all, static_cast<unsigned>(value))),
                            static_cast<int>(__reduce_max_sync(all, static_cast<unsigned>(value))),
                            static_cast<int>(same),
                            one,
                            __any_sync(all, value & 1),
                            __uni_sync(all, value > 0)};
    if ((threadIdx.x & 31) == 0) {
        for (int k = 0; k < 9; ++k) out[9 * (i >> 5) + k] = results[k];
    }
}

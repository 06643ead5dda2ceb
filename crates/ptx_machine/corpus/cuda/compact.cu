// Keeps what is positive, in order within a warp: ballot, popc of the lanes below, one atomic a warp.

extern "C" __global__ void compact(const int* __restrict__ in, int n, int* __restrict__ out, int* count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool keep = i < n && in[i] > 0;
    const unsigned kept = __ballot_sync(0xffffffffu, keep);
    unsigned below;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    int base = 0;
    if ((threadIdx.x & 31) == 0) base = atomicAdd(count, __popc(kept));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (keep) out[base + __popc(kept & below)] = in[i];
}

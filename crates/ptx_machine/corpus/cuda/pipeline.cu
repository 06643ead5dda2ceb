// Three stages of asynchronous copies ahead of a reduction of each tile.

#include <cuda_pipeline.h>

constexpr int THREADS = 64;
constexpr int STAGES = 3;

extern "C" __global__ void tile_sums(const float4* __restrict__ in, float* __restrict__ sums, int tiles) {
    __shared__ float4 stage[STAGES][THREADS];
    __shared__ float part[2];
    const auto fetch = [&](int tile) {
        if (tile < tiles) {
            __pipeline_memcpy_async(&stage[tile % STAGES][threadIdx.x], &in[static_cast<size_t>(tile) * THREADS + threadIdx.x],
                                    sizeof(float4));
        }
        __pipeline_commit();
    };
    for (int tile = 0; tile < STAGES - 1; ++tile) fetch(tile);
    for (int tile = 0; tile < tiles; ++tile) {
        fetch(tile + STAGES - 1);
        __pipeline_wait_prior(STAGES - 1);
        __syncthreads();
        // Another thread's element, so that the barrier matters.
        const float4 v = stage[tile % STAGES][THREADS - 1 - threadIdx.x];
        float sum = __fadd_rn(__fadd_rn(v.x, v.y), __fadd_rn(v.z, v.w));
        for (int mask = 16; mask > 0; mask /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, mask));
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
        __syncthreads();
        if (threadIdx.x == 0) sums[tile] = __fadd_rn(part[0], part[1]);
    }
}

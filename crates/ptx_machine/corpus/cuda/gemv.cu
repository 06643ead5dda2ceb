// y = A x with A in f16, eight of them a load, and x and y in f32: one row a warp.

#include <cuda_fp16.h>

extern "C" __global__ void gemv(const uint4* __restrict__ matrix, const float* __restrict__ x, float* __restrict__ y, int rows,
                                int columns) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;
    const int chunks = columns / 8;
    float sum = 0.0f;
    for (int c = lane; c < chunks; c += 32) {
        const uint4 bits = __ldcs(&matrix[static_cast<size_t>(row) * chunks + c]);
        const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            const float2 pair = __half22float2(*reinterpret_cast<const __half2*>(&words[w]));
            sum = __fmaf_rn(pair.x, x[8 * c + 2 * w], sum);
            sum = __fmaf_rn(pair.y, x[8 * c + 2 * w + 1], sum);
        }
    }
    for (int mask = 16; mask > 0; mask /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, mask));
    if (lane == 0) y[row] = sum;
}

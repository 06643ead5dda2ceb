// Layer norm of one row a block: IEEE division and square root, every rounding written out.

extern "C" __global__ void layer_norm(const float* __restrict__ in, const float* __restrict__ gain,
                                      const float* __restrict__ bias, float* __restrict__ out, int columns, float epsilon) {
    __shared__ float part[32];
    const float* row = in + static_cast<size_t>(blockIdx.x) * columns;
    const int warps = blockDim.x / 32;
    const auto sum = [&](float value) {
        for (int mask = 16; mask > 0; mask /= 2) value = __fadd_rn(value, __shfl_xor_sync(0xffffffffu, value, mask));
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
        __syncthreads();
        float total = part[0];
        for (int w = 1; w < warps; ++w) total = __fadd_rn(total, part[w]);
        __syncthreads();
        return total;
    };
    float own = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) own = __fadd_rn(own, row[i]);
    const float mean = __fdiv_rn(sum(own), static_cast<float>(columns));
    own = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float d = __fsub_rn(row[i], mean);
        own = __fmaf_rn(d, d, own);
    }
    const float variance = __fdiv_rn(sum(own), static_cast<float>(columns));
    const float scale = __fdiv_rn(1.0f, __fsqrt_rn(__fadd_rn(variance, epsilon)));
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float normal = __fmul_rn(__fsub_rn(row[i], mean), scale);
        out[static_cast<size_t>(blockIdx.x) * columns + i] = __fmaf_rn(normal, gain[i], bias[i]);
    }
}

// Softmax of one row a warp, with __expf and a fast division: approximate, so bounded and never bitwise.

extern "C" __global__ void softmax(const float* __restrict__ in, float* __restrict__ out, int columns) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    const float* from = in + static_cast<size_t>(row) * columns;
    float* to = out + static_cast<size_t>(row) * columns;
    float top = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += 32) top = fmaxf(top, from[i]);
    for (int mask = 16; mask > 0; mask /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, mask));
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 32) sum += __expf(from[i] - top);
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    for (int i = threadIdx.x; i < columns; i += 32) to[i] = __fdividef(__expf(from[i] - top), sum);
}

// A dot product of int8 and of float: __dp4a, vector loads, shuffles down, one atomic a block.

extern "C" __global__ void dot_i8(const int4* __restrict__ a, const int4* __restrict__ b, int n, int* out) {
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int4 x = a[i], y = b[i];
        sum = __dp4a(x.x, y.x, sum);
        sum = __dp4a(x.y, y.y, sum);
        sum = __dp4a(x.z, y.z, sum);
        sum = __dp4a(x.w, y.w, sum);
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if ((threadIdx.x & 31) == 0) atomicAdd(out, sum);
}

extern "C" __global__ void dot_f32(const float* __restrict__ a, const float* __restrict__ b, int n, float* out) {
    __shared__ float part[8];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum = __fmaf_rn(a[i], b[i], sum);
    for (int offset = 16; offset > 0; offset /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, offset));
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = part[0];
        for (int w = 1; w < blockDim.x >> 5; ++w) total = __fadd_rn(total, part[w]);
        *out = total;
    }
}

// Inclusive prefix sums of a block: shuffles up in each warp, then over the sums of the warps.

__device__ __forceinline__ int scan_warp(int value) {
    const int lane = threadIdx.x & 31;
    for (int offset = 1; offset < 32; offset *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, value, offset);
        if (lane >= offset) value += other;
    }
    return value;
}

extern "C" __global__ void scan(const int* __restrict__ in, int* __restrict__ out, int n) {
    __shared__ int sums[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int warp = threadIdx.x >> 5;
    int value = scan_warp(i < n ? in[i] : 0);
    if ((threadIdx.x & 31) == 31) sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
        const int warps = blockDim.x >> 5;
        const int sum = scan_warp(threadIdx.x < warps ? sums[threadIdx.x] : 0);
        if (threadIdx.x < warps) sums[threadIdx.x] = sum;
    }
    __syncthreads();
    if (warp > 0) value += sums[warp - 1];
    if (i < n) out[i] = value;
}

// Pointers whose space is known only at run time: shared, global, constant or local.

__constant__ float table[32] = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f};
__device__ int visits = 0;

__device__ __noinline__ float sum_of(const float* p, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum = __fadd_rn(sum, p[i]);
    return sum;
}

extern "C" __global__ void generic(const float* __restrict__ in, float* __restrict__ out, unsigned* __restrict__ spaces) {
    __shared__ float near[32];
    float own[8];
    near[threadIdx.x] = __fmul_rn(in[threadIdx.x], 2.0f);
    for (int k = 0; k < 8; ++k) own[k] = in[(threadIdx.x + k) & 31];
    __syncthreads();
    const float* choices[4] = {in, near, table, own};
    const float* p = choices[(threadIdx.x + blockIdx.x) & 3];
    out[blockIdx.x * 32 + threadIdx.x] = sum_of(p, 8);
    spaces[blockIdx.x * 32 + threadIdx.x] = __isGlobal(p) | __isShared(p) << 1 | __isConstant(p) << 2 | __isLocal(p) << 3;
    atomicAdd(&visits, 1);
}

extern "C" __global__ void read_visits(int* out) { *out = visits; }

// A histogram of bytes: atomics in shared memory, then one atomic a bin in global memory.

extern "C" __global__ void histogram(const unsigned char* __restrict__ in, unsigned n, unsigned* bins, unsigned* seen) {
    __shared__ unsigned local[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
        if (local[i] != 0) {
            atomicAdd(&bins[i], local[i]);
            atomicOr(&seen[i >> 5], 1u << (i & 31));
        }
    }
}

// Minimum, maximum, exclusive or, and a counter that wraps.
extern "C" __global__ void extremes(const int* __restrict__ in, int n, int* low, unsigned* high, unsigned* parity,
                                    unsigned* ring, unsigned long long* total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicMin(low, in[i]);
    atomicMax(high, static_cast<unsigned>(in[i]));
    atomicXor(parity, static_cast<unsigned>(in[i]));
    atomicInc(ring, 9u);
    atomicAdd(total, static_cast<unsigned long long>(static_cast<long long>(in[i])));
}

// Loops of compare and swap: an atomic maximum of floats, a product of doubles, a list in no order, a spin lock.

extern "C" __global__ void cas_max(const float* __restrict__ in, int n, int* best) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int seen = *reinterpret_cast<volatile int*>(best);
    while (__int_as_float(seen) < in[i]) {
        const int now = atomicCAS(best, seen, __float_as_int(in[i]));
        if (now == seen) break;
        seen = now;
    }
}

extern "C" __global__ void cas_product(const double* __restrict__ in, int n, unsigned long long* product) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long seen = *reinterpret_cast<volatile unsigned long long*>(product), now;
    do {
        now = seen;
        seen = atomicCAS(product, now, __double_as_longlong(__dmul_rn(__longlong_as_double(now), in[i])));
    } while (seen != now);
}

extern "C" __global__ void push(int* __restrict__ next, int* head, unsigned short* flags) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    next[i] = atomicExch(head, i);
    atomicCAS(&flags[i & 7], static_cast<unsigned short>(0), static_cast<unsigned short>(i + 1));
}

extern "C" __global__ void locked(int* lock, int* value) {
    if (threadIdx.x % 32 != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
    __threadfence();
    *reinterpret_cast<volatile int*>(value) += 1;
    __threadfence();
    atomicExch(lock, 0);
}

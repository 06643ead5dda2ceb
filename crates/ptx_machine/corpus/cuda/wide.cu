// 128-bit arithmetic and 64-bit indices: carries, high halves of products, shifts across words.

__device__ __forceinline__ unsigned __int128 load(const ulonglong2* p, int i) {
    const ulonglong2 v = p[i];
    return static_cast<unsigned __int128>(v.y) << 64 | v.x;
}

__device__ __forceinline__ void store(ulonglong2* p, int i, unsigned __int128 v) {
    p[i] = make_ulonglong2(static_cast<unsigned long long>(v), static_cast<unsigned long long>(v >> 64));
}

extern "C" __global__ void wide(const ulonglong2* __restrict__ a, const ulonglong2* __restrict__ b, ulonglong2* __restrict__ out,
                                int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned __int128 x = load(a, i), y = load(b, i);
    store(out, 5 * i, x + y);
    store(out, 5 * i + 1, x - y);
    store(out, 5 * i + 2, x * y);
    store(out, 5 * i + 3, x << (static_cast<unsigned>(y) & 127));
    const unsigned long long high = __umul64hi(a[i].x, b[i].x);
    const long long signed_high = __mul64hi(static_cast<long long>(a[i].y), static_cast<long long>(b[i].y));
    store(out, 5 * i + 4, static_cast<unsigned __int128>(signed_high) << 64 | high);
}

// 128-bit sums of 32-bit words, with the carries written out.
extern "C" __global__ void limbs(const uint4* __restrict__ a, const uint4* __restrict__ b, uint4* __restrict__ out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 r;
    asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
        : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
        : "r"(a[i].x), "r"(a[i].y), "r"(a[i].z), "r"(a[i].w), "r"(b[i].x), "r"(b[i].y), "r"(b[i].z), "r"(b[i].w));
    out[i] = r;
}

// Division and remainder of every width and sign, by variables and by constants.

template <typename T>
__device__ __forceinline__ void divide(const T* a, const T* b, T* out, int i) {
    const T x = a[i], y = b[i];
    out[4 * i] = x / y;
    out[4 * i + 1] = x % y;
    out[4 * i + 2] = x / T(7);
    out[4 * i + 3] = x % T(10);
}

#define KERNEL(name, T)                                                                                             \
    extern "C" __global__ void name(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ out, int n) { \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                                        \
        if (i < n) divide(a, b, out, i);                                                                            \
    }

KERNEL(divide_s8, signed char)
KERNEL(divide_u16, unsigned short)
KERNEL(divide_s16, short)
KERNEL(divide_u32, unsigned)
KERNEL(divide_s32, int)
KERNEL(divide_u64, unsigned long long)
KERNEL(divide_s64, long long)

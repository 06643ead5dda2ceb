// y = a x + y on two f16 and two bf16 at a time, then halves compared, selected and clamped.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void axpy_f16(const __half2* __restrict__ x, __half2* __restrict__ y, __half a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

extern "C" __global__ void axpy_bf16(const __nv_bfloat162* __restrict__ x, __nv_bfloat162* __restrict__ y, __nv_bfloat16 a,
                                     int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma2_relu(__bfloat162bfloat162(a), x[i], y[i]);
}

// What lies above the other: its larger half by half, and which halves are equal, as 1.0 or 0.
extern "C" __global__ void compare_f16(const __half2* __restrict__ x, const __half2* __restrict__ y, __half2* __restrict__ high,
                                       __half2* __restrict__ same, unsigned* __restrict__ below, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    high[i] = __hmax2(x[i], y[i]);
    same[i] = __heq2(x[i], y[i]);
    below[i] = __hlt2_mask(x[i], y[i]);
}

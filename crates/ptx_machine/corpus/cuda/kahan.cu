// Sums and polynomials in f64: Kahan summation, an exact product split in two, comparisons, rounding to whole numbers.

extern "C" __global__ void kahan(const double* __restrict__ in, int n, double* __restrict__ sums) {
    double sum = 0.0, lost = 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const double y = __dsub_rn(in[i], lost);
        const double t = __dadd_rn(sum, y);
        lost = __dsub_rn(__dsub_rn(t, sum), y);
        sum = t;
    }
    sums[threadIdx.x] = sum;
}

extern "C" __global__ void products(const double* __restrict__ a, const double* __restrict__ b, double2* __restrict__ out,
                                    long long* __restrict__ whole, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double high = __dmul_rn(a[i], b[i]);
    out[i] = make_double2(high, __fma_rn(a[i], b[i], -high));
    whole[i] = a[i] > b[i] ? __double2ll_rd(__ddiv_rn(a[i], b[i])) : __double2ll_rn(__dsqrt_rn(fabs(b[i])));
}

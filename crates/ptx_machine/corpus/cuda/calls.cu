// Device functions that are called, not inlined: structs by value and by reference, results in several parts, local memory.

struct Complex {
    float re, im;
};

struct Poly {
    int degree;
    float coefficients[5];
};

__device__ __noinline__ Complex times(Complex a, Complex b) {
    return {__fmaf_rn(a.re, b.re, -__fmul_rn(a.im, b.im)), __fmaf_rn(a.re, b.im, __fmul_rn(a.im, b.re))};
}

__device__ __noinline__ float evaluate(Poly p, float x) {
    float value = 0.0f;
    for (int k = p.degree; k >= 0; --k) value = __fmaf_rn(value, x, p.coefficients[k]);
    return value;
}

__device__ __noinline__ void sort3(float* values) {
    if (values[0] > values[1]) { const float t = values[0]; values[0] = values[1]; values[1] = t; }
    if (values[1] > values[2]) { const float t = values[1]; values[1] = values[2]; values[2] = t; }
    if (values[0] > values[1]) { const float t = values[0]; values[0] = values[1]; values[1] = t; }
}

// A call of a call, in divergent code.
__device__ __noinline__ float middle(float a, float b, float c) {
    float values[3] = {a, b, c};
    sort3(values);
    return values[1];
}

extern "C" __global__ void calls(const float* __restrict__ in, Complex* __restrict__ powers, float* __restrict__ middles,
                                 float* __restrict__ polynomials, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Complex z = {in[i], in[(i + 1) % n]};
    powers[i] = times(times(z, z), z);
    middles[i] = i % 3 == 0 ? in[i] : middle(in[i], in[(i + 1) % n], in[(i + 2) % n]);
    Poly p;
    p.degree = i % 5;
    for (int k = 0; k < 5; ++k) p.coefficients[k] = in[(i + k) % n];
    polynomials[i] = evaluate(p, in[(i + 7) % n]);
}

// Tricks with bits: permuted bytes, fields, funnel shifts, reversals, counts, averages and differences of bytes.

extern "C" __global__ void bits(const unsigned* __restrict__ a, const unsigned* __restrict__ b, unsigned* __restrict__ out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned x = a[i], y = b[i];
    const unsigned long long both = static_cast<unsigned long long>(x) << 32 | y;
    unsigned field, inserted;
    asm("bfe.s32 %0, %1, %2, 9;" : "=r"(field) : "r"(x), "r"(y & 31));
    asm("bfi.b32 %0, %1, %2, %3, 7;" : "=r"(inserted) : "r"(x), "r"(y), "r"(x & 31));
    const unsigned results[16] = {__byte_perm(x, y, y),
                                  field,
                                  inserted,
                                  __funnelshift_l(x, y, x),
                                  __funnelshift_rc(x, y, y),
                                  __brev(x),
                                  static_cast<unsigned>(__clz(x)),
                                  static_cast<unsigned>(__popcll(both)),
                                  static_cast<unsigned>(__ffsll(both)),
                                  (x & y) | (~x & 0x0f0f0f0f) ^ y,
                                  __vadd4(x, y),
                                  __vsub2(x, y),
                                  __vmaxs2(x, y),
                                  __usad(x, y, 5u),
                                  static_cast<unsigned>(__rhadd(static_cast<int>(x), static_cast<int>(y))),
                                  static_cast<unsigned>(__mul24(static_cast<int>(x), static_cast<int>(y)))};
    for (int k = 0; k < 16; ++k) out[16 * i + k] = results[k];
}

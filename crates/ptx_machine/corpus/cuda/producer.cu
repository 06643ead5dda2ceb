// One warp fills a buffer for three that read it: named barriers, arrive on one side and sync on the other.

extern "C" __global__ void producer(const int* __restrict__ in, int* __restrict__ out, int rounds) {
    __shared__ int slots[2][32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int round = 0; round < rounds; ++round) {
        const int side = round & 1;
        if (warp == 0) {
            // Barrier 3 + side: the slot is empty (not awaited the first time); 1 + side: it is full.
            if (round >= 2) asm volatile("barrier.sync %0, 128;" ::"r"(3 + side) : "memory");
            slots[side][lane] = in[32 * round + lane] * 3;
            asm volatile("barrier.arrive %0, 128;" ::"r"(1 + side) : "memory");
        } else {
            asm volatile("barrier.sync %0, 128;" ::"r"(1 + side) : "memory");
            out[(3 * round + warp - 1) * 32 + lane] = slots[side][(lane + warp) % 32];
            if (round + 2 < rounds) asm volatile("barrier.arrive %0, 128;" ::"r"(3 + side) : "memory");
        }
    }
}

// How many threads of a block hold a negative number, whether all do, whether any does.
extern "C" __global__ void block_votes(const int* __restrict__ in, int* __restrict__ out) {
    const int negative = in[blockIdx.x * blockDim.x + threadIdx.x] < 0;
    const int count = __syncthreads_count(negative);
    const int all = __syncthreads_and(negative);
    const int any = __syncthreads_or(negative);
    if (threadIdx.x == 0) {
        out[3 * blockIdx.x] = count;
        out[3 * blockIdx.x + 1] = all;
        out[3 * blockIdx.x + 2] = any;
    }
}

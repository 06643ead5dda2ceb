// Ordered and scoped accesses of libcu++: acquire, release, fences, fetch_add of every scope, and sums of floats.

#include <cuda/atomic>
#include <cuda_fp16.h>

extern "C" __global__ void message(int* data, int* flag, int* out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        data[threadIdx.x] = 7 * threadIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) ready.store(1, cuda::memory_order_release);
    } else {
        if (threadIdx.x == 0) {
            while (ready.load(cuda::memory_order_acquire) == 0) {}
        }
        __syncthreads();
        out[threadIdx.x] = data[threadIdx.x] + 1;
    }
}

extern "C" __global__ void counters(unsigned* block, unsigned long long* device, int* system) {
    __shared__ unsigned near;
    if (threadIdx.x == 0) near = 0;
    __syncthreads();
    cuda::atomic_ref<unsigned, cuda::thread_scope_block> of_block(near);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> of_device(*device);
    cuda::atomic_ref<int, cuda::thread_scope_system> of_system(*system);
    of_block.fetch_add(threadIdx.x, cuda::memory_order_relaxed);
    of_device.fetch_add(1, cuda::memory_order_acq_rel);
    of_system.fetch_sub(2, cuda::memory_order_seq_cst);
    __syncthreads();
    if (threadIdx.x == 0) block[blockIdx.x] = near;
}

// Whole numbers, so that no order of the sums changes a bit.
extern "C" __global__ void float_sums(float* single, double* twice, __half2* halves) {
    atomicAdd(single, static_cast<float>(threadIdx.x));
    atomicAdd(twice, 0.5);
    atomicAdd(halves, __floats2half2_rn(1.0f, -1.0f));
}

// A transpose through a tile with one column of padding, on a grid of three dimensions (one matrix a slice).

constexpr int TILE = 32;
constexpr int ROWS = 8;

extern "C" __global__ void transpose(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
    __shared__ float tile[TILE][TILE + 1];
    const size_t slice = static_cast<size_t>(blockIdx.z) * width * height;
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int k = 0; k < TILE; k += ROWS) {
        if (x < width && y + k < height) tile[threadIdx.y + k][threadIdx.x] = in[slice + static_cast<size_t>(y + k) * width + x];
    }
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int k = 0; k < TILE; k += ROWS) {
        if (x < height && y + k < width) out[slice + static_cast<size_t>(y + k) * height + x] = tile[threadIdx.x][threadIdx.y + k];
    }
}

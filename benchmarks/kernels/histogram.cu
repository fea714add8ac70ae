// 256 bins of bytes, read four at a time: shared atomics per block, then one global atomic per bin.
// nvcc -ptx -O3 -arch=sm_80 histogram.cu
extern "C" __global__ void histogram(const unsigned *words, unsigned *bins, int n) {
    __shared__ unsigned mine[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned w = words[i];
        atomicAdd(&mine[w & 255], 1u);
        atomicAdd(&mine[w >> 8 & 255], 1u);
        atomicAdd(&mine[w >> 16 & 255], 1u);
        atomicAdd(&mine[w >> 24], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], mine[i]);
}

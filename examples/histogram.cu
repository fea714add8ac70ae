// How often each byte value occurs: atomics on a table in shared memory, then one global atomic per value.
//
//   drawloom run examples/histogram.ptx --grid 64 --block 256 --arg data=FILE.raw:u8 --arg bins:u32[256] \
//       --arg n=LENGTH --print bins
//
// histogram.ptx was made from this file by: nvcc -ptx -O3 -arch=sm_75 histogram.cu
extern "C" __global__ void histogram(const unsigned char *data, unsigned *bins, int n) {
    __shared__ unsigned mine[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[data[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (mine[i]) atomicAdd(&bins[i], mine[i]);
}

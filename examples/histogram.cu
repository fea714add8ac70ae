// How often each byte value occurs: atomics on a table in shared memory, then one global atomic per value.
//
//   drawloom cc examples/histogram.cu -o histogram && ./histogram README.md
//   drawloom run examples/histogram.cu --grid 64 --block 256 --arg data=FILE.raw:u8 --arg bins:u32[256] \
//       --arg n=LENGTH --print bins
//
// histogram.ptx was made from this file by: nvcc -ptx -O3 -arch=sm_75 histogram.cu
#include <stdio.h>
#include <stdlib.h>

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

int main(int argc, char **argv) {
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!file) return fprintf(stderr, "usage: histogram FILE\n"), 1;
    fseek(file, 0, SEEK_END);
    int n = int(ftell(file));
    rewind(file);

    unsigned char *data;  // managed: the file is read to where the kernel finds it
    unsigned *bins;
    cudaMallocManaged(&data, n + 1);
    cudaMallocManaged(&bins, 256 * sizeof(unsigned));
    if (fread(data, 1, n, file) != size_t(n)) return 1;
    for (int i = 0; i < 256; ++i) bins[i] = 0;
    histogram<<<64, 256>>>(data, bins, n);
    cudaError_t error = cudaDeviceSynchronize();
    if (error) return fprintf(stderr, "%s\n", cudaGetErrorString(error)), 1;

    int most = 0;
    for (int i = 0; i < 256; ++i)
        if (bins[i] > bins[most]) most = i;
    printf("%d bytes; most often 0x%02x, %u times\n", n, most, bins[most]);
}

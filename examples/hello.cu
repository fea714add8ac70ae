// printf from a kernel: who runs where.
//
//   drawloom cc examples/hello.cu -o hello && ./hello
//   drawloom run examples/hello.cu --grid 2 --block 4 --arg count=6
//
// hello.ptx was made from this file by: nvcc -ptx -O3 -arch=sm_75 hello.cu
#include <stdio.h>

extern "C" __global__ void hello(int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) printf("thread %d of block %d is number %d\n", threadIdx.x, blockIdx.x, i);
}

int main() {
    hello<<<2, 4>>>(6);
    return cudaDeviceSynchronize();
}

// The Mandelbrot set as one grey byte per pixel: a loop that every thread leaves at its own time.
//
//   drawloom cc examples/mandelbrot.cu -o mandelbrot && ./mandelbrot > mandelbrot.pgm
//   drawloom run examples/mandelbrot.cu --grid 32,64 --block 32,8 --arg image:u8[512,1024] \
//       --arg width=1024 --arg height=512 --arg limit=200 --save image=mandelbrot.npy
//
// mandelbrot.ptx was made from this file by: nvcc -ptx -O3 -arch=sm_75 mandelbrot.cu
#include <stdio.h>
#include <vector>

extern "C" __global__ void mandelbrot(unsigned char *image, int width, int height, int limit) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    float cx = 3.0f * px / width - 2.25f, cy = 2.0f * py / height - 1.0f, x = 0.0f, y = 0.0f;
    int i = 0;
    for (; i < limit; ++i) {
        float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f) break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
    }
    image[py * width + px] = i == limit ? 0 : 255 - (i * 255 / limit);
}

int main() {
    const int width = 1024, height = 512;
    unsigned char *image;
    cudaMalloc(&image, width * height);
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);

    cudaEventRecord(begin);
    mandelbrot<<<dim3(width / 32, height / 8), dim3(32, 8)>>>(image, width, height, 200);
    cudaEventRecord(end);

    std::vector<unsigned char> pixels(width * height);
    if (cudaError_t error = cudaMemcpy(pixels.data(), image, pixels.size(), cudaMemcpyDeviceToHost))
        return fprintf(stderr, "%s\n", cudaGetErrorString(error)), 1;
    float milliseconds;
    cudaEventElapsedTime(&milliseconds, begin, end);
    fprintf(stderr, "%d x %d pixels in %.2f ms\n", width, height, milliseconds);
    printf("P5 %d %d 255\n", width, height);
    fwrite(pixels.data(), 1, pixels.size(), stdout);
}

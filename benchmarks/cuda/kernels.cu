// Prints for each algorithm the median milliseconds of its kernel and of its OpenMP loops, taken in turns, and the
// largest difference of their results in proportion to the largest result.
#include "algorithms.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void sum(int n, const float *x, float *out) {
  __shared__ float part[256];
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];
  part[threadIdx.x] = mine;
  __syncthreads();
  for (int half = 128; half; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, part[0]);
}

__global__ void transpose(int n, const float *in, float *out) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) out[(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}

__global__ void matmul(int n, const float *a, const float *b, float *c) {
  __shared__ float as[16][16], bs[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float value = 0;
  for (int k = 0; k < n; k += 16) {
    as[y][x] = a[row * n + k + x];
    bs[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int j = 0; j < 16; ++j) value += as[y][j] * bs[j][x];
    __syncthreads();
  }
  c[row * n + column] = value;
}

__global__ void stencil(int n, const float *in, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  out[y * n + x] = 0.25f * (in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] + in[(y + 1) * n + x]);
}

__global__ void histogram(int n, const unsigned char *data, unsigned *bins) {
  __shared__ unsigned mine[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[data[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (mine[i]) atomicAdd(&bins[i], mine[i]);
}

__global__ void nbody(int n, const float4 *bodies, float *out) {
  __shared__ float4 tile[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  float4 me = bodies[i];
  float ax = 0, ay = 0, az = 0;
  for (int base = 0; base < n; base += 128) {
    tile[threadIdx.x] = bodies[base + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 128; ++k) {
      float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float s = tile[k].w * inverse * inverse * inverse;
      ax += s * dx;
      ay += s * dy;
      az += s * dz;
    }
    __syncthreads();
  }
  out[3 * i] = ax;
  out[3 * i + 1] = ay;
  out[3 * i + 2] = az;
}

__global__ void mandelbrot(int n, int limit, unsigned char *image) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  float cx = 3.0f * px / n - 2.25f, cy = 2.0f * py / n - 1.0f, x = 0, y = 0;
  int i = 0;
  for (; i < limit; ++i) {
    float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) break;
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
  }
  image[py * n + px] = i == limit ? 0 : 255 - i * 255 / limit;
}

__global__ void spmv(int n, const int *begin, const int *columns, const float *values, const float *x, float *y) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float value = 0;
  for (int e = begin[r]; e < begin[r + 1]; ++e) value += values[e] * x[columns[e]];
  y[r] = value;
}

template <class T> T *managed(size_t count) {
  T *memory = nullptr;
  if (cudaMallocManaged(&memory, count * sizeof(T))) exit(1);
  std::fill_n(memory, count, T());
  return memory;
}

static float unit(unsigned i) {
  i = i * 2654435761u;
  return (i >> 8) / 16777216.0f;
}

// Both sides write `count` results to memory of their own.
template <class T>
void compare(const char *name, int rounds, size_t count, const std::function<void(T *)> &kernel,
             const std::function<void(T *)> &loops) {
  T *ours = managed<T>(count), *theirs = managed<T>(count);
  std::vector<double> times[2];
  for (int round = 0; round <= rounds; ++round)
    for (int side = 0; side < 2; ++side) {
      auto begin = std::chrono::steady_clock::now();
      if (side == 0) {
        kernel(ours);
        if (cudaDeviceSynchronize()) exit(1);
      } else {
        loops(theirs);
      }
      std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
      if (round) times[side].push_back(taken.count());
    }
  double most = 0, apart = 0;
  for (size_t i = 0; i < count; ++i) {
    most = std::max(most, std::fabs(double(theirs[i])));
    apart = std::max(apart, std::fabs(double(ours[i]) - double(theirs[i])));
  }
  for (auto &side : times) std::sort(side.begin(), side.end());
  printf("%s %.4f %.4f %.2g\n", name, times[0][rounds / 2], times[1][rounds / 2], apart / most);
  fflush(stdout);
  cudaFree(ours);
  cudaFree(theirs);
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 15;
  // Every sum of a few million of these is exact, in any order.
  float *x = managed<float>(kVector), *square = managed<float>(kPicture * kPicture);
  unsigned char *bytes = managed<unsigned char>(kVector);
  for (int i = 0; i < kVector; ++i) x[i] = unit(i) < 0.5f ? -0.25f : 0.25f, bytes[i] = (unsigned)i * 2654435761u >> 24;
  for (int i = 0; i < kPicture * kPicture; ++i) square[i] = unit(i + 5);
  const dim3 tiles(kPicture / 32, kPicture / 32), strips(kPicture / 32, kPicture / 8), rows(32, 8);
  int *begin = managed<int>(kRows + 1), *columns = managed<int>(kRows * kPerRow);
  for (int r = 0; r < kRows; ++r) {
    begin[r + 1] = begin[r] + int(unit(r + 9) * kPerRow);
    for (int e = begin[r]; e < begin[r + 1]; ++e) columns[e] = int(unit(e + 77) * kRows);
  }

  compare<float>("saxpy", rounds, kVector, [&](float *y) { saxpy<<<kVector / 256, 256>>>(kVector, 0.5f, x, y); },
                 [&](float *y) { openmp_saxpy(kVector, 0.5f, x, y); });
  compare<float>("sum", rounds, 1, [&](float *out) { *out = 0; sum<<<256, 256>>>(kVector, x, out); },
                 [&](float *out) { *out = openmp_sum(kVector, x); });
  compare<float>("transpose", rounds, kPicture * kPicture,
                 [&](float *out) { transpose<<<tiles, rows>>>(kPicture, square, out); },
                 [&](float *out) { openmp_transpose(kPicture, square, out); });
  compare<float>("matmul", rounds, kMatrix * kMatrix,
                 [&](float *c) {
                   matmul<<<dim3(kMatrix / 16, kMatrix / 16), dim3(16, 16)>>>(kMatrix, square, x, c);
                 },
                 [&](float *c) { openmp_matmul(kMatrix, square, x, c); });
  compare<float>("stencil", rounds, kPicture * kPicture,
                 [&](float *out) { stencil<<<strips, rows>>>(kPicture, square, out); },
                 [&](float *out) { openmp_stencil(kPicture, square, out); });
  compare<unsigned>("histogram", rounds, 256,
                    [&](unsigned *bins) {
                      std::fill_n(bins, 256, 0u);
                      histogram<<<256, 256>>>(kVector, bytes, bins);
                    },
                    [&](unsigned *bins) {
                      std::fill_n(bins, 256, 0u);
                      openmp_histogram(kVector, bytes, bins);
                    });
  compare<float>("nbody", rounds, 3 * kBodies,
                 [&](float *out) { nbody<<<kBodies / 128, 128>>>(kBodies, (const float4 *)square, out); },
                 [&](float *out) { openmp_nbody(kBodies, square, out); });
  compare<unsigned char>("mandelbrot", rounds, kSet * kSet,
                         [&](unsigned char *image) {
                           mandelbrot<<<dim3(kSet / 32, kSet / 8), dim3(32, 8)>>>(kSet, 200, image);
                         },
                         [&](unsigned char *image) { openmp_mandelbrot(kSet, 200, image); });
  compare<float>("spmv", rounds, kRows,
                 [&](float *y) { spmv<<<kRows / 128, 128>>>(kRows, begin, columns, square, x, y); },
                 [&](float *y) { openmp_spmv(kRows, begin, columns, square, x, y); });
}

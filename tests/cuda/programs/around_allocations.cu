// cpu only
// prints: read around: 0 of 256 wrong
// prints: written after: an illegal memory access was encountered
// err: kernel write_at(int*, int): write to read-only memory
// err: past the end of an allocation of 1024 bytes; DRAWLOOM_CHECK=memory finds the line
// exits: 0
// Stencils read a row before and after their arrays and drop it, which works on every GPU; a write there does harm.
// With `check` only the reads, which DRAWLOOM_CHECK=memory must tell; with `many` more allocations than have own pages.
#include <cstring>
#include <vector>

#include "check.h"

__global__ void read_around(const int *rows, int width, int height, int *out) {
  int x = threadIdx.x, y = blockIdx.x, here = y * width + x;
  int up = rows[here - width], down = rows[here + width];
  if (y == 0) up = 1;
  if (y == height - 1) down = 1;
  out[here] = up + down;
}

__global__ void write_at(int *data, int at) { data[at] = 1; }

int main(int count, char **words) {
  constexpr int kWidth = 64, kHeight = 4, kAll = kWidth * kHeight;
  std::vector<int> ones(kAll, 1), got(kAll);
  if (count > 1 && !strcmp(words[1], "many")) {
    std::vector<int *> all(20000);
    long wrong = 0;
    for (int *&one : all) CHECK(cudaMalloc(&one, 4 + 4 * ((&one - all.data()) % 200)));
    for (int *one : all) CHECK(cudaMemset(one, int(one - (int *)nullptr) & 127, 4));
    for (int *one : all) {
      int value = 0, byte = int(one - (int *)nullptr) & 127;
      CHECK(cudaMemcpy(&value, one, 4, cudaMemcpyDeviceToHost));
      wrong += value != byte * 0x01010101;
    }
    for (int *one : all) CHECK(cudaFree(one));
    return report("many", wrong, 20000);
  }
  int *rows = on_device<int>(ones.data(), kAll), *out = on_device<int>(nullptr, kAll);
  read_around<<<kHeight, kWidth>>>(rows, kWidth, kHeight, out);
  cudaError_t error = cudaDeviceSynchronize();
  if (error) {
    printf("read around: %s\n", cudaGetErrorString(error));
    return 1;
  }
  to_host(got.data(), out, kAll);
  long wrong = 0;
  for (int value : got) wrong += value != 2;
  report("read around", wrong, kAll);
  write_at<<<1, 1>>>(rows, kAll);
  printf("written after: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}

// nvcc's built-in atomic functions, of every order, scope and size, against the host's arithmetic.
// prints: 0 wrong
#include <cstdio>

struct Pair {
  float x, y;
};

__global__ void numbers(int *i, unsigned *u, long long *l, unsigned long long *w, float *f, double *d) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  __nv_atomic_fetch_add(i, t, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  __nv_atomic_sub(i + 1, t, __NV_ATOMIC_ACQ_REL);
  __nv_atomic_max(i + 2, -t, __NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_SYSTEM);
  __nv_atomic_fetch_min(i + 3, -t, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  __nv_atomic_or(u, 1u << (t & 31), __NV_ATOMIC_RELEASE);
  __nv_atomic_and(u + 1, ~(1u << (t & 31)), __NV_ATOMIC_ACQUIRE);
  __nv_atomic_xor(u + 2, t, __NV_ATOMIC_CONSUME);
  __nv_atomic_max(u + 3, -t, __NV_ATOMIC_RELAXED);
  __nv_atomic_max(l, 3LL * t, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_CLUSTER);
  __nv_atomic_min(l + 1, -1LL * t, __NV_ATOMIC_RELAXED);
  __nv_atomic_fetch_add(w, 1ull << 40, __NV_ATOMIC_RELAXED);
  __nv_atomic_add(f, 0.5f, __NV_ATOMIC_RELAXED);
  __nv_atomic_sub(d, 0.25, __NV_ATOMIC_RELAXED);
  __shared__ int own;
  if (threadIdx.x == 0) own = 0;
  __syncthreads();
  __nv_atomic_add(&own, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
  __syncthreads();
  if (threadIdx.x == 0) __nv_atomic_add(i + 4, own, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
}

__global__ void values(unsigned char *bytes, Pair *pairs, unsigned *count, unsigned short *halves) {
  if (threadIdx.x == 0) {
    __nv_atomic_store_n(bytes, __nv_atomic_load_n(bytes + 1, __NV_ATOMIC_ACQUIRE), __NV_ATOMIC_RELEASE);
    Pair given = {1, 2}, old, expected = {0, 0};
    __nv_atomic_exchange(pairs, &given, &old, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE);
    *count += old.x == 7 && old.y == 8;
    *count += !__nv_atomic_compare_exchange(pairs, &expected, &old, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_ACQUIRE);
    *count += expected.x == 1 && expected.y == 2;
    *count += __nv_atomic_compare_exchange(pairs, &expected, &old, true, __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED);
    unsigned short half = 5;
    *count += __nv_atomic_compare_exchange_n(halves + 1, &half, 9, false, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED);
    *count += __nv_atomic_exchange_n(count + 1, 3u, __NV_ATOMIC_RELAXED) == 0;
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
  }
}

int wrong = 0;
template <class T> void check(const T *found, int k, T expected) { wrong += found[k] != expected; }

int main() {
  const int n = 1024;
  char *memory;
  cudaMallocManaged(&memory, 4096);
  auto *i = (int *)memory;
  auto *u = (unsigned *)(memory + 64);
  auto *l = (long long *)(memory + 128);
  auto *w = (unsigned long long *)(memory + 192);
  auto *f = (float *)(memory + 256);
  auto *d = (double *)(memory + 320);
  for (int k = 0; k < 384; k++) memory[k] = 0;
  i[2] = -2000;
  u[1] = 0xffffffff;
  numbers<<<n / 64, 64>>>(i, u, l, w, f, d);
  cudaDeviceSynchronize();
  unsigned bits = 0;
  for (int k = 0; k < n; k++) bits ^= k;
  const int sum = n * (n - 1) / 2;
  check(i, 0, sum), check(i, 1, -sum), check(i, 2, 0), check(i, 3, 1 - n), check(i, 4, n);
  check(u, 0, 0xffffffffu), check(u, 1, 0u), check(u, 2, bits), check(u, 3, 0xffffffffu);
  check(l, 0, 3LL * (n - 1)), check(l, 1, 1LL - n), check(w, 0, (unsigned long long)n << 40);
  check(f, 0, n / 2.0f), check(d, 0, -n / 4.0);
  auto *bytes = (unsigned char *)(memory + 512);
  auto *pairs = (Pair *)(memory + 576);
  auto *count = (unsigned *)(memory + 640);
  auto *halves = (unsigned short *)(memory + 704);
  bytes[1] = 77, pairs[0] = {7, 8}, count[0] = count[1] = 0, halves[0] = 1, halves[1] = 5, halves[2] = 2;
  values<<<1, 32>>>(bytes, pairs, count, halves);
  cudaDeviceSynchronize();
  check(bytes, 0, (unsigned char)77), check(count, 0, 6u), check(count, 1, 3u), check(halves, 1, (unsigned short)9);
  wrong += pairs[0].x != 7 || pairs[0].y != 8;
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}

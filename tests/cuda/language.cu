// C++ as kernels use it: what is computed stands in test_language.py.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <new>
#include <tuple>
#include <type_traits>
#include <vector>

template <class T, int N> struct Vector {
  T v[N];
  __host__ __device__ constexpr T dot(const Vector &o) const {
    T sum{};
    for (int i = 0; i < N; i++) sum += v[i] * o.v[i];
    return sum;
  }
};
constexpr int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
__constant__ int table[4] = {1, 10, 100, 1000};
__device__ int counter = 5;

__host__ __device__ int side() {
#ifdef __CUDA_ARCH__
  return __CUDA_ARCH__;
#else
  return 0;
#endif
}
// One signature for each side: calls go to the function of the caller's side (seed 004, table 1).
__device__ int both() { return 1; }
__host__ int both() { return 2; }
// The device's function wins over a better match of the host.
__device__ int nearer(double) { return 3; }
__host__ int nearer(int) { return 4; }
template <class F> __global__ void apply(F f, int *out) { out[threadIdx.x] = f(threadIdx.x); }

struct Shape {
  __device__ virtual int sides() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int n;
  __device__ explicit Square(int n) : n(n) {}
  __device__ int sides() const override { return 4 * n; }
};
struct Triangle : Shape {
  __device__ int sides() const override { return 3; }
};
__device__ __noinline__ int recursive(int n) { return n < 2 ? n : recursive(n - 1) + recursive(n - 2); }
template <class... A> __device__ int sum(A... a) { return (a + ... + 0); }

extern "C" __global__ void __launch_bounds__(64, 2) language(int *out, int n) {
  extern __shared__ int dynamic[];
  __shared__ Vector<int, 3> a;
  int i = threadIdx.x, row = 0;
#define PUT(value) out[n * row++ + i] = (int)(value)
  if (i == 0) a = Vector<int, 3>{{1, 2, 3}};
  dynamic[i] = i * i;
  __syncthreads();
  PUT(a.dot(a));
  PUT(dynamic[n - 1 - i]);
  PUT(factorial(i % 6));
  PUT(table[i & 3]);
  PUT(side());
  PUT(both());
  PUT(nearer(7));
  auto captured = [=](int x) { return x * a.v[1] + i; };
  PUT(captured(10));
  Shape *shape = i & 1 ? (Shape *)new Square(i) : (Shape *)new Triangle();
  PUT(shape->sides());
  delete shape;
  alignas(8) char place[sizeof(Square)];
  PUT((new (place) Square(2))->sides());
  PUT(recursive(i % 10));
  PUT(sum(i, 1, 2));
  int (*pointer)(int) = i & 1 ? recursive : +[](int x) { return -x; };
  PUT(pointer(5));
  std::array<int, 4> array{4, 3, 2, 1};
  PUT(array[i & 3]);
  auto [first, second] = std::make_tuple(i, 2 * i);
  PUT(first + second);
  PUT(std::max(i, 7) - std::min(i, 3));
  PUT(std::abs(-i) + std::sqrt(16.0f) + std::pow(2.0, 3.0) + std::floor(1.5f));
  PUT(std::isnan(std::numeric_limits<float>::quiet_NaN()) + 2 * std::isinf(std::exp(1000.0)));
  static_assert(std::is_same<decltype(std::sin(1.0f)), float>::value, "the float function");
  if constexpr (sizeof(int) == 4) PUT(1);
  int unrolled = 0;
#pragma unroll
  for (int k = 0; k < 8; k++) unrolled += dynamic[k];
  PUT(unrolled);
  if (i == 0) printf("%d %s %.2f %c %llu\n", i, "text", 1.5, 'x', 1ull << 40);
  assert(i < n);
#undef PUT
}

extern "C" __global__ void failing(int *p) { assert(p[threadIdx.x] == 0 && "must be zero"); }

// What the host does is parsed, checked, and left out.
int main(int argc, char **) {
  std::vector<int> v(3);
  thread_local int mine = both();
  try {
    throw mine;
  } catch (int) {
  }
  apply<<<dim3(1), 32, 0, 0>>>([=] __device__(int x) { return x + argc; }, v.data());
  return nearer(1);
}

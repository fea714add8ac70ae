// prints: templates: 0 of 4 wrong
// Kernels that are templates of types, numbers and functors; functors with state, used on both sides.
#include "check.h"

template <class T> struct Scale {
  T factor;
  __host__ __device__ T operator()(T x) const { return x * factor; }
};
template <class F, class G> struct Then {
  F first;
  G second;
  template <class T> __host__ __device__ auto operator()(T x) const { return second(first(x)); }
};
struct Square {
  template <class T> __host__ __device__ T operator()(T x) const { return x * x; }
};

template <class T, int N, class F> __global__ void apply(T *data, F f) {
  for (int i = threadIdx.x; i < N; i += blockDim.x) data[i] = f(data[i]);
}

template <class T, int N, class F> long differences(F f) {
  T data[N], got[N];
  for (int i = 0; i < N; ++i) data[i] = T(i % 50);
  T *device = on_device(data, N);
  apply<T, N><<<1, 64>>>(device, f);
  to_host(got, device, N);
  long wrong = 0;
  for (int i = 0; i < N; ++i) wrong += got[i] != f(data[i]);
  return wrong != 0;
}

int main() {
  long wrong = differences<int, 100>(Scale<int>{7});
  wrong += differences<double, 333>(Scale<double>{0.5});
  wrong += differences<unsigned char, 64>(Square{});
  wrong += differences<long long, 1000>(Then<Square, Scale<long long>>{{}, {-3}});
  return report("templates", wrong, 4);
}

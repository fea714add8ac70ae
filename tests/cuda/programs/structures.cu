// prints: structures: 0 of 200 wrong
// A large structure by value, arrays of structures with odd sizes, structures of arrays, a class with methods.
#include "check.h"

struct __align__(16) Wide { float values[12]; short tag; };
struct Odd { char a; short b; char c[3]; };
struct Columns { int *x; double *y; };

class Matrix3 {
 public:
  __host__ __device__ Matrix3(int diagonal) : m_{} {
    for (int i = 0; i < 3; ++i) m_[i][i] = diagonal;
  }
  __host__ __device__ int trace() const { return m_[0][0] + m_[1][1] + m_[2][2]; }

 private:
  int m_[3][3];
};

__global__ void run(Wide wide, const Odd *odds, Columns out, Matrix3 matrix, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out.x[i] = odds[i].a + odds[i].b * 2 + odds[i].c[2] * 3 + wide.tag + matrix.trace();
  out.y[i] = wide.values[i % 12] + 0.125 * i;
}

int main() {
  const int n = 100;
  Odd odds[n];
  Wide wide;
  wide.tag = -5;
  for (int i = 0; i < 12; ++i) wide.values[i] = i * i;
  for (int i = 0; i < n; ++i) odds[i] = {char(i), short(-i), {1, 2, char(i / 2)}};
  Odd *dodds = on_device(odds, n);
  Columns out = {on_device<int>(nullptr, n), on_device<double>(nullptr, n)};
  run<<<4, 32>>>(wide, dodds, out, Matrix3(4), n);
  int x[n];
  double y[n];
  to_host(x, out.x, n);
  to_host(y, out.y, n);
  long wrong = 0;
  for (int i = 0; i < n; ++i) {
    wrong += x[i] != i - 2 * i + i / 2 * 3 - 5 + 12;
    wrong += y[i] != (i % 12) * (i % 12) + 0.125 * i;
  }
  return report("structures", wrong, 2 * n);
}

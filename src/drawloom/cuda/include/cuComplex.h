// Complex numbers as vectors of two, with arithmetic for both sides.
#pragma once
#include <cuda_runtime.h>
#include <math.h>

typedef float2 cuFloatComplex;
__DL_BOTH float cuCrealf(cuFloatComplex z) { return z.x; }
__DL_BOTH float cuCimagf(cuFloatComplex z) { return z.y; }
__DL_BOTH cuFloatComplex make_cuFloatComplex(float real, float imaginary) { return cuFloatComplex{real, imaginary}; }
__DL_BOTH cuFloatComplex cuConjf(cuFloatComplex z) { return cuFloatComplex{z.x, -z.y}; }
__DL_BOTH cuFloatComplex cuCaddf(cuFloatComplex a, cuFloatComplex b) { return cuFloatComplex{a.x + b.x, a.y + b.y}; }
__DL_BOTH cuFloatComplex cuCsubf(cuFloatComplex a, cuFloatComplex b) { return cuFloatComplex{a.x - b.x, a.y - b.y}; }
__DL_BOTH cuFloatComplex cuCmulf(cuFloatComplex a, cuFloatComplex b) { return cuFloatComplex{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
// The divisor is brought near 1 first: its square would leave the range of the type otherwise.
__DL_BOTH cuFloatComplex cuCdivf(cuFloatComplex a, cuFloatComplex b) {
  float scale = 1 / (fabs(b.x) + fabs(b.y));
  float ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale;
  float norm = 1 / (bx * bx + by * by);
  return cuFloatComplex{(ax * bx + ay * by) * norm, (ay * bx - ax * by) * norm};
}
__DL_BOTH float cuCabsf(cuFloatComplex z) { return hypot(z.x, z.y); }
__DL_BOTH cuFloatComplex cuCfmaf(cuFloatComplex a, cuFloatComplex b, cuFloatComplex c) { return cuCaddf(cuCmulf(a, b), c); }

typedef double2 cuDoubleComplex;
__DL_BOTH double cuCreal(cuDoubleComplex z) { return z.x; }
__DL_BOTH double cuCimag(cuDoubleComplex z) { return z.y; }
__DL_BOTH cuDoubleComplex make_cuDoubleComplex(double real, double imaginary) { return cuDoubleComplex{real, imaginary}; }
__DL_BOTH cuDoubleComplex cuConj(cuDoubleComplex z) { return cuDoubleComplex{z.x, -z.y}; }
__DL_BOTH cuDoubleComplex cuCadd(cuDoubleComplex a, cuDoubleComplex b) { return cuDoubleComplex{a.x + b.x, a.y + b.y}; }
__DL_BOTH cuDoubleComplex cuCsub(cuDoubleComplex a, cuDoubleComplex b) { return cuDoubleComplex{a.x - b.x, a.y - b.y}; }
__DL_BOTH cuDoubleComplex cuCmul(cuDoubleComplex a, cuDoubleComplex b) { return cuDoubleComplex{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
// The divisor is brought near 1 first: its square would leave the range of the type otherwise.
__DL_BOTH cuDoubleComplex cuCdiv(cuDoubleComplex a, cuDoubleComplex b) {
  double scale = 1 / (fabs(b.x) + fabs(b.y));
  double ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale;
  double norm = 1 / (bx * bx + by * by);
  return cuDoubleComplex{(ax * bx + ay * by) * norm, (ay * bx - ax * by) * norm};
}
__DL_BOTH double cuCabs(cuDoubleComplex z) { return hypot(z.x, z.y); }
__DL_BOTH cuDoubleComplex cuCfma(cuDoubleComplex a, cuDoubleComplex b, cuDoubleComplex c) { return cuCadd(cuCmul(a, b), c); }

typedef cuFloatComplex cuComplex;
__DL_BOTH cuComplex make_cuComplex(float real, float imaginary) { return cuComplex{real, imaginary}; }
__DL_BOTH cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return cuDoubleComplex{z.x, z.y}; }
__DL_BOTH cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) { return cuFloatComplex{(float)z.x, (float)z.y}; }

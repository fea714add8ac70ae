// prints: std on both sides: 0 of 3 wrong
// <cmath> in code of both sides: the device's functions are in `std`, too, as overloads of the host's.
#include <algorithm>
#include <cmath>
#include "check.h"

template <class T> __host__ __device__ double total(T x) {
  int exponent;
  T whole;
  double sum = std::abs(-x) + std::fabs(x) + std::exp(x) + std::exp2(x) + std::expm1(x) + std::log(x) + std::log2(x);
  sum += std::log10(x) + std::log1p(x) + std::pow(x, x) + std::sqrt(x) + std::cbrt(x) + std::hypot(x, x) + std::sin(x);
  sum += std::cos(x) + std::tan(x) + std::asin(x) + std::acos(x) + std::atan(x) + std::atan2(x, x) + std::sinh(x);
  sum += std::cosh(x) + std::tanh(x) + std::asinh(x) + std::acosh(x + 1) + std::atanh(x) + std::erf(x) + std::erfc(x);
  sum += std::tgamma(x) + std::lgamma(x) + std::ceil(x) + std::floor(x) + std::trunc(x) + std::round(x);
  sum += std::lround(x) + std::llround(x) + std::nearbyint(x) + std::rint(x) + std::lrint(x) + std::fmod(x, T(0.3));
  sum += std::remainder(x, T(0.3)) + std::fma(x, x, x) + std::fmax(x, x) + std::fmin(x, x) + std::fdim(x, T(0.25));
  sum += std::copysign(x, -x) + std::nextafter(x, x) + std::frexp(x, &exponent) + std::ldexp(x, 2);
  sum += std::modf(x, &whole) + std::scalbn(x, 2) + std::ilogb(x) + std::logb(x) + std::isnan(x) + std::isinf(x);
  return sum + std::isfinite(x) + std::signbit(x) + std::max(x, T(1)) + std::min(x, T(2));
}

__host__ __device__ double of_integers() {
  return std::abs(-3) + std::abs(-3L) + std::abs(-3LL) + std::pow(2, 3) + std::sqrt(4) + std::exp(0) + std::max(1, 2) +
         pow(2.0f, 3) + abs(-1.5f) + abs(-2) + exp(0) + fabs(-1) + pow(3, 2) + isnan(1.0f);
}

__global__ void compute(double *out) { out[0] = total(0.5f), out[1] = total(0.5), out[2] = of_integers(); }

int main() {
  double *memory = on_device<double>(nullptr, 3), out[3];
  compute<<<1, 1>>>(memory);
  to_host(out, memory, 3);
  // Some sixty terms, each below 3 units of 8 in the last place beside the host's.
  long wrong = std::fabs(out[0] - total(0.5f)) > 60 * 3 * 8 * 0x1p-24;
  wrong += std::fabs(out[1] - total(0.5)) > 60 * 3 * 8 * 0x1p-53;
  return report("std on both sides", wrong + (out[2] != of_integers()), 3);
}

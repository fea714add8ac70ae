// prints: n-body: 0 of 512 wrong
// Tiles of bodies in shared memory, float4, rsqrtf; the host sums in double.
#include "check.h"
#include <cmath>

const int kBlock = 64;

__global__ void accelerate(const float4 *bodies, float3 *out, int n) {
  __shared__ float4 tile[kBlock];
  int i = blockIdx.x * kBlock + threadIdx.x;
  float4 me = bodies[i];
  float3 a = make_float3(0, 0, 0);
  for (int base = 0; base < n; base += kBlock) {
    tile[threadIdx.x] = bodies[base + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < kBlock; ++k) {
      float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float s = tile[k].w * inverse * inverse * inverse;
      a.x += s * dx;
      a.y += s * dy;
      a.z += s * dz;
    }
    __syncthreads();
  }
  out[i] = a;
}

int main() {
  const int n = 512;
  static float4 bodies[n];
  static float3 got[n];
  auto unit = [](unsigned x) { return mixed(x) % 10000 / 10000.0f; };
  for (int i = 0; i < n; ++i) bodies[i] = make_float4(unit(4 * i), unit(4 * i + 1), unit(4 * i + 2), unit(4 * i + 3));
  float4 *device = on_device(bodies, n);
  float3 *out = on_device<float3>(nullptr, n);
  accelerate<<<n / kBlock, kBlock>>>(device, out, n);
  to_host(got, out, n);
  long wrong = 0;
  for (int i = 0; i < n; ++i) {
    double a[3] = {}, size = 0;
    for (int k = 0; k < n; ++k) {
      double d[3] = {bodies[k].x - bodies[i].x, bodies[k].y - bodies[i].y, bodies[k].z - bodies[i].z};
      double r = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01f, s = bodies[k].w / (r * std::sqrt(r));
      for (int c = 0; c < 3; ++c) a[c] += s * d[c];
      size += s * std::sqrt(r);
    }
    // Each of 512 terms and sums is rounded a few times to 2^-24 of the sum of their sizes.
    double bound = size * (512 + 8) * std::pow(2, -24);
    wrong += !(std::fabs(got[i].x - a[0]) < bound && std::fabs(got[i].y - a[1]) < bound &&
               std::fabs(got[i].z - a[2]) < bound);
  }
  return report("n-body", wrong, n);
}

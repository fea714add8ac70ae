// prints: as samples are written: 0 of 11 wrong
// What programs count on without including it: the host's mathematics and memory functions, min and max, nvcc's macros;
// launches by configuration, complex numbers, pools.
#include "check.h"
#include <cuComplex.h>
#include <cuda.h>
#include <cuda_profiler_api.h>

#if !defined(__CUDACC__) || __CUDACC_VER_MAJOR__ < 11 || CUDA_VERSION < 11000
#error no compiler of CUDA
#endif

__global__ void multiply(cuFloatComplex *z, int n, cuFloatComplex by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = cuCdivf(cuCmulf(z[i], by), make_cuFloatComplex(2, 0));
}
__global__ void shared(int *out) {
  extern __shared__ int line[];
  line[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = line[blockDim.x - 1 - threadIdx.x];
}

int main() {
  const int n = 64;
  cuFloatComplex host[n], *z;
  for (int i = 0; i < n; ++i) host[i] = make_cuFloatComplex(i, -i);
  CHECK(cudaMalloc(&z, sizeof host));
  CHECK(cudaMemcpy(z, host, sizeof host, cudaMemcpyHostToDevice));

  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = 2;
  configuration.blockDim = n / 2;
  CHECK(cudaLaunchKernelEx(&configuration, multiply, z, n, make_cuFloatComplex(1, 1)));
  CHECK(cudaMemcpy(host, z, sizeof host, cudaMemcpyDeviceToHost));
  long wrong = 0, apart = 0;
  for (int i = 0; i < n; ++i) apart += host[i].x != i || host[i].y != 0;
  wrong += apart != 0;

  int *out, got[n];
  CHECK(cudaMalloc(&out, n * sizeof(int)));
  cudaLaunchAttribute cooperative;
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  configuration.gridDim = 1;
  configuration.blockDim = n;
  configuration.dynamicSmemBytes = n * sizeof(int);
  configuration.attrs = &cooperative;
  configuration.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&configuration, shared, out));
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  wrong += got[0] != n - 1 || got[n - 1] != 0;

  size_t bytes = 0;
  int blocks = 0;
  CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, shared, 2, n));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, n, bytes));
  wrong += blocks < 2 || bytes < 1024;

  cudaMemPool_t pool;
  unsigned long long threshold = 1 << 20;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  void *memory = nullptr;
  CHECK(cudaMallocFromPoolAsync(&memory, 100, pool, 0));
  CHECK(cudaFreeAsync(memory, 0));
  char name[16];
  int index = -1;
  CHECK(cudaDeviceGetPCIBusId(name, sizeof name, 0));
  CHECK(cudaDeviceGetByPCIBusId(&index, name));
  wrong += index != 0;
  wrong += cudaDeviceGetPCIBusId(name, 3, 0) != cudaErrorInvalidValue;
  CHECK(cudaProfilerStart());

  cuDoubleComplex quotient = cuCdiv(make_cuDoubleComplex(1e300, 0), make_cuDoubleComplex(1e300, 1e300));
  wrong += cuCreal(quotient) != 0.5 || cuCimag(quotient) != -0.5 || cuCabsf(make_cuFloatComplex(3, 4)) != 5;
  wrong += sqrt(4.f) != 2 || fabs(-1.5) != 1.5 || std::pow(2., 3) != 8 || abs(-2.5) != 2.5;
  wrong += max(1, 2) != 2 || min(3u, 4u) != 3 || max(1.f, 2.f) != 2 || std::max(1, 2) != 2;
  wrong += rsqrt(4.) != 0.5 || rsqrtf(4.f) != 0.5f || rcbrt(8.) != 0.5 || fabs(normcdf(0.) - 0.5) > 1e-15;
  wrong += sinpi(0.5) != 1 || cospi(1.) != -1 || sinpif(-1.5f) != 1 || cospi(1e300) != 1 || sinpi(3.) != 0;
  void *copied = malloc(4);
  memcpy(copied, got, 4);
  wrong += memcmp(copied, got, 4) != 0 || clock() == clock_t(-1) || INT_MAX < 0;
  free(copied);
  return report("as samples are written", wrong, 11);
}

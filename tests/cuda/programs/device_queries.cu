// prints: queries: 0 of 15 wrong
#include "check.h"
#include <cstring>

int main() {
  int count = 0, device = -1, value = 0, runtime = 0, driver = 0;
  size_t available = 0, total = 0;
  cudaDeviceProp about;
  CHECK(cudaGetDeviceCount(&count));
  CHECK(cudaSetDevice(0));
  CHECK(cudaGetDevice(&device));
  CHECK(cudaGetDeviceProperties(&about, 0));
  CHECK(cudaMemGetInfo(&available, &total));
  CHECK(cudaRuntimeGetVersion(&runtime));
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
  long wrong = (count < 1) + (device != 0) + (about.warpSize != 32) + (about.maxThreadsPerBlock != value);
  wrong += (strlen(about.name) == 0) + (total == 0 || available > total) + (runtime < 11000 || driver < 1);
  wrong += (cudaGetDeviceProperties(&about, 1000) != cudaErrorInvalidDevice);
  wrong += strcmp(cudaGetErrorName(cudaGetLastError()), "cudaErrorInvalidDevice") != 0;
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 0));
  wrong += (value != 1) + (about.maxTexture1D != 0);  // no textures
  wrong += (cudaDeviceGetAttribute(&value, cudaDeviceAttr(9999), 0) != cudaErrorInvalidValue);
  wrong += (cudaMalloc((void **)nullptr, 4) != cudaErrorInvalidValue) + (cudaGetLastError() != cudaErrorInvalidValue);
  wrong += strcmp(cudaGetErrorName(cudaErrorStreamCaptureMerge), "cudaErrorStreamCaptureMerge") != 0;
  return report("queries", wrong, 15);
}

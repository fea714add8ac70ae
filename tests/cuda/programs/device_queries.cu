// prints: queries: 0 of 25 wrong
#include "check.h"
#include <cmath>
#include <cstring>
#include <math_constants.h>

__global__ void named(int *) {}

// Calls that few programs make.
long seldom() {
  long wrong = 0;
  const char *name = "";
  CHECK(cudaFuncGetName(&name, named));
  wrong += strcmp(name, "_Z5namedPi") != 0;
  int device = -1, grid = 0, block = 0, value = 1;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamGetDevice(stream, &device));
  CHECK(cudaOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, named, 0, 0, cudaOccupancyDefault));
  wrong += (device != 0) + (grid <= 0) + (block <= 0);
  CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(&grid, &block, named, [](int n) { return n * 4; }));
  wrong += block <= 0;
  wrong += cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0) != cudaErrorInvalidDevice;
  cudaMemLocation here = {cudaMemLocationTypeDevice, 0};  // CUDA 13's arguments, and those before
  int *memory;
  CHECK(cudaMallocManaged(&memory, 64));
  CHECK(cudaMemPrefetchAsync(memory, 64, here, 0, stream));
#ifdef __clang__  // nvcc 13 no longer takes the arguments of before
  CHECK(cudaMemPrefetchAsync(memory, 64, 0, stream));
#endif
  CHECK(cudaMemAdvise(memory, 64, cudaMemAdviseSetReadMostly, here));
  CHECK(cudaCtxResetPersistingL2Cache());
  CHECK(cudaStreamSynchronize(stream));
  cudaGraph_t graph = nullptr;
  cudaMemPool_t pool;
  size_t used;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  wrong += cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) != cudaErrorNotSupported;
  wrong += cudaGraphGetRootNodes(graph, nullptr, nullptr) != cudaErrorInvalidValue;
  wrong += (float(CUDART_SQRT_2PI) != float(std::sqrt(2 * M_PI))) + (CUDART_LNT_F != float(std::log(10.0)));
  cudaGetLastError();
  return wrong;
}

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
  return report("queries", wrong + seldom(), 25);
}

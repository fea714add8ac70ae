// prints: errors: 0 of 14 wrong
// Calls about memory that are refused, each with its code.
#include "check.h"

int main() {
  long wrong = 0;
  int host[4] = {}, *device, *more;
  auto expect = [&](cudaError_t got, cudaError_t wanted) { wrong += got != wanted; };
  CHECK(cudaMalloc(&device, sizeof host));
  expect(cudaMalloc(&more, size_t(1) << 60), cudaErrorMemoryAllocation);
  expect(cudaMalloc((void **)nullptr, 4), cudaErrorInvalidValue);
  expect(cudaMemcpy(device, host, 1000, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  expect(cudaMemcpy(host, device, sizeof host, (cudaMemcpyKind)17), cudaErrorInvalidMemcpyDirection);
  expect(cudaMemcpy(nullptr, device, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  expect(cudaMemset(device + 1, 0, sizeof host), cudaErrorInvalidValue);
  expect(cudaMemcpy2D(device, 4, host, 8, 8, 1, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
  expect(cudaFree(host), cudaErrorInvalidValue);
  expect(cudaFreeHost(device), cudaErrorInvalidValue);
  expect(cudaHostUnregister(host), cudaErrorHostMemoryNotRegistered);
  expect(cudaMemcpyToSymbol(host, host, 4), cudaErrorInvalidSymbol);
  expect(cudaFree(nullptr), cudaSuccess);
  expect(cudaFree(device), cudaSuccess);
  expect(cudaFree(device), cudaErrorInvalidValue);
  return report("errors", wrong, 14);
}

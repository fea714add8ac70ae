// What the calls of the runtime interface share: the calling thread's last error, and its device.
#pragma once
#include "registry.h"

namespace drawloom {

// Keeps an error for cudaGetLastError, and gives it back.
cudaError_t note(cudaError_t error);

// The result of `use` with the thread's device, kept as its last error.
template <class F> cudaError_t on_device(F use) {
  cudaError_t error;
  Device *found = device(error);
  if (!found) return note(error);
  if (cudaError_t earlier = found->failure()) return note(earlier);
  return note(use(*found));
}

}  // namespace drawloom

// What the calls of the runtime interface share: the calling thread's last error, and its device.
#pragma once
#include "captures.h"
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

// Gives a stream work, by `now`; or, where the stream is captured, its graph the operation that `make` fills in.
template <class F, class G> cudaError_t give_or_capture(cudaStream_t stream, F now, G make) {
  if (!Captures::any()) return now();
  bool captured;
  cudaError_t error = Captures::add(stream, captured, make);
  return error || captured ? error : now();
}

cudaError_t check_configuration(dim3 grid, dim3 block);

}  // namespace drawloom

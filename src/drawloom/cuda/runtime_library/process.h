// What a process has once. A program and each shared library that it loads have this library linked in; the first that
// is asked makes the state, and all of the same version use it, so that whoever waits for a device waits for the kernels
// of all of them.
#pragma once
#include <atomic>
#include <map>
#include <mutex>

#include "device.h"

namespace drawloom {

// The grid and block between `<<<` and `>>>`, from where they are written to the launch.
struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};

struct Thread {
  int device = 0;
  cudaError_t last_error = cudaSuccess;
  std::vector<Configuration> configurations;
};

struct Process {
  std::mutex mutex;  // of what compiled sources register
  const Image *images = nullptr;  // a list through `next`
  std::map<const void *, Function> functions;
  std::map<const void *, Symbol> symbols;

  std::once_flag looked;
  std::vector<std::unique_ptr<Device>> devices;  // found at the first call that needs one: looking takes its time
  std::atomic<cudaError_t> broken{cudaSuccess};  // what left the process without a device that works
  size_t limits[7] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};  // as cudaDeviceSetLimit keeps and cudaDeviceGetLimit tells

  Thread &(*thread)();  // the calling one's
};

// Never destroyed: static destructors of programs may still call.
Process &process();
inline Thread &thread() { return process().thread(); }

}  // namespace drawloom

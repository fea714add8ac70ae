// Memory that work under way may still read or write: the host's accesses to it, before anything waited for that work,
// are told on standard error. The CPU device is done when a call returns; a GPU would not be.
#pragma once
#include "device.h"

namespace drawloom {

class InFlight {
 public:
  // Makes the host's accesses visible from now on; the device's own must stand between open() and close().
  static void watch();
  // The whole pages in [begin, begin + size) are used by `work` on `stream`.
  static void add(cudaStream_t stream, uint64_t begin, uint64_t size, const char *work);
  // Somebody waited for a stream, or for all work of the device.
  static void settle(cudaStream_t stream);
  static void settle();
  static void open();
  static void close();
};

}  // namespace drawloom

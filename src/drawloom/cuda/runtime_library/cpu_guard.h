// Memory that work under way may still read or write, and memory that is the device's alone: the host's accesses to it,
// before anything waited for that work or at all, are told on standard error. The CPU device is done when a call returns,
// and its memory is the host's; a GPU's would not be.
#pragma once
#include "device.h"

namespace drawloom {

class InFlight {
 public:
  // Makes the host's accesses visible from now on; the device's own must stand between open() and close().
  static void watch();
  // The whole pages in [begin, begin + size) are used by `work` on `stream`; "" for the device's own memory, until
  // `forget`.
  static void add(cudaStream_t stream, uint64_t begin, uint64_t size, const char *work);
  static void forget(uint64_t begin);
  // Somebody waited for a stream, or for all work of the device.
  static void settle(cudaStream_t stream);
  static void settle();
  static void open();
  static void close();
};

}  // namespace drawloom

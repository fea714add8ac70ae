// Memory that work under way may still read or write, memory that is the device's alone, and freed memory: the host's
// accesses to it, before anything waited for that work or at all, are told on standard error. The CPU device is done
// when a call returns, and its memory is the host's; a GPU's would not be.
#pragma once
#include "device.h"

namespace drawloom {

// Why memory is not the host's: for work until somebody waits, for other reasons until `forget`.
enum class Use { work, device, freed };

class InFlight {
 public:
  // Makes the host's accesses visible from now on; the device's own must stand between open() and close().
  static void watch();
  // The whole pages in [begin, begin + size); `work` is what uses them on `stream`.
  static void add(Use use, uint64_t begin, uint64_t size, cudaStream_t stream = nullptr, const char *work = "");
  static void forget(uint64_t begin);
  // Somebody waited for a stream, or for all work of the device.
  static void settle(cudaStream_t stream);
  static void settle();
  static void open();
  static void close();
};

}  // namespace drawloom

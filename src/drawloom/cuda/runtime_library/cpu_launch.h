// One launch of a kernel on this machine's cores: the record that compiled code reads, its workers, its outcome.
#pragma once
#include <mutex>

#include "device.h"

namespace drawloom {

// What stopped a kernel: the runtime interface's code, and a sentence with kernel, block, thread and source line.
struct Fault {
  cudaError_t code = cudaSuccess;
  std::string report;
};

// A record of the compiler's LAUNCH_BUFFERS.
struct Range {
  uint64_t begin, size, cells = 0;
};

// Held while a kernel runs: one runs at a time, as each may have all cores.
std::mutex &cores_mutex();

// Whether a launch without checks is known to be over soon: less work than waking a thread takes, and no loop that may wait for the
// host or for another thread.
bool is_brief(const Launch &launch);

// Whose stack the calling thread runs a kernel on: a stream's thread its own; a thread of the program, which may have a
// short stack, one that belongs to whoever holds the cores.
enum class Stack { own, shared };

// Runs a kernel to its end, by a caller that holds the cores. `parameters` is its parameter block, `base` where its
// module's variables stand; `ranges` is what it may access where accesses are checked, else null, and `explain` says
// more about an address that is in none.
Fault run_kernel(const Launch &launch, const std::vector<char> &parameters, char *base,
                 std::vector<Range> *ranges, std::string (*explain)(uint64_t address), Stack stack);

// A kernel's name as it stands in the source, with its parameters.
std::string readable_name(const std::string &name);

// Memory that kernels take with malloc while accesses are checked.
Range device_heap();
void limit_device_heap(size_t bytes);

}  // namespace drawloom

// One launch of a kernel on this machine's cores: the record that compiled code reads, its workers, its outcome.
#pragma once
#include "device.h"

namespace drawloom {

// What stopped a kernel: the runtime interface's code, and a sentence with kernel, block, thread and source line.
struct Fault {
  cudaError_t code = cudaSuccess;
  std::string report;
};

struct Range {
  uint64_t begin, size;
};

// Runs a kernel to its end. `parameters` is its parameter block, `base` where its module's variables stand; `ranges` is
// what it may access where `check` is set, and `explain` says more about an address that is in none.
Fault run_kernel(const Launch &launch, const std::vector<char> &parameters, char *base,
                 const std::vector<Range> *ranges, std::string (*explain)(uint64_t address));

// A kernel's name as it stands in the source, with its parameters.
std::string readable_name(const std::string &name);

// Memory that kernels take with malloc while accesses are checked.
Range device_heap();
void limit_device_heap(size_t bytes);

}  // namespace drawloom

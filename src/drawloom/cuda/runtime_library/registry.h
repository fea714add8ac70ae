// What the constructors of compiled sources registered: programs, kernels and variables, by the addresses that host
// code names them with; and the devices that calls go to.
#pragma once
#include "device.h"

namespace drawloom {

// Null for what was not registered.
Function *function_of(const void *host);
Symbol *symbol_of(const void *host);
// Where the parameters of a kernel stand, also where this CPU does not run its code; null where there are no tables.
const Kernel *layout_of(Function &function);
// The CPUs that a program's kernels are compiled for; null where there are no tables.
const char *level_of(const Program &program);

// The calling thread's device; null where there is none, with the reason in `error`.
Device *device(cudaError_t &error);
int device_count();
int &current_device();

}  // namespace drawloom

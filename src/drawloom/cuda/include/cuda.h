// What programs for the runtime interface take from the driver's header: its version, handles and types. The functions
// are not there: clang names the one that a program calls.
#pragma once
#include <cuda_runtime_api.h>
#include "drawloom/driver_interface.h"

#define CUDA_VERSION CUDART_VERSION
#define CUDAAPI
#define CUDA_CB

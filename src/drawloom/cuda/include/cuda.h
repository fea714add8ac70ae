// What programs for the runtime interface take from the driver's header: its version and handles. The driver interface
// itself is not there; clang names the function that a program misses.
#pragma once
#include <cuda_runtime_api.h>

#define CUDA_VERSION CUDART_VERSION

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;

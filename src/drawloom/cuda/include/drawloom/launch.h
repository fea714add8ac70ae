// What clang calls for `kernel<<<grid, block, shared, stream>>>`, for device code alone, whose host code is only parsed.
#pragma once
#include "drawloom/vector_types.h"
typedef struct CUstream_st *cudaStream_t;
extern "C" int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
extern "C" int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);

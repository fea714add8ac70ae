// What every CUDA source begins with: the language of the device, then the host's interface where it is there.
#pragma once
#define __CUDA_RUNTIME_H__
#if defined(__CUDA__)  // as nvcc tells sources that it compiles them; clang has extended lambdas and constexpr always
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 0
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#define __CUDACC_DEVICE_ATOMIC_BUILTINS__ 1
#endif
#include "drawloom/qualifiers.h"
#include "drawloom/vector_types.h"
#if defined(__CUDA__)  // sources without device code have the host's interface alone
#include "drawloom/builtin_variables.h"
#include "drawloom/synchronise.h"
#include "drawloom/warp.h"
#include "drawloom/atomics.h"
#include "drawloom/builtin_atomics.h"
#include "drawloom/loads.h"
#include "drawloom/integers.h"
#include "drawloom/simd.h"
#include "drawloom/conversions.h"
#include "drawloom/rounded.h"
#include "drawloom/math.h"
#include "drawloom/library.h"
#include "drawloom/refused.h"
// What nvcc has every source begin with; behind the device's functions, so that <cmath> takes them into `std`, too.
#if defined(__DRAWLOOM_HOST_HEADERS__)
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utility>
#if defined(_LIBCPP_VERSION)  // g++'s <math.h> and <utility> bring `std::max` and `std::min`
#include <algorithm>
#endif
#include "drawloom/host_math.h"
#endif
#endif
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#define CUDA_VERSION CUDART_VERSION  // clang has it always, and libraries go by it
#else
#include "drawloom/launch.h"
#endif

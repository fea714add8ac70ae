// What every OpenCL C source begins with: the types and built-in functions of OpenCL C 1.2 (and what programs use of
// 2.0 and 3.0) without images, pipes and device queues.
#pragma once
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#include "drawloom/opencl_types.h"
#include "drawloom/opencl_work_items.h"
#pragma float_control(push)
#pragma float_control(precise, on)
#pragma clang fp contract(off)
#include "drawloom/bessel.h"
#include "drawloom/double_parts.h"
#include "drawloom/float_functions.h"
#pragma float_control(pop)
#if defined(__NVPTX__) && !defined(__DRAWLOOM_UNFUSED__)  // where clang ignores float_control
#pragma clang fp contract(fast)
#endif
#include "drawloom/opencl_math.h"
#include "drawloom/opencl_common.h"
#include "drawloom/opencl_convert.h"
#include "drawloom/opencl_memory.h"
#include "drawloom/opencl_half.h"
#include "drawloom/opencl_atomics.h"
#include "drawloom/opencl_sub_groups.h"

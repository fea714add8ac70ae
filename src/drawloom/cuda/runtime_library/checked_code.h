// Code of kernels that checks accesses, for DRAWLOOM_CHECK: part of the program, or made when it is first needed.
#pragma once
#include "device.h"

namespace drawloom {

// Finds the code of a kernel that checks accesses, and notes it in the function and its program. False where there is
// none; standard error then says why.
bool find_checked_code(Function &function);

}  // namespace drawloom

// Part of what cuda_runtime.h brings.
#pragma once
#include <cuda_runtime.h>

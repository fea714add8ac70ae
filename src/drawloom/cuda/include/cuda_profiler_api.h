// Part of what cuda_runtime_api.h brings.
#pragma once
#include <cuda_runtime_api.h>

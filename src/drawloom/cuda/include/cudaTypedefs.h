// The driver's function types; there are none, as the driver's interface is not there.
#pragma once
#include <cuda.h>

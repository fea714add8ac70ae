// All-pairs gravity with softening; bodies come through shared memory a block at a time.
#include "device.h"

extern "C" __global__ void nbody(const float4 *bodies, float4 *accel, int n, float softening) {
    __shared__ float4 tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 self = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float ax = 0, ay = 0, az = 0;
    for (int base = 0; base < n; base += 128) {
        int j = base + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < 128; ++k) {
            float dx = tile[k].x - self.x, dy = tile[k].y - self.y, dz = tile[k].z - self.z;
            float inv = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            float scale = tile[k].w * inv * inv * inv;
            ax += dx * scale;
            ay += dy * scale;
            az += dz * scale;
        }
        __syncthreads();
    }
    if (i < n) accel[i] = make_float4(ax, ay, az, 0.0f);
}

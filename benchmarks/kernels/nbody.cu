// All-pairs gravity with softening; bodies (x, y, z, mass) pass through shared memory 256 at a time.
// nvcc -ptx -O3 -arch=sm_80 nbody.cu
#define BLOCK 256

extern "C" __global__ void nbody(const float4 *bodies, float4 *accel, int n, float softening) {
    __shared__ float4 tile[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float4 self = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float ax = 0, ay = 0, az = 0;
    for (int base = 0; base < n; base += BLOCK) {
        int j = base + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < BLOCK; ++k) {
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

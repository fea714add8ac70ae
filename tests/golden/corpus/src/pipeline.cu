// compilers: nvcc
// minimum: sm_80
// Copies from global to shared memory that run ahead of the work on them: groups of copies, and a barrier in memory.
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline_primitives.h>

constexpr int TILE = 128;

extern "C" __global__ void staged_sums(const float4* in, float* out, int tiles) {
    __shared__ float4 stage[2][TILE];
    int lane = threadIdx.x;
    __pipeline_memcpy_async(&stage[0][lane], &in[lane], sizeof(float4));
    __pipeline_commit();
    float sum = 0.0f;
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles)
            __pipeline_memcpy_async(&stage[(tile + 1) & 1][lane], &in[(tile + 1) * TILE + lane], sizeof(float4));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 other = stage[tile & 1][(lane + 1) % TILE];
        sum += other.x + other.y + other.z + other.w;
        __syncthreads();
    }
    out[lane] = sum;
}

extern "C" __global__ void masked_copy(const int* in, int* out, int count) {
    __shared__ int stage[TILE];
    int lane = threadIdx.x;
    __pipeline_memcpy_async(&stage[lane], &in[lane], sizeof(int), lane < count ? 0 : sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[lane] = stage[TILE - 1 - lane];
}

extern "C" __global__ void handed_over(const int* in, int* out, int rounds) {
    __shared__ __mbarrier_t full;
    __shared__ int stage[TILE];
    int lane = threadIdx.x;
    if (lane == 0) __mbarrier_init(&full, TILE);
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < rounds; round++) {
        stage[lane] = in[round * TILE + lane];
        __mbarrier_token_t token = __mbarrier_arrive(&full);
        while (!__mbarrier_test_wait(&full, token)) {}
        sum = sum * 3 + stage[lane ^ 37];
        __mbarrier_token_t seen = __mbarrier_arrive(&full);
        while (!__mbarrier_test_wait(&full, seen)) {}
    }
    out[lane] = sum + (int)__mbarrier_token_pending_count(__mbarrier_arrive(&full)) * 0;
}

// Inclusive prefix sum in one pass with decoupled look-back (Merrill and Garland, 2016): a block of 256 threads
// scans 1024 elements, publishes its sum, and adds what it reads from the blocks before it.
// status[block] = flag << 32 | value; flag 1: the block's own sum, flag 2: the sum of everything so far.
// nvcc -ptx -O3 -arch=sm_80 scan.cu
#define BLOCK 256
#define ITEMS 4

static __device__ unsigned long long pack(unsigned flag, unsigned value) {
    return (unsigned long long)flag << 32 | value;
}

extern "C" __global__ void scan(const uint4 *in, uint4 *out, volatile unsigned long long *status, unsigned *ticket,
                                int n4) {
    __shared__ unsigned warp_sums[BLOCK / 32];
    __shared__ unsigned block_index, exclusive;
    if (threadIdx.x == 0) block_index = atomicAdd(ticket, 1u);
    __syncthreads();
    unsigned block = block_index, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int i = block * BLOCK + threadIdx.x;
    uint4 v = i < n4 ? in[i] : make_uint4(0, 0, 0, 0);
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;
    unsigned sum = v.w;
    for (int d = 1; d < 32; d <<= 1) {
        unsigned t = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= (unsigned)d) sum += t;
    }
    if (lane == 31) warp_sums[warp] = sum;
    __syncthreads();
    unsigned before = sum - v.w;
    for (unsigned w = 0; w < warp; ++w) before += warp_sums[w];
    if (threadIdx.x == BLOCK - 1) {
        unsigned total = before + v.w, earlier = 0;
        status[block] = pack(block == 0 ? 2 : 1, total);
        for (int look = (int)block - 1; look >= 0;) {
            unsigned long long s = status[look];
            unsigned flag = (unsigned)(s >> 32);
            if (flag == 0) continue;
            earlier += (unsigned)s;
            if (flag == 2) break;
            --look;
        }
        if (block) status[block] = pack(2, earlier + total);
        exclusive = earlier;
    }
    __syncthreads();
    before += exclusive;
    if (i < n4) out[i] = make_uint4(before + v.x, before + v.y, before + v.z, before + v.w);
}

// The kernels of kernels/*.cu in OpenCL C, for PoCL on the CPU. PoCL 3.0 has no warp shuffles: the reduction
// and the scan of a work-group go through local memory instead; everything else is line for line the same.

kernel void vecadd(global const float *a, global const float *b, global float *c, int n) {
    int i = get_global_id(0);
    if (i < n) c[i] = a[i] + b[i];
}

kernel void saxpy(float a, global const float *x, global float *y, int n) {
    int i = get_global_id(0);
    if (i < n) y[i] = a * x[i] + y[i];
}

kernel void jacobi9(global const float *in, global float *out, int width, int height, float centre, float edge,
                    float corner) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    global const float *p = in + y * width + x;
    float cross = p[-1] + p[1] + p[-width] + p[width];
    float diagonal = p[-width - 1] + p[-width + 1] + p[width - 1] + p[width + 1];
    out[y * width + x] = centre * p[0] + edge * cross + corner * diagonal;
}

#define TILE 16
kernel void matmul(global const float *a, global const float *b, global float *c, int m, int n, int k) {
    local float tile_a[TILE][TILE], tile_b[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1), row = get_global_id(1), col = get_global_id(0);
    float sum = 0.0f;
    for (int base = 0; base < k; base += TILE) {
        tile_a[ty][tx] = row < m && base + tx < k ? a[row * k + base + tx] : 0.0f;
        tile_b[ty][tx] = col < n && base + ty < k ? b[(base + ty) * n + col] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int i = 0; i < TILE; ++i) sum += tile_a[ty][i] * tile_b[i][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < m && col < n) c[row * n + col] = sum;
}

kernel void reduce(global const float *x, global float *partial, int n) {
    local float sums[256];
    float v = 0.0f;
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) v += x[i];
    int t = get_local_id(0);
    sums[t] = v;
    for (int offset = 128; offset > 0; offset >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < offset) sums[t] += sums[t + offset];
    }
    if (t == 0) partial[get_group_id(0)] = sums[0];
}

kernel void histogram(global const uint *words, global uint *bins, int n) {
    local uint mine[256];
    int t = get_local_id(0);
    for (int i = t; i < 256; i += get_local_size(0)) mine[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
        uint w = words[i];
        atomic_inc(&mine[w & 255]);
        atomic_inc(&mine[w >> 8 & 255]);
        atomic_inc(&mine[w >> 16 & 255]);
        atomic_inc(&mine[w >> 24]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = t; i < 256; i += get_local_size(0)) atomic_add(&bins[i], mine[i]);
}

#define BODIES 256
kernel void nbody(global const float4 *bodies, global float4 *accel, int n, float softening) {
    local float4 tile[BODIES];
    int i = get_global_id(0), t = get_local_id(0);
    float4 self = i < n ? bodies[i] : (float4)(0);
    float ax = 0, ay = 0, az = 0;
    for (int base = 0; base < n; base += BODIES) {
        tile[t] = base + t < n ? bodies[base + t] : (float4)(0);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < BODIES; ++k) {
            float dx = tile[k].x - self.x, dy = tile[k].y - self.y, dz = tile[k].z - self.z;
            float inv = rsqrt(dx * dx + dy * dy + dz * dz + softening);
            float scale = tile[k].w * inv * inv * inv;
            ax += dx * scale;
            ay += dy * scale;
            az += dz * scale;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n) accel[i] = (float4)(ax, ay, az, 0.0f);
}

float normal_cdf(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float tail = 0.39894228f * exp(-0.5f * d * d) *
                 (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - tail : tail;
}

kernel void black_scholes(global const float *spot, global const float *strike, global const float *years,
                          global float *call, global float *put, float rate, float volatility, int n) {
    int i = get_global_id(0);
    if (i >= n) return;
    float s = spot[i], x = strike[i], t = years[i];
    float root = sqrt(t);
    float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root;
    float n1 = normal_cdf(d1), n2 = normal_cdf(d2);
    float discounted = x * exp(-rate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}

kernel void transpose(global const float *in, global float *out, int width, int height) {
    local float tile[32][33];
    int tx = get_local_id(0), ty = get_local_id(1);
    int x = get_group_id(0) * 32 + tx, y = get_group_id(1) * 32 + ty;
    for (int j = 0; j < 32; j += 8)
        if (x < width && y + j < height) tile[ty + j][tx] = in[(y + j) * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * 32 + tx;
    y = get_group_id(0) * 32 + ty;
    for (int j = 0; j < 32; j += 8)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[tx][ty + j];
}

kernel void scan(global const uint4 *in, global uint4 *out, volatile global ulong *status, global uint *ticket,
                 int n4) {
    local uint sums[256];
    local uint block_index, exclusive;
    int t = get_local_id(0);
    if (t == 0) block_index = atomic_inc(ticket);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint block = block_index;
    int i = block * 256 + t;
    uint4 v = i < n4 ? in[i] : (uint4)(0);
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;
    sums[t] = v.w;
    for (int d = 1; d < 256; d <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint other = t >= d ? sums[t - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[t] += other;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint before = sums[t] - v.w;
    if (t == 255) {
        uint total = sums[t], earlier = 0;
        status[block] = (ulong)(block == 0 ? 2 : 1) << 32 | total;
        for (int look = (int)block - 1; look >= 0;) {
            ulong s = status[look];
            uint flag = (uint)(s >> 32);
            if (flag == 0) continue;
            earlier += (uint)s;
            if (flag == 2) break;
            --look;
        }
        if (block) status[block] = (ulong)2 << 32 | (earlier + total);
        exclusive = earlier;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    before += exclusive;
    if (i < n4) out[i] = (uint4)(before + v.x, before + v.y, before + v.z, before + v.w);
}

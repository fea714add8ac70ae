// The benchmark kernels as a C programmer writes them for a CPU with OpenMP and vector units: the same
// algorithm and the same data layout as kernels/*.cu, in the shape that suits the machine.
//
//     gcc -O3 -march=native -fopenmp -fno-math-errno -fno-trapping-math -shared -fPIC kernels.c -lmvec -lm
//
// Reductions are reassociated only where `omp simd reduction` says so; there is no -ffast-math. The last two
// options change no result; without them sqrtf, expf and logf keep loops from being vectorised. The
// declarations below let loops call glibc's vector expf and logf.

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern float expf(float) __attribute__((simd("notinbranch")));
extern float logf(float) __attribute__((simd("notinbranch")));

void set_threads(int threads) { omp_set_num_threads(threads); }

void vecadd(const float *restrict a, const float *restrict b, float *restrict c, int n) {
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

void saxpy(float a, const float *restrict x, float *restrict y, int n) {
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

void jacobi9(const float *restrict in, float *restrict out, int width, int height, float centre, float edge,
             float corner) {
#pragma omp parallel for schedule(static)
    for (int y = 1; y < height - 1; ++y) {
        const float *up = in + (size_t)(y - 1) * width, *mid = up + width, *down = mid + width;
        float *to = out + (size_t)y * width;
#pragma omp simd
        for (int x = 1; x < width - 1; ++x) {
            float cross = mid[x - 1] + mid[x + 1] + up[x] + down[x];
            float diagonal = up[x - 1] + up[x + 1] + down[x - 1] + down[x + 1];
            to[x] = centre * mid[x] + edge * cross + corner * diagonal;
        }
    }
}

// Blocks of B are copied together so that they stay in the second-level cache; within them, strips of 4 rows
// by 32 columns of C stay in registers over the whole depth of the block.
enum { DEPTH = 256, STRIP = 32, ROWS = 4 };

static inline void strip(const float *restrict a, const float *restrict b, float *restrict c, int lda, int ldc, int rows,
                         int columns, int depth) {
    float sum[ROWS][STRIP];
    for (int r = 0; r < rows; ++r)
        for (int j = 0; j < STRIP; ++j) sum[r][j] = j < columns ? c[(size_t)r * ldc + j] : 0.0f;
    if (rows == ROWS) {
        for (int p = 0; p < depth; ++p)
            for (int r = 0; r < ROWS; ++r) {
                float s = a[(size_t)r * lda + p];
#pragma omp simd
                for (int j = 0; j < STRIP; ++j) sum[r][j] += s * b[p * STRIP + j];
            }
    } else {
        for (int p = 0; p < depth; ++p)
            for (int r = 0; r < rows; ++r)
                for (int j = 0; j < STRIP; ++j) sum[r][j] += a[(size_t)r * lda + p] * b[p * STRIP + j];
    }
    for (int r = 0; r < rows; ++r)
        for (int j = 0; j < columns; ++j) c[(size_t)r * ldc + j] = sum[r][j];
}

void matmul(const float *restrict a, const float *restrict b, float *restrict c, int m, int n, int k) {
    memset(c, 0, (size_t)m * n * sizeof *c);
#pragma omp parallel
    {
        float *block = aligned_alloc(64, DEPTH * STRIP * sizeof *block);
        for (int p0 = 0; p0 < k; p0 += DEPTH) {
            int depth = k - p0 < DEPTH ? k - p0 : DEPTH;
#pragma omp for schedule(static)
            for (int j0 = 0; j0 < n; j0 += STRIP) {
                int columns = n - j0 < STRIP ? n - j0 : STRIP;
                for (int p = 0; p < depth; ++p)
                    for (int j = 0; j < STRIP; ++j)
                        block[p * STRIP + j] = j < columns ? b[(size_t)(p0 + p) * n + j0 + j] : 0.0f;
                for (int i = 0; i < m; i += ROWS)
                    strip(a + (size_t)i * k + p0, block, c + (size_t)i * n + j0, k, n, m - i < ROWS ? m - i : ROWS,
                          columns, depth);
            }
        }
        free(block);
    }
}

void reduce(const float *restrict x, float *restrict partial, int n, int parts) {
    int length = (n + parts - 1) / parts;
#pragma omp parallel for schedule(static)
    for (int part = 0; part < parts; ++part) {
        int end = (part + 1) * length < n ? (part + 1) * length : n;
        float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
        for (int i = part * length; i < end; ++i) sum += x[i];
        partial[part] = sum;
    }
}

// Four tables per thread keep equal neighbours from waiting for each other's store.
void histogram(const uint32_t *restrict words, uint32_t *restrict bins, int n) {
#pragma omp parallel
    {
        uint32_t mine[4][256] = {{0}};
#pragma omp for schedule(static) nowait
        for (int i = 0; i < n; ++i) {
            uint32_t w = words[i];
            mine[0][w & 255]++;
            mine[1][w >> 8 & 255]++;
            mine[2][w >> 16 & 255]++;
            mine[3][w >> 24]++;
        }
#pragma omp critical
        for (int i = 0; i < 256; ++i) bins[i] += mine[0][i] + mine[1][i] + mine[2][i] + mine[3][i];
    }
}

typedef struct { float x, y, z, w; } body;

void nbody(const body *restrict bodies, body *restrict accel, int n, float softening) {
    float *soa = aligned_alloc(64, ((size_t)4 * n * sizeof *soa + 63) / 64 * 64);
    float *restrict px = soa, *restrict py = soa + n, *restrict pz = soa + 2 * (size_t)n, *restrict mass = soa + 3 * (size_t)n;
    for (int i = 0; i < n; ++i) {
        px[i] = bodies[i].x;
        py[i] = bodies[i].y;
        pz[i] = bodies[i].z;
        mass[i] = bodies[i].w;
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; ++i) {
        float x = px[i], y = py[i], z = pz[i], ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (int j = 0; j < n; ++j) {
            float dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
            float inv = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + softening);
            float scale = mass[j] * inv * inv * inv;
            ax += dx * scale;
            ay += dy * scale;
            az += dz * scale;
        }
        accel[i] = (body){ax, ay, az, 0.0f};
    }
    free(soa);
}

static inline float normal_cdf(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * expf(-0.5f * d * d) *
                 (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - tail : tail;
}

void black_scholes(const float *restrict spot, const float *restrict strike, const float *restrict years,
                   float *restrict call, float *restrict put, float rate, float volatility, int n) {
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < n; ++i) {
        float s = spot[i], x = strike[i], t = years[i];
        float root = sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
        float d2 = d1 - volatility * root;
        float n1 = normal_cdf(d1), n2 = normal_cdf(d2);
        float discounted = x * expf(-rate * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}

// Through a padded tile, as on the GPU: both sides then walk rows, and no two rows of a tile share a cache set.
void transpose(const float *restrict in, float *restrict out, int width, int height) {
    enum { TILE = 32 };
#pragma omp parallel for collapse(2) schedule(static)
    for (int x0 = 0; x0 < width; x0 += TILE)
        for (int y0 = 0; y0 < height; y0 += TILE) {
            float tile[TILE][TILE + 1];
            int columns = x0 + TILE < width ? TILE : width - x0, rows = y0 + TILE < height ? TILE : height - y0;
            for (int j = 0; j < rows; ++j)
                for (int i = 0; i < columns; ++i) tile[j][i] = in[(size_t)(y0 + j) * width + x0 + i];
            for (int i = 0; i < columns; ++i)
                for (int j = 0; j < rows; ++j) out[(size_t)(x0 + i) * height + y0 + j] = tile[j][i];
        }
}

// Blocks small enough for the cache: sum each, scan the sums, then scan each from where it starts.
void scan(const uint32_t *restrict in, uint32_t *restrict out, int n) {
    enum { BLOCK = 1 << 16 };
    int blocks = (n + BLOCK - 1) / BLOCK;
    uint32_t *start = malloc((size_t)(blocks + 1) * sizeof *start);
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int b = 0; b < blocks; ++b) {
            int end = (b + 1) * BLOCK < n ? (b + 1) * BLOCK : n;
            uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int i = b * BLOCK; i < end; ++i) sum += in[i];
            start[b + 1] = sum;
        }
#pragma omp single
        {
            start[0] = 0;
            for (int b = 0; b < blocks; ++b) start[b + 1] += start[b];
        }
#pragma omp for schedule(static)
        for (int b = 0; b < blocks; ++b) {
            int end = (b + 1) * BLOCK < n ? (b + 1) * BLOCK : n;
            uint32_t sum = start[b];
            for (int i = b * BLOCK; i < end; ++i) out[i] = sum += in[i];
        }
    }
    free(start);
}

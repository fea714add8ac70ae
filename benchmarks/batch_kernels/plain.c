/* The kernels of benchmarks/batch.py in plain C: the size N and the type REAL are compile-time constants, matrices
   are row-major, pointers do not alias, and OpenMP spreads the batch over the cores. With OVER_ITEMS defined, the compiler
   is asked to put items side by side in vectors. */
#include <math.h>

#ifndef N
#error "compile with -DN=... -DREAL=..."
#endif

#ifdef OVER_ITEMS
#define SPREAD _Pragma("omp parallel for simd schedule(static)")
#else
#define SPREAD _Pragma("omp parallel for schedule(static)")
#endif

typedef REAL real;

void gema(long count, const real *restrict a, const real *restrict b, real *restrict c) {
    SPREAD
    for (long g = 0; g < count; g++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                c[g * N * N + i * N + j] = a[g * N * N + i * N + j] + b[g * N * N + i * N + j];
}

void gemm(long count, const real *restrict a, const real *restrict b, real *restrict c) {
    SPREAD
    for (long g = 0; g < count; g++) {
        const real *restrict p = a + g * N * N, *restrict q = b + g * N * N;
        real *restrict r = c + g * N * N;
        for (int i = 0; i < N; i++) {
            real row[N];
            for (int j = 0; j < N; j++)
                row[j] = 0;
            for (int s = 0; s < N; s++)
                for (int j = 0; j < N; j++)
                    row[j] += p[i * N + s] * q[s * N + j];
            for (int j = 0; j < N; j++)
                r[i * N + j] = row[j];
        }
    }
}

void trsm(long count, const real *restrict a, real *restrict b) {
    SPREAD
    for (long g = 0; g < count; g++) {
        const real *restrict m = a + g * N * N;
        real *restrict x = b + g * N * N;
        for (int i = 0; i < N; i++) {
            for (int s = 0; s < i; s++)
                for (int k = 0; k < N; k++)
                    x[i * N + k] -= m[i * N + s] * x[s * N + k];
            for (int k = 0; k < N; k++)
                x[i * N + k] /= m[i * N + i];
        }
    }
}

void trsv(long count, const real *restrict a, real *restrict b) {
    SPREAD
    for (long g = 0; g < count; g++) {
        const real *restrict m = a + g * N * N;
        real x[N];
        for (int i = 0; i < N; i++)
            x[i] = b[g * N + i];
        for (int i = 0; i < N; i++)
            for (int s = 0; s < i; s++)
                x[i] -= m[i * N + s] * x[s];
        for (int i = N - 1; i >= 0; i--) {
            for (int s = i + 1; s < N; s++)
                x[i] -= m[i * N + s] * x[s];
            x[i] /= m[i * N + i];
        }
        for (int i = 0; i < N; i++)
            b[g * N + i] = x[i];
    }
}

void ldus(long count, real *restrict a) {
    SPREAD
    for (long g = 0; g < count; g++) {
        real m[N][N];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                m[i][j] = a[g * N * N + i * N + j];
        for (int s = 0; s < N; s++) {
            for (int i = s + 1; i < N; i++) {
                m[i][s] /= m[s][s];
                for (int j = s + 1; j < N; j++)
                    m[i][j] -= m[i][s] * m[s][j];
            }
            for (int j = s + 1; j < N; j++)
                m[s][j] /= m[s][s];
        }
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                a[g * N * N + i * N + j] = m[i][j];
    }
}

void pade(long count, const real *restrict x, const real *restrict gradient, const real *restrict a,
          const real *restrict b, int items, real *restrict d_x, real *restrict d_a, real *restrict d_b) {
    SPREAD
    for (long g = 0; g < count * N; g++) {
        real power[6], p = 0, q = 0, dp = 0, dq = 0;
        power[0] = 1;
        for (int k = 1; k < 6; k++)
            power[k] = power[k - 1] * x[g];
        for (int j = 0; j < 6; j++)
            p += a[j] * power[j];
        for (int j = 1; j < 6; j++)
            dp += a[j] * j * power[j - 1];
        for (int k = 1; k <= 4; k++)
            q += b[k - 1] * power[k];
        for (int k = 1; k <= 4; k++)
            dq += b[k - 1] * k * power[k - 1];
        real sign = q < 0 ? -1 : 1, scale = 1 / (1 + sign * q), value = p * scale;
        dq *= sign;
        d_x[g] = gradient[g] * (dp - dq * value) * scale;
        for (int j = 0; j < 6; j++)
            d_a[(long)items * j + g] = gradient[g] * power[j] * scale;
        for (int k = 1; k <= 4; k++)
            d_b[(long)items * (k - 1) + g] = -sign * gradient[g] * power[k] * value * scale;
    }
}

void enumerate(long count, const real *restrict d, const real *restrict b, const real *restrict c,
               real *restrict best) {
    SPREAD
    for (long g = 0; g < count; g++) {
        real largest = -INFINITY;
        for (int i = 0; i < N; i++) {
            int candidate = (int)((g * N + i) & 1023), violated = 0;
            real value = 0;
            for (int k = 0; k < 10; k++)
                value += c[k] * ((candidate >> k) & 1);
            for (int row = 0; row < 8; row++) {
                real sum = 0;
                for (int k = 0; k < 10; k++)
                    sum += d[row * 10 + k] * ((candidate >> k) & 1);
                violated += sum > b[row];
            }
            if (violated == 0 && value > largest)
                largest = value;
        }
        best[g] = largest;
    }
}

void frcg(long count, const real *restrict a, const real *restrict b, real *restrict x, real *restrict y,
          real *restrict value) {
    SPREAD
    for (long g = 0; g < count * N; g++) {
        real t_a = a[g], t_b = b[g], t_x = x[g], t_y = y[g];
        real off = t_y - t_x * t_x, f = (t_a - t_x) * (t_a - t_x) + t_b * off * off;
        real gradient_x = -2 * (t_a - t_x) - 4 * t_b * t_x * off, gradient_y = 2 * t_b * off;
        real direction_x = -gradient_x, direction_y = -gradient_y;
        real norm = gradient_x * gradient_x + gradient_y * gradient_y;
        for (int step = 0; step < 8; step++) {
            real length = 1, best = 0;
            for (int k = 0; k < 12; k++) {
                real new_x = t_x + length * direction_x, new_y = t_y + length * direction_y;
                real new_off = new_y - new_x * new_x;
                real new_f = (t_a - new_x) * (t_a - new_x) + t_b * new_off * new_off;
                if (new_f < f) {
                    f = new_f;
                    best = length;
                }
                length /= 2;
            }
            t_x += best * direction_x;
            t_y += best * direction_y;
            off = t_y - t_x * t_x;
            gradient_x = -2 * (t_a - t_x) - 4 * t_b * t_x * off;
            gradient_y = 2 * t_b * off;
            real new_norm = gradient_x * gradient_x + gradient_y * gradient_y;
            real beta = norm > 0 ? new_norm / norm : 0;
            direction_x = beta * direction_x - gradient_x;
            direction_y = beta * direction_y - gradient_y;
            norm = new_norm;
        }
        x[g] = t_x;
        y[g] = t_y;
        value[g] = f;
    }
}

/* A = U diag(S) V^T by one-sided Jacobi rotations (Hestenes), one matrix of N x N per group, row-major; each work-item holds
   a row of A and one of V. Columns are rotated in pairs, all pairs of neighbours at once, and then move on round a circle,
   so that after EVEN - 1 of the `steps` each pair has met. VALUES_ONLY leaves U and V out. `certain` becomes 1 where the
   last round changed no angle by more than `quiet`, the matrix is not as good as singular, and no square overflows. */
#define N get_local_size()
#ifndef stored
#define stored real
#endif
/* an odd number of columns has one of zeros beside it */
#define EVEN (N + N % 2)
#define PAIRS (EVEN / 2)
/* where the column at a place comes from: upper ones at even places move on, lower ones at odd places back */
#define UPPER_SOURCE(k) ((k) == 0 ? 0 : (k) == 1 ? 1 : 2 * (k) - 2)
#define LOWER_SOURCE(k) ((k) + 1 < PAIRS ? 2 * (k) + 3 : PAIRS > 1 ? 2 * PAIRS - 2 : 1)

#ifdef VALUES_ONLY
__kernel void svd(const stored *mat_a, stored *values, uchar *certain,
                  real epsilon, real quiet, real least, real most, int steps) {
#else
__kernel void svd(const stored *mat_a, stored *mat_u, stored *values, stored *mat_vt, uchar *certain,
                  real epsilon, real quiet, real least, real most, int steps) {
#endif
    real t_a[EVEN];
    __local real worst;
    worst = 0;

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = mat_a[get_group_id() * N * N + get_local_id() * N + ix];
#ifndef VALUES_ONLY
    real t_v[EVEN];
    for (int ix = 0; ix < N; ix += 1)
        t_v[ix] = ix == get_local_id() ? 1 : 0;
#endif

    for (int step = 0; step < steps; step += 1) {
        real next_a[EVEN];
#ifndef VALUES_ONLY
        real next_v[EVEN];
#endif
        real worst_now = step % (EVEN - 1) == 0 ? 0 : worst;
        for (int k = 0; k < PAIRS; k += 1) {
            real alpha = 0, beta = 0, gamma = 0;
            for (int i = 0; i < N; i += 1) {
                alpha += shuffle(t_a[2 * k], i) * shuffle(t_a[2 * k], i);
                beta += shuffle(t_a[2 * k + 1], i) * shuffle(t_a[2 * k + 1], i);
                gamma += shuffle(t_a[2 * k], i) * shuffle(t_a[2 * k + 1], i);
            }
            int turns = gamma * gamma > epsilon * epsilon * (alpha * beta);
            real half = (beta - alpha) / 2;
            real root = sqrt(half * half + gamma * gamma);
            /* the tangent of the angle, cosine and sine; where both columns are orthogonal, none */
            real tangent = gamma / (half < 0 ? half - root : half + root);
            real cosine = 1 / sqrt(1 + tangent * tangent);
            real c = turns ? cosine : 1;
            real s = turns ? cosine * tangent : 0;
            if (turns && gamma * gamma > quiet * (alpha * beta))
                worst_now = 1;
            real left = t_a[2 * k], right = t_a[2 * k + 1];
            t_a[2 * k] = c * left - s * right;
            t_a[2 * k + 1] = s * left + c * right;
#ifndef VALUES_ONLY
            real left_v = t_v[2 * k], right_v = t_v[2 * k + 1];
            t_v[2 * k] = c * left_v - s * right_v;
            t_v[2 * k + 1] = s * left_v + c * right_v;
#endif
        }
        worst = worst_now;
        for (int k = 0; k < PAIRS; k += 1) {
            next_a[2 * k] = t_a[UPPER_SOURCE(k)];
            next_a[2 * k + 1] = t_a[LOWER_SOURCE(k)];
#ifndef VALUES_ONLY
            next_v[2 * k] = t_v[UPPER_SOURCE(k)];
            next_v[2 * k + 1] = t_v[LOWER_SOURCE(k)];
#endif
        }
        for (int ix = 0; ix < EVEN; ix += 1)
            t_a[ix] = next_a[ix];
#ifndef VALUES_ONLY
        for (int ix = 0; ix < EVEN; ix += 1)
            t_v[ix] = next_v[ix];
#endif
    }

    real size[EVEN];
    real smallest = INFINITY, largest = 0, total = 0;
    for (int ix = 0; ix < EVEN; ix += 1) {
        real squares = 0;
        for (int i = 0; i < N; i += 1)
            squares += shuffle(t_a[ix], i) * shuffle(t_a[ix], i);
        size[ix] = squares;
        total += squares;
    }
    /* of an odd number, the column of zeros is at the place that it began at: after whole rounds each is */
    for (int ix = 0; ix < N; ix += 1) {
        smallest = min(smallest, size[ix]);
        largest = max(largest, size[ix]);
    }
    for (int k = 0; k < N; k += 1) {
        int rank = 0;
        for (int i = 0; i < N; i += 1)
            if (i < k ? size[i] >= size[k] : size[i] > size[k])
                rank += 1;
        real value = sqrt(size[k]);
        if (get_local_id() == k)
            values[get_group_id() * N + rank] = value;
#ifndef VALUES_ONLY
        mat_u[get_group_id() * N * N + get_local_id() * N + rank] = t_a[k] / value;
        mat_vt[get_group_id() * N * N + rank * N + get_local_id()] = t_v[k];
#endif
    }
    real bound = N * epsilon;
    if (get_local_id() == 0)
        certain[get_group_id()] =
            worst == 0 && smallest > least && smallest > bound * bound * largest && total < most ? 1 : 0;
}

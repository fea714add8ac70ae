/* Eigenvalues, ascending, and eigenvectors of symmetric matrices, one of N x N per group, row-major; each work-item holds a
   row. Householder reflections make the matrix tridiagonal, then `steps` implicit QR steps run over all of it at once,
   with the shift (Wilkinson's) for the last block that is not diagonal yet (Golub and Van Loan, section 8.3). Only the lower
   triangle is used, with UPPER the upper one. VALUES_ONLY leaves the vectors out. `certain` becomes 1 where all blocks
   became diagonal and the matrix is neither so large nor so small that squares overflow or vanish, else 0. */
#define N get_local_size()
#ifndef stored
#define stored real
#endif
#ifdef UPPER
#define PLACE(row, column) (get_group_id() * N * N + min((int)(row), (int)(column)) * N + max((int)(row), (int)(column)))
#else
#define PLACE(row, column) (get_group_id() * N * N + max((int)(row), (int)(column)) * N + min((int)(row), (int)(column)))
#endif

#ifdef VALUES_ONLY
__kernel void eigh(const stored *mat_a, stored *values, uchar *certain, real epsilon, real least, real most, int steps) {
#else
__kernel void eigh(const stored *mat_a, stored *values, stored *mat_v, uchar *certain,
                   real epsilon, real least, real most, int steps) {
#endif
    real t_a[N];
    real t_reflection[N];
    real t_scale[N];
    __local real d[N];
    __local real e[N];

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = mat_a[PLACE(get_local_id(), ix)];
    real largest = 0, excess = 0;
    for (int ix = 0; ix < N; ix += 1)
        largest = max(largest, fabs(t_a[ix]));
    for (int ix = 0; ix < N; ix += 1)
        excess += t_a[ix] * 0;
    real norm = 0;
    for (int i = 0; i < N; i += 1) {
        norm = max(norm, shuffle(largest, i));
        norm += shuffle(excess, i);
    }

    for (int s = 0; s < (int)N - 2; s += 1) {
        real below = get_local_id() > s + 1 ? t_a[s] : 0;
        real squares = 0;
        for (int i = s + 2; i < N; i += 1)
            squares += shuffle(below, i) * shuffle(below, i);
        real alpha = shuffle(t_a[s], s + 1);
        real root = sqrt(alpha * alpha + squares);
        real beta = alpha < 0 ? root : -root;
        int is_reflected = squares > least;
        t_scale[s] = is_reflected ? (beta - alpha) / beta : 0;
        real v = is_reflected ? below * (1 / (alpha - beta)) : 0;
        if (get_local_id() == s + 1)
            v = 1;
        t_reflection[s] = v;
        e[s] = is_reflected ? beta : alpha;

        /* the rest of the matrix minus v w^T + w v^T */
        real product = 0;
        for (int ix = s + 1; ix < N; ix += 1)
            product += t_a[ix] * shuffle(v, ix);
        product *= t_scale[s];
        real inner = 0;
        for (int i = s + 1; i < N; i += 1)
            inner += shuffle(product, i) * shuffle(v, i);
        real w = product - t_scale[s] * inner / 2 * v;
        for (int ix = s + 1; ix < N; ix += 1)
            if (get_local_id() > s)
                t_a[ix] = t_a[ix] - v * shuffle(w, ix) - w * shuffle(v, ix);
    }
    for (int s = 0; s < N; s += 1)
        d[s] = shuffle(t_a[s], s);
    e[N - 1] = 0;
    if (N > 1)
        e[N > 1 ? N - 2 : 0] = shuffle(t_a[N > 1 ? N - 2 : 0], N - 1);

#ifndef VALUES_ONLY
    real t_v[N];
    for (int ix = 0; ix < N; ix += 1)
        t_v[ix] = ix == get_local_id() ? 1 : 0;
    for (int s = (int)N - 3; s >= 0; s -= 1) {
        real t_w[N];
        for (int i = s + 1; i < N; i += 1)
            for (int ix = s + 1; ix < N; ix += 1)
                t_w[ix] += shuffle(t_reflection[s], i) * shuffle(t_v[ix], i);
        for (int ix = s + 1; ix < N; ix += 1)
            if (get_local_id() > s)
                t_v[ix] -= t_reflection[s] * (t_scale[s] * t_w[ix]);
    }
#endif

    for (int step = 0; step < steps; step += 1) {
        /* what is negligible becomes zero; the last two by two matrix that is not diagonal gives the shift */
        real first = 0, beside = 0, second = 0;
        for (int i = 0; i < (int)N - 1; i += 1) {
            if (fabs(e[i]) <= epsilon * (fabs(d[i]) + fabs(d[i + 1])) + epsilon / 8 * norm)
                e[i] = 0;
            first = e[i] != 0 ? d[i] : first;
            second = e[i] != 0 ? d[i + 1] : second;
            beside = e[i] != 0 ? e[i] : beside;
        }
        real half = (first - second) / 2;
        real root = sqrt(half * half + beside * beside);
        real divisor = half < 0 ? half - root : half + root;
        real shift = second - (beside != 0 ? beside * (beside / divisor) : 0);

        real c = 1, s = 1, p = 0, g = 0, r = 0;
        int begins = 1;
        for (int i = 0; i < (int)N - 1; i += 1) {
            g = begins ? d[i] - shift : g;
            c = begins ? 1 : c;
            s = begins ? 1 : s;
            p = begins ? 0 : p;
            real f = s * e[i], b = c * e[i];
            real length = sqrt(g * g + f * f);
            int turns = f != 0 && length != 0;
            real reciprocal = 1 / length;
            c = turns ? g * reciprocal : 1;
            s = turns ? f * reciprocal : 0;
            if (i > 0)
                e[i > 0 ? i - 1 : 0] = begins ? e[i > 0 ? i - 1 : 0] : turns ? length : g;
            g = d[i] - p;
            r = (d[i + 1] - g) * s + 2 * c * b;
            p = s * r;
            d[i] = g + p;
            g = c * r - b;
#ifndef VALUES_ONLY
            real left = t_v[i];
            t_v[i] = c * left + s * t_v[i + 1];
            t_v[i + 1] = c * t_v[i + 1] - s * left;
#endif
            int ends = i + 2 == N || e[i + 1] == 0 || e[i] == 0;
            d[i + 1] = ends ? d[i + 1] - p : d[i + 1];
            e[i] = ends ? g : e[i];
            begins = ends;
        }
    }

    int is_diagonal = 1;
    for (int i = 0; i < (int)N - 1; i += 1)
        if (!(fabs(e[i]) <= epsilon * (fabs(d[i]) + fabs(d[i + 1])) + epsilon / 8 * norm))
            is_diagonal = 0;
    for (int k = 0; k < N; k += 1) {
        int rank = 0;
        for (int i = 0; i < N; i += 1)
            if (i < k ? d[i] <= d[k] : d[i] < d[k])
                rank += 1;
        if (get_local_id() == k)
            values[get_group_id() * N + rank] = d[k];
#ifndef VALUES_ONLY
        mat_v[get_group_id() * N * N + get_local_id() * N + rank] = t_v[k];
#endif
    }
    if (get_local_id() == 0)
        certain[get_group_id()] = is_diagonal == 1 && norm * norm > least && norm * norm < most ? 1 : 0;
}

/* A = L L^T of symmetric positive definite matrices, one of N x N per group, row-major; each work-item holds a row. Only
   the lower triangle of A is used. UPPER uses the upper one and gives L^T. `certain` becomes 1 where no pivot is NaN or
   as small as the rounding errors of a pivot may be, else 0. */
#define N get_local_size()
#ifndef stored
#define stored real
#endif
#ifdef UPPER
#define PLACE(row, column) (get_group_id() * N * N + (column) * N + (row))
#else
#define PLACE(row, column) (get_group_id() * N * N + (row) * N + (column))
#endif

__kernel void cholesky(const stored *mat_a, stored *mat_l, uchar *certain, real tolerance) {
    real t_a[N];
    real t_column[N];
    int is_certain = 1;

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = mat_a[PLACE(get_local_id(), ix)];

    for (int s = 0; s < N; s += 1) {
        real before = get_local_id() == s ? mat_a[PLACE(s, s)] : 0;
        real pivot = shuffle(t_a[s], s);
        if (!(pivot > tolerance * shuffle(before, s)))
            is_certain = 0;
        real root = sqrt(pivot);
        if (get_local_id() >= s)
            t_a[s] = get_local_id() == s ? root : t_a[s] * (1 / root);
        for (int ix = s + 1; ix < N; ix += 1)
            t_column[ix] = shuffle(t_a[s], ix);
        for (int ix = s + 1; ix < N; ix += 1)
            if (get_local_id() >= ix)
                t_a[ix] -= t_a[s] * t_column[ix];
    }

    for (int ix = 0; ix < N; ix += 1)
        mat_l[PLACE(get_local_id(), ix)] = ix <= get_local_id() ? t_a[ix] : 0;
    if (get_local_id() == 0)
        certain[get_group_id()] = is_certain;
}

/* A = L D U with the diagonal as pivots, in place, one matrix of N x N per group, row-major; L and U have ones on their
   diagonals, which are not stored. Each work-item holds a row. After example 3 of the paper, whose index has a bracket
   in the wrong place: group * N * N + local * N + ix is meant. */
#define N get_local_size()

__kernel void ldus(real *mat_a) {
    real t_a[N];
    real t_pivot_row[N];

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = mat_a[get_group_id() * N * N + get_local_id() * N + ix];

    for (int s = 0; s < N; s += 1) {
        for (int ix = s; ix < N; ix += 1)
            t_pivot_row[ix] = shuffle(t_a[ix], s);

        /* scale the pivot column */
        if (get_local_id() > s)
            t_a[s] = t_a[s] / t_pivot_row[s];

        /* scale the pivot row, and subtract the outer product from what is below and right of it */
        for (int ix = s + 1; ix < N; ix += 1)
            if (get_local_id() >= s)
                t_a[ix] = get_local_id() == s ? t_a[ix] / t_pivot_row[s] : t_a[ix] - t_a[s] * t_pivot_row[ix];
    }

    for (int ix = 0; ix < N; ix += 1)
        mat_a[get_group_id() * N * N + get_local_id() * N + ix] = t_a[ix];
}

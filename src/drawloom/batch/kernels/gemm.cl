/* C = A B for one matrix of N x N per group, row-major, as a sum of N outer products; each work-item holds a row. */
#define N get_local_size()

__kernel void gemm(const real *mat_a, const real *mat_b, real *mat_c) {
    real t_a[N];
    real t_b[N];
    real t_c[N];

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = mat_a[get_group_id() * N * N + get_local_id() * N + ix];
    for (int ix = 0; ix < N; ix += 1)
        t_b[ix] = mat_b[get_group_id() * N * N + get_local_id() * N + ix];
    for (int ix = 0; ix < N; ix += 1)
        t_c[ix] = 0;

    for (int s = 0; s < N; s += 1)
        for (int ix = 0; ix < N; ix += 1)
            t_c[ix] += t_a[s] * shuffle(t_b[ix], s);

    for (int ix = 0; ix < N; ix += 1)
        mat_c[get_group_id() * N * N + get_local_id() * N + ix] = t_c[ix];
}

/* C = A + B for one matrix of N x N per group, row-major; each work-item holds a row. */
#define N get_local_size()

__kernel void gema(const real *mat_a, const real *mat_b, real *mat_c) {
    real t_a[N];
    real t_b[N];

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = mat_a[get_group_id() * N * N + get_local_id() * N + ix];
    for (int ix = 0; ix < N; ix += 1)
        t_b[ix] = mat_b[get_group_id() * N * N + get_local_id() * N + ix];

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] += t_b[ix];

    for (int ix = 0; ix < N; ix += 1)
        mat_c[get_group_id() * N * N + get_local_id() * N + ix] = t_a[ix];
}

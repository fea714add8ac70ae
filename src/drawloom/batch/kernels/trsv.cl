/* Solves L y = b and then U x = y, one system of N unknowns per group. `mat_a` is row-major and holds both factors: L
   has ones on its diagonal, which are not stored. `vec_b` becomes x. Each work-item holds a row. */
#define N get_local_size()

__kernel void trsv(const real *mat_a, real *vec_b) {
    real t_a[N];
    real t_b = vec_b[get_group_id() * N + get_local_id()];

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = mat_a[get_group_id() * N * N + get_local_id() * N + ix];

    for (int s = 0; s < N; s += 1) {
        real solved = shuffle(t_b, s);
        if (get_local_id() > s)
            t_b -= t_a[s] * solved;
    }
    for (int s = (int)N - 1; s >= 0; s -= 1) {
        if (get_local_id() == s)
            t_b /= t_a[s];
        real solved = shuffle(t_b, s);
        if (get_local_id() < s)
            t_b -= t_a[s] * solved;
    }

    vec_b[get_group_id() * N + get_local_id()] = t_b;
}

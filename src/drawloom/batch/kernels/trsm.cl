/* Solves A X = B with a triangular matrix, one of N x N and RHS right-hand sides per group, all row-major; `mat_b`
   becomes X. Each work-item holds a row. The lower triangle is read, with UPPER the upper one; UNIT takes the diagonal
   as ones; TRANSPOSED solves with the transpose of that triangle. */
#define N get_local_size()
#ifndef RHS
#define RHS get_local_size()
#endif
#ifdef UPPER
#ifndef TRANSPOSED
#define BACKWARDS
#endif
#else
#ifdef TRANSPOSED
#define BACKWARDS
#endif
#endif

__kernel void trsm(const real *mat_a, real *mat_b) {
    real t_a[N], t_b[RHS];

    for (int ix = 0; ix < N; ix += 1)
#ifdef TRANSPOSED
        t_a[ix] = mat_a[get_group_id() * N * N + ix * N + get_local_id()];
#else
        t_a[ix] = mat_a[get_group_id() * N * N + get_local_id() * N + ix];
#endif
    for (int k = 0; k < RHS; k += 1)
        t_b[k] = mat_b[get_group_id() * N * RHS + get_local_id() * RHS + k];

#ifdef BACKWARDS
    for (int s = (int)N - 1; s >= 0; s -= 1) {
#else
    for (int s = 0; s < N; s += 1) {
#endif
#ifndef UNIT
        real diagonal = shuffle(t_a[s], s);
#endif
        for (int k = 0; k < RHS; k += 1) {
#ifndef UNIT
            if (get_local_id() == s)
                t_b[k] /= diagonal;
#endif
            real solved = shuffle(t_b[k], s);
#ifdef BACKWARDS
            if (get_local_id() < s)
#else
            if (get_local_id() > s)
#endif
                t_b[k] -= t_a[s] * solved;
        }
    }

    for (int k = 0; k < RHS; k += 1)
        mat_b[get_group_id() * N * RHS + get_local_id() * RHS + k] = t_b[k];
}

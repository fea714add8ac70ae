/* P A = L U with partial pivoting, one matrix of N x N per group, row-major. Row s of L and U, L without its ones, is row
   s of `mat_lu`, and `order` says which row of A that was. Each work-item holds a row; none is moved before the end. */
#define N get_local_size()
#ifndef stored
#define stored real
#endif
#include "reductions.cl"

__kernel void lu(const stored *mat_a, stored *mat_lu, int *order) {
    real t_a[N];
    real t_pivot[N];
    int t_order[N];
    int step = N;

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = mat_a[get_group_id() * N * N + get_local_id() * N + ix];

    for (int s = 0; s < N; s += 1) {
        /* the item with the largest element of column s among those that were no pivot, the lowest of several;
           NaN counts as the largest, so that it spreads */
        real size = step == N ? (isnan(t_a[s]) ? INFINITY : fabs(t_a[s])) : -1;
        int pivot = item_of_largest(size, true);
        t_order[s] = pivot;
        if (get_local_id() == pivot)
            step = s;

        for (int ix = s; ix < N; ix += 1)
            t_pivot[ix] = shuffle(t_a[ix], pivot);
        if (step == N && t_pivot[s] != 0)
            t_a[s] /= t_pivot[s];
        real factor = step == N ? t_a[s] : 0;
        for (int ix = s + 1; ix < N; ix += 1)
            t_a[ix] -= factor * t_pivot[ix];
    }

    for (int ix = 0; ix < N; ix += 1)
        mat_lu[get_group_id() * N * N + step * N + ix] = t_a[ix];
    for (int s = 0; s < N; s += 1)
        if (get_local_id() == s)
            order[get_group_id() * N + s] = t_order[s];
}

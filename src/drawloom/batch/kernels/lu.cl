/* P A = L U with partial pivoting, one matrix of N x N per group, row-major. Row s of L and U, L without its ones, is row
   s of `mat_lu`, and `order` says which row of A that was. Each work-item holds a row; the row of a pivot is exchanged
   with that of the step's item. */
#define N get_local_size()
#ifndef stored
#define stored real
#endif
#include "reductions.cl"

__kernel void lu(const stored *mat_a, stored *mat_lu, int *order) {
    real t_a[N];
    real t_pivot[N];
    int t_order = get_local_id();

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = mat_a[get_group_id() * N * N + get_local_id() * N + ix];

    for (int s = 0; s < N; s += 1) {
        /* the item with the largest element of column s among those that were no pivot, the lowest of several;
           NaN counts as the largest, so that it spreads */
        real size = isnan(t_a[s]) ? INFINITY : fabs(t_a[s]);
        int pivot = item_of_largest(get_local_id() >= s ? size : -1, s, true);
        exchange_rows(t_a, t_pivot, 0, N, s, pivot);
        int pivot_order = shuffle(t_order, pivot);
        if (get_local_id() == pivot)
            t_order = shuffle(t_order, s);
        if (get_local_id() == s)
            t_order = pivot_order;
        if (get_local_id() > s) {
            if (t_pivot[s] != 0)
                t_a[s] /= t_pivot[s];
            for (int ix = s + 1; ix < N; ix += 1)
                t_a[ix] -= t_a[s] * t_pivot[ix];
        }
    }

    for (int ix = 0; ix < N; ix += 1)
        mat_lu[get_group_id() * N * N + get_local_id() * N + ix] = t_a[ix];
    order[get_group_id() * N + get_local_id()] = t_order;
}

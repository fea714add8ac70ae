/* P A = L U with partial pivoting, one matrix of N x N per group, row-major. Row s of L and U, L without its ones, is row
   s of `mat_lu`, and `order` says which row of A that was. `elimination.cl` says what EXCHANGE does; without it, rows
   change places at the end. */
#define N get_local_size()
#ifndef stored
#define stored real
#endif
#include "elimination.cl"

#ifdef EXCHANGE
#define IS_BELOW (get_local_id() > s)
#else
#define IS_BELOW (step > s)
#endif

__kernel void lu(const stored *mat_a, stored *mat_lu, int *order) {
    real t_a[N];
    real factor[N];
    int pivot_item[N];
    int step = N;
    int t_order = get_local_id();

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = mat_a[get_group_id() * N * N + get_local_id() * N + ix];

    for (int first = 0; first < N; first += BLOCK) {
        for (int s = 0; s < first; s += 1)
            for (int ix = first; ix < first + BLOCK && ix < N; ix += 1) {
                real taken = take_pivot(t_a, ix, s, pivot_item[s]);
                if (IS_BELOW)
                    t_a[ix] += factor[s] * taken;
            }
        for (int s = first; s < first + BLOCK && s < N; s += 1) {
            /* the lowest of several; NaN counts as the largest, so that it spreads */
            real size = isnan(t_a[s]) ? INFINITY : fabs(t_a[s]);
            pivot_item[s] = find_pivot(size, s, &step, true);
            real pivot = take_pivot(t_a, s, s, pivot_item[s]);
            if (IS_BELOW && pivot != 0)
                t_a[s] /= pivot;
            factor[s] = -t_a[s];
            for (int ix = s + 1; ix < first + BLOCK && ix < N; ix += 1) {
                real taken = take_pivot(t_a, ix, s, pivot_item[s]);
                if (IS_BELOW)
                    t_a[ix] += factor[s] * taken;
            }
        }
    }

#ifdef EXCHANGE
    /* later steps exchange rows of L, too */
    for (int ix = 0; ix < N; ix += 1)
        for (int s = ix + 1; s < N; s += 1)
            take_pivot(t_a, ix, s, pivot_item[s]);
    for (int s = 0; s < N; s += 1) {
        int taken = shuffle(t_order, pivot_item[s]);
        if (get_local_id() > s && get_local_id() == pivot_item[s])
            t_order = shuffle(t_order, s);
        if (get_local_id() == s)
            t_order = taken;
    }
#else
    for (int s = 0; s < N; s += 1)
        if (get_local_id() == s)
            t_order = pivot_item[s];
    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = shuffle(t_a[ix], t_order);
#endif

    for (int ix = 0; ix < N; ix += 1)
        mat_lu[get_group_id() * N * N + get_local_id() * N + ix] = t_a[ix];
    order[get_group_id() * N + get_local_id()] = t_order;
}

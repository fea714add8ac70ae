/* Solves A X = B by Gaussian elimination with partial pivoting, one matrix of N x N and RHS right-hand sides per group,
   all row-major. Each work-item holds a row. With EXCHANGE the row of a pivot is exchanged with that of the step's
   item, which costs little where lanes are matrices; otherwise no row is moved, and `step` says at which step an item's
   row was the pivot. `certain` becomes 1 where X is finite and no pivot is as small as the rounding errors of a pivot
   may be, else 0. INVERSE takes the unit matrix as B. */
#define N get_local_size()
#ifndef stored
#define stored real
#endif
#include "reductions.cl"
#ifdef INVERSE
#define RHS get_local_size()
#endif
#ifndef RHS
#define RHS 1
#endif

#ifdef INVERSE
__kernel void solve(const stored *mat_a, stored *mat_x, uchar *certain, real tolerance) {
#else
__kernel void solve(const stored *mat_a, const stored *mat_b, stored *mat_x, uchar *certain, real tolerance) {
#endif
    real t_a[N];
    real t_b[RHS];
    stored t_x[RHS];
    real t_pivot[N];
    real t_pivot_b[RHS];
    real reciprocal[N];
    int pivot_item[N];
    int step = N;
    real least = INFINITY;

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = mat_a[get_group_id() * N * N + get_local_id() * N + ix];
    for (int k = 0; k < RHS; k += 1)
#ifdef INVERSE
        t_b[k] = k == get_local_id() ? 1 : 0;
#else
        t_b[k] = mat_b[get_group_id() * N * RHS + get_local_id() * RHS + k];
#endif

    for (int s = 0; s < N; s += 1) {
        /* the item with the largest element of column s among those that were no pivot */
#ifdef EXCHANGE
        int pivot = item_of_largest(get_local_id() >= s ? fabs(t_a[s]) : -1, s, false);
        exchange_rows(t_a, t_pivot, s, N, s, pivot);
        exchange_rows(t_b, t_pivot_b, 0, RHS, s, pivot);
#else
        int pivot = item_of_largest(step == N ? fabs(t_a[s]) : -1, 0, false);
        pivot_item[s] = pivot;
        if (get_local_id() == pivot)
            step = s;
        for (int ix = s; ix < N; ix += 1)
            t_pivot[ix] = shuffle(t_a[ix], pivot);
        for (int k = 0; k < RHS; k += 1)
            t_pivot_b[k] = shuffle(t_b[k], pivot);
#endif
        reciprocal[s] = 1 / t_pivot[s];
        least = min(least, fabs(t_pivot[s]));

#ifdef EXCHANGE
        real factor = t_a[s] * reciprocal[s];
        if (get_local_id() > s)
#else
        real factor = step == N ? t_a[s] * reciprocal[s] : 0;
#endif
        {
            for (int ix = s + 1; ix < N; ix += 1)
                t_a[ix] -= factor * t_pivot[ix];
            for (int k = 0; k < RHS; k += 1)
                t_b[k] -= factor * t_pivot_b[k];
        }
    }

    real largest = 0, excess = 0;
    /* NaN is no pivot, and no maximum */
    for (int ix = 0; ix < N; ix += 1) {
#ifdef EXCHANGE
        if (get_local_id() <= ix)
#endif
        {
            largest = max(largest, fabs(t_a[ix]));
            excess += t_a[ix] * 0;
        }
    }
    largest = largest_of_all(largest);

    for (int s = (int)N - 1; s >= 0; s -= 1) {
        for (int k = 0; k < RHS; k += 1) {
#ifdef EXCHANGE
            real solved = shuffle(t_b[k], s) * reciprocal[s];
            if (get_local_id() < s)
#else
            /* rows that were solved keep changing, and nothing reads them */
            real solved = shuffle(t_b[k], pivot_item[s]) * reciprocal[s];
#endif
                t_b[k] -= t_a[s] * solved;
            if (get_local_id() == s)
                t_x[k] = solved;
        }
    }

    for (int k = 0; k < RHS; k += 1)
        excess += (real)t_x[k] * 0;
    excess = sum_of_zeros(excess);
    for (int k = 0; k < RHS; k += 1)
        mat_x[get_group_id() * N * RHS + get_local_id() * RHS + k] = t_x[k];
    if (get_local_id() == 0)
        certain[get_group_id()] = excess == 0 && least > tolerance * largest ? 1 : 0;
}

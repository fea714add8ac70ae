/* The pivots of A = P L U with partial pivoting, one matrix of N x N per group, row-major; `sign` is P's determinant.
   `certain` becomes 1 where no pivot is as small as the rounding errors of a pivot may be, else 0. Each work-item holds a
   row. With EXCHANGE the row of a pivot is exchanged with that of the step's item, as in solve.cl; otherwise no row is
   moved, and `place` is where an item's row would be: those before place s were pivots. */
#define N get_local_size()
#ifndef stored
#define stored real
#endif
#include "reductions.cl"

__kernel void det(const stored *mat_a, real *pivots, real *sign, uchar *certain, real tolerance) {
    real t_a[N];
    real t_pivot[N];
    real t_diagonal = 0;
    int place = get_local_id();
    real least = INFINITY, largest = 0, excess = 0, t_sign = 1;

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = mat_a[get_group_id() * N * N + get_local_id() * N + ix];

    for (int s = 0; s < N; s += 1) {
#ifdef EXCHANGE
        int pivot = item_of_largest(get_local_id() >= s ? fabs(t_a[s]) : -1, s, false);
        int place_of_pivot = pivot;
        exchange_rows(t_a, t_pivot, s, N, s, pivot);
#else
        int pivot = item_of_largest(place >= s ? fabs(t_a[s]) : -1, 0, false);
        int place_of_pivot = shuffle(place, pivot);
        if (place == s)
            place = place_of_pivot;
        if (get_local_id() == pivot)
            place = s;
        for (int ix = s; ix < N; ix += 1)
            t_pivot[ix] = shuffle(t_a[ix], pivot);
#endif
        if (place_of_pivot != s)
            t_sign = -t_sign;
        if (get_local_id() == s)
            t_diagonal = t_pivot[s];
        least = min(least, fabs(t_pivot[s]));
        excess += t_pivot[s] * 0;

        real reciprocal = 1 / t_pivot[s];
#ifdef EXCHANGE
        real factor = t_a[s] * reciprocal;
        if (get_local_id() > s)
#else
        real factor = place > s ? t_a[s] * reciprocal : 0;
#endif
            for (int ix = s + 1; ix < N; ix += 1)
                t_a[ix] -= factor * t_pivot[ix];
    }

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
    excess = sum_of_zeros(excess);
    largest = largest_of_all(largest);

    pivots[get_group_id() * N + get_local_id()] = t_diagonal;
    if (get_local_id() == 0) {
        sign[get_group_id()] = t_sign;
        certain[get_group_id()] = excess == 0 && least > tolerance * largest ? 1 : 0;
    }
}

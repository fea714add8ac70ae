/* The pivots of A = P L U with partial pivoting, one matrix of N x N per group, row-major; `sign` is P's determinant.
   `certain` becomes 1 where no pivot is as small as the rounding errors of a pivot may be, else 0. */
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
        /* `place` is where an item's row would be if rows were exchanged: those before place s were pivots */
        real size = place >= s ? fabs(t_a[s]) : -1;
        int pivot = item_of_largest(size, false);
        int place_of_pivot = shuffle(place, pivot);
        if (place == s)
            place = place_of_pivot;
        if (get_local_id() == pivot)
            place = s;
        if (place_of_pivot != s)
            t_sign = -t_sign;

        for (int ix = s; ix < N; ix += 1)
            t_pivot[ix] = shuffle(t_a[ix], pivot);
        if (get_local_id() == s)
            t_diagonal = t_pivot[s];
        least = min(least, fabs(t_pivot[s]));
        excess += t_pivot[s] * 0;

        real factor = place > s ? t_a[s] * (1 / t_pivot[s]) : 0;
        for (int ix = s + 1; ix < N; ix += 1)
            t_a[ix] -= factor * t_pivot[ix];
    }

    for (int ix = 0; ix < N; ix += 1)
        largest = max(largest, fabs(t_a[ix]));
    /* NaN is no pivot, and no maximum */
    for (int ix = 0; ix < N; ix += 1)
        excess += t_a[ix] * 0;
    excess = sum_of_zeros(excess);
    largest = largest_of_all(largest);

    pivots[get_group_id() * N + get_local_id()] = t_diagonal;
    if (get_local_id() == 0) {
        sign[get_group_id()] = t_sign;
        certain[get_group_id()] = excess == 0 && least > tolerance * largest ? 1 : 0;
    }
}

/* The pivots of A = P L U with partial pivoting, one matrix of N x N per group, row-major; `sign` is P's determinant.
   `elimination.cl` says what EXCHANGE does. `certain` becomes 1 where no pivot is as small as the rounding errors of a
   pivot may be, else 0. */
#ifndef N
#define N get_local_size()
#endif
#ifndef stored
#define stored real
#endif
#include "elimination.cl"

__kernel void det(const stored *mat_a, real *pivots, real *sign, uchar *certain, real tolerance) {
    real t_a[N];
    real factor[N];
    real diagonal[N];
    real reciprocal[N];
    int pivot_item[N];
    real t_diagonal = 0;
    real least = INFINITY, excess = 0, t_sign = 1;

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = get_local_id() < N ? mat_a[get_group_id() * N * N + get_local_id() * N + ix] : 0;

    factorise(t_a, diagonal, reciprocal, pivot_item, factor);

#ifndef EXCHANGE
    int place = get_local_id(); /* where an item's row would be, had rows been exchanged */
#endif
    for (int s = 0; s < N; s += 1) {
#ifdef EXCHANGE
        int place_of_pivot = pivot_item[s];
#else
        int place_of_pivot = shuffle(place, pivot_item[s]);
        if (place == s)
            place = place_of_pivot;
        if (get_local_id() == pivot_item[s])
            place = s;
#endif
        if (place_of_pivot != s)
            t_sign = -t_sign;
        if (get_local_id() == s)
            t_diagonal = diagonal[s];
        /* NaN in U becomes a pivot, and infinity is no size that pivots are compared with */
        least = min(least, fabs(diagonal[s]));
        excess += diagonal[s] * 0;
    }
    real largest = largest_of_upper(t_a);

    if (get_local_id() < N)
        pivots[get_group_id() * N + get_local_id()] = t_diagonal;
    if (get_local_id() == 0) {
        sign[get_group_id()] = t_sign;
        certain[get_group_id()] = excess == 0 && least > tolerance * largest ? 1 : 0;
    }
}

/* Solves A X = B by Gaussian elimination with partial pivoting, one matrix of N x N and RHS right-hand sides per group,
   all row-major. `elimination.cl` says what EXCHANGE does. `certain` becomes 1 where X is finite and no pivot is as small
   as the rounding errors of a pivot may be, else 0. INVERSE takes the unit matrix as B. */
#ifndef N
#define N get_local_size()
#endif
#ifndef stored
#define stored real
#endif
#include "elimination.cl"
#ifdef INVERSE
#define RHS N
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
    real factor[N];
    real diagonal[N];
    real reciprocal[N];
    int pivot_item[N];
    real least = INFINITY, excess = 0;

    for (int ix = 0; ix < N; ix += 1)
        t_a[ix] = get_local_id() < N ? mat_a[get_group_id() * N * N + get_local_id() * N + ix] : 0;
    for (int k = 0; k < RHS; k += 1)
#ifdef INVERSE
        t_b[k] = k == get_local_id() ? 1 : 0;
#else
        t_b[k] = get_local_id() < N ? mat_b[get_group_id() * N * RHS + get_local_id() * RHS + k] : 0;
#endif

    factorise(t_a, diagonal, reciprocal, pivot_item, factor);
    for (int s = 0; s < N; s += 1)
        least = min(least, fabs(diagonal[s]));
    real largest = largest_of_upper(t_a);

    for (int first = 0; first < RHS; first += BLOCK) {
        for (int s = 0; s < N; s += 1)
            for (int k = first; k < first + BLOCK && k < RHS; k += 1)
                eliminate(t_b, k, s, pivot_item[s], factor[s]);
        for (int s = (int)N - 1; s >= 0; s -= 1) {
            for (int k = first; k < first + BLOCK && k < RHS; k += 1) {
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
    }

    /* NaN in U becomes NaN in X, and infinity is no size that pivots are compared with */
    for (int k = 0; k < RHS; k += 1)
        excess += (real)t_x[k] * 0;
    excess = sum_of_zeros(excess);
    for (int k = 0; k < RHS; k += 1)
        if (get_local_id() < N)
            mat_x[get_group_id() * N * RHS + get_local_id() * RHS + k] = t_x[k];
    if (get_local_id() == 0)
        certain[get_group_id()] = excess == 0 && least > tolerance * largest ? 1 : 0;
}

/* Gaussian elimination with partial pivoting, column by column: all steps before its own change a column while it is in
   registers. Each work-item holds a row. With EXCHANGE the row of a pivot is exchanged with that of the step's item,
   which costs little where lanes are matrices; otherwise no row is moved. BLOCK columns are changed at a time: chains of
   several columns hide each other's latency where the items of one matrix share vectors. A group may have more items than
   the N rows, so that columns fill vectors; without EXCHANGE only. */
#include "reductions.cl"
#ifndef BLOCK
#ifdef EXCHANGE
#define BLOCK (N > 4 ? 1 : N)
#else
#define BLOCK 4
#endif
#endif

/* The item of step s's pivot in column s, among those that were none. Without EXCHANGE, `step` is the step at which an
   item was the pivot, N before. */
static inline int find_pivot(real size, int s, int *step, bool lowest) {
#ifdef EXCHANGE
    return item_of_largest(size, s, lowest);
#else
    int pivot = item_of_largest(*step == N ? size : -1, 0, lowest);
    if (get_local_id() == pivot)
        *step = s;
    return pivot;
#endif
}

/* The element of column `ix` in the row of step s's pivot, exchanged with that of item s. */
static inline real take_pivot(real *row, int ix, int s, int pivot) {
    real taken = shuffle(row[ix], pivot);
#ifdef EXCHANGE
    if (get_local_id() > s && get_local_id() == pivot)
        row[ix] = shuffle(row[ix], s);
    if (get_local_id() == s)
        row[ix] = taken;
#endif
    return taken;
}

/* Does step s in column `ix`; `factor` is minus the item's element of L. */
static inline void eliminate(real *row, int ix, int s, int pivot, real factor) {
    real taken = take_pivot(row, ix, s, pivot);
#ifdef EXCHANGE
    if (get_local_id() > s)
#endif
        row[ix] += factor * taken;
}

/* Does all steps in the N columns of the rows. Gives U's diagonal and its reciprocals, which items were pivots, and minus
   the factors of every step, 0 in items that were pivots. */
static inline void factorise(real *row, real *diagonal, real *reciprocal, int *pivot_item, real *factor) {
    int step = get_local_id() < N ? N : -1; /* no row is no pivot */
    for (int first = 0; first < N; first += BLOCK) {
        for (int s = 0; s < first; s += 1)
            for (int ix = first; ix < first + BLOCK && ix < N; ix += 1)
                eliminate(row, ix, s, pivot_item[s], factor[s]);
        for (int s = first; s < first + BLOCK && s < N; s += 1) {
            pivot_item[s] = find_pivot(fabs(row[s]), s, &step, false);
            diagonal[s] = take_pivot(row, s, s, pivot_item[s]);
            reciprocal[s] = 1 / diagonal[s];
#ifdef EXCHANGE
            factor[s] = get_local_id() > s ? row[s] * -reciprocal[s] : 0;
#else
            factor[s] = step == N ? row[s] * -reciprocal[s] : 0;
#endif
            for (int ix = s + 1; ix < first + BLOCK && ix < N; ix += 1)
                eliminate(row, ix, s, pivot_item[s], factor[s]);
        }
    }
}

/* The largest size of an element of U, which NaN is not, in every item. */
static inline real largest_of_upper(real *row) {
    real largest = 0;
    for (int ix = 0; ix < N; ix += 1) {
#ifdef EXCHANGE
        if (get_local_id() <= ix)
#endif
            largest = max(largest, fabs(row[ix]));
    }
    return largest_of_all(largest);
}

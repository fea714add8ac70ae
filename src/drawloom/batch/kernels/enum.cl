/* Enumerates the integer program max c x with D x <= b over x in {0, 1}^10 and b in R^8: work-item i tries the x whose
   coordinates are the bits of i modulo 1024. `best` gets the largest value of each group, -INFINITY where no x of
   the group satisfies all rows. `mat_d` is row-major. */
#define VARIABLES 10
#define ROWS 8

__kernel void enumerate(const real *mat_d, const real *vec_b, const real *vec_c, real *best) {
    int candidate = get_global_id() & ((1 << VARIABLES) - 1);
    real x[VARIABLES];
    real value = 0;
    int violated = 0;

    for (int k = 0; k < VARIABLES; k += 1)
        x[k] = (candidate >> k) & 1;
    for (int k = 0; k < VARIABLES; k += 1)
        value += vec_c[k] * x[k];

    for (int row = 0; row < ROWS; row += 1) {
        real sum = 0;
        for (int k = 0; k < VARIABLES; k += 1)
            sum += mat_d[row * VARIABLES + k] * x[k];
        if (sum > vec_b[row])
            violated += 1;
    }
    if (violated > 0)
        value = -INFINITY;

    /* The maximum of a group: taking one twice does no harm, so any group size will do. */
    for (int distance = 1; distance < get_local_size(); distance *= 2)
        value = max(value, shuffle(value, (get_local_id() + distance) % get_local_size()));
    if (get_local_id() == 0)
        best[get_group_id()] = value;
}

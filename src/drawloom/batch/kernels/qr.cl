/* A = Q R by Householder reflections as LAPACK signs them, one matrix of M x COLUMNS per group, M >= COLUMNS, row-major;
   each work-item holds a row. Gives Q of M x COLUMNS and R of COLUMNS x COLUMNS; without Q where ONLY_R is defined; with
   RAW the transpose of the reflections below R (`mat_r`), and `scales`, as LAPACK's geqrf has them. `certain` becomes 1
   where the squares of no column overflow or vanish, else 0. */
#define M get_local_size()
#ifndef COLUMNS
#define COLUMNS get_local_size()
#endif
#ifndef stored
#define stored real
#endif
/* a square matrix has nothing to reflect in its last column */
#define REFLECTIONS (COLUMNS < M ? COLUMNS : M - 1)

#ifdef RAW
__kernel void qr(const stored *mat_a, stored *mat_r, stored *scales, uchar *certain, real least, real most) {
#else
#ifdef ONLY_R
__kernel void qr(const stored *mat_a, stored *mat_r, uchar *certain, real least, real most) {
#else
__kernel void qr(const stored *mat_a, stored *mat_q, stored *mat_r, uchar *certain, real least, real most) {
#endif
#endif
    real t_a[COLUMNS];
    real t_v[COLUMNS];
    real t_scale[COLUMNS];
    int is_certain = 1;

    for (int ix = 0; ix < COLUMNS; ix += 1)
        t_a[ix] = mat_a[get_group_id() * M * COLUMNS + get_local_id() * COLUMNS + ix];

    for (int s = 0; s < REFLECTIONS; s += 1) {
        real below = get_local_id() > s ? t_a[s] : 0;
        real squares = 0;
        for (int i = s + 1; i < M; i += 1)
            squares += shuffle(below, i) * shuffle(below, i);
        real alpha = shuffle(t_a[s], s);
        real all_squares = alpha * alpha + squares;
        if (!(squares > least && all_squares < most))
            is_certain = 0;
        real beta = alpha < 0 ? sqrt(all_squares) : -sqrt(all_squares);
        t_scale[s] = (beta - alpha) / beta;
        real v = below * (1 / (alpha - beta));
        if (get_local_id() == s)
            v = 1;
        t_v[s] = v;

        real t_w[COLUMNS];
        for (int i = s; i < M; i += 1)
            for (int ix = s + 1; ix < COLUMNS; ix += 1)
                t_w[ix] += shuffle(v, i) * shuffle(t_a[ix], i);
        for (int ix = s + 1; ix < COLUMNS; ix += 1)
            if (get_local_id() >= s)
                t_a[ix] -= v * (t_scale[s] * t_w[ix]);
        if (get_local_id() == s)
            t_a[s] = beta;
#ifdef RAW
        if (get_local_id() > s)
            t_a[s] = v;
#endif
    }

#ifdef RAW
    for (int ix = 0; ix < COLUMNS; ix += 1)
        mat_r[get_group_id() * M * COLUMNS + ix * M + get_local_id()] = t_a[ix];
    for (int s = 0; s < COLUMNS; s += 1)
        if (get_local_id() == s)
            scales[get_group_id() * COLUMNS + s] = s < REFLECTIONS ? t_scale[s] : 0;
#else
    for (int ix = 0; ix < COLUMNS; ix += 1)
        if (get_local_id() < COLUMNS)
            mat_r[get_group_id() * COLUMNS * COLUMNS + get_local_id() * COLUMNS + ix] =
                ix >= get_local_id() ? t_a[ix] : 0;
#ifndef ONLY_R
    real t_q[COLUMNS];
    for (int ix = 0; ix < COLUMNS; ix += 1)
        t_q[ix] = ix == get_local_id() ? 1 : 0;
    for (int s = (int)REFLECTIONS - 1; s >= 0; s -= 1) {
        real t_w[COLUMNS];
        for (int i = s; i < M; i += 1)
            for (int ix = s; ix < COLUMNS; ix += 1)
                t_w[ix] += shuffle(t_v[s], i) * shuffle(t_q[ix], i);
        for (int ix = s; ix < COLUMNS; ix += 1)
            if (get_local_id() >= s)
                t_q[ix] -= t_v[s] * (t_scale[s] * t_w[ix]);
    }
    for (int ix = 0; ix < COLUMNS; ix += 1)
        mat_q[get_group_id() * M * COLUMNS + get_local_id() * COLUMNS + ix] = t_q[ix];
#endif
#endif
    if (get_local_id() == 0)
        certain[get_group_id()] = is_certain;
}

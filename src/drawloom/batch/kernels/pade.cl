/* The backward pass of a Pade activation unit, one x per work-item (Molina, Schramowski and Kersting, 2019):
   F(x) = P(x) / Q(x), P(x) = a_0 + a_1 x + ... + a_5 x^5, Q(x) = 1 + |b_1 x + ... + b_4 x^4|.
   Gives dF/dx, dF/da_j and dF/db_k times the incoming gradient; `d_a` and `d_b` have a row of `count` numbers for each
   coefficient. */
#define NUMERATOR 6
#define DENOMINATOR 4

__kernel void pade(const real *x, const real *gradient, const real *a, const real *b, int count,
                   real *d_x, real *d_a, real *d_b) {
    real t_x = x[get_global_id()];
    real t_gradient = gradient[get_global_id()];
    real power[NUMERATOR];
    real p = 0, q = 0, dp = 0, dq = 0;

    power[0] = 1;
    for (int k = 1; k < NUMERATOR; k += 1)
        power[k] = power[k - 1] * t_x;

    for (int j = 0; j < NUMERATOR; j += 1)
        p += a[j] * power[j];
    for (int j = 1; j < NUMERATOR; j += 1)
        dp += a[j] * j * power[j - 1];
    for (int k = 1; k <= DENOMINATOR; k += 1)
        q += b[k - 1] * power[k];
    for (int k = 1; k <= DENOMINATOR; k += 1)
        dq += b[k - 1] * k * power[k - 1];

    real sign = q < 0 ? -1 : 1;
    dq *= sign;
    real scale = 1 / (1 + fabs(q));
    real value = p * scale;

    d_x[get_global_id()] = t_gradient * (dp - dq * value) * scale;
    for (int j = 0; j < NUMERATOR; j += 1)
        d_a[count * j + get_global_id()] = t_gradient * power[j] * scale;
    for (int k = 1; k <= DENOMINATOR; k += 1)
        d_b[count * (k - 1) + get_global_id()] = -sign * t_gradient * power[k] * value * scale;
}

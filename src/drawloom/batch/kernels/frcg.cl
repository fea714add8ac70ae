/* Fletcher and Reeves' conjugate gradients on f(x, y) = (a - x)^2 + b (y - x^2)^2, one start per work-item: STEPS steps,
   each to the least of f at HALVINGS lengths along the direction, or nowhere if none is less. `x` and `y` become the
   point that was reached, `value` its f. */
#ifndef STEPS
#define STEPS 8
#endif
#ifndef HALVINGS
#define HALVINGS 12
#endif

__kernel void frcg(const real *a, const real *b, real *x, real *y, real *value) {
    real t_a = a[get_global_id()], t_b = b[get_global_id()];
    real t_x = x[get_global_id()], t_y = y[get_global_id()];
    real off = t_y - t_x * t_x;
    real f = (t_a - t_x) * (t_a - t_x) + t_b * off * off;
    real gradient_x = -2 * (t_a - t_x) - 4 * t_b * t_x * off;
    real gradient_y = 2 * t_b * off;
    real direction_x = -gradient_x, direction_y = -gradient_y;
    real norm = gradient_x * gradient_x + gradient_y * gradient_y;

    for (int step = 0; step < STEPS; step += 1) {
        real length = 1;
        real best = 0;
        for (int k = 0; k < HALVINGS; k += 1) {
            real new_x = t_x + length * direction_x, new_y = t_y + length * direction_y;
            real new_off = new_y - new_x * new_x;
            real new_f = (t_a - new_x) * (t_a - new_x) + t_b * new_off * new_off;
            if (new_f < f) {
                f = new_f;
                best = length;
            }
            length = length / 2;
        }
        t_x += best * direction_x;
        t_y += best * direction_y;

        off = t_y - t_x * t_x;
        gradient_x = -2 * (t_a - t_x) - 4 * t_b * t_x * off;
        gradient_y = 2 * t_b * off;
        real new_norm = gradient_x * gradient_x + gradient_y * gradient_y;
        real beta = norm > 0 ? new_norm / norm : 0;
        direction_x = beta * direction_x - gradient_x;
        direction_y = beta * direction_y - gradient_y;
        norm = new_norm;
    }

    x[get_global_id()] = t_x;
    y[get_global_id()] = t_y;
    value[get_global_id()] = f;
}

/* Numbers rounded to integers, by the rounding of a sum: 2^52 is the first double without a fraction, 2^23 the first
   float. A zero keeps its sign. */

static inline double copysign_double(double size, double sign) {
    return as_double((as_ulong(size) & 0x7ffffffffffffffful) | (as_ulong(sign) & 0x8000000000000000ul));
}
static inline float copysign_float(float size, float sign) {
    return as_float((as_uint(size) & 0x7fffffffu) | (as_uint(sign) & 0x80000000u));
}

/* To the nearest integer, of two the even one. */
static inline double rint_double(double x) {
    double size = fabs(x);
    double nearest = (size + 0x1p52) - 0x1p52;
    return copysign_double(size < 0x1p52 ? nearest : size, x);
}
static inline float rint_float(float x) {
    float size = fabs(x);
    float nearest = (size + 0x1p23f) - 0x1p23f;
    return copysign_float(size < 0x1p23f ? nearest : size, x);
}

static inline double trunc_double(double x) {
    double size = fabs(x);
    double nearest = (size + 0x1p52) - 0x1p52;
    double whole = nearest > size ? nearest - 1 : nearest;
    return copysign_double(size < 0x1p52 ? whole : size, x);
}
static inline float trunc_float(float x) {
    float size = fabs(x);
    float nearest = (size + 0x1p23f) - 0x1p23f;
    float whole = nearest > size ? nearest - 1 : nearest;
    return copysign_float(size < 0x1p23f ? whole : size, x);
}

static inline double floor_double(double x) {
    double nearest = rint_double(x);
    return nearest > x ? nearest - 1 : nearest;
}
static inline float floor_float(float x) {
    float nearest = rint_float(x);
    return nearest > x ? nearest - 1 : nearest;
}

static inline double ceil_double(double x) {
    double nearest = rint_double(x);
    return nearest < x ? copysign_double(nearest + 1, x) : nearest;
}
static inline float ceil_float(float x) {
    float nearest = rint_float(x);
    return nearest < x ? copysign_float(nearest + 1, x) : nearest;
}

/* To the nearest integer, of two the one that is farther from zero. */
static inline double round_double(double x) {
    double whole = trunc_double(x);
    return copysign_double(fabs(whole) + (fabs(x) - fabs(whole) >= 0.5 ? 1.0 : 0.0), x);
}
static inline float round_float(float x) {
    float whole = trunc_float(x);
    return copysign_float(fabs(whole) + (fabs(x) - fabs(whole) >= 0.5f ? 1.0f : 0.0f), x);
}

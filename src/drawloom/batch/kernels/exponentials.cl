/* Exponentials, logarithms and powers: within 1 unit in the last place. The methods are those of CUDA's functions here
   (cuda/include/drawloom/double_exp_log.h), without branches and with a single division. */

#define LOG2_E 0x1.71547652b82fep0
#define LN2 0x1.62e42fefa39efp-1
#define LN2_LOW 0x1.abc9e3b39803fp-56
/* ln 2 with a first part of 42 bits, for floats of 16 bits, whose product by an exponent is exact. */
#define LN2_42 0x1.62e42fefa38p-1
#define LN2_42_LOW 0x1.ef35793c7673p-45
#define LN2_16 0x1.62e4p-1f
#define LN2_16_LOW 0x1.7f7d1cp-20f
/* Numbers to which an integer is added: the last bits of the sum are the integer. */
#define INTEGERS 0x1.8p52
#define INTEGERS_FLOAT 0x1.8p23f

/* (exp(u) - 1 - u - u^2/2) / u^3; u from -0.346674 to 0.346674 */
static inline double exp_terms_double(double u) {  /* relative error 4.7e-17 */
    double p = 0x1.1f2a497d3dd97p-29;
    p = fma(p, u, 0x1.af38abfba2864p-26);
    p = fma(p, u, 0x1.27e502b7cfae9p-22);
    p = fma(p, u, 0x1.71de0dae787aep-19);
    p = fma(p, u, 0x1.a01a0198ab6d7p-16);
    p = fma(p, u, 0x1.a01a01a7c3c0bp-13);
    p = fma(p, u, 0x1.6c16c16c1811cp-10);
    p = fma(p, u, 0x1.11111111109b4p-7);
    p = fma(p, u, 0x1.5555555555554p-5);
    p = fma(p, u, 0x1.5555555555556p-3);
    return p;
}
/* The same for floats, relative error 4.7e-8; doubles may have it, too. */
#define SHORT_EXP_TERMS(real) \
    real p = 0x1.a088c6p-13f;       \
    p = fma(p, u, 0x1.6d10fap-10f); \
    p = fma(p, u, 0x1.11112cp-7f);  \
    p = fma(p, u, 0x1.55551ap-5f);  \
    p = fma(p, u, 0x1.555556p-3f);  \
    return p;
static inline float exp_terms_float(float u) { SHORT_EXP_TERMS(float) }
static inline double exp_terms_short(double u) { SHORT_EXP_TERMS(double) }

/* (log((1+s)/(1-s)) - 2s) / s^3, u = s^2; u from 0 to 0.0294473 */
static inline double log_terms_double(double u) {  /* relative error 3.0e-18 */
    double p = 0x1.0c0839fb601efp-3;
    p = fma(p, u, 0x1.0fbe20bd67d9fp-3);
    p = fma(p, u, 0x1.3b1c39e7f5256p-3);
    p = fma(p, u, 0x1.745cf8ee1f017p-3);
    p = fma(p, u, 0x1.c71c720191c13p-3);
    p = fma(p, u, 0x1.2492492476aabp-2);
    p = fma(p, u, 0x1.9999999999a39p-2);
    p = fma(p, u, 0x1.5555555555555p-1);
    return p;
}
/* The same for floats, relative error 1.7e-9; doubles may have it, too. */
#define SHORT_LOG_TERMS(real) \
    real p = 0x1.ddd36ep-3f;       \
    p = fma(p, u, 0x1.245c2cp-2f); \
    p = fma(p, u, 0x1.9999ecp-2f); \
    p = fma(p, u, 0x1.555556p-1f); \
    return p;
static inline float log_terms_float(float u) { SHORT_LOG_TERMS(float) }
static inline double log_terms_short(double u) { SHORT_LOG_TERMS(double) }

/* (log((1+s)/(1-s)) - 2s - 2/3 s^3) / s^5, u = s^2; u from 0 to 0.0294473 */
static inline double log_tail_terms_double(double u) {  /* relative error 3.1e-20 */
    double p = 0x1.b8d9ea916619bp-4;
    p = fma(p, u, 0x1.ac49e48debdp-4);
    p = fma(p, u, 0x1.e1f8020474c2fp-4);
    p = fma(p, u, 0x1.1110df961446cp-3);
    p = fma(p, u, 0x1.3b13b1bcc2f03p-3);
    p = fma(p, u, 0x1.745d174512cd3p-3);
    p = fma(p, u, 0x1.c71c71c71cfe1p-3);
    p = fma(p, u, 0x1.2492492492491p-2);
    p = fma(p, u, 0x1.999999999999ap-2);
    return p;
}

/* 2^k of the integer k in the last bits of a number. */
static inline double power_of_two_double(double integer) { return as_double((as_long(integer) + 1023) << 52); }
static inline float power_of_two_float(float integer) { return as_float((as_int(integer) + 127) << 23); }

/* exp(x + tail), x from -800 to 800. */
static inline double exp_of_pair(double x, double tail) {
    double k = fma(x, LOG2_E, INTEGERS) - INTEGERS;
    double high = fma(-k, LN2, x), low = fma(-k, LN2_LOW, tail);
    double r = high + low;
    double left = low - (r - high);
    double square = r * r;
    double rest = fma(square * r, exp_terms_double(r), fma(square, 0.5, fma(left, r, left)));
    double one = 1 + r;
    double value = one + ((r - (one - 1)) + rest);
    /* In two steps, of which the second one rounds, as 2^k may be beyond the largest number or below the smallest. */
    double half_power = fma(k, 0.5, INTEGERS);
    double other_power = (k - (half_power - INTEGERS)) + INTEGERS;
    return value * power_of_two_double(half_power) * power_of_two_double(other_power);
}
static inline double exp_double(double x) { return exp_of_pair(min(max(x, -800.0), 800.0), 0); }

static inline float exp_float(float x) {
    float bounded = min(max(x, -120.0f), 120.0f);
    float k = fma(bounded, 0x1.715476p0f, INTEGERS_FLOAT) - INTEGERS_FLOAT;
    float high = fma(-k, 0x1.62e43p-1f, bounded), low = k * 0x1.05c61p-29f;
    float r = high + low;
    float square = r * r;
    float rest = fma(square * r, exp_terms_float(r), fma(square, 0.5f, low - (r - high)));
    float one = 1 + r;
    float value = one + ((r - (one - 1)) + rest);
    float half_power = fma(k, 0.5f, INTEGERS_FLOAT);
    float other_power = (k - (half_power - INTEGERS_FLOAT)) + INTEGERS_FLOAT;
    return value * power_of_two_float(half_power) * power_of_two_float(other_power);
}

/* x = (1 + f) 2^power, 1 + f between the square roots of 1/2 and 2, for positive finite x. */
struct mantissa_double { double f, power; };
static inline struct mantissa_double split_double(double x) {
    struct mantissa_double m;
    bool is_small = x < 0x1p-1022;
    ulong bits = as_ulong(is_small ? x * 0x1p54 : x);
    ulong biased = (bits + (0x4000000000000000ul - 0x3fe6a09e667f3bcdul)) >> 52;  /* the exponent + 1024 */
    m.f = as_double(bits - (biased << 52) + 0x4000000000000000ul) - 1;
    m.power = as_double(biased + (0x4338000000000000ul - 1024)) - (is_small ? INTEGERS + 54 : INTEGERS);
    return m;
}
struct mantissa_float { float f, power; };
static inline struct mantissa_float split_float(float x) {
    struct mantissa_float m;
    bool is_small = x < 0x1p-126f;
    uint bits = as_uint(is_small ? x * 0x1p25f : x);
    uint biased = (bits + (0x40000000u - 0x3f3504f3u)) >> 23;  /* the exponent + 128 */
    m.f = as_float(bits - (biased << 23) + 0x40000000u) - 1;
    m.power = as_float(biased + (0x4b400000u - 128)) - (is_small ? INTEGERS_FLOAT + 25 : INTEGERS_FLOAT);
    return m;
}

/* log x by the series of atanh in s = f / (2 + f), for positive finite x. */
static inline double finite_log_double(double x) {
    struct mantissa_double m = split_double(x);
    double below = 2 + m.f;
    double inverse = 1 / below;
    double s = m.f * inverse;
    double s_low = fma(-s, m.f - (below - 2), fma(-s, below, m.f)) * inverse;
    double square = s * s;
    double rest = fma(square * s, log_terms_double(square), 2 * s_low);
    double whole = m.power * LN2_42;
    double twice = 2 * s;
    double sum = whole + twice;
    return sum + ((twice - (sum - whole)) + fma(m.power, LN2_42_LOW, rest));
}
static inline double log_double(double x) {
    double value = finite_log_double(x);
    return x > 0 ? x < INFINITY ? value : x : x == 0 ? -INFINITY : NAN;
}
static inline float log_float(float x) {
    struct mantissa_float m = split_float(x);
    float below = 2 + m.f;
    float inverse = 1 / below;
    float s = m.f * inverse;
    float s_low = fma(-s, m.f - (below - 2), fma(-s, below, m.f)) * inverse;
    float square = s * s;
    float rest = fma(square * s, log_terms_float(square), 2 * s_low);
    float whole = m.power * LN2_16;
    float twice = 2 * s;
    float sum = whole + twice;
    float value = sum + ((twice - (sum - whole)) + fma(m.power, LN2_16_LOW, rest));
    return x > 0 ? x < INFINITY ? value : x : x == 0 ? -INFINITY : NAN;
}

/* x^y where something is special; elsewhere `value`, which is |x|^y. */
static inline double special_power_double(double x, double y, double value) {
    double size = fabs(x), exponent = fabs(y), half = 0.5 * exponent;
    bool is_whole = exponent >= 0x1p52 || (exponent + 0x1p52) - 0x1p52 == exponent;
    bool is_odd = is_whole && half < 0x1p52 && (half + 0x1p52) - 0x1p52 != half;
    double result = x < 0 && !is_whole ? NAN : value;
    result = size == 0 || size == INFINITY ? (size == 0) == (y > 0) ? 0 : INFINITY : result;
    result = exponent == INFINITY ? size == 1 ? 1 : (size > 1) == (y > 0) ? INFINITY : 0 : result;
    result = is_odd && as_long(x) < 0 ? -result : result;
    result = isnan(x) || isnan(y) ? NAN : result;
    return y == 0 || x == 1 ? 1 : result;
}
static inline float special_power_float(float x, float y, float value) {
    float size = fabs(x), exponent = fabs(y), half = 0.5f * exponent;
    bool is_whole = exponent >= 0x1p23f || (exponent + 0x1p23f) - 0x1p23f == exponent;
    bool is_odd = is_whole && half < 0x1p23f && (half + 0x1p23f) - 0x1p23f != half;
    float result = x < 0 && !is_whole ? NAN : value;
    result = size == 0 || size == INFINITY ? (size == 0) == (y > 0) ? 0 : INFINITY : result;
    result = exponent == INFINITY ? size == 1 ? 1 : (size > 1) == (y > 0) ? INFINITY : 0 : result;
    result = is_odd && as_int(x) < 0 ? -result : result;
    result = isnan(x) || isnan(y) ? NAN : result;
    return y == 0 || x == 1 ? 1 : result;
}

static inline double pow_double(double x, double y) {
    /* log |x| as a pair, good to 2^-66. */
    struct mantissa_double m = split_double(fabs(x));
    double below = 2 + m.f;
    double inverse = 1 / below;
    double first = m.f * inverse;
    double first_low = fma(-first, m.f - (below - 2), fma(-first, below, m.f)) * inverse;
    double s = first + first_low;
    double s_low = first_low - (s - first);
    double square = s * s;
    double square_low = fma(s, s, -square) + 2 * s * s_low;
    double cube = square * s;
    double cube_low = fma(square, s, -cube) + fma(square, s_low, square_low * s);
    double tail = square * log_tail_terms_double(square);
    double factor = 0x1.5555555555555p-1 + tail;
    double factor_low = (tail - (factor - 0x1.5555555555555p-1)) + 0x1.5555555555555p-55;
    double term = cube * factor;
    double term_low = fma(cube, factor, -term) + fma(cube, factor_low, cube_low * factor);
    double twice = 2 * s;
    double sum = twice + term;
    double sum_low = ((term - (sum - twice)) + term_low) + 2 * s_low;
    double whole = m.power * LN2_42;
    double total = whole + sum;
    double total_low = (sum - (total - whole)) + fma(m.power, LN2_42_LOW, sum_low);
    double logarithm = total + total_low;
    double logarithm_low = total_low - (logarithm - total);

    double exponent = y * logarithm;
    double exponent_low = fma(y, logarithm_low, fma(y, logarithm, -exponent));
    bool is_inside = fabs(exponent) < 800;
    double value = exp_of_pair(is_inside ? exponent : exponent > 0 ? 800 : -800, is_inside ? exponent_low : 0);
    return special_power_double(x, y, value);
}
/* In double precision; the exponent is right to 2^-28. */
static inline float pow_float(float x, float y) {
    struct mantissa_double m = split_double(fabs((double)x));
    double s = m.f / (2 + m.f);
    double square = s * s;
    double logarithm = fma(m.power, LN2, fma(square * s, log_terms_short(square), 2 * s));
    double exponent = min(max(y * logarithm, -120.0), 120.0);
    double integer = fma(exponent, LOG2_E, INTEGERS);
    double r = fma(-(integer - INTEGERS), LN2, exponent);
    double r_square = r * r;
    double value = 1 + (r + fma(r_square * r, exp_terms_short(r), 0.5 * r_square));
    return special_power_float(x, y, (float)(value * power_of_two_double(integer)));
}

/* Sines, cosines and tangents: within 1 unit in the last place. The methods are those of CUDA's functions here
   (cuda/include/drawloom/double_angles.h), without branches but for large angles. */

#define TWO_OVER_PI 0x1.45f306dc9c883p-1
#define HALF_PI 0x1.921fb54442d18p0
#define HALF_PI_LOW 0x1.1a62633145c07p-54
#define HALF_PI_REST -0x1.f1976b7ed8fbcp-110
/* Numbers to which an integer is added: the last bits of the sum are the integer. */
#define INTEGERS 0x1.8p52

/* The bits of 2 / pi behind the point, after 64 zeros. */
__constant ulong two_over_pi[21] = {
    0x0000000000000000ul, 0xa2f9836e4e441529ul, 0xfc2757d1f534ddc0ul, 0xdb6295993c439041ul,
    0xfe5163abdebbc561ul, 0xb7246e3a424dd2e0ul, 0x06492eea09d1921cul, 0xfe1deb1cb129a73eul,
    0xe88235f52ebb4484ul, 0xe99c7026b45f7e41ul, 0x3991d639835339f4ul, 0x9c845f8bbdf9283bul,
    0x1ff897ffde05980ful, 0xef2f118b5a0a6d1ful, 0x6d367ecf27cb09b7ul, 0x4f463f669e5fea2dul,
    0x7527bac7ebe5f17bul, 0x3d0739f78a5292eaul, 0x6bfb5fb11f8d5d08ul, 0x56033046fc7b6babul,
    0xf0cfbc209af4361dul,
};

/* (sin(x) - x) / x^3, u = x^2; u from 0 to 0.617007 */
static inline double sin_terms_double(double u) {  /* relative error 7.1e-20 */
    double p = -0x1.ab16b2f137f6fp-41;
    p = fma(p, u, 0x1.61217cfd86f39p-33);
    p = fma(p, u, -0x1.ae64540ff81dap-26);
    p = fma(p, u, 0x1.71de3a545ed34p-19);
    p = fma(p, u, -0x1.a01a01a019928p-13);
    p = fma(p, u, 0x1.111111111111p-7);
    p = fma(p, u, -0x1.5555555555555p-3);
    return p;
}
static inline double sin_terms_short(double u) {  /* relative error 1.7e-10 */
    double p = 0x1.6dbc22p-19;
    p = fma(p, u, -0x1.a013ap-13);
    p = fma(p, u, 0x1.11110ep-7);
    p = fma(p, u, -0x1.555556p-3);
    return p;
}

/* (cos(x) - 1 + x^2/2) / x^4, u = x^2; u from 0 to 0.617007 */
static inline double cos_terms_double(double u) {  /* relative error 1.6e-20 */
    double p = 0x1.ab77a1ffd6cc4p-45;
    p = fma(p, u, -0x1.9394b8be905d4p-37);
    p = fma(p, u, 0x1.1eed8deab5686p-29);
    p = fma(p, u, -0x1.27e4fb7712495p-22);
    p = fma(p, u, 0x1.a01a01a019d05p-16);
    p = fma(p, u, -0x1.6c16c16c16c16p-10);
    p = fma(p, u, 0x1.5555555555555p-5);
    return p;
}
static inline double cos_terms_short(double u) {  /* relative error 4.9e-8 */
    double p = 0x1.9bd6fap-16;
    p = fma(p, u, -0x1.6c12dp-10);
    p = fma(p, u, 0x1.555554p-5);
    return p;
}

/* What is left of an angle after the nearest multiple of pi / 2, high + low; the last bits of `quadrant` are that
   multiple's. */
struct angle { double high, low; long quadrant; };

static inline ulong upper_product(ulong a, ulong b) {
    ulong a_low = a & 0xffffffffu, a_high = a >> 32, b_low = b & 0xffffffffu, b_high = b >> 32;
    ulong first = a_high * b_low + (a_low * b_low >> 32);
    ulong second = a_low * b_high + (first & 0xffffffffu);
    return a_high * b_high + (first >> 32) + (second >> 32);
}
/* An integer below 2^32 as a number. */
static inline double word_number(ulong word) { return as_double(word | 0x4330000000000000ul) - 0x1p52; }

/* By Payne and Hanek, for |x| above 2^29: of the product of x's integer of 53 bits by 2 / pi, multiples of 4 are left
   out. */
static inline struct angle reduce_far(double x) {
    struct angle angle;
    ulong bits = as_ulong(fabs(x));
    ulong integer = (bits & 0xffffffffffffful) | 0x10000000000000ul;
    int first = (int)(bits >> 52) - 1013;
    int word = first >> 6;
    ulong shift = first & 63, opposite = 63 - shift;
    ulong w0 = two_over_pi[word], w1 = two_over_pi[word + 1], w2 = two_over_pi[word + 2], w3 = two_over_pi[word + 3];
    ulong p0 = w0 << shift | w1 >> 1 >> opposite;
    ulong p1 = w1 << shift | w2 >> 1 >> opposite;
    ulong p2 = w2 << shift | w3 >> 1 >> opposite;
    /* The product's upper 128 of 192 bits, as a fraction of 4, then of 1. */
    ulong middle = integer * p1;
    ulong lower = middle + upper_product(integer, p2);
    ulong upper = integer * p0 + upper_product(integer, p1) + (lower < middle ? 1 : 0);
    long quadrant = (long)(upper >> 62);
    upper = upper << 2 | lower >> 62;
    lower <<= 2;
    bool is_above = upper >> 63 != 0;
    quadrant += is_above ? 1 : 0;
    upper = is_above ? ~upper + (lower == 0 ? 1 : 0) : upper;
    lower = is_above ? 0 - lower : lower;
    double w = word_number(upper >> 32) * 0x1p-32, v = word_number(upper & 0xffffffffu) * 0x1p-64;
    double sum = w + v;
    double last = fma(word_number(lower >> 32), 0x1p-96, word_number(lower & 0xffffffffu) * 0x1p-128);
    double sum_low = (v - (sum - w)) + last;
    double turn = sum + sum_low;
    double turn_low = sum_low - (turn - sum);
    double r = turn * HALF_PI;
    double r_low = fma(turn, HALF_PI, -r) + fma(turn, HALF_PI_LOW, turn_low * HALF_PI);
    bool is_negative = is_above != x < 0;
    angle.high = is_negative ? -r : r;
    angle.low = is_negative ? -r_low : r_low;
    angle.quadrant = x < 0 ? -quadrant : quadrant;
    return angle;
}

static inline struct angle reduce(double x) {
    struct angle angle;
    double sum = fma(x, TWO_OVER_PI, INTEGERS);
    double k = sum - INTEGERS;
    double second = k * HALF_PI_LOW;
    double second_low = fma(k, HALF_PI_LOW, -second);
    double first = fma(-k, HALF_PI, x);
    double r = first - second;
    double part = r - first;
    double r_low = (first - (r - part)) - (second + part);
    double low = r_low - fma(k, HALF_PI_REST, second_low);
    angle.high = r + low;
    angle.low = low - (angle.high - r);
    angle.quadrant = as_long(sum);
    bool is_far = fabs(x) > 0x1p29 && fabs(x) < INFINITY;
    while (is_far) {  /* seldom entered: groups vote */
        angle = reduce_far(x);
        is_far = false;
    }
    return angle;
}

/* Sine and cosine of what is left of an angle, as pairs. */
struct pair { double high, low; };
static inline struct pair sin_reduced(struct angle a) {
    struct pair result;
    double r = a.high, square = r * r;
    double rest = fma(square * r, sin_terms_double(square), fma(-0.5 * square, a.low, a.low));
    result.high = r + rest;
    result.low = rest - (result.high - r);
    return result;
}
static inline struct pair cos_reduced(struct angle a) {
    struct pair result;
    double r = a.high, square = r * r, half_square = 0.5 * square;
    double one = 1 - half_square;
    double square_low = fma(r, r, -square);
    double left = fma(0.5, square_low, r * a.low);
    double rest = ((1 - one) - half_square) + fma(square * square, cos_terms_double(square), -left);
    result.high = one + rest;
    result.low = rest - (result.high - one);
    return result;
}
static inline double sine_of(struct angle a, long quadrant) {
    struct pair sine = sin_reduced(a), cosine = cos_reduced(a);
    double value = (quadrant & 1) != 0 ? cosine.high : sine.high;
    return as_double(as_ulong(value) ^ (ulong)(quadrant & 2) << 62);
}
static inline double sin_double(double x) {
    struct angle a = reduce(x);
    double value = sine_of(a, a.quadrant);
    return x == 0 ? x : value;
}
static inline double cos_double(double x) {
    struct angle a = reduce(x);
    return sine_of(a, a.quadrant + 1);
}
static inline double tan_double(double x) {
    struct angle a = reduce(x);
    struct pair s = sin_reduced(a), c = cos_reduced(a);
    bool is_odd = (a.quadrant & 1) != 0;
    double above = is_odd ? -c.high : s.high, above_low = is_odd ? -c.low : s.low;
    double below = is_odd ? s.high : c.high, below_low = is_odd ? s.low : c.low;
    double inverse = 1 / below;
    double q = above * inverse;
    double q_low = (fma(-q, below, above) + fma(-q, below_low, above_low)) * inverse;
    return x == 0 ? x : q + q_low;
}

/* Floats, in double precision: what is rounded is right to 2^-28. */
static inline struct angle reduce_float(double x) {
    struct angle angle;
    double sum = fma(x, TWO_OVER_PI, INTEGERS);
    double k = sum - INTEGERS;
    angle.high = fma(-k, HALF_PI_LOW, fma(-k, HALF_PI, x));
    angle.low = 0;
    angle.quadrant = as_long(sum);
    bool is_far = fabs(x) > 0x1p29 && fabs(x) < INFINITY;
    while (is_far) {
        angle = reduce_far(x);
        is_far = false;
    }
    return angle;
}
static inline double sin_reduced_float(double r) { return fma(r * r * r, sin_terms_short(r * r), r); }
static inline double cos_reduced_float(double r) {
    double square = r * r;
    return fma(square * square, cos_terms_short(square), fma(square, -0.5, 1.0));
}
static inline float sine_of_float(double r, long quadrant) {
    double value = (quadrant & 1) != 0 ? cos_reduced_float(r) : sin_reduced_float(r);
    return (float)as_double(as_ulong(value) ^ (ulong)(quadrant & 2) << 62);
}
static inline float sin_float(float x) {
    struct angle a = reduce_float(x);
    float value = sine_of_float(a.high, a.quadrant);
    return x == 0 ? x : value;
}
static inline float cos_float(float x) {
    struct angle a = reduce_float(x);
    return sine_of_float(a.high, a.quadrant + 1);
}
static inline float tan_float(float x) {
    struct angle a = reduce_float(x);
    double s = sin_reduced_float(a.high), c = cos_reduced_float(a.high);
    bool is_odd = (a.quadrant & 1) != 0;
    float value = (float)((is_odd ? -c : s) / (is_odd ? s : c));
    return x == 0 ? x : value;
}

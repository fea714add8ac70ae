// Arithmetic of CUDA's vector types as its samples have it: operators by components, and the functions of shaders.
#pragma once
#include <cuda_runtime.h>
#include <math.h>

typedef unsigned int uint;
typedef unsigned short ushort;

#if !defined(__CUDACC__)
inline float fminf(float a, float b) { return a < b ? a : b; }
inline float fmaxf(float a, float b) { return a > b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline int min(int a, int b) { return a < b ? a : b; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
#endif

#define __DL_MATH inline __host__ __device__

// Conversions: of one number to all components, and between lengths and kinds of components.
#define __DL_CONVERT(T, S, other, U)                                                             \
  __DL_MATH T##2 make_##T##2(S s) { return make_##T##2(s, s); }                                  \
  __DL_MATH T##2 make_##T##2(T##3 a) { return make_##T##2(a.x, a.y); }                           \
  __DL_MATH T##2 make_##T##2(other##2 a) { return make_##T##2(S(a.x), S(a.y)); }                 \
  __DL_MATH T##2 make_##T##2(U##2 a) { return make_##T##2(S(a.x), S(a.y)); }                     \
  __DL_MATH T##3 make_##T##3(S s) { return make_##T##3(s, s, s); }                               \
  __DL_MATH T##3 make_##T##3(T##2 a) { return make_##T##3(a.x, a.y, S(0)); }                     \
  __DL_MATH T##3 make_##T##3(T##2 a, S s) { return make_##T##3(a.x, a.y, s); }                   \
  __DL_MATH T##3 make_##T##3(T##4 a) { return make_##T##3(a.x, a.y, a.z); }                      \
  __DL_MATH T##3 make_##T##3(other##3 a) { return make_##T##3(S(a.x), S(a.y), S(a.z)); }         \
  __DL_MATH T##3 make_##T##3(U##3 a) { return make_##T##3(S(a.x), S(a.y), S(a.z)); }             \
  __DL_MATH T##4 make_##T##4(S s) { return make_##T##4(s, s, s, s); }                            \
  __DL_MATH T##4 make_##T##4(T##3 a) { return make_##T##4(a.x, a.y, a.z, S(0)); }                \
  __DL_MATH T##4 make_##T##4(T##3 a, S w) { return make_##T##4(a.x, a.y, a.z, w); }              \
  __DL_MATH T##4 make_##T##4(other##4 a) { return make_##T##4(S(a.x), S(a.y), S(a.z), S(a.w)); } \
  __DL_MATH T##4 make_##T##4(U##4 a) { return make_##T##4(S(a.x), S(a.y), S(a.z), S(a.w)); }
__DL_CONVERT(float, float, int, uint)
__DL_CONVERT(int, int, uint, float)
__DL_CONVERT(uint, uint, int, float)
#undef __DL_CONVERT

// `f` of the components of vectors of each length; what is a number is the same for all components.
#define __DL_ALL2(T, f) make_##T##2(f(x), f(y))
#define __DL_ALL3(T, f) make_##T##3(f(x), f(y), f(z))
#define __DL_ALL4(T, f) make_##T##4(f(x), f(y), f(z), f(w))

#define __DL_PLUS_VV(c) a.c + b.c
#define __DL_PLUS_VS(c) a.c + b
#define __DL_PLUS_SV(c) a + b.c
#define __DL_MINUS_VV(c) a.c - b.c
#define __DL_MINUS_VS(c) a.c - b
#define __DL_MINUS_SV(c) a - b.c
#define __DL_TIMES_VV(c) a.c * b.c
#define __DL_TIMES_VS(c) a.c * b
#define __DL_TIMES_SV(c) a * b.c
#define __DL_OVER_VV(c) a.c / b.c
#define __DL_OVER_VS(c) a.c / b
#define __DL_OVER_SV(c) a / b.c
#define __DL_OPERATOR(T, S, n, op, NAME)                                                     \
  __DL_MATH T##n operator op(T##n a, T##n b) { return __DL_ALL##n(T, __DL_##NAME##_VV); }    \
  __DL_MATH T##n operator op(T##n a, S b) { return __DL_ALL##n(T, __DL_##NAME##_VS); }       \
  __DL_MATH T##n operator op(S a, T##n b) { return __DL_ALL##n(T, __DL_##NAME##_SV); }       \
  __DL_MATH void operator op##=(T##n &a, T##n b) { a = a op b; }                             \
  __DL_MATH void operator op##=(T##n &a, S b) { a = a op b; }
#define __DL_RING(T, S, n)              \
  __DL_OPERATOR(T, S, n, +, PLUS)       \
  __DL_OPERATOR(T, S, n, -, MINUS)      \
  __DL_OPERATOR(T, S, n, *, TIMES)
__DL_RING(float, float, 2)
__DL_RING(float, float, 3)
__DL_RING(float, float, 4)
__DL_RING(int, int, 2)
__DL_RING(int, int, 3)
__DL_RING(int, int, 4)
__DL_RING(uint, uint, 2)
__DL_RING(uint, uint, 3)
__DL_RING(uint, uint, 4)
__DL_OPERATOR(float, float, 2, /, OVER)
__DL_OPERATOR(float, float, 3, /, OVER)
__DL_OPERATOR(float, float, 4, /, OVER)
#undef __DL_RING
#undef __DL_OPERATOR

#define __DL_NEGATIVE(c) -a.c
#define __DL_LESS(c) min(a.c, b.c)
#define __DL_MORE(c) max(a.c, b.c)
#define __DL_BETWEEN_V(c) clamp(v.c, a.c, b.c)
#define __DL_BETWEEN_S(c) clamp(v.c, a, b)
#define __DL_SIZE(c) abs(v.c)
__DL_MATH float clamp(float f, float a, float b) { return fmaxf(a, fminf(f, b)); }
__DL_MATH int clamp(int f, int a, int b) { return max(a, min(f, b)); }
__DL_MATH uint clamp(uint f, uint a, uint b) { return max(a, min(f, b)); }
__DL_MATH float lerp(float a, float b, float t) { return a + t * (b - a); }
__DL_MATH float fracf(float v) { return v - floorf(v); }
__DL_MATH float smoothstep(float a, float b, float x) {
  const float y = clamp((x - a) / (b - a), 0.0f, 1.0f);
  return y * y * (3.0f - 2.0f * y);
}

#define __DL_ORDER(T, S, n)                                                                         \
  __DL_MATH T##n min(T##n a, T##n b) { return __DL_ALL##n(T, __DL_LESS); }                          \
  __DL_MATH T##n max(T##n a, T##n b) { return __DL_ALL##n(T, __DL_MORE); }
#define __DL_RANGE(T, S, n)                                                                         \
  __DL_MATH T##n clamp(T##n v, S a, S b) { return __DL_ALL##n(T, __DL_BETWEEN_S); }                 \
  __DL_MATH T##n clamp(T##n v, T##n a, T##n b) { return __DL_ALL##n(T, __DL_BETWEEN_V); }
#define __DL_DOTS(T, S)                                                                             \
  __DL_MATH S dot(T##2 a, T##2 b) { return a.x * b.x + a.y * b.y; }                                 \
  __DL_MATH S dot(T##3 a, T##3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }                     \
  __DL_MATH S dot(T##4 a, T##4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
#define __DL_LENGTHS(X, ...) X(__VA_ARGS__, 2) X(__VA_ARGS__, 3) X(__VA_ARGS__, 4)
__DL_LENGTHS(__DL_ORDER, int, int)
__DL_LENGTHS(__DL_ORDER, uint, uint)
__DL_LENGTHS(__DL_RANGE, float, float)
__DL_LENGTHS(__DL_RANGE, int, int)
__DL_LENGTHS(__DL_RANGE, uint, uint)
__DL_DOTS(float, float)
__DL_DOTS(int, int)
__DL_DOTS(uint, uint)

#define __DL_LEAST(c) fminf(a.c, b.c)
#define __DL_MOST(c) fmaxf(a.c, b.c)
#define __DL_FLOOR(c) floorf(v.c)
#define __DL_FRACTION(c) fracf(v.c)
#define __DL_REMAINDER(c) fmodf(a.c, b.c)
#define __DL_ABSOLUTE(c) fabsf(v.c)
#define __DL_SMOOTH(c) smoothstep(a.c, b.c, x.c)
#define __DL_SHADER(T, n)                                                                           \
  __DL_MATH T##n operator-(const T##n &a) { return __DL_ALL##n(T, __DL_NEGATIVE); }                 \
  __DL_MATH T##n fminf(T##n a, T##n b) { return __DL_ALL##n(T, __DL_LEAST); }                       \
  __DL_MATH T##n fmaxf(T##n a, T##n b) { return __DL_ALL##n(T, __DL_MOST); }                        \
  __DL_MATH T##n lerp(T##n a, T##n b, float t) { return a + t * (b - a); }                          \
  __DL_MATH float length(T##n v) { return sqrtf(dot(v, v)); }                                       \
  __DL_MATH T##n normalize(T##n v) { return v * rsqrtf(dot(v, v)); }                                \
  __DL_MATH T##n floorf(T##n v) { return __DL_ALL##n(T, __DL_FLOOR); }                              \
  __DL_MATH T##n fracf(T##n v) { return __DL_ALL##n(T, __DL_FRACTION); }                            \
  __DL_MATH T##n fmodf(T##n a, T##n b) { return __DL_ALL##n(T, __DL_REMAINDER); }                   \
  __DL_MATH T##n fabs(T##n v) { return __DL_ALL##n(T, __DL_ABSOLUTE); }                             \
  __DL_MATH T##n smoothstep(T##n a, T##n b, T##n x) { return __DL_ALL##n(T, __DL_SMOOTH); }
__DL_LENGTHS(__DL_SHADER, float)
#define __DL_WHOLE(T, n)                                                                            \
  __DL_MATH T##n operator-(const T##n &a) { return __DL_ALL##n(T, __DL_NEGATIVE); }                 \
  __DL_MATH T##n abs(T##n v) { return __DL_ALL##n(T, __DL_SIZE); }
__DL_LENGTHS(__DL_WHOLE, int)
__DL_MATH float3 reflect(float3 i, float3 n) { return i - 2.0f * n * dot(n, i); }
__DL_MATH float3 cross(float3 a, float3 b) {
  return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

#undef __DL_MATH
#undef __DL_ALL2
#undef __DL_ALL3
#undef __DL_ALL4
#undef __DL_PLUS_VV
#undef __DL_PLUS_VS
#undef __DL_PLUS_SV
#undef __DL_MINUS_VV
#undef __DL_MINUS_VS
#undef __DL_MINUS_SV
#undef __DL_TIMES_VV
#undef __DL_TIMES_VS
#undef __DL_TIMES_SV
#undef __DL_OVER_VV
#undef __DL_OVER_VS
#undef __DL_OVER_SV
#undef __DL_NEGATIVE
#undef __DL_LESS
#undef __DL_MORE
#undef __DL_BETWEEN_V
#undef __DL_BETWEEN_S
#undef __DL_SIZE
#undef __DL_ORDER
#undef __DL_RANGE
#undef __DL_DOTS
#undef __DL_LENGTHS
#undef __DL_LEAST
#undef __DL_MOST
#undef __DL_FLOOR
#undef __DL_FRACTION
#undef __DL_REMAINDER
#undef __DL_ABSOLUTE
#undef __DL_SMOOTH
#undef __DL_SHADER
#undef __DL_WHOLE

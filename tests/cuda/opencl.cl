// OpenCL's built-in functions by families; PoCL compiles the same source for the comparison.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define PUT(value) out[row++ * get_global_size(0) + i] = (value)
#define START int i = get_global_id(0), row = 0

kernel void integers(global int4 *out, global const int4 *x, global const int4 *y, global const int4 *z) {
  START;
  int4 a = x[i], b = y[i], c = z[i];
  uint4 u = as_uint4(a), v = as_uint4(b), w = as_uint4(c);
  short8 s = as_short8(a), t = as_short8(b);
  PUT(as_int4(abs(a)));
  PUT(as_int4(abs_diff(a, b)));
  PUT(add_sat(a, b));
  PUT(sub_sat(a, b));
  PUT(as_int4(add_sat(u, v)));
  PUT(hadd(a, b));
  PUT(as_int4(rhadd(u, v)));
  PUT(clz(a));
  PUT(popcount(a));
  PUT(mul_hi(a, b));
  PUT(as_int4(mul_hi(u, v)));
  PUT(mad_sat(a, b, c));
  PUT(as_int4(mad_sat(u & 0xffff, v & 0x1ffff, w)));
  PUT(mul24(a << 8 >> 8, b << 8 >> 8));
  PUT(mad24(a << 8 >> 8, b << 8 >> 8, c));
  PUT(rotate(a, b));
  PUT(max(a, b) - min(a, 7));
  PUT(clamp(a, -1000, 1000));
  PUT(clamp(a, min(b, c), max(b, c)));
  PUT(as_int4(add_sat(s, t)));
  PUT(as_int4(mul_hi(s, t)));
  PUT(as_int4(upsample(as_uchar16(a).lo, as_uchar16(b).hi)));
  PUT(as_int4(hadd(as_long2(a), as_long2(b))));
  PUT(as_int4(mul_hi(as_ulong2(a), as_ulong2(b))));
  PUT(as_int4(sub_sat(as_long2(a), as_long2(b))));
  PUT(select(a, b, c));
  PUT(bitselect(a, b, c));
  PUT((int4)(any(a), all(a), any(a < b), all(a == a)));
  PUT(shuffle(a, v & 3u));
  PUT(shuffle2(a, b, v & 7u));
  PUT(as_int4(shuffle(as_short8(a), (ushort8)(7, 6, 5, 4, 3, 2, 1, 0))));
}

kernel void conversions(global int4 *out, global const float4 *x, global const int4 *y) {
  START;
  float4 f = x[i];
  int4 a = y[i];
  double4 d = convert_double4(f) * 1.0000001;
  PUT(convert_int4(f));
  PUT(convert_int4_rte(f));
  PUT(convert_int4_rtp(f));
  PUT(convert_int4_rtn(d));
  PUT(convert_int4_sat(f * 1e9f));
  PUT(as_int4(convert_uint4_sat_rte(f * 1e8f)));
  PUT(convert_int4(convert_char4_sat(f)));
  PUT(convert_int4(convert_uchar4_sat(a)));
  PUT(convert_int4(convert_short4_sat(a)));
  PUT(convert_int4(convert_ushort4(a)));
  PUT(as_int4(convert_float4(a)));
  PUT(as_int4(convert_float4(as_uint4(a))));
  PUT(as_int4(convert_float4_rtz(d)));
  PUT(convert_int4_sat(convert_long4(f) * 100000000L));
  PUT(as_int4(convert_ulong4_sat(f).s02));
  PUT(isless(f, convert_float4(a)));
  PUT(isnan(f / (f - f)) | isinf(f) | signbit(f));
  PUT((int4)(isgreater(f.x, f.y), isordered(f.x, NAN), isfinite(f.z), isnormal(0.0f)));
}

kernel void floats(global float4 *out, global const float4 *x, global const float4 *y) {
  START;
  float4 a = x[i], b = y[i], c = fabs(a) + 0.5f;
  PUT(fdim(a, b));
  PUT(fmax(a, 0.25f));
  PUT(maxmag(a, b));
  PUT(ldexp(a, (int4)(3, -2, 0, 100)));
  PUT(convert_float4(ilogb(a)));
  PUT(nextafter(a, b));
  PUT(mix(a, b, 0.25f));
  PUT(step(a, b) + smoothstep(0.0f, 2.0f, a));
  PUT(sign(a));
  PUT(degrees(a) + radians(b));
  PUT(cross(a, b));
  PUT((float4)(dot(a, b), length(a), distance(a.xy, b.xy), normalize(a).y));
  float whole, fraction = fract(a.x, &whole), other = fract(b.y, &whole);
  int power;
  float m = frexp(a.z, &power);
  PUT((float4)(fraction, other, whole, 0));
  PUT((float4)(m, power, modf(a.w, &whole), whole));
  PUT(convert_float4(sqrt(convert_double4(c)) * 2.0));
}

// A sum by a tree in local memory, then vectors in and out, and atomics.
kernel void group(global int *out, global const short *in, local int *scratch, global int *total) {
  local int most;
  int l = get_local_id(0), n = get_local_size(0);
  if (l == 0) most = 0;
  scratch[l] = vload4(get_global_id(0), in).y;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_max(&most, scratch[l]);
  for (int step = n / 2; step > 0; step /= 2) {
    if (l < step) scratch[l] += scratch[l + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) {
    atomic_add(total, scratch[0]);
    vstore4((int4)(scratch[0], most, get_group_id(0), get_num_groups(0)), get_group_id(0), out);
  }
}

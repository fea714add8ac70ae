// What the device headers offer beside mathematics, one line of `out` for each result of a warp's 32 lanes.
#define PUT(value) out[32 * row++ + lane] = (unsigned long long)(value)
#define START int row = 0; unsigned lane = threadIdx.x; unsigned a = x[lane], b = y[lane]; (void)a; (void)b
typedef unsigned long long u64;

extern "C" __global__ void integers(u64 *out, const unsigned *x, const unsigned *y) {
  START;
  u64 wide = (u64)a << 32 | b;
  PUT(__popc(a));
  PUT(__popcll(wide));
  PUT(__clz(a));
  PUT(__clzll(wide));
  PUT(__ffs(a));
  PUT(__ffsll(wide));
  PUT(__brev(a));
  PUT(__brevll(wide));
  PUT((unsigned)__mulhi((int)a, (int)b));
  PUT(__umulhi(a, b));
  PUT(__mul64hi((long long)wide, (long long)~wide));
  PUT(__umul64hi(wide, ~wide));
  PUT((unsigned)__mul24((int)a, (int)b));
  PUT(__umul24(a, b));
  PUT(__sad((int)a, (int)b, 7));
  PUT(__usad(a, b, 7));
  PUT((unsigned)__hadd((int)a, (int)b));
  PUT((unsigned)__rhadd((int)a, (int)b));
  PUT(__uhadd(a, b));
  PUT(__urhadd(a, b));
  PUT(__byte_perm(a, b, lane * 0x1357u));
  PUT(__funnelshift_l(a, b, lane + 5));
  PUT(__funnelshift_r(a, b, lane + 5));
  PUT(__funnelshift_lc(a, b, lane + 5));
  PUT(__funnelshift_rc(a, b, lane + 5));
  PUT((unsigned)__dp4a((int)a, (int)b, -3));
  PUT(__dp4a(a, b, 3u));
  PUT((unsigned)min((int)a, (int)b));
  PUT(max(a, b));
  PUT((unsigned)abs((int)a));
}

// Parts of words, beside the instructions that do the same (PTX manual, "SIMD Video Instructions").
#define BESIDE(value, op)                                                                             \
  {                                                                                                   \
    unsigned d;                                                                                       \
    asm(op " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(0));                                    \
    PUT((value) ^ d);                                                                                 \
  }
extern "C" __global__ void parts(u64 *out, const unsigned *x, const unsigned *y) {
  START;
  BESIDE(__vadd4(a, b), "vadd4.u32.u32.u32");
  BESIDE(__vsub2(a, b), "vsub2.u32.u32.u32");
  BESIDE(__vaddss4(a, b), "vadd4.s32.s32.s32.sat");
  BESIDE(__vsubss2(a, b), "vsub2.s32.s32.s32.sat");
  BESIDE(__vaddus2(a, b), "vadd2.u32.u32.u32.sat");
  BESIDE(__vavgs4(a, b), "vavrg4.s32.s32.s32");
  BESIDE(__vavgu2(a, b), "vavrg2.u32.u32.u32");
  BESIDE(__vmaxs4(a, b), "vmax4.s32.s32.s32");
  BESIDE(__vminu2(a, b), "vmin2.u32.u32.u32");
  BESIDE(__vabsdiffu4(a, b), "vabsdiff4.u32.u32.u32");
  BESIDE(__vsads4(a, b), "vabsdiff4.u32.s32.s32.add");
  BESIDE(__vsadu2(a, b), "vabsdiff2.u32.u32.u32.add");
  BESIDE(__vsetgts4(a, b), "vset4.s32.s32.gt");
  BESIDE(__vsetltu2(a, b), "vset2.u32.u32.lt");
  PUT(__vcmpeq4(a, b) ^ __vneg4(__vseteq4(a, b)));
  PUT(__vabsss4(a) ^ __vmaxs4(a, __vnegss4(a)));
}

extern "C" __global__ void lanes(u64 *out, const unsigned *x, const unsigned *y) {
  START;
  PUT(__shfl_sync(~0u, a, 5));
  PUT(__shfl_sync(~0u, a, lane + 3, 8));
  PUT(__shfl_up_sync(~0u, a, 2));
  PUT(__shfl_up_sync(~0u, a, 1, 4));
  PUT(__shfl_down_sync(~0u, a, 7));
  PUT(__shfl_down_sync(~0u, a, 3, 16));
  PUT(__shfl_xor_sync(~0u, a, 9));
  PUT(__double_as_longlong(__shfl_xor_sync(~0u, (double)a + 0.5, 1)));
  PUT(__ballot_sync(~0u, a & 1));
  PUT(__any_sync(~0u, lane == 40));
  PUT(__all_sync(~0u, lane < 32));
  PUT(__match_any_sync(~0u, lane % 5));
  int all;
  PUT(__match_all_sync(~0u, 7ull, &all));
  PUT(all);
  PUT(__match_all_sync(~0u, lane, &all));
  PUT(all);
  PUT(__reduce_add_sync(~0u, a));
  PUT((unsigned)__reduce_min_sync(~0u, (int)a));
  PUT(__reduce_max_sync(~0u, a));
  PUT(__reduce_and_sync(~0u, a | 0xff));
  PUT(__reduce_or_sync(~0u, a & 0xff));
  PUT(__reduce_xor_sync(~0u, a));
  if (lane < 10) PUT(__activemask());
  __syncwarp();
  row = 23;
  PUT(__syncthreads_count(a & 1));
  PUT(__syncthreads_and(1));
  PUT(__syncthreads_or(lane == 3));
  PUT(__lanemask_lt());
  PUT(blockDim.x * 100 + gridDim.x * 10 + warpSize);
}

struct Cells { int i; unsigned u; u64 l; float f; double d; unsigned short h; };

// Every lane adds to the same cells; what they hold afterwards is the same in every order.
extern "C" __global__ void atomics(Cells *c, u64 *out, const unsigned *x) {
  unsigned lane = threadIdx.x, a = x[lane];
  atomicAdd(&c[0].i, -(int)lane);
  atomicAdd(&c[0].u, a);
  atomicAdd(&c[0].l, (u64)a << 8);
  atomicAdd(&c[0].f, 0.5f);
  atomicAdd(&c[0].d, (double)lane);
  atomicSub(&c[1].i, (int)lane);
  atomicSub_block(&c[1].u, a);
  atomicMin(&c[2].i, (int)a);
  atomicMin_system(&c[2].u, a);
  atomicMin(&c[2].l, (u64)a);
  atomicMax_block(&c[3].i, (int)a);
  atomicMax(&c[3].u, a);
  atomicMax(&c[3].l, (u64)a);
  atomicAnd(&c[4].u, a | 0xffff0000u);
  atomicOr(&c[5].u, a);
  atomicXor(&c[6].u, a);
  atomicInc(&c[7].u, 9);
  atomicDec(&c[8].u, 9);
  out[lane] = atomicExch(&c[9].u, lane + 1);
  for (float old = c[10].f, seen; ; old = seen) {  // the classical loop around a compare and swap
    seen = __uint_as_float(atomicCAS((unsigned *)&c[10].f, __float_as_uint(old), __float_as_uint(old + 2.0f)));
    if (__float_as_uint(seen) == __float_as_uint(old)) break;
  }
  atomicCAS(&c[11].h, (unsigned short)0, (unsigned short)77);
  atomicAdd_system(&c[12].d, 0.25);
}

extern "C" __global__ void conversions(u64 *out, const float *x, const double *y) {
  int row = 0;
  unsigned lane = threadIdx.x;
  float f = x[lane];
  double d = y[lane];
  PUT(__float2int_rn(f));
  PUT(__float2int_rz(f));
  PUT(__float2int_ru(f));
  PUT(__float2int_rd(f));
  PUT(__double2ll_rn(d));
  PUT(__double2ll_rd(d));
  PUT(__float_as_uint(__double2float_rz(d)));
  PUT(__float_as_uint(__double2float_ru(d)));
  PUT(__double_as_longlong(__ll2double_rd((1ll << 60) + (long long)lane)));
  PUT(__float_as_uint(__int2float_rz(0x1000001 + 2 * (int)lane)));
  PUT((unsigned)__double2hiint(d));
  PUT((unsigned)__double2loint(d));
  PUT(__double_as_longlong(__hiloint2double(__double2hiint(d), __double2loint(d))));
  PUT(__float_as_uint(__fadd_rz(f, 1e-8f)));
  PUT(__float_as_uint(__fmul_ru(f, f)));
  PUT(__double_as_longlong(__dadd_rd(d, 1e-18)));
  PUT(__double_as_longlong(__fma_rn(d, d, d)));
  PUT(__float_as_uint(__saturatef(f)));
}

// A vector through each kind of load and store.
extern "C" __global__ void cached(float4 *out, const float4 *in, int2 *pairs, const unsigned char *bytes, int *sums) {
  unsigned lane = threadIdx.x;
  float4 v = __ldg(in + lane), w = __ldcs(in + lane), u = __ldcg(&in[lane]);
  __stcs(out + lane, make_float4(v.x + w.x, v.y, u.z, __ldg(&in[lane].w)));
  int2 p = __ldca(pairs + lane);
  __stwt(pairs + lane, make_int2(p.y, p.x));
  sums[lane] = __ldg(bytes + lane) + __ldcv(bytes + lane);
}

extern "C" __global__ void spaces(u64 *out, int *p) {
  __shared__ int s[4];
  int row = 0, lane = threadIdx.x;
  s[lane & 3] = 0;
  PUT(__isGlobal(p));
  PUT(__isShared(s));
  PUT(__isGlobal(s));
  PUT(__isShared(__cvta_shared_to_generic(__cvta_generic_to_shared(s))));
  u64 before = clock64();
  PUT(clock64() >= (long long)before);
}

"""A PTX program with memory on the stack in every way that there is, for every device."""

#: A recursive function with memory of its own at every level, one that stops, and `%d0` = the thread's place in `out`.
HEADER = """.version 8.0
.target sm_61
.address_size 64
.func (.param .b32 r) halves(.param .b32 n)
{
.reg .b64 %d<3>; .reg .b32 %r<6>; .reg .pred %p; .param .b32 a; .param .b32 b;
ld.param.b32 %r0, [n];
mul.wide.u32 %d0, %r0, 4;
alloca.u64 %d1, %d0, 64;
mov.u32 %r1, 0; mov.u32 %r5, 0; mov.u64 %d2, %d1;
FILL: st.local.u32 [%d2], %r1; add.u64 %d2, %d2, 4; add.u32 %r1, %r1, 3;
add.u32 %r5, %r5, 1; setp.lt.u32 %p, %r5, %r0; @%p bra FILL;
mov.u32 %r4, 0;
setp.le.u32 %p, %r0, 1; @%p bra SUM;
shr.u32 %r3, %r0, 1;
st.param.b32 [a], %r3; call (b), halves, (a); ld.param.b32 %r4, [b];
SUM: cvta.local.u64 %d1, %d1; and.b64 %d2, %d1, 63;
ADD: ld.u32 %r2, [%d1]; add.u32 %r4, %r4, %r2; add.u64 %d1, %d1, 4;
sub.u32 %r5, %r5, 1; setp.ne.u32 %p, %r5, 0; @%p bra ADD;
st.param.b32 [r], %r4;
ret;
}
.func waits()
{
.reg .b64 %d; .reg .b32 %r;
alloca.u64 %d, 128, 128; st.local.u32 [%d+124], 77; bar.sync 0; ld.local.u32 %r, [%d+124];
ret;
}
.visible .entry k(.param .u64 out)
{
.reg .b64 %d<20>; .reg .b32 %r<20>; .reg .pred %p<4>; .param .b32 a; .param .b32 b; .local .align 4 .b8 v[8];
ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;
mad.lo.u32 %r3, %r1, %r2, %r0; mul.wide.u32 %d1, %r3, 4; add.u64 %d0, %d0, %d1;
"""
#: The body of `k`; MIDDLE is run by all threads while they hold memory.
EVERYTHING = """
st.local.u32 [v+4], %r0;
and.b32 %r4, %r0, 7; add.u32 %r4, %r4, 1;
alloca.u32 %r5, %r4, 1; st.local.u8 [%r5], %r0;            // of another size in every lane
stacksave.u64 %d5;
alloca.u64 %d4, 64; add.u64 %d4, %d4, 4; st.local.u32 [%d4], %r3;
setp.gt.u32 %p0, %r4, 4; @%p0 bra MANY;
mov.u32 %r9, 0;
LOOP: stacksave.u32 %r8; alloca.u64 %d6, 1024, 32; st.local.u32 [%d6+1020], %r9; stackrestore.u32 %r8;
add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 70; @%p1 bra LOOP;      // more than a stack, were it not freed
and.b64 %d7, %d6, 31; cvt.u32.u64 %r10, %d7;
st.param.b32 [a], %r4; call (b), halves, (a); ld.param.b32 %r6, [b];
add.u32 %r6, %r6, %r9; add.u32 %r6, %r6, %r10;
bra TOGETHER;
MANY: @%p0 alloca.u64 %d10, %d1, 16; st.param.b32 [a], 9; call (b), halves, (a); ld.param.b32 %r6, [b];
TOGETHER: MIDDLE
ld.local.u32 %r11, [%d4]; add.u32 %r6, %r6, %r11;
ld.local.u8 %r12, [%r5]; add.u32 %r6, %r6, %r12;
ld.local.u32 %r12, [v+4]; add.u32 %r6, %r6, %r12;
stackrestore.u64 %d5; alloca.u64 %d8, 64; add.u64 %d8, %d8, 4; sub.u64 %d8, %d8, %d4; cvt.u32.u64 %r13, %d8;
add.u32 %r6, %r6, %r13;
cvta.local.u64 %d9, %d4; isspacep.local %p1, %d9; selp.u32 %r14, 1000, 0, %p1; add.u32 %r6, %r6, %r14;
st.global.u32 [%d0], %r6;
ret;
}
"""

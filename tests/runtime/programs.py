"""PTX that the runtime's tests launch, written by hand so that every parameter form stands in it."""

HEADER = ".version 7.0\n.target sm_60\n.address_size 64\n"

# y = a * x + y, with pointers that are annotated.
SAXPY = (
    HEADER
    + """
.visible .entry saxpy(
    .param .f32 a,
    .param .u64 .ptr .global .align 4 x,
    .param .u64 .ptr .global .align 4 y,
    .param .u32 n
)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<6>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r0, [n];
    setp.ge.s32 %p, %r4, %r0;
    @%p bra DONE;
    ld.param.f32 %f0, [a];
    ld.param.u64 %rd0, [x];
    ld.param.u64 %rd1, [y];
    cvta.to.global.u64 %rd2, %rd0;
    cvta.to.global.u64 %rd3, %rd1;
    mul.wide.s32 %rd4, %r4, 4;
    add.s64 %rd2, %rd2, %rd4;
    add.s64 %rd3, %rd3, %rd4;
    ld.global.f32 %f1, [%rd2];
    ld.global.f32 %f2, [%rd3];
    fma.rn.f32 %f3, %f0, %f1, %f2;
    st.global.f32 [%rd3], %f3;
DONE:
    ret;
}
"""
)


def store_scalar(type_name: str) -> str:
    """A kernel `store(out, value)` that writes its second parameter, of that type, to `out`."""
    bits = int("".join(c for c in type_name if c.isdigit()))
    moved = f"b{bits}" if type_name == "f16" else type_name
    register = f"b{max(bits, 16)}"
    return (
        HEADER
        + f"""
.visible .entry store(.param .u64 out, .param .{type_name} value)
{{
    .reg .b64 %rd;
    .reg .{register} %v;
    ld.param.u64 %rd, [out];
    ld.param.{moved} %v, [value];
    st.global.{moved} [%rd], %v;
    ret;
}}
"""
    )


# Copies a structure of 24 bytes, passed by value between two scalars, to `out`.
STRUCTURE = (
    HEADER
    + """
.visible .entry store(.param .u32 before, .param .align 8 .b8 s[24], .param .u64 out)
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [out];
    ld.param.u64 %rd1, [s];
    ld.param.u64 %rd2, [s+8];
    ld.param.u64 %rd3, [s+16];
    st.global.u64 [%rd0], %rd1;
    st.global.u64 [%rd0+8], %rd2;
    st.global.u64 [%rd0+16], %rd3;
    ret;
}
"""
)

# out[i] = counter++ + table[i % 4] + matrix[1][2]
VARIABLES = (
    HEADER
    + """
.visible .global .align 4 .u32 counter = 5;
.visible .const .align 4 .f32 table[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
.visible .global .align 8 .f64 matrix[2][3];
.visible .entry count_up(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .reg .f32 %f;
    .reg .f64 %d<4>;
    mov.u64 %rd0, counter;
    atom.global.add.u32 %r0, [%rd0], 1;
    mov.u32 %r1, %tid.x;
    and.b32 %r2, %r1, 3;
    mul.wide.u32 %rd1, %r2, 4;
    mov.u64 %rd2, table;
    add.s64 %rd2, %rd2, %rd1;
    ld.const.f32 %f, [%rd2];
    cvt.f64.f32 %d0, %f;
    ld.global.f64 %d1, [matrix+40];
    add.f64 %d2, %d0, %d1;
    ld.param.u64 %rd3, [out];
    mul.wide.u32 %rd1, %r1, 8;
    add.s64 %rd3, %rd3, %rd1;
    st.global.f64 [%rd3], %d2;
    ret;
}
"""
)

# Reverses the block's elements through dynamic shared memory.
REVERSE = (
    HEADER
    + """
.extern .shared .align 4 .b8 tile[];
.visible .entry reverse(.param .u64 data)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<3>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ntid.x;
    ld.param.u64 %rd0, [data];
    mul.wide.u32 %rd1, %r0, 4;
    add.s64 %rd2, %rd0, %rd1;
    ld.global.u32 %r2, [%rd2];
    mov.u32 %r3, tile;
    shl.b32 %r4, %r0, 2;
    add.s32 %r3, %r3, %r4;
    st.shared.u32 [%r3], %r2;
    bar.sync 0;
    sub.s32 %r4, %r1, %r0;
    sub.s32 %r4, %r4, 1;
    shl.b32 %r4, %r4, 2;
    mov.u32 %r3, tile;
    add.s32 %r3, %r3, %r4;
    ld.shared.u32 %r5, [%r3];
    st.global.u32 [%rd2], %r5;
    ret;
}
"""
)

# Each thread writes its linear index over a three-dimensional grid of three-dimensional blocks.
COORDINATES = (
    HEADER
    + """
.visible .entry coordinates(.param .u64 out)
{
    .reg .b32 %r<14>;
    .reg .b64 %rd<3>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %tid.y;
    mov.u32 %r2, %tid.z;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %ntid.y;
    mov.u32 %r5, %ntid.z;
    mad.lo.u32 %r6, %r2, %r4, %r1;
    mad.lo.u32 %r6, %r6, %r3, %r0;
    mul.lo.u32 %r7, %r3, %r4;
    mul.lo.u32 %r7, %r7, %r5;
    mov.u32 %r8, %ctaid.x;
    mov.u32 %r9, %ctaid.y;
    mov.u32 %r10, %ctaid.z;
    mov.u32 %r11, %nctaid.x;
    mov.u32 %r12, %nctaid.y;
    mad.lo.u32 %r13, %r10, %r12, %r9;
    mad.lo.u32 %r13, %r13, %r11, %r8;
    mad.lo.u32 %r6, %r13, %r7, %r6;
    ld.param.u64 %rd0, [out];
    mul.wide.u32 %rd1, %r6, 4;
    add.s64 %rd2, %rd0, %rd1;
    st.global.u32 [%rd2], %r6;
    ret;
}
"""
)

# out = *table[0] + *table[1], through addresses that lie in memory.
POINTER_TABLE = (
    HEADER
    + """
.visible .entry follow(.param .u64 table, .param .u64 out)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<3>;
    ld.param.u64 %rd0, [table];
    ld.global.u64 %rd1, [%rd0];
    ld.global.u64 %rd2, [%rd0+8];
    ld.global.u32 %r0, [%rd1];
    ld.global.u32 %r1, [%rd2];
    add.u32 %r2, %r0, %r1;
    ld.param.u64 %rd3, [out];
    st.global.u32 [%rd3], %r2;
    ret;
}
"""
)

TRAP = HEADER + "\n.visible .entry stop()\n{\n    trap;\n    ret;\n}\n"

# Stores one element behind the end that `index` says.
STORE_AT = (
    HEADER
    + """
.visible .entry store_at(.param .u64 out, .param .u32 index)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r0;
    ld.param.u64 %rd0, [out];
    ld.param.u32 %r0, [index];
    mul.wide.u32 %rd1, %r0, 4;
    add.s64 %rd2, %rd0, %rd1;
    st.global.u32 [%rd2], 7;
    ret;
}
"""
)

# Waits until *flag is not 0.
SPIN = (
    HEADER
    + """
.visible .entry spin(.param .u64 flag)
{
    .reg .pred %p;
    .reg .b64 %rd0;
    .reg .b32 %r0;
    ld.param.u64 %rd0, [flag];
AGAIN:
    ld.volatile.global.u32 %r0, [%rd0];
    setp.eq.u32 %p, %r0, 0;
    @%p bra AGAIN;
    ret;
}
"""
)


def limited(directive: str) -> str:
    """A kernel `empty()` with a performance directive."""
    return HEADER + f"\n.visible .entry empty()\n{directive}\n{{\n    ret;\n}}\n"


def static_shared(size: int) -> str:
    """A kernel `empty()` that uses `size` bytes of static shared memory."""
    return (
        HEADER
        + f"""
.visible .entry empty()
{{
    .shared .align 4 .b8 tile[{size}];
    .reg .b32 %r0;
    mov.u32 %r0, tile;
    st.shared.u32 [%r0], 1;
    ret;
}}
"""
    )


# One kernel whose parameters take memory of every alignment and space.
PARAMETERS = (
    HEADER
    + """
.visible .entry many(
    .param .u64 .ptr .global .align 16 aligned,
    .param .u64 .ptr .shared .align 4 offset,
    .param .u32 number,
    .param .u8 small,
    .param .f64 real,
    .param .b32 bits,
    .param .align 4 .b8 record[8],
    .param .u64 plain
)
{
    ret;
}
"""
)

#: Accesses at an index from an address.
AROUND = """
.version 7.8
.target sm_80
.address_size 64
.visible .entry write_at(.param .u64 to, .param .s32 at) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  ld.param.s32 %r1, [at];
  mul.wide.s32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], 7;
  ret;
}
.visible .entry read_at(.param .u64 from, .param .s32 at, .param .u64 out) {
  .reg .b64 %rd<5>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd1, [from];
  ld.param.s32 %r1, [at];
  mul.wide.s32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %r2, [%rd3];
  ld.param.u64 %rd4, [out];
  st.global.u32 [%rd4], %r2;
  ret;
}
"""

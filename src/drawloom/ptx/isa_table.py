"""What every PTX opcode accepts, as one table: PTX ISA 9.0 chapter 9 outside tensor cores, textures and surfaces,
bulk copies and clusters. ``drawloom.ptx.isa`` reads it. A row is

    name | modifiers | types | operands | smallest PTX version, smallest sm (30-62: and largest; 90a: only sm_90a ...)

with one row per form. In *modifiers* a word is one slot: alternatives joined by ``/``, optional with a trailing
``?``, ``$x`` a named class. The driver's assembler takes modifiers in any order except that types keep theirs,
and so does ``decode``. In *types* a word is one type position. In *operands* a word is one operand:

    =        destination (always first)            ?        optional
    t t1 r   of the 1st, 2nd type, register of it  w        twice as wide as the 1st type
    >        a register may be wider than the type u32 ...  of that fixed type
    p        predicate; ``!p`` may be negated      |p &p    a second predicate destination, optional or not
    _        (after =) ``_`` throws it away         hint     a cache policy, with L2::cache_hint only
    m        an address (ms mg: shared, global)    v        t, or a vector of t as the vector modifier says
    i        an integer constant                   l        a label
    c        shift amount or count: u32            other words: one operand form of one opcode (see the verifier)
"""

from __future__ import annotations

from typing import Final

# fmt: off
CLASSES: Final[dict[str, str]] = {
    "int": "u16/u32/u64/s16/s32/s64",
    "int32": "u32/s32",
    "bits": "b16/b32/b64",
    "rnd": "rn/rz/rm/rp",
    "half": "f16/f16x2/bf16/bf16x2",
    "icmp": "eq/ne/lt/le/gt/ge/lo/ls/hi/hs",
    "fcmp": "eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan",
    "bool": "and/or/xor",
    "sem": "relaxed/acquire/release/acq_rel",
    "scope": "cta/cluster/gpu/sys",
    "space": "const/global/local/shared/shared::cta/shared::cluster/param/param::entry/param::func",
    "stspace": "global/local/shared/shared::cta/shared::cluster/param/param::func",
    "atomspace": "global/shared/shared::cta/shared::cluster",
    "scta": "shared/shared::cta",
    "l1": "L1::evict_normal/L1::evict_unchanged/L1::evict_first/L1::evict_last/L1::no_allocate",
    "l2": "L2::evict_normal/L2::evict_first/L2::evict_last",
    "primary": "L2::evict_last/L2::evict_normal/L2::evict_first/L2::evict_unchanged",
    "secondary": "L2::evict_first/L2::evict_unchanged",
    "l2size": "L2::64B/L2::128B/L2::256B",
    "vec": "v2/v4/v8",
    "mem": "b8/b16/b32/b64/b128/u8/u16/u32/u64/s8/s16/s32/s64/f32/f64",
    "cvtint": "u8/u16/u32/u64/s8/s16/s32/s64",
    "cvtfloat": "f16/f32/f64/bf16",
}

TABLE: Final = """
# Integer arithmetic (9.7.1)
add   |                 | $int            | =t t t         | 1.0 10
add   |                 | u16x2/s16x2     | =t t t         | 8.0 90
add   | sat             | s32             | =t t t         | 1.0 10
sub   |                 | $int            | =t t t         | 1.0 10
sub   | sat             | s32             | =t t t         | 1.0 10
mul   | lo/hi           | $int            | =t t t         | 1.0 10
mul   | wide            | u16/s16/u32/s32 | =w t t         | 1.0 10
mad   | lo/hi           | $int            | =t t t t       | 1.0 10
mad   | wide            | u16/s16/u32/s32 | =w t t w       | 1.0 10
mad   | hi sat          | s32             | =t t t t       | 1.0 10
mul24 | lo/hi           | u32/s32         | =t t t         | 1.0 10
mad24 | lo/hi           | u32/s32         | =t t t t       | 1.0 10
mad24 | hi sat          | s32             | =t t t t       | 1.0 10
sad   |                 | $int            | =t t t t       | 1.0 10
div   |                 | $int            | =t t t         | 1.0 10
rem   |                 | $int            | =t t t         | 1.0 10
abs   |                 | s16/s32/s64     | =t t           | 1.0 10
neg   |                 | s16/s32/s64     | =t t           | 1.0 10
min   |                 | $int            | =t t t         | 1.0 10
min   |                 | u16x2/s16x2     | =t t t         | 8.0 90
min   | relu            | s16x2/s32       | =t t t         | 8.0 90
max   |                 | $int            | =t t t         | 1.0 10
max   |                 | u16x2/s16x2     | =t t t         | 8.0 90
max   | relu            | s16x2/s32       | =t t t         | 8.0 90
popc  |                 | b32/b64         | =u32 t         | 2.0 20
clz   |                 | b32/b64         | =u32 t         | 2.0 20
bfind |                 | u32/u64/s32/s64 | =u32 t         | 2.0 20
bfind | shiftamt        | u32/u64/s32/s64 | =u32 t         | 2.0 20
fns   |                 | b32             | =t t t t       | 6.0 30
brev  |                 | b32/b64         | =t t           | 2.0 20
bfe   |                 | u32/u64/s32/s64 | =t t c c       | 2.0 20
bfi   |                 | b32/b64         | =t t t c c     | 2.0 20
szext | clamp/wrap      | u32/s32         | =t t c         | 7.6 70
bmsk  | clamp/wrap      | b32             | =u32 c c       | 7.6 70
dp4a  |                 | u32/s32 u32/s32 | =acc t t1 acc  | 5.0 61
dp2a  | lo/hi           | u32/s32 u32/s32 | =acc t t1 acc  | 5.0 61

# Extended precision (9.7.2): the carry flag is implicit
add   | cc              | u32/s32/u64/s64 | =t t t         | 1.2 10
addc  | cc?             | u32/s32/u64/s64 | =t t t         | 1.2 10
addc  |                 | u16/s16         | =t t t         | 1.2 10
sub   | cc              | u32/s32/u64/s64 | =t t t         | 1.2 10
subc  | cc?             | u32/s32/u64/s64 | =t t t         | 1.2 10
subc  |                 | u16/s16         | =t t t         | 1.2 10
mad   | lo/hi cc        | u32/s32/u64/s64 | =t t t t       | 3.0 20
madc  | lo/hi cc?       | u32/s32/u64/s64 | =t t t t       | 3.0 20
madc  | lo/hi           | u16/s16         | =t t t t       | 3.0 20

# Floating point (9.7.3, 9.7.4, 9.7.5)
testp | finite/infinite/number/notanumber/normal/subnormal | f32/f64 | =p t | 2.0 20
copysign |              | f32/f64         | =t t t         | 2.0 20
add   | $rnd? ftz? sat? | f32             | =t t t         | 1.0 10
add   | $rnd?           | f64             | =t t t         | 1.0 13
add   | $rnd? ftz?      | f32x2           | =t t t         | 8.6 100
add   | rn? ftz? sat?   | f16/f16x2       | =t t t         | 4.2 53
add   | rn?             | bf16/bf16x2     | =t t t         | 7.8 90
sub   | $rnd? ftz? sat? | f32             | =t t t         | 1.0 10
sub   | $rnd?           | f64             | =t t t         | 1.0 13
sub   | $rnd? ftz?      | f32x2           | =t t t         | 8.6 100
sub   | rn? ftz? sat?   | f16/f16x2       | =t t t         | 4.2 53
sub   | rn?             | bf16/bf16x2     | =t t t         | 7.8 90
mul   | $rnd? ftz? sat? | f32             | =t t t         | 1.0 10
mul   | $rnd?           | f64             | =t t t         | 1.0 13
mul   | $rnd? ftz?      | f32x2           | =t t t         | 8.6 100
mul   | rn? ftz? sat?   | f16/f16x2       | =t t t         | 4.2 53
mul   | rn?             | bf16/bf16x2     | =t t t         | 7.8 90
fma   | $rnd ftz? sat?  | f32             | =t t t t       | 2.0 20
fma   | $rnd            | f64             | =t t t t       | 1.4 13
fma   | $rnd ftz?       | f32x2           | =t t t t       | 8.6 100
fma   | rn ftz? sat?    | f16/f16x2       | =t t t t       | 4.2 53
fma   | rn ftz? relu    | f16/f16x2       | =t t t t       | 7.0 80
fma   | rn relu?        | bf16/bf16x2     | =t t t t       | 7.0 80
fma   | rn oob relu?    | $half           | =t t t t       | 8.1 90
mad   | $rnd ftz? sat?  | f32             | =t t t t       | 2.0 20
mad   | $rnd            | f64             | =t t t t       | 1.4 13
div   | approx ftz?     | f32             | =t t t         | 1.4 10
div   | full ftz?       | f32             | =t t t         | 1.4 10
div   | $rnd ftz?       | f32             | =t t t         | 1.4 20
div   | $rnd            | f64             | =t t t         | 1.4 13
abs   | ftz?            | f32             | =t t           | 1.0 10
abs   |                 | f64             | =t t           | 1.0 13
abs   | ftz?            | f16/f16x2       | =t t           | 6.5 53
abs   |                 | bf16/bf16x2     | =t t           | 7.0 80
neg   | ftz?            | f32             | =t t           | 1.0 10
neg   |                 | f64             | =t t           | 1.0 13
neg   | ftz?            | f16/f16x2       | =t t           | 6.0 53
neg   |                 | bf16/bf16x2     | =t t           | 7.0 80
min   | ftz?            | f32             | =t t t         | 1.0 10
min   | ftz? NaN        | f32             | =t t t         | 7.0 80
min   | ftz? NaN? xorsign abs | f32       | =t t t         | 7.2 86
min   | ftz? NaN? abs?  | f32             | =t t t t       | 8.8 100
min   |                 | f64             | =t t t         | 1.0 13
min   | ftz? NaN?       | f16/f16x2       | =t t t         | 7.0 80
min   | NaN?            | bf16/bf16x2     | =t t t         | 7.0 80
min   | ftz? NaN? xorsign abs | f16/f16x2 | =t t t         | 7.2 86
min   | NaN? xorsign abs | bf16/bf16x2    | =t t t         | 7.2 86
max   | ftz?            | f32             | =t t t         | 1.0 10
max   | ftz? NaN        | f32             | =t t t         | 7.0 80
max   | ftz? NaN? xorsign abs | f32       | =t t t         | 7.2 86
max   | ftz? NaN? abs?  | f32             | =t t t t       | 8.8 100
max   |                 | f64             | =t t t         | 1.0 13
max   | ftz? NaN?       | f16/f16x2       | =t t t         | 7.0 80
max   | NaN?            | bf16/bf16x2     | =t t t         | 7.0 80
max   | ftz? NaN? xorsign abs | f16/f16x2 | =t t t         | 7.2 86
max   | NaN? xorsign abs | bf16/bf16x2    | =t t t         | 7.2 86
rcp   | approx ftz?     | f32             | =t t           | 1.4 10
rcp   | $rnd ftz?       | f32             | =t t           | 1.4 20
rcp   | $rnd            | f64             | =t t           | 1.4 13
rcp   | approx ftz      | f64             | =t t           | 2.1 20
sqrt  | approx ftz?     | f32             | =t t           | 1.4 10
sqrt  | $rnd ftz?       | f32             | =t t           | 1.4 20
sqrt  | $rnd            | f64             | =t t           | 1.4 13
rsqrt | approx ftz?     | f32             | =t t           | 1.4 10
rsqrt | approx ftz?     | f64             | =t t           | 4.0 13
sin   | approx ftz?     | f32             | =t t           | 1.4 10
cos   | approx ftz?     | f32             | =t t           | 1.4 10
lg2   | approx ftz?     | f32             | =t t           | 1.4 10
ex2   | approx ftz?     | f32             | =t t           | 1.4 10
ex2   | approx          | f16/f16x2       | =t t           | 7.0 75
ex2   | approx ftz      | bf16/bf16x2     | =t t           | 7.8 90
tanh  | approx          | f32             | =t t           | 7.0 75
tanh  | approx          | f16/f16x2       | =t t           | 7.0 75
tanh  | approx          | bf16/bf16x2     | =t t           | 7.8 90

# Mixed precision (9.7.5): the narrow sources are widened first
add   | $rnd? sat?      | f32 f16/bf16    | =t t1 t        | 8.6 100
sub   | $rnd? sat?      | f32 f16/bf16    | =t t1 t        | 8.6 100
fma   | $rnd sat?       | f32 f16/bf16    | =t t1 t1 t     | 8.6 100

# Comparison and selection (9.7.6, 9.7.7)
set   | $icmp           | u32/s32/f32 $bits/$int       | =t t1 t1    | 1.0 10
set   | $icmp $bool     | u32/s32/f32 $bits/$int       | =t t1 t1 !p | 1.0 10
set   | $fcmp ftz?      | u32/s32/f32 f32              | =t t1 t1    | 1.0 10
set   | $fcmp $bool ftz? | u32/s32/f32 f32             | =t t1 t1 !p | 1.0 10
set   | $fcmp           | u32/s32/f32 f64              | =t t1 t1    | 1.0 13
set   | $fcmp $bool     | u32/s32/f32 f64              | =t t1 t1 !p | 1.0 13
set   | $fcmp ftz?      | u16/s16/u32/s32 f16          | =t t1 t1    | 6.5 53
set   | $fcmp $bool ftz? | u16/s16/u32/s32 f16         | =t t1 t1 !p | 6.5 53
set   | $fcmp           | u16/s16/u32/s32 bf16         | =t t1 t1    | 7.8 90
set   | $fcmp $bool     | u16/s16/u32/s32 bf16         | =t t1 t1 !p | 7.8 90
set   | $icmp           | f16 $bits/$int               | =t t1 t1    | 4.2 53
set   | $icmp $bool     | f16 $bits/$int               | =t t1 t1 !p | 4.2 53
set   | $icmp           | bf16 $bits/$int              | =t t1 t1    | 7.8 90
set   | $icmp $bool     | bf16 $bits/$int              | =t t1 t1 !p | 7.8 90
set   | $fcmp ftz?      | f16 f16/f32                  | =t t1 t1    | 4.2 53
set   | $fcmp $bool ftz? | f16 f16/f32                 | =t t1 t1 !p | 4.2 53
set   | $fcmp           | bf16 f16/f32                 | =t t1 t1    | 7.8 90
set   | $fcmp $bool     | bf16 f16/f32                | =t t1 t1 !p | 7.8 90
set   | $fcmp           | f16 f64                      | =t t1 t1    | 4.2 53
set   | $fcmp $bool     | f16 f64                      | =t t1 t1 !p | 4.2 53
set   | $fcmp           | bf16 f64/bf16                | =t t1 t1    | 7.8 90
set   | $fcmp $bool     | bf16 f64/bf16                | =t t1 t1 !p | 7.8 90
set   | $fcmp ftz?      | f16x2 f16x2                  | =t t1 t1    | 4.2 53
set   | $fcmp $bool ftz? | f16x2 f16x2                 | =t t1 t1 !p | 4.2 53
set   | $fcmp ftz?      | u32/s32 f16x2                | =t t1 t1    | 6.5 53
set   | $fcmp $bool ftz? | u32/s32 f16x2               | =t t1 t1 !p | 6.5 53
set   | $fcmp           | bf16x2/u32/s32 bf16x2        | =t t1 t1    | 7.8 90
set   | $fcmp $bool     | bf16x2/u32/s32 bf16x2        | =t t1 t1 !p | 7.8 90
setp  | $icmp           | b16/b32/b64/$int | =p_|p t t      | 1.0 10
setp  | $icmp $bool     | b16/b32/b64/$int | =p_|p t t !p   | 1.0 10
setp  | $fcmp ftz?      | f32             | =p_|p t t       | 1.0 10
setp  | $fcmp $bool ftz? | f32            | =p_|p t t !p    | 1.0 10
setp  | $fcmp           | f64             | =p_|p t t       | 1.0 13
setp  | $fcmp $bool     | f64             | =p_|p t t !p    | 1.0 13
setp  | $fcmp ftz?      | f16             | =p_ t t        | 4.2 53
setp  | $fcmp $bool ftz? | f16            | =p_ t t !p     | 4.2 53
setp  | $fcmp ftz?      | f16x2           | =p_|p t t      | 4.2 53
setp  | $fcmp $bool ftz? | f16x2          | =p_|p t t !p   | 4.2 53
setp  | $fcmp           | bf16            | =p_ t t        | 7.8 90
setp  | $fcmp $bool     | bf16            | =p_ t t !p     | 7.8 90
setp  | $fcmp           | bf16x2          | =p_|p t t      | 7.8 90
setp  | $fcmp $bool     | bf16x2          | =p_|p t t !p   | 7.8 90
selp  |                 | b16/b32/b64/$int/f32/f64 | =t t t !p | 1.0 10
slct  |                 | b16/b32/b64/$int/f32/f64 s32 | =t t t s32 | 1.0 10
slct  | ftz?            | b16/b32/b64/$int/f32/f64 f32 | =t t t f32 | 1.0 10

# Logic and shift (9.7.8)
and   |                 | pred            | =p !p !p       | 1.0 10
or    |                 | pred            | =p !p !p       | 1.0 10
xor   |                 | pred            | =p !p !p       | 1.0 10
not   |                 | pred            | =p !p          | 1.0 10
and   |                 | $bits           | =t t t         | 1.0 10
or    |                 | $bits           | =t t t         | 1.0 10
xor   |                 | $bits           | =t t t         | 1.0 10
not   |                 | $bits           | =t t           | 1.0 10
cnot  |                 | $bits           | =t t           | 1.0 10
lop3  |                 | b32             | =t t t t i     | 4.3 50
lop3  | and/or          | b32             | =t_&p t t t i !p | 8.2 70
shf   | l/r clamp/wrap  | b32             | =t t t c       | 3.2 32
shl   |                 | $bits           | =t t c         | 1.0 10
shr   |                 | $bits/$int      | =t t c         | 1.0 10
prmt  |                 | b32             | =t t t t       | 2.0 20
prmt  | f4e/b4e/rc8/ecl/ecr/rc16 | b32    | =t t t t       | 2.0 20

# Data movement (9.7.9)
mov   |                 | pred            | =p !p          | 1.0 10
mov   |                 | $bits/$int/f32/f64 | =t mov      | 1.0 10
mov   |                 | b16/b32/b64    | =pack pack      | 1.0 10
mov   |                 | b128            | =pack pack     | 8.3 70
mov   | v4              | u16/u32/s32/b32 | =vec special   | 1.0 10
mov   | v2/v4           | $bits/$int/f32/f64 | =vec vec    | 1.0 10
shfl  | up/down/bfly/idx | b32            | =t|p t c c     | 3.0 30-62
shfl  | sync up/down/bfly/idx | b32       | =t|p t c c u32 | 6.0 30
ld    | weak? $space? ca/cg/cs/lu/cv? v2/v4? | $mem         | =v> m       | 1.0 10
ld    | weak? global? $l1? L2::cache_hint? $l2size? v2/v4? | $mem | =v> m hint? | 7.4 70
ld    | weak? global $l1? $l2? L2::cache_hint? v8 | b32/u32/s32/f32 | =v> m hint? | 8.8 100
ld    | weak? global $l1? $l2? L2::cache_hint? v4 | b64/u64/s64/f64 | =v> m hint? | 8.8 100
ld    | volatile $atomspace? v2/v4? $l2size?  | $mem        | =v> m       | 1.0 10
ld    | relaxed/acquire $scope $atomspace? v2/v4? | $mem    | =v> m       | 6.0 70
ld    | relaxed/acquire $scope global? $l1? L2::cache_hint? $l2size? v2/v4? | $mem | =v> m hint? | 7.4 70
ld    | mmio relaxed sys global?   | $mem                   | =v> m       | 8.2 70
ld    | global ca/cg/cs? nc $l2size? v2/v4?   | $mem        | =v> m       | 3.1 32
ld    | global nc $l1? L2::cache_hint? $l2size? v2/v4? | $mem | =v> m hint? | 7.4 70
ld    | global nc $l1? $l2? L2::cache_hint? v8 | b32/u32/s32/f32 | =v> m hint? | 8.8 100
ld    | global nc $l1? $l2? L2::cache_hint? v4 | b64/u64/s64/f64 | =v> m hint? | 8.8 100
ldu   | global? v2/v4?  | $mem            | =v> m          | 2.0 20
st    | weak? $stspace? wb/cg/cs/wt? v2/v4?   | $mem        | m v>        | 1.0 10
st    | weak? global? $l1? L2::cache_hint? v2/v4? | $mem    | m v> hint?  | 7.4 70
st    | weak? global $l1? $l2? L2::cache_hint? v8 | b32/u32/s32/f32 | m v> hint? | 8.8 100
st    | weak? global $l1? $l2? L2::cache_hint? v4 | b64/u64/s64/f64 | m v> hint? | 8.8 100
st    | volatile $atomspace? v2/v4?           | $mem        | m v>        | 1.0 10
st    | relaxed/release $scope $atomspace? v2/v4? | $mem    | m v>        | 6.0 70
st    | relaxed/release $scope global? $l1? L2::cache_hint? v2/v4? | $mem | m v> hint? | 7.4 70
st    | mmio relaxed sys global?               | $mem        | m v>        | 8.2 70
prefetch | global/local? L1/L2                  |          | m           | 2.0 20
prefetch | global? L2::evict_last/L2::evict_normal |       | m           | 7.4 80
prefetch | const/param? tensormap               |          | m           | 8.0 90
prefetchu | L1          |                 | m              | 2.0 20
isspacep | const/global/local/shared/shared::cta/shared::cluster/param/param::entry | | =p addr | 2.0 20
cvta  | const/global/local/shared/shared::cta/shared::cluster/param/param::entry | u32/u64 | =t cvta | 2.0 20
cvta  | to const/global/local/shared/shared::cta/shared::cluster/param/param::entry | u32/u64 | =t cvta | 2.0 20

# Conversion (9.7.9.21): .sat of integers only where something can be cut off; bf16 stands in 16-bit registers only
cvt   |                 | $cvtint $cvtint            | =t> t1>       | 1.0 10
cvt   | sat             | u8 s8/u16/s16/u32/s32/u64/s64 | =t> t1>    | 1.0 10
cvt   | sat             | s8 u8/u16/s16/u32/s32/u64/s64 | =t> t1>    | 1.0 10
cvt   | sat             | u16 s8/s16/u32/s32/u64/s64 | =t> t1>       | 1.0 10
cvt   | sat             | s16 u16/u32/s32/u64/s64    | =t> t1>       | 1.0 10
cvt   | sat             | u32 s8/s16/s32/u64/s64     | =t> t1>       | 1.0 10
cvt   | sat             | s32 u32/u64/s64            | =t> t1>       | 1.0 10
cvt   | sat             | u64 s8/s16/s32/s64         | =t> t1>       | 1.0 10
cvt   | sat             | s64 u64                    | =t> t1>       | 1.0 10
cvt   | $rnd ftz? sat?  | f32 $cvtint                | =t> t1>       | 1.0 10
cvt   | $rnd sat?       | f64 $cvtint                | =t> t1>       | 1.0 13
cvt   | $rnd sat?       | f16 $cvtint                | =t> t1>       | 4.2 53
cvt   | $rnd            | bf16 $int                  | =t t1         | 7.8 90
cvt   | rni/rzi/rmi/rpi ftz? sat? | $cvtint f32      | =t> t1>       | 1.0 10
cvt   | rni/rzi/rmi/rpi sat? | $cvtint f64           | =t> t1>       | 1.0 13
cvt   | rni/rzi/rmi/rpi sat? | $cvtint f16           | =t> t1>       | 4.2 53
cvt   | rni/rzi/rmi/rpi | $int bf16                  | =t t1         | 7.8 90
cvt   | $rnd ftz? sat?  | f32 f64                    | =t> t1>       | 1.0 13
cvt   | ftz? sat?       | f64 f32                    | =t> t1>       | 1.0 13
cvt   | ftz? sat?       | f32 f16                    | =t> t1>       | 4.2 53
cvt   | ftz?            | f32 bf16                   | =t t1         | 7.1 80
cvt   | sat?            | f64 f16                    | =t> t1>       | 4.2 53
cvt   |                 | f64 bf16                   | =t t1         | 7.8 90
cvt   | $rnd ftz? sat?  | f16 f32                    | =t> t1>       | 4.2 53
cvt   | $rnd sat?       | f16 f64                    | =t> t1>       | 4.2 53
cvt   | $rnd            | bf16 f64/f16/f32           | =t t1         | 7.8 90
cvt   | $rnd            | f16 bf16                   | =t t1         | 7.8 90
cvt   | rn/rz relu? satfinite? | f16 f32             | =t> t1>       | 7.0 80
cvt   | rn/rz relu? satfinite? | bf16 f32            | =t t1         | 7.0 80
cvt   | rn/rz relu? satfinite? | f16x2 f32           | =t> t1> t1>   | 7.0 80
cvt   | rn/rz relu? satfinite? | bf16x2 f32          | =t t1 t1      | 7.0 80
cvt   | rna             | tf32 f32                   | =b32 t1       | 7.0 80
cvt   | rna satfinite   | tf32 f32                   | =b32 t1       | 8.1 80
cvt   | rn/rz relu?     | tf32 f32                   | =b32 t1       | 7.8 90
cvt   | rn/rz relu? satfinite | tf32 f32             | =b32 t1       | 8.6 100
cvt   | rn satfinite relu? | e4m3x2/e5m2x2 f32       | =b16 t1 t1    | 7.8 90
cvt   | rn satfinite relu? | e4m3x2/e5m2x2 f32       | =b16 t1 t1    | 8.1 89
cvt   | rn satfinite relu? | e4m3x2/e5m2x2 f16x2     | =b16 t1       | 7.8 90
cvt   | rn satfinite relu? | e4m3x2/e5m2x2 f16x2     | =b16 t1       | 8.1 89
cvt   | rn relu?        | f16x2 e4m3x2/e5m2x2        | =t b16        | 7.8 90
cvt   | rn relu?        | f16x2 e4m3x2/e5m2x2        | =t b16        | 8.1 89
cvt   | rn satfinite relu? | e2m1x2 f32              | =b8 t1 t1     | 8.6 100a
cvt   | rn satfinite relu? | e2m1x2 f16x2            | =b8 t1        | 8.6 100a
cvt   | rn satfinite relu? | e2m3x2/e3m2x2 f32       | =b16 t1 t1    | 8.6 100a
cvt   | rn relu?        | f16x2 e2m1x2               | =t b8         | 8.6 100a
cvt   | rn relu?        | f16x2 e2m3x2/e3m2x2        | =t b16        | 8.6 100a
cvt   | rz/rp satfinite? | ue8m0x2 f32               | =b16 t1 t1    | 8.6 100a
cvt   | rz/rp satfinite? | ue8m0x2 bf16x2            | =b16 t1       | 8.6 100a
cvt   | rn              | bf16x2 ue8m0x2             | =t b16        | 8.6 100a
cvt   | ftz? sat?       | f32 f32                    | =t> t1>       | 1.0 10
cvt   | sat?            | f64 f64                    | =t> t1>       | 1.0 13
cvt   | sat?            | f16 f16                    | =t> t1>       | 4.2 53
cvt   | rni/rzi/rmi/rpi ftz? sat? | f32 f32          | =t> t1>       | 1.0 10
cvt   | rni/rzi/rmi/rpi sat? | f64 f64               | =t> t1>       | 1.0 13
cvt   | rni/rzi/rmi/rpi sat? | f16 f16               | =t> t1>       | 4.2 53
cvt   | rni/rzi/rmi/rpi? | bf16 bf16                 | =t t1         | 7.8 90
cvt.pack | sat          | u16/s16 s32                | =b32 t1 t1    | 6.5 72
cvt.pack | sat          | u8/s8/u4/s4/u2/s2 s32 b32  | =b32 t1 t1 b32 | 6.5 72

# Atomics (9.7.13): an absent type-specific restriction is in ATOMIC_TYPES
atom  | $sem? $scope? $atomspace? L2::cache_hint? and/or/xor | b32/b64 | =t_ m t hint? | 1.1 11
atom  | $sem? $scope? $atomspace? L2::cache_hint? exch | b32/b64 | =t_ m t hint? | 1.1 11
atom  | $sem? $scope? $atomspace? L2::cache_hint? exch | b128       | =t_ m t hint? | 8.3 90
atom  | $sem? $scope? $atomspace? L2::cache_hint? cas  | b32/b64 | =t_ m t t hint? | 1.1 11
atom  | $sem? $scope? $atomspace? L2::cache_hint? cas  | b16        | =t_ m t t hint? | 6.3 70
atom  | $sem? $scope? $atomspace? L2::cache_hint? cas  | b128       | =t_ m t t hint? | 8.3 90
atom  | $sem? $scope? $atomspace? L2::cache_hint? add  | u32/s32/u64/f32 | =t_ m t hint? | 1.1 11
atom  | $sem? $scope? $atomspace? L2::cache_hint? add  | f64        | =t_ m t hint? | 5.0 60
atom  | $sem? $scope? $atomspace? L2::cache_hint? add noftz | f16x2/f16 | =t_ m t hint? | 6.2 60
atom  | $sem? $scope? $atomspace? L2::cache_hint? add noftz | bf16/bf16x2 | =t_ m t hint? | 7.8 90
atom  | $sem? $scope? $atomspace? L2::cache_hint? inc/dec | u32     | =t_ m t hint? | 1.1 11
atom  | $sem? $scope? $atomspace? L2::cache_hint? min/max | u32/s32/u64/s64 | =t_ m t hint? | 1.1 11
atom  | $sem? $scope? global? L2::cache_hint? add v2/v4 | f32                  | =v_ m v hint? | 8.1 90
atom  | $sem? $scope? global? L2::cache_hint? add/min/max noftz v2/v4/v8 | f16/bf16 | =v_ m v hint? | 8.1 90
atom  | $sem? $scope? global? L2::cache_hint? add/min/max noftz v2/v4 | f16x2/bf16x2 | =v_ m v hint? | 8.1 90
red   | relaxed/release? $scope? global? L2::cache_hint? add v2/v4 | f32 | m v hint? | 8.1 90
red   | relaxed/release? $scope? global? L2::cache_hint? add/min/max noftz v2/v4/v8 | f16/bf16 | m v hint? | 8.1 90
red   | relaxed/release? $scope? global? L2::cache_hint? add/min/max noftz v2/v4 | f16x2/bf16x2 | m v hint? | 8.1 90
red   | relaxed/release? $scope? $atomspace? L2::cache_hint? and/or/xor | b32/b64 | m t hint? | 1.2 11
red   | relaxed/release? $scope? $atomspace? L2::cache_hint? add | u32/s32/u64/f32 | m t hint? | 1.2 11
red   | relaxed/release? $scope? $atomspace? L2::cache_hint? add | f64 | m t hint?   | 5.0 60
red   | relaxed/release? $scope? $atomspace? L2::cache_hint? add noftz | f16x2/f16 | m t hint? | 6.2 60
red   | relaxed/release? $scope? $atomspace? L2::cache_hint? add noftz | bf16/bf16x2 | m t hint? | 7.8 90
red   | relaxed/release? $scope? $atomspace? L2::cache_hint? inc/dec | u32 | m t hint? | 1.2 11
red   | relaxed/release? $scope? $atomspace? L2::cache_hint? min/max | u32/s32/u64/s64 | m t hint? | 1.2 11
membar | cta/gl/sys     |                 |                | 1.4 10
membar | proxy alias    |                 |                | 7.5 70
fence | proxy alias     |                 |                | 7.5 70
fence | proxy async global/shared::cta/shared::cluster? | | | 8.0 90
fence | sc/acq_rel/acquire/release? $scope |   |           | 6.0 70

# Barriers, warp operations (9.7.13)
bar   | sync            |                 | b c?           | 1.0 10
bar   | arrive          |                 | b c            | 2.0 20
bar   | red popc        | u32             | =t b c? !p     | 2.0 20
bar   | red and/or      | pred            | =p b c? !p     | 2.0 20
barrier | cta? sync aligned?   |          | b c?           | 6.0 30
barrier | cta? arrive aligned? |          | b c            | 6.0 30
barrier | cta? red popc aligned? | u32    | =t b c? !p     | 6.0 30
barrier | cta? red and/or aligned? | pred | =p b c? !p     | 6.0 30
bar   | cta sync        |                 | b c?           | 7.8 10
bar   | cta arrive      |                 | b c            | 7.8 20
bar   | cta red popc    | u32             | =t b c? !p     | 7.8 20
bar   | cta red and/or  | pred            | =p b c? !p     | 7.8 20
bar.warp | sync         |                 | u32            | 6.0 30
vote  | all/any/uni     | pred            | =p !p          | 1.2 12-62
vote  | ballot          | b32             | =t !p          | 2.0 20-62
vote  | sync all/any/uni | pred           | =p !p u32      | 6.0 30
vote  | sync ballot     | b32             | =t !p u32      | 6.0 30
match | any sync        | b32/b64         | =u32 t u32     | 6.0 70
match | all sync        | b32/b64         | =u32_|p t u32   | 6.0 70
activemask |            | b32             | =t             | 6.2 30
redux | sync add/min/max | u32/s32        | =u32 u32 u32   | 7.0 80
redux | sync and/or/xor | b32             | =u32 u32 u32   | 7.0 80
redux | sync min/max abs? NaN? | f32      | =t t u32       | 8.6 100a
elect | sync            |                 | =u32_&p u32    | 8.0 90

# Video (9.7.18): selectors such as %r1.b0 stand in the opcode (see ``drawloom.ptx.isa_selectors``)
vadd  | sat? | $int32 $int32 $int32 | =t t t | 2.0 20
vadd  | sat? add/min/max? | $int32 $int32 $int32 | =t t t t | 2.0 20
vsub  | sat? | $int32 $int32 $int32 | =t t t | 2.0 20
vsub  | sat? add/min/max? | $int32 $int32 $int32 | =t t t t | 2.0 20
vabsdiff | sat? | $int32 $int32 $int32 | =t t t | 2.0 20
vabsdiff | sat? add/min/max? | $int32 $int32 $int32 | =t t t t | 2.0 20
vmin  | sat? | $int32 $int32 $int32 | =t t t | 2.0 20
vmin  | sat? add/min/max? | $int32 $int32 $int32 | =t t t t | 2.0 20
vmax  | sat? | $int32 $int32 $int32 | =t t t | 2.0 20
vmax  | sat? add/min/max? | $int32 $int32 $int32 | =t t t t | 2.0 20
vshl  | sat? clamp/wrap | $int32 $int32 u32 | =t t t | 2.0 20
vshl  | sat? clamp/wrap add/min/max? | $int32 $int32 u32 | =t t t t | 2.0 20
vshr  | sat? clamp/wrap | $int32 $int32 u32 | =t t t | 2.0 20
vshr  | sat? clamp/wrap add/min/max? | $int32 $int32 u32 | =t t t t | 2.0 20
vset  | eq/ne/lt/le/gt/ge | $int32 $int32 | =t t t | 2.0 20
vset  | eq/ne/lt/le/gt/ge add/min/max? | $int32 $int32 | =t t t t | 2.0 20
vmad  | po? sat? shr7/shr15? | $int32 $int32 $int32 | =t t t t | 2.0 20
vadd2 | sat? | $int32 $int32 $int32 | =t r r r | 3.0 30
vadd2 | add | $int32 $int32 $int32 | =t r r r | 3.0 30
vsub2 | sat? | $int32 $int32 $int32 | =t r r r | 3.0 30
vsub2 | add | $int32 $int32 $int32 | =t r r r | 3.0 30
vavrg2 | sat? | $int32 $int32 $int32 | =t r r r | 3.0 30
vavrg2 | add | $int32 $int32 $int32 | =t r r r | 3.0 30
vabsdiff2 | sat? | $int32 $int32 $int32 | =t r r r | 3.0 30
vabsdiff2 | add | $int32 $int32 $int32 | =t r r r | 3.0 30
vmin2 | sat? | $int32 $int32 $int32 | =t r r r | 3.0 30
vmin2 | add | $int32 $int32 $int32 | =t r r r | 3.0 30
vmax2 | sat? | $int32 $int32 $int32 | =t r r r | 3.0 30
vmax2 | add | $int32 $int32 $int32 | =t r r r | 3.0 30
vset2 | eq/ne/lt/le/gt/ge add? | $int32 $int32 | =t r r r | 3.0 30
vadd4 | sat? | $int32 $int32 $int32 | =t r r r | 3.0 30
vadd4 | add | $int32 $int32 $int32 | =t r r r | 3.0 30
vsub4 | sat? | $int32 $int32 $int32 | =t r r r | 3.0 30
vsub4 | add | $int32 $int32 $int32 | =t r r r | 3.0 30
vavrg4 | sat? | $int32 $int32 $int32 | =t r r r | 3.0 30
vavrg4 | add | $int32 $int32 $int32 | =t r r r | 3.0 30
vabsdiff4 | sat? | $int32 $int32 $int32 | =t r r r | 3.0 30
vabsdiff4 | add | $int32 $int32 $int32 | =t r r r | 3.0 30
vmin4 | sat? | $int32 $int32 $int32 | =t r r r | 3.0 30
vmin4 | add | $int32 $int32 $int32 | =t r r r | 3.0 30
vmax4 | sat? | $int32 $int32 $int32 | =t r r r | 3.0 30
vmax4 | add | $int32 $int32 $int32 | =t r r r | 3.0 30
vset4 | eq/ne/lt/le/gt/ge add? | $int32 $int32 | =t r r r | 3.0 30

# Control flow (9.7.12), miscellaneous (9.7.19)
bra   | uni?            |                 | l              | 1.0 10
brx.idx | uni?          |                 | u32 l          | 6.0 30
call  | uni?            |                 | =results callee arguments l? | 1.0 10
ret   | uni?            |                 |                | 1.0 10
exit  |                 |                 |                | 1.0 10
trap  |                 |                 |                | 1.0 10
brkpt |                 |                 |                | 1.0 11
nanosleep |             | u32             | c              | 6.3 70
pmevent |               |                 | i              | 1.4 10
pmevent | mask          |                 | i              | 3.0 20
griddepcontrol | launch_dependents/wait | |                | 7.8 90
setmaxnreg | inc/dec sync aligned | u32   | i              | 8.0 90a
discard | global? L2    |                 | m i            | 7.4 80
applypriority | global? L2::evict_normal | | m i            | 7.4 80
createpolicy.fractional | $primary $secondary?   | b64 | =u64 f32?  | 7.4 80
createpolicy.range | global? $primary $secondary? | b64 | =u64 m u32 u32 | 7.4 80
createpolicy.cvt | L2   | b64             | =u64 u64       | 7.4 80
alloca |                | u32/u64         | =t t i?        | 7.3 52
stacksave |             | u32/u64         | =t             | 7.3 52
stackrestore |          | u32/u64         | r              | 7.3 52

# Asynchronous copies (9.7.9.25.3) and barriers in memory (9.7.13.15); copies in bulk belong to clusters
cp.async | ca/cg $scta global $l2size?                |     | ms mg i        | 7.0 80
cp.async | ca/cg $scta global $l2size?                |     | ms mg i c      | 7.0 80
cp.async | ca/cg $scta global $l2size?                |     | ms mg i !p     | 8.0 80
cp.async | ca/cg $scta global L2::cache_hint $l2size? |     | ms mg i hint   | 7.4 80
cp.async | ca/cg $scta global L2::cache_hint $l2size? |     | ms mg i c hint | 7.4 80
cp.async | ca/cg $scta global L2::cache_hint $l2size? |     | ms mg i !p hint | 8.0 80
cp.async | commit_group |                |                | 7.0 80
cp.async | wait_group   |                | i              | 7.0 80
cp.async | wait_all     |                |                | 7.0 80
cp.async | mbarrier arrive noinc? $scta? | b64 | ms       | 7.0 80
mbarrier | init $scta?  | b64            | ms c           | 7.0 80
mbarrier | inval $scta? | b64            | ms             | 7.0 80
mbarrier | expect_tx/complete_tx shared/shared::cta/shared::cluster?                     | b64 | ms c | 8.0 90
mbarrier | expect_tx/complete_tx relaxed cta/cluster shared/shared::cta/shared::cluster? | b64 | ms c | 8.0 90
mbarrier | arrive/arrive_drop $scta?                        | b64 | =u64_ ms | 7.0 80
mbarrier | arrive/arrive_drop $scta?                        | b64 | =u64_ ms c | 7.8 90
mbarrier | arrive/arrive_drop release cta $scta?            | b64 | =u64_ ms | 8.0 80
mbarrier | arrive/arrive_drop release/relaxed cta/cluster $scta? | b64 | =u64_ ms c? | 8.0 90
mbarrier | arrive/arrive_drop shared::cluster               | b64 | =_ ms c? | 8.0 90
mbarrier | arrive/arrive_drop release/relaxed cta/cluster shared::cluster | b64 | =_ ms c? | 8.0 90
mbarrier | arrive/arrive_drop noComplete $scta?             | b64 | =u64_ ms c | 7.0 80
mbarrier | arrive/arrive_drop noComplete release cta $scta? | b64 | =u64_ ms c | 8.0 80
mbarrier | arrive/arrive_drop expect_tx $scta?              | b64 | =u64_ ms c | 8.0 90
mbarrier | arrive/arrive_drop expect_tx release/relaxed cta/cluster $scta? | b64 | =u64_ ms c | 8.0 90
mbarrier | arrive/arrive_drop expect_tx shared::cluster     | b64 | =_ ms c | 8.0 90
mbarrier | arrive/arrive_drop expect_tx release/relaxed cta/cluster shared::cluster | b64 | =_ ms c | 8.0 90
mbarrier | test_wait $scta?               | b64 | =p ms t      | 7.0 80
mbarrier | test_wait parity $scta?        | b64 | =p ms c      | 7.1 80
mbarrier | try_wait $scta?                | b64 | =p ms t c?   | 7.8 90
mbarrier | try_wait parity $scta?         | b64 | =p ms c c?   | 7.8 90
mbarrier | test_wait acquire cta $scta?   | b64 | =p ms t      | 8.0 80
mbarrier | test_wait parity acquire cta $scta? | b64 | =p ms c | 8.0 80
mbarrier | test_wait acquire/relaxed cta/cluster $scta?        | b64 | =p ms t | 8.0 90
mbarrier | test_wait parity acquire/relaxed cta/cluster $scta? | b64 | =p ms c | 8.0 90
mbarrier | try_wait acquire/relaxed cta/cluster $scta?         | b64 | =p ms t c? | 8.0 90
mbarrier | try_wait parity acquire/relaxed cta/cluster $scta?  | b64 | =p ms c c? | 8.0 90
mbarrier | pending_count                  | b64 | =u32 t       | 7.0 80
"""
# fmt: on

#: Opcodes of PTX that exist but that this table leaves out, and what they belong to: named in the error.
NOT_COVERED: Final[dict[str, str]] = {
    **dict.fromkeys("wmma mma ldmatrix stmatrix movmatrix wgmma tcgen05".split(), "tensor cores"),
    **dict.fromkeys("tex tld4 txq suld sust sured suq istypep".split(), "textures and surfaces"),
    **dict.fromkeys("mapa getctarank clusterlaunchcontrol multimem tensormap".split(), "clusters"),
    "cp": "copies in bulk",
}

#: Types of variables that are not covered, and why.
NOT_COVERED_TYPES: Final[dict[str, str]] = dict.fromkeys(
    (".texref", ".samplerref", ".surfref"), "textures and surfaces"
)

# The same for modifiers of opcodes that have other forms.
NOT_COVERED_MODIFIERS: Final[dict[str, str]] = {
    "cluster": "clusters", "async": "clusters", "mbarrier_init": "clusters",
    "bulk": "copies in bulk", "tensormap::generic": "tensor maps",
    "s2f6x2": "fixed-point numbers of eight bits",
    **dict.fromkeys("e4m3x4 e5m2x4 e2m1x4 e2m3x4 e3m2x4 rs".split(), "stochastically rounded conversions"),
    **dict.fromkeys("u8x4 s8x4".split(), "packed bytes"),
}  # fmt: skip

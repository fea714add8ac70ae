"""The validator proves shuffles that are right and finds what is wrong with others, without the emulator."""

from __future__ import annotations

import pytest

pytest.importorskip("bitwuzla", reason="bitwuzla is not installed")

from drawloom.ptx import parse
from drawloom.ptx.ir import Function, Immediate, Instruction, Module
from drawloom.ptx.isa import decode
from drawloom.shuffle.facts import LANES_ALONG_X, NO_WRAP, Assumption, Candidate
from drawloom.shuffle.pipeline import shuffle
from drawloom.shuffle.synthesis import synthesize
from tests.shuffle.validator import Verdict, validate
from tools.shuffle_suite import COMPILERS, TABLE, text_of

#: out[i] = in[i + 1] - in[i - 1], with what is done in between and how i is made wide.
KERNEL = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n){shape}
{{
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    {index}
    setp.ge.s32 %p, %r5, %r1;
    @%p ret;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4+8];
    {between}
    ld.global.f32 %f2, [%rd4];
    sub.f32 %f3, %f1, %f2;
    st.global.f32 [%rd5], %f3;
    ret;
}}
"""
NARROW = "mad.lo.s32 %r5, %r2, %r3, %r4; mul.wide.s32 %rd3, %r5, 4;"
WIDE = """mad.lo.s32 %r5, %r2, %r3, %r4; mul.wide.u32 %rd3, %r2, %r3; cvt.u64.u32 %rd6, %r4;
    add.s64 %rd3, %rd3, %rd6; shl.b64 %rd3, %rd3, 2;"""
STORE = "st.global.f32 [%rd5], %f1;"
EDGES = ("setp.lt.or.u32", "setp.gt.or.u32")
ALONG_X = Assumption(LANES_ALONG_X, "lanes count along %tid.x")


def program(index: str, between: str = "", shape: str = "") -> tuple[Module, Function]:
    module = parse(KERNEL.format(index=index, between=between, shape=shape))
    return module, module.kernels[0]


def candidate(function: Function, delta: int, assumptions: list[Assumption]) -> Candidate:
    """The second load by a shuffle from the first."""
    first, second = [
        at
        for at, s in enumerate(function.body)
        if isinstance(s, Instruction) and s.name == "ld" and s.opcode.space == "global"
    ]
    return Candidate(second, first, delta, 0, assumptions, 1, True)


def verdict(
    index: str, delta: int, assumptions: list[Assumption], between: str = "", drop: str = "", shape: str = ""
) -> Verdict:
    """What the validator says of the rewritten kernel, without the instruction ``drop``."""
    module, function = program(index, between, shape)
    after = synthesize(function, [candidate(function, delta, assumptions)])
    if drop:
        [dropped] = [s for s in after.body if isinstance(s, Instruction) and s.opcode.spelling == drop]
        after.body.remove(dropped)
    return validate(module, function, after)


def test_a_sound_shuffle_is_proved() -> None:
    found = verdict(WIDE, -2, [ALONG_X])
    assert found.counterexample is None
    assert found.merged == 1


def test_a_wrong_distance_is_found() -> None:
    found = verdict(WIDE, -1, [ALONG_X])
    assert found.counterexample is not None
    assert found.counterexample["lane"] >= 1


def test_dropped_lanes_at_the_edge_are_found() -> None:
    found = verdict(WIDE, -2, [ALONG_X], drop="setp.lt.or.u32")
    assert found.counterexample is not None


def test_a_dropped_test_of_the_mask_is_found() -> None:
    module, function = program(WIDE)
    after = synthesize(function, [candidate(function, -2, [ALONG_X])])
    [combined] = [s for s in after.instructions() if s.opcode.spelling == "setp.lt.or.u32"]
    combined.opcode = decode("setp.lt.u32")
    del combined.operands[3]
    found = validate(module, function, after)
    assert found.counterexample is not None
    assert found.counterexample["lane"] >= 2


def test_a_block_of_several_rows_is_found() -> None:
    found = verdict(WIDE, -2, [])
    assert found.counterexample is not None
    assert (
        found.counterexample["%ntid.x"] % 32 and found.counterexample["%ntid.y"] * found.counterexample["%ntid.z"] > 1
    )


COLUMN = """and.b32 %r6, %r4, 31; mul.wide.u32 %rd6, %r6, 4; add.s64 %rd4, %rd1, %rd6;"""
LANE = "mov.u32 %r7, %laneid; mul.wide.u32 %rd7, %r7, 4; add.s64 %rd7, %rd1, %rd7;"


@pytest.mark.parametrize(
    ("assumptions", "shape", "holds"),
    [([], "", False), ([ALONG_X], "", True), ([], " .reqntid 8, 4, 1", False), ([], " .reqntid 64", True)],
)
def test_that_tid_is_laneid_is_proved_where_lanes_count_along_x_only(
    assumptions: list[Assumption], shape: str, holds: bool
) -> None:
    text = KERNEL.format(index=WIDE, between=COLUMN, shape=shape)
    module = parse(text.replace("ld.global.f32 %f1, [%rd4+8];", LANE + "ld.global.f32 %f1, [%rd7];"))
    function = module.kernels[0]
    after = synthesize(function, [candidate(function, 0, assumptions)])
    assert (validate(module, function, after).counterexample is None) == holds


def test_a_store_that_may_hit_the_source_is_found() -> None:
    assert verdict(WIDE, -2, [ALONG_X], between=STORE).counterexample is not None


def test_an_index_that_wraps_is_found() -> None:
    found = verdict(NARROW, -2, [], shape=" .reqntid 48")
    assert found.counterexample is not None


def test_an_index_that_is_tested_is_proved() -> None:
    module, function = program(NARROW, shape=" .reqntid 48")
    at, wide = next(
        (at, s) for at, s in enumerate(function.body) if isinstance(s, Instruction) and s.opcode.half == "wide"
    )
    register = wide.sources()[0]
    # With the least index but one, the source is beyond n and its lane has left.
    for low, holds in ((-(1 << 31) + 2, True), (-(1 << 31) + 1, True), (-(1 << 31), False)):
        tested = Assumption(NO_WRAP, "the index does not wrap", at, register, 32, True, low, (1 << 31) - 1)
        after = synthesize(function, [candidate(function, -2, [tested])])
        assert (validate(module, function, after).counterexample is None) == holds


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", [name for name, (shuffles, _) in TABLE.items() if shuffles])
def test_every_shuffle_of_the_suite_is_proved(name: str, compiler: str) -> None:
    module = parse(text_of(compiler, name))
    made = shuffle(module, apply="all")
    found = validate(module, module.kernels[0], made.kernels[0])
    assert found.counterexample is None
    assert found.merged == made.report.shuffles == TABLE[name][0]


@pytest.mark.parametrize("number", range(6))
def test_each_wrong_distance_in_the_jacobi_kernel_is_found(number: int) -> None:
    module = parse(text_of("clang", "jacobi"))
    after = shuffle(module, apply="all").kernels[0]
    moved = [s for s in after.instructions() if s.name == "shfl"][number]
    amount = moved.operands[2]
    assert isinstance(amount, Immediate)
    moved.operands[2] = Immediate(amount.value + 1)
    assert validate(module, module.kernels[0], after).counterexample is not None


#: Type, bytes and registers of the values, and the distance of the lane that has them.
KINDS = {
    "32 bits, up": ("f32", 4, "%f", -2), "32 bits, down": ("u32", 4, "%r2", 2), "64 bits": ("f64", 8, "%d", 2),
    "16 bits": ("u16", 2, "%s", -4), "8 bits with their sign": ("s8", 1, "%r2", 3), "its own": ("f32", 4, "%f", 0),
}  # fmt: skip


def moved(kind: str, index: str, between: str = "", off: int = 0) -> tuple[Module, Function, Function]:
    """out[i] = in[i], which another lane has loaded, before and after; that lane is ``off`` too far."""
    type, size, register, delta = KINDS[kind]
    text = KERNEL.format(index=index, between="BETWEEN", shape=" .reqntid 48").replace(", 4;", f", {size};")
    text = text.replace("add.s64 %rd3, %rd3, %rd6; shl.b64 %rd3, %rd3, 2;", f"mad.lo.s64 %rd3, %rd3, 1, %rd6;\n"
                        f"    mul.lo.s64 %rd3, %rd3, {size};")  # fmt: skip
    start, end = text.index("ld.global.f32 %f1"), text.index("    ret;\n}")
    body = f"""ld.global.{type} {register}1, [%rd4+{-delta * size}];
    {between.format(type=type, register=register)}
    ld.global.{type} {register}2, [%rd4];
    st.global.{"u" if type[0] == "s" else type[0]}{type[1:]} [%rd5], {register}2;
"""
    text = text[:start] + body + text[end:]
    text = text.replace(".reg .f32 %f<8>;", ".reg .f32 %f<8>; .reg .f64 %d<8>; .reg .b16 %s<8>; .reg .b32 %r2<8>;")
    module = parse(text)
    function = module.kernels[0]
    after = synthesize(function, [candidate(function, delta + off, [])])
    return module, function, after


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_value_is_proved(kind: str) -> None:
    found = validate(*moved(kind, WIDE))
    assert found.counterexample is None
    assert found.merged == (KINDS[kind][3] != 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_distance_is_found_for_each_kind(kind: str) -> None:
    assert validate(*moved(kind, WIDE, off=1)).counterexample is not None


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_in_between_is_found_for_each_kind(kind: str) -> None:
    assert validate(*moved(kind, WIDE, "st.global.{type} [%rd5+8], {register}1;".replace("s8", "u8"))).counterexample


@pytest.mark.parametrize("kind", [kind for kind, given in KINDS.items() if given[3]])
def test_lanes_at_the_edge_are_found_for_each_kind(kind: str) -> None:
    module, function, after = moved(kind, WIDE)
    [edge] = [s for s in after.body if isinstance(s, Instruction) and s.opcode.spelling in EDGES]
    after.body.remove(edge)
    assert validate(module, function, after).counterexample is not None


@pytest.mark.parametrize("kind", [kind for kind, given in KINDS.items() if given[3]])
def test_an_index_that_wraps_is_found_for_each_kind(kind: str) -> None:
    assert validate(*moved(kind, NARROW)).counterexample is not None


def test_memory_is_that_of_the_way_to_a_load() -> None:
    """A fence on the other way from a branch is no reason why a lane's own value should have changed."""
    for between, holds in (("@%p bra SAME; membar.gl; ret; SAME:", True), ("membar.gl;", False)):
        text = KERNEL.format(index=WIDE, between=between, shape="").replace("[%rd4+8]", "[%rd4]")
        module = parse(text.replace("@%p ret;", ""))
        function = module.kernels[0]
        after = synthesize(function, [candidate(function, 0, [])])
        assert (validate(module, function, after).counterexample is None) == holds


@pytest.mark.parametrize("shown", ["bar.warp.sync -1;", "griddepcontrol.wait;", "ld.volatile.global.f32 %f4, [%rd2];"])
@pytest.mark.parametrize("around", ["{0}", "LOOP: {0} add.s32 %r6, %r6, 1; setp.lt.s32 %p, %r6, %r1; @%p bra LOOP;"])
def test_what_others_write_is_seen_behind_whatever_orders_it(shown: str, around: str) -> None:
    text = KERNEL.format(index=WIDE, between="mov.u32 %r6, 0;" + around.format(shown), shape="")
    module = parse(text.replace("[%rd4+8]", "[%rd4]").replace("@%p ret;", "").replace("sm_70", "sm_90"))
    function = module.kernels[0]
    at = [k for k, s in enumerate(function.body) if isinstance(s, Instruction) and s.name == "ld"]
    copied = synthesize(function, [Candidate(at[-1], next(k for k in at if k > at[2]), 0, 0, [], 1, True)])
    assert validate(module, function, function).counterexample is None
    assert validate(module, function, copied).counterexample is not None


@pytest.mark.parametrize(
    "body",
    [
        "and.b32 %r7, %r6, 1; setp.eq.u32 %p, %r7, 0; mov.u64 %rd6, 0; @%p bra SKIP; mov.u64 %rd6, 64; SKIP:",
        "mov.u32 %r7, 0; IN: add.s32 %r7, %r7, 1; setp.le.u32 %p, %r7, %r6; @%p bra IN; mul.wide.u32 %rd6, %r7, 4;",
        "cvt.u64.u32 %rd6, %r5; mul.lo.s32 %r5, %r5, 3;",
    ],
)
def test_what_an_iteration_made_is_found_to_be_each_lanes_own(body: str) -> None:
    loop = f"""mov.u32 %r6, 0; mov.u32 %r5, 4; LOOP: {body} add.s32 %r6, %r6, 1;
    setp.le.u32 %p, %r6, %r4; @%p bra LOOP; add.s64 %rd4, %rd1, %rd3; add.s64 %rd4, %rd4, %rd6;"""
    text = KERNEL.format(index=WIDE, between="", shape=" .reqntid 64")
    module = parse(text.replace("add.s64 %rd4, %rd1, %rd3;", loop).replace("@%p ret;", "").replace("%rd4+8", "%rd4+4"))
    function = module.kernels[0]
    assert validate(module, function, synthesize(function, [candidate(function, -1, [])])).counterexample is not None


@pytest.mark.parametrize("clamp", [0x1000, 0x1C00, 7, 31])
def test_segments_of_a_shuffle_are_found(clamp: int) -> None:
    """Lanes that get nothing from another segment, or from below a clamp, and keep their own."""
    module, function = program(WIDE)
    after = synthesize(function, [candidate(function, -2, [ALONG_X])])
    [shuffled] = [s for s in after.body if isinstance(s, Instruction) and s.opcode.name == "shfl"]
    shuffled.operands[3] = Immediate(clamp)
    assert validate(module, function, after).counterexample is not None


def test_lanes_that_a_constant_mask_names_and_that_have_left_are_found() -> None:
    module, function = program(WIDE)
    after = synthesize(function, [candidate(function, -2, [ALONG_X])])
    [shuffled] = [s for s in after.body if isinstance(s, Instruction) and s.opcode.name == "shfl"]
    shuffled.operands[4] = Immediate(0xFFFFFFFF)
    assert validate(module, function, after).counterexample is not None


@pytest.mark.parametrize(
    ("told", "holds"),
    [
        ("add.cc.u32 %r6, %r4, -16; addc.u32 %r6, 0, 0;", False),
        ("add.cc.u32 %r6, %r1, -16; addc.u32 %r6, 0, 0;", True),
        ("sub.cc.u32 %r6, %r4, 16; subc.u32 %r6, 0, 0;", False),
        ("elect.sync %r6|%p, -1; selp.u32 %r6, 1, 0, %p;", False),
        ("activemask.b32 %r6;", False),
        (".local .b32 own; mov.u64 %rd6, own; cvta.local.u64 %rd6, %rd6; cvt.u32.u64 %r6, %rd6;", False),
        ("vote.sync.ballot.b32 %r6, %p, -1;", True),
        ("vote.sync.ballot.b32 %r6, %p, %r1;", False),
    ],
)
def test_what_lanes_do_not_share_is_found(told: str, holds: bool) -> None:
    index = WIDE + told + "mul.wide.u32 %rd6, %r6, 4; add.s64 %rd1, %rd1, %rd6;"
    text = KERNEL.format(index=index, between="", shape="").replace("@%p ret;", "").replace("sm_70", "sm_90")
    module = parse(text)
    function = module.kernels[0]
    after = synthesize(function, [candidate(function, -2, [ALONG_X])])
    assert (validate(module, function, after).counterexample is None) == holds


@pytest.mark.parametrize("used", ["red.global.add.f32 [%rd2], %f2;", "setp.lt.f32 %p, %f2, %f1; @%p trap;"])
def test_a_wrong_value_that_no_store_takes_is_found(used: str) -> None:
    """A copy over a store that may have hit it."""
    text = KERNEL.format(index=WIDE, between="st.global.f32 [%rd5], %f1;", shape="").replace("[%rd4+8]", "[%rd4]")
    module = parse(text.replace("st.global.f32 [%rd5], %f3;", used).replace("@%p ret;", ""))
    function = module.kernels[0]
    after = synthesize(function, [candidate(function, 0, [])])
    assert validate(module, function, after, 1_000_000).counterexample is not None

"""Selection of memory, atomics, warp operations, barriers and fences: every form of the instruction table
against the checker and nvdisasm, and what programs compute beside the reference."""

from __future__ import annotations

import random

import numpy as np
import pytest

from drawloom import reference
from drawloom.errors import UnsupportedError
from drawloom.ptx import parse, verify
from drawloom.ptx.isa import Form, decode
from drawloom.ptx.layout import GlobalsLayout
from drawloom.sass.assemble import assemble
from drawloom.sass.decoder import unpack_section
from drawloom.sass.effects import registers_written
from drawloom.sass.instruction import Instruction
from drawloom.sass.interpreter import run
from drawloom.sass.isa import load_target
from drawloom.sass.machine import GENERAL
from tests.sass.selection import FULL, HEADER, TARGETS, check, code, header, opcodes

MEMORY = "ld ldu st prefetch prefetchu discard applypriority isspacep cvta".split()
ATOMICS = ["atom", "red"]
WARP = "shfl vote match activemask redux elect bar.warp".split()
BARRIERS = "bar barrier membar fence nanosleep pmevent griddepcontrol".split()
#: Forms of a name that are tried; the rest of the many combinations of order, scope and hints is left to chance.
MOST = 220
#: Why a form may be refused, by what the message must say.
REFUSED = (
    "clusters are not covered", "tensor maps are not covered", "bytes at once", "no generic addresses",
)  # fmt: skip
#: Types of operands that do not follow from the opcode's.
FIXED = {"u32": "b32", "c": "b32", "b": "b32", "addr": "b64", "r": "b64"}


def chosen(names: list[str], number: int = 90) -> list[tuple[str, Form]]:
    """All forms of names that have few, a sample of those that have many."""
    out: list[tuple[str, Form]] = []
    for name in names:
        # Parameters are stored for calls only (test_device_functions_in_their_places); addresses have 64 bits.
        absent = {"st": ".param", "cvta": ".u32"}.get(name, "?")
        found = [f for f in opcodes([name], number) if width(f[0]) <= 16 and absent not in f[0]]
        most = MOST if FULL or number == 90 else MOST // 8
        out += found if len(found) <= most else random.Random(name).sample(found, most)
    return out


def width(text: str) -> int:
    """The bytes that an opcode moves at once; more than 16 are for later targets."""
    op = decode(text)
    return op.vector * (op.types[0].bytes if op.types else 0)


def kernel(text: str, form: Form) -> str:
    """A kernel with one instruction whose operands are registers that memory was loaded to."""
    op = decode(text)
    bits = op.types[0].bits if op.types else 32
    lines: list[str] = []
    written: list[str] = []
    for n, word in enumerate(form.operands):
        plain = word.lstrip("=!").rstrip(">?_")
        if word == "hint?":
            if op.has("L2::cache_hint"):
                lines.append(f".reg .b64 x{n}; ld.global.b64 x{n}, [at+{16 * n}];")
                written.append(f"x{n}")
        elif plain == "m":
            short = op.space in ("shared", "local", "const", "param") or op.space == "shared::cluster"
            lines.append(f".reg .b64 x{n}; and.b64 x{n}, at, 48;" if short else f".reg .b64 x{n}; mov.b64 x{n}, at;")
            written.append(f"[x{n}]")
        elif "|p" in plain or "&p" in plain:
            lines.append(f".reg .b32 x{n}; .reg .pred q{n};")
            written.append(f"x{n}|q{n}")
        elif plain == "p":
            lines.append(f".reg .pred x{n}; setp.eq.b64 x{n}, at, {n};")
            written.append(f"x{n}")
        elif plain == "i":
            written.append("128" if op.name in ("discard", "applypriority") else "3")
        elif plain in ("t", "v", "acc"):
            count = op.vector if plain == "v" else 1
            names = [f"x{n}_{k}" for k in range(count)]
            kind = f"b{max(16, bits)}"
            lines += [f".reg .{kind} {name}; ld.global.{kind} {name}, [at];" for name in names]
            written.append("{" + ", ".join(names) + "}" if count > 1 else names[0])
        else:
            kind = FIXED.get(plain, f"b{max(16, bits)}")
            lines.append(f".reg .{kind} x{n}; ld.global.{kind} x{n}, [at+{16 * n}];")
            written.append(f"x{n}")
    body = "\n".join(lines)
    return (
        f".visible .entry k(.param .u64 p)\n{{\n.reg .u64 at; ld.param.u64 at, [p];\n{body}\n"
        f"{text} {', '.join(written)};\nret;\n}}\n"
    )


def machine(text: str, number: int = 90) -> list[Instruction]:
    cubin = assemble(header(number) + text, f"sm_{number}")
    return unpack_section(load_target(number), cubin.kernels["k"].code)


@pytest.mark.parametrize("number", TARGETS)
@pytest.mark.parametrize("names", [MEMORY, ATOMICS, WARP, BARRIERS], ids=["memory", "atomics", "warp", "barriers"])
def test_every_form_is_selected_or_refused_by_name(names: list[str], number: int) -> None:
    made: list[list[Instruction]] = []
    forms = chosen(names, number)
    for text, form in forms:
        try:
            made.append(machine(kernel(text, form), number))
        except UnsupportedError as error:
            assert any(why in str(error) for why in REFUSED), f"{text}: {error}"
    assert len(made) > 0.7 * len(forms)
    check(made, number)


# -- programs ----------------------------------------------------------------------------------------------


def outputs(source: str, threads: int = 64, words: int = 512, shared_bytes: int = 0) -> tuple[list[int], list[int]]:
    """What `k` (one pointer) leaves in memory: on the reference, and as machine code."""
    text = HEADER + source
    module = parse(text)
    verify(module)
    results = []
    for by_machine in (False, True):
        memory = np.arange(1, words + 1, dtype=np.uint32)
        at = int(memory.ctypes.data)
        buffers = [(at, memory.nbytes)]
        params = at.to_bytes(8, "little")
        if by_machine:
            cubin = assemble(text, "sm_90")
            run(cubin, "k", (1, 1, 1), (threads, 1, 1), params, buffers=buffers, shared_bytes=shared_bytes)
        else:
            layout = GlobalsLayout(module)
            image = np.zeros(layout.size + 2 * layout.align, np.uint8)
            base = (int(image.ctypes.data) + layout.align - 1) // layout.align * layout.align
            start = base - int(image.ctypes.data)
            image[start : start + layout.size] = np.frombuffer(layout.build(base), np.uint8)
            if layout.size:
                buffers.append((base, layout.size))
            reference.run(
                module, "k", (1, 1, 1), (threads, 1, 1), params, buffers=buffers, image_base=base,
                shared_bytes=shared_bytes,
            )  # fmt: skip
        results.append([int(word) for word in memory])
    return results[0], results[1]


def program(body: str, before: str = "", variables: str = "") -> str:
    return f"""{before}
.visible .entry k(.param .u64 p) {{
{variables}
.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<8>; .reg .f64 %fd<8>;
ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 4; add.u64 %rd1, %rd0, %rd2;
{body}
ret; }}
"""


def same(source: str, threads: int = 64, shared_bytes: int = 0) -> None:
    expected, found = outputs(source, threads, shared_bytes=shared_bytes)
    assert found == expected
    assert expected != list(range(1, len(expected) + 1))


@pytest.mark.parametrize(
    "operation, type, value",
    [
        ("add", "f32", "0f3F800000"), ("add", "f64", "0d3FF0000000000000"), ("add", "u64", "3"), ("min", "s64", "-7"),
        ("max", "u64", "99"), ("and", "b64", "12"), ("or", "b64", "33"), ("xor", "b64", "5"), ("add", "u32", "7"),
        ("min", "s32", "-2"), ("inc", "u32", "5"), ("dec", "u32", "5"),
    ],
)  # fmt: skip
def test_atomics_in_every_space(operation: str, type: str, value: str) -> None:
    """The sum over the threads of a block does not depend on their order."""
    bits = decode(f"mov.{type}").types[0].bits
    zero = "@%p1 st.shared.b64 [%rd6], 0; @%p1 st.global.b64 [%rd0+1024], 0; bar.sync 0;"
    held = "%r8" if bits == 32 else "%rd8"
    body = f"""mov.u64 %rd6, cell; setp.eq.u32 %p1, %r0, 0; {zero}
    red.shared.{operation}.{type} [cell], {value};
    red.global.{operation}.{type} [%rd0+1024], {value};
    cvta.shared.u64 %rd7, %rd6; bar.sync 0;
    red.{operation}.{type} [%rd7], {value};
    bar.sync 0; setp.ne.u32 %p0, %r0, 0; @%p0 ret;
    ld.shared.b{bits} {held}, [cell]; st.global.b{bits} [%rd0+1032], {held};"""
    same(program(body, variables=".shared .align 8 .b64 cell;"))


@pytest.mark.parametrize("space", ["shared", "global", ""])
def test_compare_and_swap_of_16_bits_leaves_the_other_half(space: str) -> None:
    words = "bar.sync 0; setp.ne.u32 %p0, %r0, 0; @%p0 ret;"
    dot = f".{space}" if space else ""
    if space == "shared":
        body = f"""mov.u64 %rd6, cell; st.shared.b32 [%rd6], 0x00050007; {words}
        mov.b16 %h1, 5; mov.b16 %h2, 9; atom{dot}.cas.b16 %h3, [%rd6+2], %h1, %h2;
        atom{dot}.cas.b16 %h4, [%rd6], %h1, %h2;
        ld.shared.b32 %r4, [%rd6]; st.global.b32 [%rd0+64], %r4;"""
    else:
        body = f"""st.global.b32 [%rd0+512], 0x00050007; {words}
        mov.b16 %h1, 5; mov.b16 %h2, 9; atom{dot}.cas.b16 %h3, [%rd0+514], %h1, %h2;
        atom{dot}.cas.b16 %h4, [%rd0+512], %h1, %h2;"""
    body += " st.global.b16 [%rd0+72], %h3; st.global.b16 [%rd0+76], %h4;"
    same(program(body, variables=".shared .align 4 .b32 cell;"), threads=1)


@pytest.mark.parametrize("space", ["shared", "global", ""])
def test_swaps_of_128_bits(space: str) -> None:
    """One that finds what it expects, one that does not, one that no thread executes, and an exchange."""
    dot = f".{space}" if space else ""
    at = {"shared": "cell", "": "generic"}.get(space, "%rd0+1024")
    body = f"""setp.ne.u32 %p0, %r0, 0; @%p0 ret;
    .reg .b128 old, new, q<5>; .reg .b64 generic; mov.u64 generic, cell; cvta.shared.u64 generic, generic;
    mov.b64 %rd3, 0x123456789abcdef0; mov.b64 %rd4, 0xf000000f00000001; mov.b128 old, {{%rd3, %rd4}};
    mov.b64 %rd5, 0x0fedcba987654321; mov.b64 %rd6, 0x8000000000000007; mov.b128 new, {{%rd5, %rd6}};
    {f"st{dot}" if space != "shared" else "st.shared"}.v2.b64 [{at}], {{%rd3, %rd4}};
    atom{dot}.cas.b128 q0, [{at}], old, new;
    atom{dot}.cas.b128 q1, [{at}], old, q0;
    @%p0 atom{dot}.cas.b128 q1, [{at}], new, old;
    atom{dot}.acq_rel.cta.exch.b128 q2, [{at}], old;
    atom{dot}.cas.b128 q3, [{at}], q0, q2;
    atom{dot}.cas.b128 q4, [{at}], q2, q0;
    """
    for n in range(5):
        body += f"mov.b128 {{%rd7, %rd8}}, q{n}; st.global.v2.b64 [%rd0+{16 * n}], {{%rd7, %rd8}};\n"
    same(program(body, variables=".shared .align 16 .b8 cell[16];"), threads=1)


def test_numbers_of_clusters_of_one_block() -> None:
    names = "clusterid cluster_ctaid nclusterid cluster_nctaid".split()
    names = [f"{name}.{axis}" for name in names for axis in "xyz"] + ["cluster_ctarank", "cluster_nctarank"]
    sums = [f"mov.u32 %r1, %{name}; shl.b32 %r2, %r2, 2; add.u32 %r2, %r2, %r1;" for name in names]
    same(program("mov.u32 %r2, 0;" + " ".join(sums) + "st.global.u32 [%rd1], %r2;"))


def test_parameters_of_no_call_are_variables() -> None:
    body = """{ .param .b64 given; .param .align 8 .b8 unread[16]; st.param.b32 [given], %r0;
    st.param.b32 [given+4], 5; st.param.b64 [unread+8], %rd0; ld.param.b64 %rd3, [given]; }
    st.global.b32 [%rd1], %r0; st.global.b64 [%rd0+1024], %rd3;"""
    same(program(body), threads=1)


def test_local_variables_and_their_generic_addresses() -> None:
    body = """mov.u64 %rd5, lo; cvta.local.u64 %rd6, %rd5; add.u32 %r4, %r0, 11; st.local.u32 [lo+4], %r4;
    ld.u32 %r5, [%rd6+4]; st.u32 [%rd6+8], %r0; ld.local.u32 %r6, [%rd5+8]; cvta.to.local.u64 %rd7, %rd6;
    st.local.u32 [%rd7+12], 77; ld.local.u32 %r7, [lo+12]; add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7;
    isspacep.local %p1, %rd6; isspacep.global %p2, %rd6; selp.u32 %r8, 100, 0, %p1; selp.u32 %r9, 1000, 0, %p2;
    add.u32 %r5, %r5, %r8; add.u32 %r5, %r5, %r9; st.global.u32 [%rd1], %r5;"""
    same(program(body, variables=".local .align 8 .b8 lo[32];"))


def test_generic_accesses_that_name_a_variable() -> None:
    """They were refused; the space of the variable is what ptxas takes."""
    body = """st.local.u32 [lo+4], %r0; ld.u32 %r4, [lo+4];
    setp.eq.u32 %p1, %r0, 0; @%p1 st.u32 [cell+8], 1000; bar.sync 0; red.add.u32 [cell+8], %r0; bar.sync 0;
    ld.shared.u32 %r6, [cell+8]; add.u32 %r4, %r4, %r6; st.global.u32 [%rd1], %r4;"""
    same(program(body, variables=".local .align 8 .b8 lo[32]; .shared .align 8 .b8 cell[16];"))


def test_hints_whose_words_come_in_another_order() -> None:
    """They were taken for tensor maps."""
    lines = ("prefetch.L2.global [%rd1];", "discard.L2.global [%rd1], 128;", "prefetch.global.L1 [%rd1];")
    text = [i for i in map(str, machine(program(" ".join(lines)), 90)) if i.startswith("CCTL")]
    assert [line.split()[0] for line in text] == ["CCTL.E.PF2", "CCTL.E.RML2", "CCTL.E.PF1"]


def test_constants_and_initialised_variables() -> None:
    before = """.const .align 4 .u32 table[4] = {10, 20, 30, 40}; .const .u8 small[3] = {1, 2, 255};
    .global .align 4 .u32 data[3] = {7, 8, 9}; .global .u64 pointer = data+4; .global .u32 counter;"""
    body = """and.b32 %r4, %r0, 3; mul.wide.u32 %rd5, %r4, 4; mov.u64 %rd6, table; add.u64 %rd6, %rd6, %rd5;
    ld.const.u32 %r5, [%rd6]; ld.const.s8 %r6, [small+2]; add.s32 %r5, %r5, %r6; ld.const.u32 %r7, [table+8];
    add.s32 %r5, %r5, %r7; ld.global.u64 %rd7, [pointer]; ld.global.u32 %r8, [%rd7]; add.s32 %r5, %r5, %r8;
    mov.u64 %rd8, table; cvta.const.u64 %rd8, %rd8; ld.u32 %r9, [%rd8+4]; add.s32 %r5, %r5, %r9;
    isspacep.const %p1, %rd8; @%p1 add.s32 %r5, %r5, 1000; red.global.add.u32 [counter], 1; bar.sync 0;
    ld.volatile.global.u32 %r10, [counter]; add.s32 %r5, %r5, %r10; st.global.u32 [%rd1], %r5;"""
    same(program(body, before))


def test_dynamic_shared_memory() -> None:
    before = ".extern .shared .align 16 .b8 dynamic[];"
    body = """shl.b32 %r4, %r0, 2; mov.u32 %r5, dynamic; add.u32 %r5, %r5, %r4; st.shared.u32 [%r5], %r0; bar.sync 0;
    xor.b32 %r6, %r4, 124; mov.u32 %r7, dynamic; add.u32 %r7, %r7, %r6; ld.shared.u32 %r8, [%r7];
    st.global.u32 [%rd1], %r8;"""
    same(program(body, before, ".shared .b32 fixed[3];"), threads=32, shared_bytes=128)


def test_barriers_with_registers_and_reductions() -> None:
    body = """and.b32 %r4, %r0, 0; add.u32 %r4, %r4, 1; mov.u32 %r5, %ntid.x; bar.sync %r4, %r5;
    setp.lt.u32 %p1, %r0, 9; bar.red.popc.u32 %r6, 0, %p1; bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, %r4, %r5, !%p1; selp.u32 %r7, 100, 0, %p2; selp.u32 %r8, 1000, 0, %p3;
    add.u32 %r6, %r6, %r7; add.u32 %r6, %r6, %r8; st.global.u32 [%rd1], %r6;"""
    same(program(body))


def test_warp_operations_on_one_side_of_a_branch() -> None:
    body = """and.b32 %r1, %r0, 31; setp.lt.u32 %p0, %r1, 16; @!%p0 bra OTHER;
    shfl.sync.down.b32 %r4|%p1, %r0, 3, 0x101f, 0xffff; vote.sync.ballot.b32 %r5, %p1, 0xffff;
    redux.sync.add.u32 %r6, %r1, 0xffff; and.b32 %r7, %r1, 3; match.any.sync.b32 %r8, %r7, 0xffff;
    add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6; add.u32 %r4, %r4, %r8; bra END;
    OTHER: shfl.sync.bfly.b32 %r4, %r0, 1, 31, 0xffff0000;
    END: bar.warp.sync -1; shfl.sync.idx.b32 %r9, %r4, 5, 31, -1; add.u32 %r4, %r4, %r9; st.global.u32 [%rd1], %r4;"""
    same(program(body))


def test_branch_by_table() -> None:
    body = """and.b32 %r4, %r0, 7; T: .branchtargets A, B, B, C, A, C, C, D; brx.idx %r4, T;
    A: mov.u32 %r5, 1; bra END; B: mov.u32 %r5, 2; bra END; C: mov.u32 %r5, 3; bra END; D: mov.u32 %r5, 4;
    END: st.global.u32 [%rd1], %r5;"""
    same(program(body))


FUNCTIONS = """
.func (.param .b32 out) mix(.param .b32 a, .param .align 8 .b8 pair[16]) {
    .reg .b32 %r<6>; .reg .b64 %d<2>; .reg .pred %p<2>; .local .b32 lo[4];
    ld.param.u32 %r1, [a]; ld.param.u32 %r2, [pair+4]; ld.param.u64 %d1, [pair+8]; cvt.u32.u64 %r3, %d1;
    setp.gt.u32 %p1, %r1, 20; @%p1 bra LARGE;
    st.local.u32 [lo+4], %r3; ld.local.u32 %r4, [lo+4]; add.u32 %r4, %r4, %r2; st.param.b32 [out], %r4; ret;
    LARGE: sub.u32 %r4, %r1, %r2; st.param.b32 [out], %r4; ret; }
.func (.reg .b32 d) twice(.reg .b32 x) { add.u32 d, x, x; ret; }
"""


def test_device_functions_in_their_places() -> None:
    body = """setp.gt.u32 %p1, %r0, 7; mov.u32 %r5, 3;
    { .param .b32 a0; .param .align 8 .b8 a1[16]; .param .b32 r0; st.param.b32 [a0], %r0; st.param.b32 [a1+4], 5;
    st.param.b64 [a1+8], %rd2; call.uni (r0), mix, (a0, a1); ld.param.b32 %r4, [r0]; }
    @%p1 call (%r5), twice, (%r4); call (%r6), twice, (%r5); add.u32 %r4, %r4, %r6; st.global.u32 [%rd1], %r4;"""
    same(program(body, FUNCTIONS))


def test_vector_move_onto_its_own_sources() -> None:
    """The second element was read after the first had been written."""
    body = """ld.global.u32 %r4, [%rd1]; mov.u32 %r5, 9; @%p0 mov.u32 %r4, 1; @%p0 mov.u32 %r5, 1;
    mov.v2.b32 {%r4, %r5}, {%r5, %r4}; shl.b32 %r5, %r5, 8; add.u32 %r4, %r4, %r5; st.global.u32 [%rd1], %r4;"""
    same(program("setp.eq.u32 %p0, %r0, 99; " + body))


def test_guarded_instructions_of_many_temporaries_need_few_predicates() -> None:
    """Every temporary predicate under a guard was live from the beginning of the kernel."""
    lines = ["setp.gt.u32 %p0, %r0, 3; cvt.u64.u32 %rd5, %r0; mov.u64 %rd6, 1;"]
    lines += [f"@%p0 add.u64 %rd6, %rd6, %rd5; @%p0 mul.lo.u64 %rd6, %rd6, {n};" for n in range(3, 40)]
    same(program("\n".join([*lines, "cvt.u32.u64 %r4, %rd6; st.global.u32 [%rd1], %r4;"])))


def test_addresses_in_narrow_registers_that_change() -> None:
    """The pair that a 32-bit address had been extended to served the next access, too, after the register had changed;
    verified PTX has none, as addresses of 32 bits are refused."""
    text = """.visible .entry k(.param .u64 p) { .reg .u64 at; .reg .u32 r, x, y; ld.param.u64 at, [p];
    mov.u32 r, %tid.x; ld.global.u32 x, [r]; add.u32 r, r, 4; ld.global.u32 y, [r]; add.u32 x, x, y;
    st.global.u32 [at], x; ret; }"""
    made = code(text, verified=False)
    pairs = [i.values[2] for i in made if i.opcode.mnemonic == "LDG.E"]
    assert pairs[0] != pairs[1]
    for low in pairs:
        assert (GENERAL, low) in [w for i in made if i.opcode.mnemonic == "MOV" for w in registers_written(i)]
    with pytest.raises(UnsupportedError, match="addresses of 32 bits"):
        assemble(HEADER.replace("size 64", "size 32") + ".visible .entry k() { ret; }", "sm_90")

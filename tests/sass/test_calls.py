"""Device functions that stay functions: programs on the interpreter of machine code beside the reference, through the
checker; the places of parameters beside those that ptxas uses."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import numpy as np
import pytest

from drawloom import reference
from drawloom.errors import KernelFault, UnsupportedError
from drawloom.ptx import parse, verify
from drawloom.ptx.ir import Variable
from drawloom.ptx.layout import GlobalsLayout
from drawloom.ptx.types import TYPES
from drawloom.sass.abi import STACK, Convention
from drawloom.sass.assemble import assemble
from drawloom.sass.cubin import Cubin, read_cubin
from drawloom.sass.decoder import unpack_section
from drawloom.sass.encoding import address_of, pack_section
from drawloom.sass.interpreter import run
from drawloom.sass.isa import load_target
from drawloom.sass.verify import verify as check
from tools.isa import vendor

TARGETS = (61, 75, 80, 90)
#: Targets with convergence barriers.
LATER = (75, 80, 90)
THREADS = 40


def header(number: int) -> str:
    return f".version 8.0\n.target sm_{number}\n.address_size 64\n"


def assembled(text: str, number: int, most_copied: int = 0) -> Cubin:
    """The cubin, whose code the checker accepts, and which reads back."""
    cubin = assemble(text, f"sm_{number}", most_copied=most_copied)
    target = load_target(number)
    for kernel in cubin.kernels.values():
        assert not check(target, unpack_section(target, kernel.code))
    assert list(read_cubin(bytes(cubin)).kernels) == list(cubin.kernels)
    return cubin


def on_reference(text: str, memory: np.ndarray, kernel: str = "k") -> str:
    """Run on the reference interpreter; returns what is printed."""
    module = parse(text)
    verify(module)
    layout = GlobalsLayout(module)
    image = np.zeros(layout.size + 2 * layout.align, np.uint8)
    base = (int(image.ctypes.data) + layout.align - 1) // layout.align * layout.align
    start = base - int(image.ctypes.data)
    image[start : start + layout.size] = np.frombuffer(layout.build(base), np.uint8)
    at = int(memory.ctypes.data)
    buffers = [(at, memory.nbytes), *([(base, layout.size)] if layout.size else [])]
    printed = io.StringIO()
    reference.run(
        module, kernel, (1, 1, 1), (THREADS, 1, 1), at.to_bytes(8, "little"), buffers=buffers, image_base=base,
        stdout=printed,
    )  # fmt: skip
    return printed.getvalue()


def on_machine(cubin: Cubin, memory: np.ndarray, kernel: str = "k", reverse: bool = False) -> str:
    at = int(memory.ctypes.data)
    printed = io.StringIO()
    run(
        cubin, kernel, (1, 1, 1), (THREADS, 1, 1), at.to_bytes(8, "little"), buffers=[(at, memory.nbytes)],
        stdout=printed, reverse=reverse,
    )  # fmt: skip
    return printed.getvalue()


def same(source: str, number: int, most_copied: int = 0, words: int = 2 * THREADS) -> Cubin:
    """The kernel leaves in memory and prints what it does on the reference, in both orders of threads."""
    text = header(number) + source
    cubin = assembled(text, number, most_copied)
    expected = np.arange(1, words + 1, dtype=np.uint32)
    printed = on_reference(text, expected)
    assert expected.tolist() != list(range(1, words + 1)) or printed
    for reverse in (False, True):
        memory = np.arange(1, words + 1, dtype=np.uint32)
        text_of_machine = on_machine(cubin, memory, reverse=reverse)
        assert memory.tolist() == expected.tolist()
        assert sorted(text_of_machine.splitlines()) == sorted(printed.splitlines())
    return cubin


def kernel(body: str, variables: str = "") -> str:
    """A kernel with the thread's number in %r0 and the address of its word in %d1; %r9 is stored there."""
    return f"""
.visible .entry k(.param .u64 out) {{
    .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .f64 %fd<8>; {variables}
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mad.wide.u32 %d1, %r0, 4, %d0;
    {body}
    st.global.u32 [%d1], %r9; ret; }}
"""


def call(name: str, result: str, *arguments: str, before: str = "") -> str:
    """A call with 32-bit parameters and result."""
    names = [f"a{n}" for n in range(len(arguments))]
    lines = [f".param .b32 {name}; st.param.b32 [{name}], {value};" for name, value in zip(names, arguments)]
    return (
        f"{{ {' '.join(lines)} .param .b32 back; {before} call (back), {name}, ({', '.join(names)}); "
        f"ld.param.b32 {result}, [back]; }}"
    )


REGISTERS = ".reg .pred %p<8>; .reg .b32 %r<40>; .reg .b64 %d<20>;"


def function(name: str, count: int, body: str, prefix: str = ".func") -> str:
    """A function of 32-bit parameters, loaded into %r1 ..., whose result is %r0."""
    params = ", ".join([f".param .b32 p{n}" for n in range(count)])
    loads = " ".join([f"ld.param.b32 %r{n + 1}, [p{n}];" for n in range(count)])
    return (
        f"{prefix} (.param .b32 result) {name}({params}) {{ {REGISTERS} {loads} {body} "
        "END: st.param.b32 [result], %r0; ret; }\n"
    )


FACTORIAL = function(
    "factorial", 1,
    "mov.u32 %r0, 1; setp.le.u32 %p1, %r1, 1; @%p1 bra END; sub.u32 %r2, %r1, 1;"
    + call("factorial", "%r3", "%r2") + "mul.lo.u32 %r0, %r3, %r1;",
)  # fmt: skip
FIBONACCI = function(
    "fibonacci", 1,
    "mov.u32 %r0, %r1; setp.lt.u32 %p1, %r1, 2; @%p1 bra END; sub.u32 %r2, %r1, 1; sub.u32 %r3, %r1, 2;"
    + call("fibonacci", "%r4", "%r2") + call("fibonacci", "%r5", "%r3") + "add.u32 %r0, %r4, %r5;",
)  # fmt: skip
ACKERMANN = function(
    "ackermann", 2,
    "add.u32 %r0, %r2, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra END; sub.u32 %r3, %r1, 1; mov.u32 %r4, 1;"
    "setp.eq.u32 %p2, %r2, 0; @%p2 bra LAST; sub.u32 %r5, %r2, 1;"
    + call("ackermann", "%r4", "%r1", "%r5") + "LAST:" + call("ackermann", "%r0", "%r3", "%r4"),
)  # fmt: skip
EVEN = (
    ".func (.param .b32 result) odd(.param .b32 p0);\n"
    + function("even", 1, "mov.u32 %r0, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra END; sub.u32 %r2, %r1, 1;"
               + call("odd", "%r0", "%r2") + "add.u32 %r0, %r0, 256;")
    + function("odd", 1, "mov.u32 %r0, 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra END; sub.u32 %r2, %r1, 1;"
               + call("even", "%r0", "%r2") + "add.u32 %r0, %r0, 65536;")
)  # fmt: skip


@pytest.mark.parametrize("number", TARGETS)
@pytest.mark.parametrize(
    "functions, body",
    [
        (FACTORIAL, "rem.u32 %r1, %r0, 13;" + call("factorial", "%r9", "%r1")),
        (FIBONACCI, "rem.u32 %r1, %r0, 7;" + call("fibonacci", "%r9", "%r1")),
        (ACKERMANN, "rem.u32 %r1, %r0, 3; rem.u32 %r2, %r0, 4;" + call("ackermann", "%r9", "%r1", "%r2")),
        (EVEN, "rem.u32 %r1, %r0, 9;" + call("even", "%r9", "%r1")),
    ],
    ids=["factorial", "fibonacci", "ackermann", "mutual"],
)
def test_recursion(functions: str, body: str, number: int) -> None:
    cubin = same(functions + kernel(body), number, most_copied=4000)
    made = cubin.functions["k"]
    assert made.parts and made.stack_bytes == made.frame_bytes
    assert number < 75 or (made.crs_stack_bytes == 0 and made.registers >= 24)


@pytest.mark.vendor
@pytest.mark.parametrize("number", LATER)
def test_nvdisasm_reads_barriers_that_are_kept(number: int, tmp_path: Path) -> None:
    """A scoreboard on what writes a convergence barrier made an illegal instruction."""
    nvdisasm = vendor.find("nvdisasm")
    if nvdisasm is None:
        pytest.skip("nvdisasm is not installed (python -m tools.isa fetch)")
    path = tmp_path / "k.cubin"
    path.write_bytes(
        bytes(assembled(header(number) + ACKERMANN + kernel(call("ackermann", "%r9", "2", "%r0")), number))
    )
    text = subprocess.run([nvdisasm, "-c", "-ndf", str(path)], capture_output=True, text=True).stdout
    assert text.count("BMOV.32.CLEAR") == text.count("BMOV.32 B") == 2


SMALL = (
    function("triple", 1, "mul.lo.u32 %r0, %r1, 3;")
    + function("mixed", 2, "xor.b32 %r0, %r1, %r2; add.u32 %r0, %r0, 77;")
    + function("nested", 2, call("triple", "%r3", "%r1") + call("mixed", "%r4", "%r3", "%r2")
               + "add.u32 %r0, %r4, %r1;")
)  # fmt: skip


@pytest.mark.parametrize("number", TARGETS)
def test_calls_in_divergent_code_and_in_loops(number: int) -> None:
    body = (
        "mov.u32 %r9, 0; rem.u32 %r1, %r0, 5; add.u32 %r1, %r1, 1; and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0;"
        "LOOP: @%p1 bra OTHER;" + call("nested", "%r3", "%r1", "%r9") + "bra.uni JOIN; OTHER:"
        + call("triple", "%r3", "%r1") + "JOIN: add.u32 %r9, %r9, %r3; sub.u32 %r1, %r1, 1;"
        "setp.gt.u32 %p2, %r1, 0; @%p2 bra LOOP; shfl.sync.idx.b32 %r4, %r9, 3, 31, -1; add.u32 %r9, %r9, %r4;"
    )  # fmt: skip
    same(SMALL + kernel(body), number)


@pytest.mark.parametrize("number", TARGETS)
def test_a_guarded_call(number: int) -> None:
    source = ".func (.reg .b32 d) twice(.reg .b32 x, .reg .u64 y) { cvt.u32.u64 d, y; add.u32 d, d, x; ret; }"
    body = "setp.gt.u32 %p1, %r0, 7; mov.u32 %r9, 3; cvt.u64.u32 %d2, %r0; @%p1 call (%r9), twice, (%r0, %d2);"
    same(source + kernel(body), number)


@pytest.mark.parametrize("number", TARGETS)
def test_calls_through_pointers(number: int) -> None:
    functions = (
        function("square", 1, "mul.lo.u32 %r0, %r1, %r1;")
        + function("negate", 1, "neg.s32 %r0, %r1;") + FACTORIAL
        + ".global .align 8 .u64 table[3] = {negate, square, factorial};\n"
    )  # fmt: skip
    body = (
        "proto: .callprototype (.param .b32 _) _ (.param .b32 _); list: .calltargets square, negate;"
        "rem.u32 %r1, %r0, 3; mov.u64 %d2, table; mad.wide.u32 %d2, %r1, 8, %d2; ld.global.u64 %d3, [%d2];"
        "setp.eq.u32 %p1, %r1, 0; mov.u64 %d4, square; mov.u64 %d5, negate; selp.b64 %d4, %d4, %d5, %p1;"
        "{ .param .b32 a; .param .b32 b; rem.u32 %r2, %r0, 11; st.param.b32 [a], %r2; call (b), %d3, (a), proto;"
        "ld.param.b32 %r9, [b]; }"
        "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call (b), %d4, (a), list;"
        "ld.param.b32 %r3, [b]; add.u32 %r9, %r9, %r3; }"
    )
    other = ".visible .entry j(.param .u64 out) { .reg .b64 %d<4>; ld.param.u64 %d0, [out]; mov.u64 %d1, negate; "
    cubin = same(functions + kernel(body) + other + "st.global.u64 [%d0], %d1; ret; }", number)
    assert [part.name for part in cubin.functions["k"].parts] == ["$k$square", "$k$negate", "$k$factorial"]
    assert len(cubin.functions["k"].constants) == 32 and not cubin.functions["j"].constants
    memory = np.zeros(2 * THREADS, np.uint32)
    on_machine(cubin, memory, "j")
    assert memory[0] == 16  # the second entry of the table, as in ptxas's files


@pytest.mark.parametrize("number", TARGETS)
def test_many_parameters_of_all_widths(number: int) -> None:
    types = ["b32", "b64", "b16", "b32", "b64", "f64", "b64", "b32", "b64", "b32", "u64", "b8"]
    params = ", ".join([f".param .{t} p{n}" for n, t in enumerate(types)])
    body = "mov.u32 %r0, 0;"
    given = ""
    for n, t in enumerate(types):
        bits = int(t[1:])
        if bits == 64:
            body += f"ld.param.b64 %d1, [p{n}]; cvt.u32.u64 %r1, %d1; shr.u64 %d1, %d1, 32; cvt.u32.u64 %r2, %d1;"
            body += "xor.b32 %r1, %r1, %r2;"
            given += f".param .{t} a{n}; mul.wide.u32 %d2, %r0, {0x10001 * (n + 7)}; st.param.b64 [a{n}], %d2;"
        else:
            body += f"ld.param.u{bits} %r1, [p{n}];"
            given += f".param .{t} a{n}; mul.lo.u32 %r2, %r0, {n + 3}; st.param.b{bits} [a{n}], %r2;"
        body += "mad.lo.u32 %r0, %r0, 31, %r1;"
    source = (
        f".func (.param .b64 wide) f({params}) {{ {REGISTERS} {body} cvt.u64.u32 %d3, %r0; mul.lo.u64 %d3, %d3, %d3;"
        "st.param.b64 [wide], %d3; ret; }"
    )
    names = ", ".join([f"a{n}" for n in range(len(types))])
    call = f"{{ {given} .param .b64 wide; call (wide), f, ({names}); ld.param.b64 %d3, [wide]; }}"
    same(source + kernel(call + "shr.u64 %d4, %d3, 32; xor.b64 %d3, %d3, %d4; cvt.u32.u64 %r9, %d3;"), number)


STRUCTS = """
.func (.param .align 8 .b8 out[64]) spread(.param .align 8 .b8 in[24], .param .align 16 .b8 large[64], .param .b32 x) {
    .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .b16 %h<4>;
    ld.param.b32 %r1, [in]; ld.param.b64 %d1, [in+16]; ld.param.v2.b32 {%r2, %r3}, [large+32];
    ld.param.u8 %r4, [large+63];    ld.param.u16 %h1, [large+2]; ld.param.b32 %r5, [x]; cvt.u32.u16 %r6, %h1;
    st.param.b32 [out], %r1; st.param.b32 [out+4], %r2; st.param.b64 [out+8], %d1; st.param.b32 [out+16], %r3;
    st.param.b32 [out+20], %r4; st.param.b32 [out+24], %r5; st.param.b32 [out+28], %r6; st.param.b64 [out+56], %d1;
    ret; }
.func (.param .align 4 .b8 out[20]) middle(.param .align 1 .b8 in[7]) {
    .reg .b32 %r<20>; ld.param.u8 %r1, [in]; ld.param.u8 %r2, [in+5]; ld.param.u8 %r3, [in+6];
    st.param.b32 [out], %r1; st.param.b32 [out+8], %r2; st.param.b32 [out+16], %r3; ret; }
"""


@pytest.mark.parametrize("number", TARGETS)
@pytest.mark.parametrize("most_copied", [0, 4000])
def test_structs_by_value_and_results_wider_than_the_registers(number: int, most_copied: int) -> None:
    body = """{ .param .align 8 .b8 a[24]; .param .align 16 .b8 b[64]; .param .b32 c; .param .align 8 .b8 d[64];
    mul.wide.u32 %d2, %r0, 70001; st.param.b32 [a], %r0; st.param.b64 [a+16], %d2; st.param.v2.b32 [b+32], {%r0, 99};
    st.param.b32 [b], %r0; st.param.b16 [b+2], 513; st.param.b8 [b+63], %r0; st.param.b32 [c], %r0;
    call (d), spread, (a, b, c);
    ld.param.b32 %r1, [d]; ld.param.b32 %r2, [d+4]; ld.param.b64 %d3, [d+8]; ld.param.b32 %r3, [d+16];
    ld.param.b32 %r4, [d+20]; ld.param.b32 %r5, [d+24]; ld.param.b32 %r6, [d+28]; ld.param.b64 %d4, [d+56]; }
    add.u64 %d3, %d3, %d4; cvt.u32.u64 %r9, %d3; mad.lo.u32 %r9, %r9, 31, %r1; mad.lo.u32 %r9, %r9, 31, %r2;
    mad.lo.u32 %r9, %r9, 31, %r3; mad.lo.u32 %r9, %r9, 31, %r4; mad.lo.u32 %r9, %r9, 31, %r5;
    mad.lo.u32 %r9, %r9, 31, %r6;
    { .param .align 1 .b8 a[7]; .param .align 4 .b8 b[20]; st.param.b8 [a], %r0; st.param.b8 [a+5], 200;
    st.param.b8 [a+6], %r9; call (b), middle, (a); ld.param.b32 %r1, [b]; ld.param.b32 %r2, [b+8];
    ld.param.b32 %r3, [b+16]; }
    mad.lo.u32 %r9, %r9, 31, %r1; mad.lo.u32 %r9, %r9, 31, %r2; mad.lo.u32 %r9, %r9, 31, %r3;"""
    same(STRUCTS + kernel(body), number, most_copied)


@pytest.mark.parametrize("number", TARGETS)
@pytest.mark.parametrize("limit", [255, 32])
def test_many_values_over_calls(number: int, limit: int) -> None:
    """More than there are registers that calls leave alone, predicates among them, on both sides."""
    load = "".join([f"mad.lo.u32 %r{n}, %r1, {n * n + 7}, {n};" for n in range(2, 36)])
    flags = "".join([f"setp.gt.u32 %p{n}, %r1, {5 * n};" for n in range(1, 8)])
    use = "".join([f"xor.b32 %r0, %r0, %r{n}; mul.lo.u32 %r0, %r0, 13;" for n in range(2, 36)])
    use += "".join([f"@%p{n} add.u32 %r0, %r0, {n};" for n in range(1, 8)])
    inner = function("inner", 1, load + flags + "mov.u32 %r0, 1;" + use)
    outer = function("outer", 1, load + flags + call("inner", "%r0", "%r7") + use)
    body = call("outer", "%r9", "%r0") + call("outer", "%r8", "%r9") + "xor.b32 %r9, %r9, %r8;"
    text = header(number) + inner + outer + kernel(body)
    expected = np.zeros(2 * THREADS, np.uint32)
    on_reference(text, expected)
    cubin = assemble(text, f"sm_{number}", most_copied=0, max_registers=limit)
    target = load_target(number)
    assert not check(target, unpack_section(target, cubin.kernels["k"].code))
    memory = np.zeros(2 * THREADS, np.uint32)
    on_machine(cubin, memory)
    assert memory.tolist() == expected.tolist() and cubin.kernels["k"].registers <= limit


@pytest.mark.parametrize("number", TARGETS)
def test_functions_whose_callers_are_known_save_no_registers(number: int) -> None:
    """A caller keeps its values in registers that the function does not use; one that calls itself saves them."""
    loads = "".join([f"mad.lo.u32 %r{n}, %r1, {n * n + 7}, {n};" for n in range(2, 22)])
    uses = "".join([f"xor.b32 %r0, %r0, %r{n}; mul.lo.u32 %r0, %r0, 13;" for n in range(2, 22)])
    leaf = function("leaf", 1, loads + "mov.u32 %r0, 1;" + uses)
    again = function("again", 1, loads + "mov.u32 %r0, 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra END; shr.u32 %r23, %r1, 1;"
                     + call("again", "%r0", "%r23") + uses)  # fmt: skip
    body = "mul.lo.u32 %r5, %r0, 77; not.b32 %r6, %r0;" + call("leaf", "%r9", "%r0") + "xor.b32 %r9, %r9, %r5;"
    body += call("leaf", "%r8", "%r6") + "xor.b32 %r9, %r9, %r8; add.u32 %r9, %r9, %r6;"
    cubin = same(leaf + kernel(body), number)
    assert cubin.kernels["k"].stack == 0 and cubin.kernels["k"].registers <= 36
    assert not stores_of_registers(cubin, number)
    recursive = same(leaf + again + kernel(body + call("again", "%r8", "%r0") + "add.u32 %r9, %r9, %r8;"), number)
    assert stores_of_registers(recursive, number)


def stores_of_registers(cubin: Cubin, number: int) -> int:
    code = unpack_section(load_target(number), cubin.kernels["k"].code)
    return sum(instruction.opcode.mnemonic.startswith("STL") for instruction in code)


@pytest.mark.parametrize("number", TARGETS)
@pytest.mark.parametrize("most_copied", [0, 4000])
def test_variables_of_functions_are_one_for_all_copies(number: int, most_copied: int) -> None:
    """Every thread has a cell of its own; the first call sets it, the others add to it."""
    source = """.func (.param .b32 r) count(.param .b32 x) { .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p;
    .shared .b32 cell[64]; .global .b32 last[64]; ld.param.b32 %r1, [x]; mov.u32 %r3, %tid.x;
    mul.wide.u32 %d1, %r3, 4; mov.u64 %d2, cell; mov.u64 %d3, last; add.u64 %d2, %d2, %d1; add.u64 %d3, %d3, %d1;
    setp.eq.u32 %p, %r1, 0; @%p st.shared.b32 [%d2], 3; ld.shared.b32 %r2, [%d2]; add.u32 %r2, %r2, %r1;
    st.shared.b32 [%d2], %r2; ld.global.b32 %r3, [%d3]; st.global.b32 [%d3], %r2; add.u32 %r2, %r2, %r3;
    st.param.b32 [r], %r2; ret; }
    .shared .b32 mine[64];\n"""
    source += function("twice", 1, call("count", "%r2", "%r1") + call("count", "%r0", "%r2"))
    body = "mov.u64 %d3, mine; add.u64 %d4, %d3, 4; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.b32 [%d4], 1;"
    body += call("count", "%r1", "0") + call("count", "%r1", "%r1") + call("twice", "%r2", "5")
    same(source + kernel(body + call("count", "%r9", "%r2")), number, most_copied)


@pytest.mark.parametrize("number", TARGETS)
def test_a_parameter_by_its_address(number: int) -> None:
    """The load found the kernel's parameters there."""
    source = """.func (.param .b32 r) pick(.param .align 4 .b8 p[16], .param .b32 n) { .reg .b32 %r<4>; .reg .b64 %d<4>;
    ld.param.b32 %r1, [n]; and.b32 %r1, %r1, 3; mul.wide.u32 %d1, %r1, 4; mov.b64 %d2, p; add.u64 %d2, %d2, %d1;
    ld.param.b32 %r2, [%d2]; st.param.b32 [r], %r2; ret; }"""
    body = """{ .param .align 4 .b8 a[16]; .param .b32 b; .param .b32 c; st.param.b32 [a], 3; st.param.b32 [a+4], %r0;
    st.param.b32 [a+8], 9; st.param.b32 [a+12], 77; st.param.b32 [b], %r0; call (c), pick, (a, b);
    ld.param.b32 %r9, [c]; }"""
    same(source + kernel(body), number, most_copied=4000)


@pytest.mark.parametrize("number", TARGETS)
def test_shuffles_and_votes_in_functions(number: int) -> None:
    source = function("sum", 1, "mov.u32 %r0, %r1;" + "".join(
        [f"shfl.sync.bfly.b32 %r2, %r0, {d}, 31, -1; add.u32 %r0, %r0, %r2;" for d in (16, 8, 4, 2, 1)]
    ) + "setp.gt.u32 %p1, %r1, 9; vote.sync.ballot.b32 %r3, %p1, -1; add.u32 %r0, %r0, %r3;")  # fmt: skip
    body = "mov.u32 %r9, 0; setp.gt.u32 %p1, %r0, 31; @%p1 bra END;" + call("sum", "%r9", "%r0") + "END:"
    same(source + kernel(body), number)


PRINTF = """
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b64 p) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 w, .param .b64 s);
.global .align 1 .b8 text[16] = {116, 32, 37, 100, 32, 37, 102, 32, 37, 115, 10, 0};
.global .align 1 .b8 name[4] = {97, 98, 99, 0};
"""


@pytest.mark.parametrize("number", TARGETS)
def test_printf_and_the_heap(number: int) -> None:
    """Values that live over calls of functions of other files, loads and stores behind them."""
    source = (
        PRINTF
        + """.func (.param .b32 r) say(.param .b32 x, .param .f64 y) {
    .reg .b32 %r<4>; .reg .b64 %d<8>; .reg .f64 %f<2>; .local .align 8 .b8 block[24]; ld.param.b32 %r1, [x];
    ld.param.f64 %f1, [y]; st.local.b32 [block], %r1; st.local.f64 [block+8], %f1; mov.u64 %d1, name;
    cvta.global.u64 %d1, %d1; st.local.u64 [block+16], %d1; mov.u64 %d2, block; cvta.local.u64 %d2, %d2;
    mov.u64 %d3, text; cvta.global.u64 %d3, %d3; { .param .b64 a; .param .b64 b; .param .b32 c;
    st.param.b64 [a], %d3; st.param.b64 [b], %d2; call (c), vprintf, (a, b); ld.param.b32 %r2, [c]; }
    add.u32 %r2, %r2, %r1; st.param.b32 [r], %r2; ret; }
    """
    )
    body = """and.b32 %r1, %r0, 3; setp.eq.u32 %p1, %r1, 2; cvt.rn.f64.u32 %fd1, %r0; mov.u32 %r9, 0; @!%p1 bra END;
    { .param .b32 a; .param .f64 b; .param .b32 c; st.param.b32 [a], %r0; st.param.f64 [b], %fd1; call (c), say, (a, b);
    ld.param.b32 %r9, [c]; }
    { .param .b64 a; .param .b64 b; st.param.b64 [a], 64; call (b), malloc, (a); ld.param.b64 %d5, [b]; }
    st.u32 [%d5+60], %r9; ld.u32 %r2, [%d5+60]; add.u32 %r9, %r9, %r2;
    { .param .b64 a; st.param.b64 [a], %d5; call free, (a); }
    END:"""
    cubin = same(source + kernel(body), number)
    made = cubin.functions["k"]
    assert made.externs == ["vprintf", "malloc", "free"] or set(made.externs) == {"vprintf", "malloc", "free"}
    assert len(made.offsets["SYSCALL_OFFSETS"]) == 3


def test_a_failed_assertion_says_where() -> None:
    body = """setp.ne.u32 %p1, %r0, 5; @%p1 bra FINE; mov.u64 %d2, name; mov.u64 %d3, text;
    { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; st.param.b64 [a], %d2;
    st.param.b64 [b], %d2; st.param.b32 [c], 41; st.param.b64 [d], %d2; st.param.b64 [e], 1;
    call __assertfail, (a, b, c, d, e); } FINE: mov.u32 %r9, 1;"""
    text = header(90) + PRINTF + kernel(body)
    memory = np.zeros(2 * THREADS, np.uint32)
    with pytest.raises(KernelFault, match=r"assertion failed: abc \(abc:41, abc\)"):
        on_machine(assembled(text, 90), memory)
    with pytest.raises(KernelFault, match=r"assertion failed: abc \(abc:41, abc\)"):
        on_reference(text, memory)


def test_an_unresolved_function_is_named_with_its_line() -> None:
    text = header(90) + ".extern .func nobody(.reg .b32 x);\n" + kernel("\ncall nobody, (%r0);\nmov.u32 %r9, 1;")
    with pytest.raises(UnsupportedError, match=r"(?s):10:1.*unresolved external function 'nobody'"):
        assemble(text, "sm_90")


def test_functions_are_copied_by_size() -> None:
    large = function("large", 1, "".join([f"mad.lo.u32 %r1, %r1, %r1, {n};" for n in range(60)]) + "mov.u32 %r0, %r1;")
    body = "".join([call("large", "%r9", "%r0") for _ in range(3)])
    text = header(90) + large + kernel(body)
    assert not assemble(text, "sm_90").functions["k"].parts
    assert len(assemble(text, "sm_90", most_copied=100).functions["k"].parts) == 1
    once = header(90) + large + kernel(call("large", "%r9", "%r0"))
    assert not assemble(once, "sm_90", most_copied=20).functions["k"].parts


def variable(text: str) -> Variable:
    """`b32`, or `8:24` for 24 bytes aligned to 8."""
    if ":" in text:
        align, size = text.split(":")
        return Variable("x", "param", TYPES["b8"], [int(size)], int(align))
    return Variable("x", "param", TYPES[text])


@pytest.mark.parametrize(
    "types, places",
    [
        ("b32 b64 b32 b64 b32 b64 b32 b64 b32 b64", "4 6 5 8 10 12 11 14 S0 S8"),
        ("b32 b16 b64 b32", "4 5 6 8"),
        ("8:48", "4"),
        ("4:52", "S0"),
        ("b32 4:44", "4 5"),
        ("b32 8:48 b32", "4 S0 5"),
        ("b32 16:32 b64 b32 b32", "4 8 6 5 S0"),
        ("4:40 b32 b64 b32 b32", "4 14 S0 15 S8"),
        ("8:48 b16 b32 1:5 1:5 b16 16:16 b32 32:32 b32", "4 S0 S4 S8 S16 S24 S32 S48 S64 S96"),
        ("1:61 1:3 2:2 b16 b32 b64 b16 b16", "S0 4 5 6 7 8 10 11"),
    ],
)
def test_parameters_stand_where_ptxas_has_them(types: str, places: str) -> None:
    """Read off ptxas 12.9 -c for sm_90: the sources of stores of every parameter."""
    found = Convention([variable(t) for t in types.split()], []).places
    assert " ".join([f"S{p - STACK}" if p >= STACK else str(p) for p in found]) == places


def test_large_results_are_written_where_the_caller_says() -> None:
    convention = Convention([variable("b32")], [variable("4:52")])
    assert convention.hidden == [4] and convention.places == [5]
    assert Convention([variable("b32")], [variable("8:48")]).hidden == [-1]


LINKED = """
.visible .func (.param .b32 r) twice(.param .b32 a)
{ .reg .u32 %x; ld.param.u32 %x, [a]; add.u32 %x, %x, %x; st.param.b32 [r], %x; ret; }
.visible .func (.param .b32 r) turned(.param .b32 a)
{ .reg .u32 %x; .reg .pred %p; ld.param.u32 %x, [a]; setp.gt.u32 %p, %x, 7; @%p add.u32 %x, %x, 100;
  xor.b32 %x, %x, 5; st.param.b32 [r], %x; ret; }
.visible .entry k(.param .u64 out)
{
    .reg .u64 %o, %f, %g, %a; .reg .u32 %t, %x, %y; .reg .pred %p, %q;
    ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %a, %t, 4; add.u64 %o, %o, %a;
    mov.u64 %f, twice; mov.u64 %g, turned; and.b32 %x, %t, 3; setp.eq.u32 %p, %x, 1; selp.b64 %f, %f, %g, %p;
    mov.u32 %y, 0; setp.lt.u32 %q, %t, 20;
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %t;
P:  .callprototype (.param .b32 _) _ (.param .b32 _);
    @%q call (r), %f, (a), P; ld.param.b32 %y, [r]; @!%q mov.u32 %y, 77; }
    vote.sync.ballot.b32 %x, %p, 0xFFFFFFFF; xor.b32 %y, %y, %x;
    st.global.u32 [%o], %y;
    ret;
}
"""


@pytest.mark.parametrize("reverse", [False, True])
def test_calls_through_pointers_in_a_relocatable_file_of_sm_61(reverse: bool) -> None:
    """The functions are put behind the kernel and their places into it, as a linker does."""
    text = header(61) + LINKED
    target = load_target(61)
    cubin = assemble(text, "sm_61", relocatable=True)
    kernel = cubin.functions["k"]
    code = kernel.code
    places = {}
    for name in ("twice", "turned"):
        assert not check(target, unpack_section(target, cubin.functions[name].code))
        places[name] = len(code)
        code += cubin.functions[name].code
    made = unpack_section(target, code)
    at = {address_of(target, n): instruction for n, instruction in enumerate(made)}
    assert kernel.indirect_branches == [(next(a for a, i in at.items() if i.opcode.mnemonic == "JMX"), [])]
    for relocation in kernel.relocations:
        move = at[relocation.offset]
        assert move.opcode.mnemonic == "MOV32I"
        move.values[1] = places[relocation.symbol] if relocation.kind == "R_CUDA_ABS32_LO_20" else 0
    assert not check(target, unpack_section(target, kernel.code))
    kernel.code, kernel.relocations = pack_section(target, made), []
    expected, memory = np.zeros(THREADS, np.uint32), np.zeros(THREADS, np.uint32)
    on_reference(text, expected)
    on_machine(cubin, memory, reverse=reverse)
    assert memory.tolist() == expected.tolist()
    assert len(set(memory.tolist())) > 10


#: Leaves how far its own and its kernel's local variables stand from where they must.
ALIGNED = function(
    "odd", 1,
    ".local .align 64 .b8 own[12]; mov.u64 %d0, own; cvta.local.u64 %d0, %d0; cvt.u32.u64 %r2, %d0;"
    "and.b32 %r2, %r2, 63; st.local.b32 [own+4], %r1; mov.u32 %r3, 0;"
    "setp.eq.u32 %p1, %r1, 0; @%p1 bra LAST; shr.u32 %r4, %r1, 1;"
    + call("odd", "%r3", "%r4") + "LAST: ld.local.b32 %r5, [own+4]; add.u32 %r0, %r2, %r3; add.u32 %r0, %r0, %r5;",
)  # fmt: skip


@pytest.mark.parametrize("number", TARGETS)
def test_local_variables_are_aligned_as_they_say(number: int) -> None:
    variables = ".local .b8 first[5]; .local .align 32 .b8 second[8]; .local .align 128 .b8 third[4];"
    body = "st.local.b32 [third], %r0; mov.u32 %r9, 0;"
    for name, mask in (("second", 31), ("third", 127)):
        body += f"mov.u64 %d2, {name}; cvta.local.u64 %d3, %d2; and.b64 %d2, %d2, {mask}; and.b64 %d3, %d3, {mask};"
        body += "add.u64 %d2, %d2, %d3; cvt.u32.u64 %r8, %d2; add.u32 %r9, %r9, %r8;"
    body += call("odd", "%r7", "%r0") + "ld.local.b32 %r8, [third]; add.u32 %r9, %r9, %r8; add.u32 %r9, %r9, %r7;"
    same(ALIGNED + kernel(body, variables), number)


def test_an_aligned_variable_beside_parameters_on_the_stack_is_refused_with_its_line() -> None:
    many = function("many", 16, ".local .align 64 .b8 own[4]; st.local.b32 [own], %r1; mov.u32 %r0, %r16;")
    text = header(90) + many + kernel(call("many", "%r9", *["%r0"] * 16))
    with pytest.raises(UnsupportedError, match=r":4:\d+: .*aligned to 64 bytes beside parameters on the stack"):
        assemble(text, "sm_90", most_copied=0)

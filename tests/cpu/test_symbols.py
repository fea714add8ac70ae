"""Compiled kernels need nothing that a process lacks, whatever a CPU can do: no helper of a compiler's own library."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import drawloom
from drawloom.cpu import engine, program
from drawloom.cpu.ahead import module_objects, support_object
from drawloom.cpu.compile import compile_kernel
from drawloom.cpu.emitter import Emitter, Value
from drawloom.cpu.objects import undefined_symbols
from drawloom.cpu.ops import PURE, operand_elems
from drawloom.errors import LaunchError, UnsupportedError
from drawloom.ptx import parse, verify
from drawloom.ptx.isa import FORMS, Opcode, OpcodeError, decode
from tests.cpu.jit import BASELINE, host_of, load, store
from tests.cpu.test_ops_table import spellings
from tools.programs import generate

#: The features of the first x86-64 CPUs, then what DRAWLOOM_CPU_FEATURES takes.
SETS = (BASELINE, *engine.FEATURE_SETS)
#: What every C library has, and what is ours.
ALLOWED = {"memcpy", "memmove", "memset", "sched_yield", "dl_fail", "dl_check"}
#: Where there is no instruction for it, fused multiply-add is the C library's.
WITHOUT_FMA = {"fma", "fmaf"}


def missing(text: str, host: engine.Host) -> set[str]:
    """What the object code of LLVM IR calls and a process need not have."""
    compiled = engine.optimise(text, host, engine.QUICK)
    symbols = set(undefined_symbols(host.machine(engine.QUICK).emit_object(compiled)))
    return symbols - ALLOWED - (set() if "fma" in host.features else WITHOUT_FMA)


def kinds_of(lines: list[str]) -> set[tuple[str, ...]]:
    """What LLVM instructions there are, of what types, with the names and numbers left out."""
    found = set()
    for line in lines:
        words = line.replace("(", " ").replace(",", " ").replace(")", " ").split()
        found.add(tuple([w for w in words if w[0] != "%" and not w.lstrip("-").isdigit() and w[:2] != "0x"]))
    return found


def pure_opcodes() -> Iterator[tuple[Opcode, list[str]]]:
    """Every opcode that only computes, with the elements of its arguments."""
    for name in sorted(PURE):
        for form in FORMS[name]:
            for text in spellings(form):
                try:
                    opcode = decode(text)
                except OpcodeError:
                    continue
                arguments = operand_elems(opcode, form)[1]
                yield opcode, [*arguments, *["i1"] * opcode.reads_carry]


@pytest.mark.parametrize("which", SETS)
def test_instructions_that_compute(which: str) -> None:
    """Each LLVM instruction that some opcode makes is in a function once, for vectors and for scalars."""
    host = host_of(which)
    functions: list[str] = []
    declarations: dict[str, str] = {}
    seen: set[tuple[str, ...]] = set()
    for opcode, arguments in pure_opcodes():
        for lanes in (16, 0):
            e = Emitter(host.features)
            values = [load(e, f"%a{i}", elem, lanes) for i, elem in enumerate(arguments)]
            if opcode.name == "lop3":
                values[3] = Value("splat (i32 150)" if lanes else "150", "i32", lanes)
            out = PURE[opcode.name](e, opcode, values)
            kinds = kinds_of(e.lines)
            if kinds <= seen:
                continue
            seen |= kinds
            for i, value in enumerate(out):
                store(e, f"%r{i}", value)
            pointers = [f"ptr %r{i}" for i in range(len(out))] + [f"ptr %a{i}" for i in range(len(arguments))]
            head = f"define void @f{len(functions)}({', '.join(pointers)}) {{"
            functions.append("\n".join([head, *e.lines, "  ret void", "}"]))
            declarations.update(e.declarations)
    assert len(functions) > 100
    assert not missing("\n".join([*functions, *declarations.values()]), host)


def atomics() -> Iterator[str]:
    """Every operation, type and vector of ``atom`` and ``red``, on global and on shared memory."""
    registers = {"b16": "%h", "b32": "%r", "b64": "%d", "b128": "%q", "f32": "%f", "f64": "%g"}
    seen: set[tuple[str, str, str, int]] = set()
    for name in ("atom", "red"):
        for form in FORMS[name]:
            for text in spellings(form):
                try:
                    opcode = decode(text)
                except OpcodeError:
                    continue
                type = opcode.types[0]
                kind = (name, opcode.operation, type.name, opcode.vector)
                if kind in seen:
                    continue
                seen.add(kind)
                register = registers[type.name if type.name in registers else f"b{type.bits}"]
                values = [f"{register}{i}" for i in range(opcode.vector)]
                value = f"{{{', '.join(values)}}}" if opcode.vector > 1 else values[0]
                words = [
                    *(["noftz"] if ".noftz" in text else []),
                    *([f"v{opcode.vector}"] if opcode.vector > 1 else []),
                ]
                for space in ("global",) if opcode.vector > 1 else ("global", "shared"):
                    target = "" if name == "red" else f"{value}, "
                    second = f", {value}" if opcode.operation == "cas" else ""
                    spelled = ".".join([name, space, opcode.operation, *words, type.name])
                    place = "%p1" if space == "global" else "tile"
                    yield f"{spelled} {target}[{place}], {value}{second};"


KERNEL = """.version 8.6
.target sm_100
.address_size 64
.visible .entry k(.param .u64 words)
{
.reg .pred %c; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>, %p<2>; .reg .f32 %f<9>; .reg .f64 %g<9>;
.reg .b128 %q<2>;
.shared .align 16 .b8 tile[64];
ld.param.u64 %p1, [words]; mov.u32 %r1, %tid.x; mad.wide.u32 %p1, %r1, 64, %p1; setp.lt.u32 %c, %r1, 20;
ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%p1]; ld.global.v2.f64 {%g0, %g1}, [%p1+16];
ld.global.v4.b16 {%h0, %h1, %h2, %h3}, [%p1]; ld.global.v4.b16 {%h4, %h5, %h6, %h7}, [%p1];
ld.global.b128 %q0, [%p1+32]; ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%p1+48]; ld.global.v2.b64 {%d0, %d1}, [%p1];
mov.b32 %r0, %r1; mov.b64 %d2, %d1;
"""


@pytest.mark.parametrize("which", SETS)
def test_atomics_of_every_type(which: str) -> None:
    lines = ["@%c " + line for line in atomics() if which != BASELINE or "b128" not in line]
    text = KERNEL + "\n".join(lines) + "\nret;\n}\n"
    module = parse(text)
    verify(module)
    host = host_of(which)
    code = compile_kernel(module, "k", "linear", False, host.features, by_lane=which == BASELINE)
    assert not missing(code.text, host)


@pytest.mark.parametrize("which", engine.FEATURE_SETS)
def test_generated_programs_and_what_they_share(which: str) -> None:
    host = host_of(which)
    for seed in (77, 1234, 1240):  # 77 adds packed bf16 in memory
        code = compile_kernel(parse(generate(seed).text), "k", "general", False, host.features)
        assert not missing(code.text, host)


def test_atomics_of_128_bits_are_refused_where_there_is_no_instruction() -> None:
    module = parse(KERNEL + "atom.global.exch.b128 %q0, [%p1], %q1; ret; }")
    with pytest.raises(UnsupportedError, match=r"'atom.global.exch.b128' needs a CPU with .* cmpxchg16b"):
        compile_kernel(module, "k", "linear", False, host_of(BASELINE).features)


PACKED = KERNEL + "red.global.add.noftz.bf16x2 [%p1], %r1; fma.rz.f64 %g0, %g1, %g1, %g1; ret; }"


@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3"])
def test_object_files_for_programs_without_python(level: str) -> None:
    """They are linked with the C library and its mathematics, and with nothing of a compiler's."""
    ours = {"dl_fail", "dl_check", "dl_run", "dl_guard", "dl_register_image"}
    system = {"sigaction", "sigaltstack", "sigpending", "raise", "mmap", "write"}
    codes = [support_object(level), *module_objects(parse(PACKED), None, "key", level, {})]
    used = {name for code in codes for name in undefined_symbols(code) if not name.startswith("dl.key.")}
    assert used - ALLOWED - ours - system == (WITHOUT_FMA - {"fmaf"} if level == "x86-64-v2" else set())


def test_code_that_cannot_be_linked_names_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> bytes:
        calling = text.replace("ret void", "call void @__gone()\n  ret void")
        return engine.object_code(calling + "\ndeclare void @__gone()\n")

    monkeypatch.setenv("DRAWLOOM_CACHE", "off")
    monkeypatch.setattr(program, "object_code", broken)
    with pytest.raises(LaunchError, match=r"kernel k: LLVM .*: its code calls __gone, which this process"):
        drawloom.load(PACKED)["k"][1, 32](bytearray(4096))


def test_code_that_llvm_refuses_names_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_CACHE", "off")
    monkeypatch.setattr(program, "object_code", lambda text: engine.object_code(text + "define"))
    with pytest.raises(LaunchError, match="kernel k: LLVM fails on the code of this kernel"):
        drawloom.load(PACKED)["k"][1, 32](bytearray(4096))


def test_the_set_of_features_is_chosen_by_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    found = engine.Host().features
    keys = set()
    for name, level in engine.FEATURE_SETS.items():
        if level and not engine.LEVELS[level] - {"x87"} <= found:
            continue
        monkeypatch.setenv("DRAWLOOM_CPU_FEATURES", name)
        assert engine.host().features == (engine.LEVELS[level] if level else found)
        assert drawloom.runtime.machine.cpu_device().features == tuple(
            [f for f in drawloom.runtime.machine._SHOWN_FEATURES if f in engine.host().features]
        )
        keys.add(engine.host().key)
    assert len(keys) >= 2
    monkeypatch.setenv("DRAWLOOM_CPU_FEATURES", "avx3")
    with pytest.raises(UnsupportedError, match=r"avx3: expected sse4\.2 or avx2 or avx512 or host"):
        engine.host()

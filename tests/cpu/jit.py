"""Compiles one PTX opcode through the emitting functions and runs it over arrays, for lanes of 32 and for scalars."""

from __future__ import annotations

import ctypes
import os
from functools import cache

import numpy as np

from drawloom.cpu import engine
from drawloom.cpu.emitter import ELEM_BITS, Emitter, Value, int_const, type_of
from drawloom.cpu.ops import PURE, operand_elems
from drawloom.ptx.isa import decode

#: Feature sets under test: what kernels are compiled for here, AVX2 with F16C and FMA, and SSE4.2 alone.
BASELINE = "sse2"
TARGETS = ("host", "avx2", "sse4.2")
#: What most instructions are tested with: this machine's vectors and scalars, and vectors without its features.
#: `make fuzz` adds every target's vectors, and the scalars of the extremes.
CASES = [("host", 32), ("host", 0), ("sse4.2", 32)]
if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz":
    CASES += [("avx2", 32), ("sse4.2", 0)]
_loaded: list[engine.Loaded] = []


def features_of(target: str) -> frozenset[str]:
    return host_of(target).features


def supported(target: str) -> bool:
    return features_of(target) - {"x87"} <= engine.Host().features


def storage(elem: str) -> tuple[str, np.dtype]:
    """The integer element that a value is kept in in memory, and NumPy's name for it."""
    bits = max(8, ELEM_BITS[elem])
    return f"i{bits}", np.dtype(f"u{bits // 8}")


def load(e: Emitter, pointer: str, elem: str, lanes: int) -> Value:
    kept, _ = storage(elem)
    raw = e.value(kept, lanes, f"load {type_of(kept, lanes)}, ptr {pointer}, align 1")
    if elem == "i1":
        return e.cast("trunc", raw, "i1")
    return e.cast("bitcast", raw, elem)


def store(e: Emitter, pointer: str, value: Value) -> None:
    kept, _ = storage(value.elem)
    raw = e.cast("zext" if value.elem == "i1" else "bitcast", value, kept)
    e.line(f"  store {raw.typed}, ptr {pointer}, align 1")


@cache
def host_of(target: str) -> engine.Host:
    """The machine that kernels are compiled for here, or one that has no more than the target's features."""
    if target == "host":
        return engine.host()
    return Baseline() if target == BASELINE else engine.Host(engine.FEATURE_SETS[target])


class Baseline(engine.Host):
    """The first x86-64 CPUs."""

    def __init__(self) -> None:
        super().__init__("x86-64-v2")
        self.features = frozenset("64bit cmov cx8 fxsr mmx sse sse2 x87".split())
        self.feature_text = ",".join(["+" + feature for feature in sorted(self.features)])


def compile_function(text: str, target: str, name: str = "run") -> int:
    """The address of ``name`` in compiled LLVM ``text``."""
    host = host_of(target)
    module = engine.optimise(text, host, engine.FULL)
    _loaded.append(engine.Loaded(host.machine(engine.FULL).emit_object(module), [name]))
    return _loaded[-1].addresses[name]


def looped(e: Emitter, body_of: str, results: list[str], arguments: list[str], lanes: int) -> str:
    """A module whose ``run(count, result pointers..., argument pointers...)`` runs ``e``'s body over arrays."""
    step = lanes or 1
    pointers = [f"ptr %r{i}" for i in range(len(results))] + [f"ptr %a{i}" for i in range(len(arguments))]
    lines = [f"define void @run(i64 %count, {', '.join(pointers)}) {{", "entry:", "  br label %loop", "loop:"]
    lines.append("  %i = phi i64 [ 0, %entry ], [ %next, %loop ]")
    for i, elem in enumerate(results):
        lines.append(f"  %rp{i} = getelementptr {storage(elem)[0]}, ptr %r{i}, i64 %i")
    for i, elem in enumerate(arguments):
        lines.append(f"  %ap{i} = getelementptr {storage(elem)[0]}, ptr %a{i}, i64 %i")
    lines.append(body_of)
    lines.append(f"  %next = add i64 %i, {step}")
    lines.append("  %more = icmp ult i64 %next, %count")
    lines.append("  br i1 %more, label %loop, label %end")
    lines += ["end:", "  ret void", "}"]
    return "\n".join(lines) + "\n" + "\n".join(e.declarations.values()) + "\n"


class Compiled:
    """One opcode, compiled; call it with arrays of patterns, get arrays of patterns."""

    def __init__(self, text: str, lanes: int, target: str, constants: dict[int, int]) -> None:
        wide = text.endswith("/3")
        opcode = decode(text.removesuffix("/3"))
        # Where the operand count decides between forms (three-input min), the tests ask for it with a "/3".
        form = opcode.forms[-1] if wide else opcode.forms[0]
        self.results, self.arguments = operand_elems(opcode, form)
        if opcode.reads_carry:
            self.arguments = [*self.arguments, "i1"]
        if opcode.writes_carry:
            self.results = [*self.results, "i1"]
        self.lanes = lanes
        e = Emitter(features_of(target))
        args = []
        for i, elem in enumerate(self.arguments):
            if i in constants:
                args.append(int_const(elem, constants[i], lanes))
            else:
                args.append(load(e, f"%ap{i}", elem, lanes))
        out = PURE[opcode.name](e, opcode, args)
        assert [v.elem for v in out] == self.results, (text, [v.elem for v in out], self.results)
        assert all(v.lanes == lanes for v in out), text
        for i, value in enumerate(out):
            store(e, f"%rp{i}", value)
        self.text = looped(e, "\n".join(e.lines), self.results, self.arguments, lanes)
        self.address = compile_function(self.text, target)
        count = len(self.results) + len(self.arguments)
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * count)(self.address)

    def __call__(self, *arrays: np.ndarray) -> list[np.ndarray]:
        count = max(len(a) for a in arrays)
        padded = -(-count // 32) * 32
        ins = []
        for array, elem in zip(arrays, self.arguments, strict=True):
            _, dtype = storage(elem)
            whole = np.zeros(padded, dtype)
            whole[:count] = array.astype(np.uint64).astype(dtype)
            ins.append(whole)
        outs = [np.zeros(padded, storage(elem)[1]) for elem in self.results]
        self.function(padded, *[a.ctypes.data for a in outs], *[a.ctypes.data for a in ins])
        return [o[:count] for o in outs]


@cache
def compiled(text: str, lanes: int, target: str, constants: tuple[tuple[int, int], ...] = ()) -> Compiled:
    return Compiled(text, lanes, target, dict(constants))

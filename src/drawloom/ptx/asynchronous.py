"""Module to Module: asynchronous copies and barriers in memory by loads, stores and atomics, for machines without them.

A copy is done at once, which is one of the times at which it may be; groups and waits for them fall away. A barrier in
memory (PTX ISA 9.0 section 9.7.13.15) is the 64 bits that the manual leaves open:

    bits  0-19  arrivals that the phase still waits for
    bits 20-39  arrivals that the next phase will wait for
    bits 40-60  bytes that the phase still waits for, in two's complement
    bits 61-63  the phase, modulo 8

and changes by compare-and-swap. What ``arrive`` returns is the word before it.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Address, Function, Immediate, Instruction, Module, Not, Operand, Register, Sink, Symbol
from drawloom.ptx.isa import ATOMIC, SIDE, decode
from drawloom.ptx.template import Site, Template
from drawloom.ptx.types import B32, B64, PRED, Type

#: The fields of a barrier's word: where they begin, and masks in place.
EXPECTED_AT: Final = 20
BYTES_AT: Final = 40
PHASE_AT: Final = 61
ARRIVALS: Final = (1 << 20) - 1
EXPECTED: Final = ARRIVALS << EXPECTED_AT
BYTES: Final = (1 << 21) - 1 << BYTES_AT
PHASES: Final = 7 << PHASE_AT

_templates: Final[dict[str, Template]] = {}


def synchronous(module: Module) -> Module:
    """``module`` without ``cp.async`` and ``mbarrier``; itself where it has none."""
    changed: dict[str, Function] = {}
    for function in module.functions.values():
        if _has_any(function):
            changed[function.name] = _rewritten(module, function)
    return module.with_functions(changed) if changed else module


def _has_any(function: Function) -> bool:
    for statement in function.body:
        if isinstance(statement, Instruction):
            effect = statement.opcode.effect
            if effect in (SIDE, ATOMIC):
                name = statement.opcode.name
                if name == "cp.async" or name == "mbarrier":
                    return True
    return False


def _rewritten(module: Module, function: Function) -> Function:
    site = Site(module, function, {})
    for statement in function.body:
        if isinstance(statement, Instruction) and statement.opcode.name == "cp.async":
            _copy(site, statement)
        elif isinstance(statement, Instruction) and statement.opcode.name == "mbarrier":
            _barrier(site, statement)
        else:
            site.function.body.append(statement)
    return site.function


def _put(site: Site, types: str, body: str, i: Instruction, target: Operand | None, sources: list[Operand]) -> None:
    """Append what ``body`` says; ``types`` and ``body`` are those of a template."""
    key = f"{types}|{body}"
    template = _templates.get(key)
    if template is None:
        template = _templates[key] = Template(types.split(), body)
    result = site.fresh_register(template.types[template.result]) if target is None else target
    site.put(template, Instruction(i.opcode, [result, *sources], i.guard, i.guard_negated, i.pos), sources)


def _address(site: Site, i: Instruction, operand: Operand) -> tuple[Register, str]:
    """A register with the address, and its type: u32 or u64."""
    assert isinstance(operand, Address)
    base = operand.base
    wide = not isinstance(base, Register) or base.type.bits == 64
    type: Type = B64 if wide else B32
    word = "u64" if wide else "u32"
    register = site.fresh_register(type)
    out = site.function.body
    if isinstance(base, Symbol):
        out.append(Instruction(decode("mov.u64"), [register, base], i.guard, i.guard_negated, i.pos))
        base = register
    elif base is None:
        out.append(Instruction(decode("mov.u64"), [register, Immediate(0)], i.guard, i.guard_negated, i.pos))
        base = register
    elif base.type.bits < 32:
        out.append(Instruction(decode("cvt.u32.u16"), [register, base], i.guard, i.guard_negated, i.pos))
        base = register
    if operand.offset == 0:
        return base, word
    add = Instruction(decode(f"add.{word}"), [register, base, Immediate(operand.offset)])
    out.append(Instruction(add.opcode, add.operands, i.guard, i.guard_negated, i.pos))
    return register, word


# Copies.

#: What moves so many bytes, and the words that it moves.
_MOVES: Final[dict[int, tuple[str, str]]] = {
    4: ("b32", "w"), 8: ("v2.b32", "{w, x}"), 16: ("v4.b32", "{w, x, y, z}"),
}  # fmt: skip
_ZEROS: Final[dict[int, str]] = {4: "none", 8: "{none, none}", 16: "{none, none, none, none}"}


def _copy(site: Site, i: Instruction) -> None:
    """One ``cp.async``: the copy itself, or an arrival that belongs to copies."""
    opcode = i.opcode
    if opcode.operation:
        # An arrival that the barrier is told of beforehand changes nothing once the copies are done.
        if opcode.has("noinc"):
            _change(site, i, None, i.operands[0], [Immediate(1)], "arrive")
        return
    to, to_word = _address(site, i, i.operands[0])
    source, source_word = _address(site, i, i.operands[1])
    size = i.operands[2]
    assert isinstance(size, Immediate)
    types = f"b32 {to_word} {source_word}"
    sources: list[Operand] = [to, source]
    rest = i.operands[3:-1] if opcode.has("L2::cache_hint") else i.operands[3:]
    how = "whole"
    left = rest[0] if rest else size
    if isinstance(left, Immediate):
        how = "whole" if left.value == size.value else f"first {left.value}"
    else:
        negated = isinstance(left, Not)
        left = left.register if isinstance(left, Not) else left
        is_predicate = isinstance(left, Register) and left.type is PRED
        how = ("taken" if negated else "ignored") if is_predicate else "part"
        types += " pred" if is_predicate else " u32"
        sources.append(left)
    _put(site, types, _copying(size.value, how, to_word, source_word), i, None, sources)


def _copying(size: int, how: str, to: str, source: str) -> str:
    """The body of a copy of ``size`` bytes from ``b`` to ``a``: of all of them, of the first few and zeros, of ``c`` of
    them and zeros, or of zeros alone where the predicate ``c`` says that the source is ignored (or not taken)."""
    move, words = _MOVES[size]
    registers = ".reg .b32 w, x, y, z, none;"
    copy = f"ld.global.{move} {words}, [b]; st.shared.{move} [a], {words};"
    clear = f"mov.b32 none, 0; st.shared.{move} [a], {_ZEROS[size]};"
    if how == "whole":
        return f"{registers} {copy}"
    if how.startswith("first"):
        body, at, count = f"{registers} .reg .b16 h; {clear}", 0, int(how.split()[1])
        for step, type, register in ((4, "b32", "w"), (2, "b16", "h"), (1, "b8", "h")):
            while at + step <= count:
                body += f"ld.global.{type} {register}, [b+{at}]; st.shared.{type} [a+{at}], {register};"
                at += step
        return body
    if how != "part":
        return f"{registers} @{'!' if how == 'taken' else ''}c bra clear; {copy} bra done; clear: {clear} done:"
    return f"""
        {registers} .reg .pred all, more, empty; .reg .b16 byte; .reg .b32 left; .reg .{source} from; .reg .{to} to;
        setp.ge.u32 all, c, {size}; @!all bra part; {copy} bra done;
        part: {clear} setp.eq.u32 empty, c, 0; @empty bra done;
        mov.{source} from, b; mov.{to} to, a; mov.b32 left, c;
        next: ld.global.u8 byte, [from]; st.shared.u8 [to], byte;
        add.{source} from, from, 1; add.{to} to, to, 1; sub.u32 left, left, 1;
        setp.ne.u32 more, left, 0; @more bra next;
        done:
    """


# Barriers.

#: What the new word is made of, ``old`` and the operand ``b``, before the phase may end.
_CHANGES: Final[dict[str, str]] = {
    "arrive": "cvt.u64.u32 t, b; sub.u64 new, old, t;",
    "arrive_drop": f"cvt.u64.u32 t, b; sub.u64 u, old, t; shl.b64 t, t, {EXPECTED_AT}; sub.u64 new, u, t;",
    "expect_tx": "BYTES add.u64 u, old, t; KEEP",
    "complete_tx": "BYTES sub.u64 u, old, t; KEEP",
    "arrive.expect_tx": "BYTES add.u64 u, old, t; KEEP sub.u64 new, new, 1;",
    "arrive_drop.expect_tx": f"BYTES add.u64 u, old, t; KEEP sub.u64 new, new, {1 + (1 << EXPECTED_AT)};",
}
#: The operand as a number of bytes in place; ``u`` with the phase of ``old``, which the sum may have run into.
_BYTES: Final = f"cvt.u64.u32 t, b; shl.b64 t, t, {BYTES_AT};"
_KEEP: Final = f"and.b64 u, u, {PHASES ^ (1 << 64) - 1}; and.b64 t, old, {PHASES}; or.b64 new, u, t;"


def _changing(what: str, space: str) -> str:
    """The body that changes the barrier at ``a`` by ``b`` and gives its word before."""
    change = _CHANGES[what].replace("BYTES", _BYTES).replace("KEEP", _KEEP)
    return f"""
        .reg .b64 old, got, new, t, u, next; .reg .pred open, again;
        ld.relaxed.cta{space}.b64 got, [a];
        retry: mov.b64 old, got;
        {change}
        and.b64 t, new, {EXPECTED}; shr.u64 u, t, {EXPECTED_AT}; or.b64 next, t, u;
        and.b64 t, new, {PHASES}; add.u64 t, t, {1 << PHASE_AT}; or.b64 next, next, t;
        and.b64 t, new, {ARRIVALS | BYTES}; setp.ne.u64 open, t, 0;
        selp.b64 new, new, next, open;
        atom.acq_rel.cta{space}.cas.b64 got, [a], old, new;
        setp.ne.u64 again, got, old; @again bra retry;
        mov.b64 d, old;
    """


def _place(site: Site, i: Instruction, operand: Operand) -> tuple[Register, str, str]:
    """A register with the address of a barrier, its type, and the space to access it in."""
    register, word = _address(site, i, operand)
    symbol = isinstance(operand, Address) and isinstance(operand.base, Symbol)
    return register, word, ".shared" if symbol or i.opcode.space else ""


def _change(site: Site, i: Instruction, target: Operand | None, at: Operand, rest: list[Operand], what: str) -> None:
    register, word, space = _place(site, i, at)
    _put(site, f"b64 {word} u32", _changing(what, space), i, target, [register, *rest])


def _barrier(site: Site, i: Instruction) -> None:
    """One ``mbarrier``."""
    opcode, operands = i.opcode, i.operands
    operation = opcode.operation
    if operation == "pending_count":
        body = f".reg .b64 t; and.b64 t, a, {ARRIVALS}; cvt.u32.u64 d, t;"
        _put(site, "b32 b64", body, i, operands[0], [operands[1]])
    elif operation == "init":
        register, word, space = _place(site, i, operands[0])
        body = f".reg .b64 t, u; cvt.u64.u32 t, b; and.b64 t, t, {ARRIVALS}; shl.b64 u, t, {EXPECTED_AT};"
        body += f"or.b64 t, t, u; st.relaxed.cta{space}.b64 [a], t;"
        _put(site, f"b64 {word} u32", body, i, None, [register, operands[1]])
    elif operation in ("test_wait", "try_wait"):
        register, word, space = _place(site, i, operands[1])
        load = f".reg .b64 t, u; ld.acquire.cta{space}.b64 t, [a];"
        if opcode.has("parity"):
            compare = f".reg .b32 v; shr.u64 t, t, {PHASE_AT}; cvt.u32.u64 v, t; xor.b32 v, v, b; and.b32 v, v, 1;"
            _put(
                site,
                f"pred {word} u32",
                f"{load} {compare} setp.ne.u32 d, v, 0;",
                i,
                operands[0],
                [register, operands[2]],
            )
        else:
            compare = f"xor.b64 u, t, b; and.b64 u, u, {PHASES}; setp.ne.u64 d, u, 0;"
            _put(site, f"pred {word} b64", f"{load} {compare}", i, operands[0], [register, operands[2]])
    elif operation in ("expect_tx", "complete_tx"):
        _change(site, i, None, operands[0], [operands[1]], operation)
    elif operation != "inval":
        what = f"{operation}.expect_tx" if opcode.has("expect_tx") else operation
        target = None if isinstance(operands[0], Sink) else operands[0]
        _change(site, i, target, operands[1], operands[2:] or [Immediate(1)], what)

"""Every PTX instruction that the table has of some names, each in a kernel of its own: the machine code of it, and
what that computes on the interpreter of machine code beside what the PTX reference computes.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np
import pytest

from drawloom.ptx import parse, verify
from drawloom.ptx.isa import FORMS, Form, Opcode, OpcodeError, decode
from drawloom.reference.formats import format_of
from drawloom.reference.instructions import semantics
from drawloom.reference.selection import BOOLEAN, setp
from drawloom.sass import verify as checker
from drawloom.sass.assemble import assemble, machine_code
from drawloom.sass.availability import lacks
from drawloom.sass.encoding import encode
from drawloom.sass.expand.expand import expand
from drawloom.sass.instruction import Instruction
from drawloom.sass.interpreter import run
from drawloom.sass.isa import load_target
from tools.isa import vendor

#: Every form is tried for the last of these, of the others a sample (all of them in ``make fuzz``).
TARGETS = (61, 75, 80, 86, 89, 90)
FULL = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"
Item = TypeVar("Item")
HEADER = ".version 8.6\n.target sm_90\n.address_size 64\n"
#: Bytes from a thread's values to the next one's.
STRIDE = 128
#: Widths of operand words that do not follow from the instruction's types.
FIXED = {"c": 32, "acc": 32, "r": 32, "i": 0, "u32": 32, "s32": 32, "f32": 32, "b16": 16, "b32": 32}


def header(number: int) -> str:
    return HEADER.replace("sm_90", f"sm_{number}")


def sample(items: list[Item], number: int, one_in: int = 6) -> list[Item]:
    """Which of many forms are tried for a target: one in so many, others for each target."""
    if FULL or number == TARGETS[-1]:
        return items
    return random.Random(f"{number} {len(items)}").sample(items, -(-len(items) // one_in))


def opcodes(names: Iterable[str], number: int = 90) -> Iterator[tuple[str, Form]]:
    """Every spelling of these opcodes that sm_``number`` has, with its row of the table."""
    for name in names:
        for form in FORMS[name]:
            if form.specific or not form.sm <= number <= form.last_sm:
                continue
            choices = [
                ["", *slot] if optional else slot for slot, optional in zip(form.slots, form.optional, strict=True)
            ]
            for words in itertools.product(*choices, *form.types):
                text = ".".join([name, *filter(None, words)])
                try:
                    opcode = decode(text)
                except OpcodeError:
                    continue
                if not lacks(opcode, number):
                    yield text, form


def operands(text: str, form: Form) -> list[str]:
    """The kind of register that each operand takes: ``b16`` to ``b64``, ``pred``, ``pair`` or ``#`` for a literal."""
    types = decode(text).types
    kinds = []
    for word in form.operands:
        plain = word.lstrip("=!").rstrip(">?")
        if plain in ("p_|p", "t_&p"):
            kinds.append("pair" if plain == "p_|p" else "b32|pred")
        elif plain in ("p", "p_"):
            kinds.append("pred")
        elif plain == "i":
            kinds.append("#")
        elif plain in FIXED:
            kinds.append(f"b{FIXED[plain]}")
        else:
            bits = types[1 if plain == "t1" else 0].bits
            kinds.append(f"b{max(16, 2 * bits if plain == 'w' else bits)}")
    return kinds


def kernel(text: str, kinds: list[str], literals: dict[int, str] | None = None, same: int = 0) -> str:
    """A kernel in which each thread loads its sources (16 bytes apart), runs the instruction once and stores what it
    gives before them. ``same`` is the source that is the destination, too."""
    lines, written, places = [], [], []
    for n, kind in enumerate(kinds):
        if literals and n in literals:
            written.append(literals[n])
        elif kind == "pair" or kind == "b32|pred":
            first = "pred" if kind == "pair" else "b32"
            lines.append(f".reg .{first} x{n}; .reg .pred q{n};")
            written.append(f"x{n}|q{n}")
            places += [(f"x{n}", first), (f"q{n}", "pred")]
        elif kind == "#":
            written.append("0xCA")
        else:
            lines.append(f".reg .{kind} x{n};")
            written.append(f"x{n}")
            if n == 0:
                places.append(("x0", kind))
            elif kind == "pred":
                lines.append(f".reg .b32 y{n}; ld.global.b32 y{n}, [at+{16 * n}]; setp.ne.s32 x{n}, y{n}, 0;")
            else:
                lines.append(f"ld.global.{kind} x{n}, [at+{16 * n}];")
    if same:
        written[0], places = f"x{same}", [(f"x{same}", kinds[same])]
    lines.append(f"{text} {', '.join(written)};")
    for n, (register, kind) in enumerate(places):
        if kind == "pred":
            lines.append(f".reg .b32 z{n}; selp.b32 z{n}, 1, 0, {register}; st.global.b32 [at+{8 * n}], z{n};")
        else:
            lines.append(f"st.global.{kind} [at+{8 * n}], {register};")
    body = "\n".join(lines)
    place = f"mov.u32 t, %tid.x; ld.param.u64 at, [p]; mad.wide.u32 at, t, {STRIDE}, at;"
    return f".visible .entry k(.param .u64 p)\n{{\n.reg .u64 at; .reg .u32 t;\n{place}\n{body}\nret;\n}}\n"


def code(source: str, number: int = 90, verified: bool = True) -> list[Instruction]:
    """The machine code of the one kernel of a source."""
    module = parse(header(number) + source)
    if verified:
        verify(module)
    module = expand(module, number)
    function = next(f for f in module.functions.values() if f.is_entry)
    made = machine_code(module, function, number)[1]
    return [i for block in made.blocks for i in block.instructions]


# -- values ------------------------------------------------------------------------------------------------

#: Ends of ranges, small numbers, and floats around what conversions treat differently.
_ENDS = [0, 1, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, 1 << 63]
_SINGLES = [0x3F800000, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFF, 0x800000, 0x477FE000, 0x477FF000, 0x7F7FFFFF]
_HALVES = [0x3C00, 0x7C00, 0x7E00, 0x3F80, 0x7F80, 0x7FC0, 0x0400, 0x0080, 0x5C00]
_DOUBLES = [0x3FF << 52, 0x7FF << 52, 0x7FF8 << 48, 0x43E << 52, 0x41DFFFFFFFC00000, 0x380FFFFFE0000000, 0x36A << 52]
_KNOWN = _ENDS + _SINGLES + _HALVES + _DOUBLES


def value(pick: random.Random, bits: int) -> int:
    """A pattern: one of those above, near one, its complement, a small number, or anything of any size."""
    kind = pick.randrange(8)
    if kind < 4:
        out = pick.choice(_KNOWN) + pick.choice([0, 0, -1, 1])
    elif kind == 4:
        out = ~pick.choice(_KNOWN)
    elif kind == 5:
        out = pick.randrange(70)
    else:
        out = pick.getrandbits(64) >> pick.randrange(64)
    if bits == 32 and pick.randrange(3) == 0:
        out = pick.choice(_HALVES) << 16 | pick.choice(_HALVES) | pick.choice([0, 0x8000, 0x80000000])
    if pick.randrange(3) == 0:
        out ^= 1 << bits - 1
    return out & (1 << bits) - 1


def expected(op: Opcode, arguments: list[int], kinds: list[str]) -> list[int]:
    """What the reference computes: the patterns of all destinations."""
    if op.name == "setp":
        p, q = setp(op)(*arguments)
        return [p, q] if kinds[0] == "pair" else [p]
    if op.name == "lop3" and op.operation:
        out = semantics(op)(*arguments[:4])
        return [out, BOOLEAN[op.operation](1 if out else 0, arguments[4])]
    if op.name == "cvt":
        arguments = [a & (1 << op.types[1].bits) - 1 for a in arguments]
    out = semantics(op)(*arguments)
    if kinds[0] == "pred":
        return [out]
    bits = op.types[0].bits
    if op.name == "cvt" and op.types[0].is_signed and out >> bits - 1:
        out |= -1 << bits
    return [out & (1 << int(kinds[0][1:])) - 1]


def has_nan(op: Opcode, arguments: list[int]) -> bool:
    """Whether a float operand is no number (in some lane)."""
    type = op.types[-1]
    if not type.is_float:
        return False
    f = format_of(type)
    width = type.bits // type.lanes
    return any(f.is_nan(a >> width * n & (1 << width) - 1) for a in arguments for n in range(type.lanes))


def differences(
    text: str, kinds: list[str], pick: random.Random, runs: int, literals: dict[int, str] | None = None, same: int = 0,
    ignore_nan: bool = False, number: int = 90,
) -> list[str]:  # fmt: skip
    """Operands for which the machine code of sm_``number`` computes something else than the reference."""
    op = decode(text)
    cubin = assemble(header(number) + kernel(text, kinds, literals, same), f"sm_{number}")
    memory = np.zeros((runs, STRIDE // 8), np.uint64)
    given: list[list[int]] = []
    for row in memory:
        given.append([])
        for n, kind in enumerate(kinds):
            if kind[0] == "b" and n:
                row[2 * n] = value(pick, int(kind[1:]))
            elif kind == "pred" and n:
                row[2 * n] = pick.randrange(2)
            if n:
                given[-1].append(int((literals or {}).get(n, 0xCA if kind == "#" else row[2 * n])))
    at = int(memory.ctypes.data)
    run(cubin, "k", (1, 1, 1), (runs, 1, 1), at.to_bytes(8, "little"), buffers=[(at, memory.nbytes)])
    out = []
    for row, arguments in zip(memory, given, strict=True):
        if ignore_nan and has_nan(op, arguments):
            continue
        want = expected(op, arguments, kinds)
        got = [int(word) for word in row[: len(want)]]
        if got != want:
            shown = f"sm_{number}: {text} {literals or ''} {[hex(a) for a in arguments]}"
            out.append(f"{shown}: {[hex(w) for w in want]}, not {[hex(g) for g in got]}")
    return out


def check(kernels: list[list[Instruction]], number: int = 90) -> None:
    """Every kernel is scheduled as the checker wants it, and is what nvdisasm reads."""
    target = load_target(number)
    for instructions in kernels:
        assert not checker.verify(target, instructions), [str(i) for i in instructions]
    if vendor.find("nvdisasm") is None:
        pytest.skip("nvdisasm is not installed (python -m tools.isa fetch)")
    flat = [i for instructions in kernels for i in instructions]
    # On sm_61 the reuse flags are not in the word, but in the one before it.
    texts = [(i.text(0), i) for i in flat if "L" not in [slot.kind for slot in i.opcode.slots]]
    distinct = {text if target.wide else text.replace(".reuse", ""): encode(i) for text, i in texts}
    for text, read in zip(distinct, vendor.texts_of(list(distinct.values()), number), strict=True):
        assert text == read

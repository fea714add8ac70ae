"""Every PTX instruction that the table has of some names, each in a kernel of its own, and the machine code of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import pytest

from drawloom.ptx import parse, verify
from drawloom.ptx.isa import FORMS, Form, OpcodeError, decode
from drawloom.ptx.types import TYPES
from drawloom.sass import verify as checker
from drawloom.sass.assemble import machine_code
from drawloom.sass.encoding import encode
from drawloom.sass.expand.expand import expand
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import load_target
from tools.isa import vendor

HEADER = ".version 8.6\n.target sm_90\n.address_size 64\n"
#: Widths of operand words that do not follow from the instruction's types.
FIXED = {"c": 32, "acc": 32, "r": 32, "i": 0, "u32": 32, "s32": 32, "f32": 32, "b16": 16, "b32": 32}


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
                    decode(text)
                except OpcodeError:
                    continue
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


def kernel(text: str, kinds: list[str], literals: dict[int, str] | None = None, name: str = "k") -> str:
    """A kernel that loads the sources (16 bytes apart), runs the instruction once and stores what it gives."""
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
    lines.append(f"{text} {', '.join(written)};")
    for n, (register, kind) in enumerate(places):
        if kind == "pred":
            lines.append(f".reg .b32 z{n}; selp.b32 z{n}, 1, 0, {register}; st.global.b32 [at+{8 * n}], z{n};")
        else:
            lines.append(f"st.global.{kind} [at+{8 * n}], {register};")
    body = "\n".join(lines)
    return f".visible .entry {name}(.param .u64 p)\n{{\n.reg .u64 at; ld.param.u64 at, [p];\n{body}\nret;\n}}\n"


def code(source: str, number: int = 90) -> list[Instruction]:
    """The machine code of the one kernel of a source."""
    module = parse(HEADER + source)
    verify(module)
    module = expand(module, number)
    function = next(f for f in module.functions.values() if f.is_entry)
    made = machine_code(module, function, number)[1]
    return [i for block in made.blocks for i in block.instructions]


def check(kernels: list[list[Instruction]], number: int = 90) -> None:
    """Every kernel is scheduled as the checker wants it, and is what nvdisasm reads."""
    target = load_target(number)
    for instructions in kernels:
        assert not checker.verify(target, instructions), [str(i) for i in instructions]
    if vendor.find("nvdisasm") is None:
        pytest.skip("nvdisasm is not installed (python -m tools.isa fetch)")
    flat = [i for instructions in kernels for i in instructions]
    distinct = {i.text(0): encode(i) for i in flat if "L" not in [slot.kind for slot in i.opcode.slots]}
    for text, read in zip(distinct, vendor.texts_of(list(distinct.values()), number), strict=True):
        assert text == read


__all__ = ["TYPES", "check", "code", "kernel", "opcodes", "operands"]

"""The table of PTX instructions to kernels: every spelling of an opcode, with operands from memory, from parameters and
as constants, which is what makes ptxas choose between registers, constant banks, immediates and uniform registers.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from drawloom.ptx.isa import FORMS, Form, OpcodeError, decode

MOST = 300  # spellings of one opcode: ld, st, atom, red and set have thousands
# Bits of operands that do not follow from the opcode's types.
FIXED = {"c": 32, "b": 32, "u32": 32, "s32": 32, "f32": 32, "b32": 32, "b16": 16, "u64": 64, "acc": 32, "r": 32}
SOURCES = ("memory", "parameter", "constant")
CONSTANT = {16: "0x3e01", 32: "0x40490fdb", 64: "0x400921fb54442d18"}
SHORT = ("shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry", "param::func")
HEAD = (
    "(.param .u64 p, .param .align 16 .b8 q[128]) { .reg .u64 at, to; .reg .u32 t; .local .align 16 .b8 own[128]; "
    "mov.u32 t, %tid.x; ld.param.u64 at, [p]; mad.wide.u32 at, t, 256, at; add.u64 to, at, 128;"
)


def spellings(target: int) -> Iterator[tuple[str, Form]]:
    """Every spelling that this target has, at most `MOST` of an opcode, with its row of the table."""
    for name, forms in FORMS.items():
        found = []
        for form in forms:
            if form.specific or not form.sm <= target <= form.last_sm:
                continue
            slots = [["", *slot] if optional else slot for slot, optional in zip(form.slots, form.optional)]
            for words in itertools.product(*slots, *form.types):
                text = ".".join([name, *filter(None, words)])
                try:
                    decode(text)
                except OpcodeError:
                    continue
                found.append((text, form))
        yield from found if len(found) <= MOST else random.Random(name).sample(found, MOST)


def entries(target: int) -> list[str]:
    """A kernel for each spelling, each in one line; NAME stands for its name."""
    made = []
    for text, form in spellings(target):
        count = len(form.operands)
        variants = [["memory"] * count, ["parameter"] * count]
        variants += [
            ["memory"] * place + [source] + ["memory"] * (count - place - 1)
            for place, word in enumerate(form.operands)
            for source in SOURCES[1:]
            if not word.startswith("=")
        ]
        bodies = " ".join(dict.fromkeys(one(text, form, sources) for sources in variants))
        if bodies.strip():
            made.append(f".visible .entry NAME {HEAD} {bodies} ret; }}")
    return made


def one(text: str, form: Form, sources: list[str]) -> str:
    """A block that loads the operands, runs the instruction and stores what it gives; "" where we cannot."""
    op = decode(text)
    bits = [max(16, found.bits) for found in op.types] or [32]
    lines: list[str] = []
    stores: list[str] = []
    written: list[str] = []
    for place, (word, source) in enumerate(zip(form.operands, sources)):
        plain = word.lstrip("=!").rstrip(">?_")
        name = f"x{place}"
        if plain == "hint":
            if op.has("L2::cache_hint"):
                lines.append(loaded(name, 64, place, source))
                written.append(name)
        elif plain == "m":
            lines.append(f".reg .u64 {name}; " + address(name, op.space, source))
            written.append(f"[{name}]" if source == "memory" else f"[{name}+16]")
        elif plain in ("p_|p", "t_&p", "t|p", "u32_|p", "u32_&p"):
            first = "pred" if plain == "p_|p" else "b32"
            lines.append(f".reg .{first} {name}; .reg .pred q{place};")
            written.append(f"{name}|q{place}")
            stores += [stored(name, first, place), stored(f"q{place}", "pred", place + 8)]
        elif plain in ("p", "p_"):
            if word.startswith("="):
                lines.append(f".reg .pred {name};")
                stores.append(stored(name, "pred", place))
            else:
                lines.append(loaded(f"y{place}", 32, place, source) + f" .reg .pred {name};")
                lines.append(f"setp.ne.s32 {name}, y{place}, 7;")
            written.append(name)
        elif plain == "i":
            written.append("128" if op.name in ("discard", "applypriority") else "3")
        elif plain in ("t", "t1", "w", "v") or plain in FIXED:
            size = FIXED.get(plain) or bits[min(len(bits) - 1, 1 if plain == "t1" else 0)]
            size = 2 * size if plain == "w" else size
            kind = f"b{size}"
            if op.types and op.types[0].name == "pred" and plain == "t":
                return ""
            names = [f"{name}_{k}" for k in range(op.vector if plain == "v" else 1)]
            for k, part in enumerate(names):
                if word.startswith("="):
                    lines.append(f".reg .{kind} {part};")
                    stores.append(stored(part, kind, place + k))
                else:
                    lines.append(loaded(part, size, place + k, source))
            written.append("{" + ", ".join(names) + "}" if len(names) > 1 else names[0])
        else:
            return ""
    return "{ " + " ".join([*lines, f"{text} {', '.join(written)};", *stores]) + " }"


def loaded(name: str, bits: int, place: int, source: str) -> str:
    if source == "constant" and bits in CONSTANT:
        return f".reg .b{bits} {name}; mov.b{bits} {name}, {CONSTANT[bits]};"
    if source == "parameter":
        return f".reg .b{bits} {name}; ld.param.b{bits} {name}, [q+{16 * (place % 8)}];"
    return f".reg .b{bits} {name}; ld.volatile.global.b{bits} {name}, [at+{16 * (place % 8)}];"


def address(name: str, space: str, source: str) -> str:
    if source == "parameter":
        return f"ld.param.u64 {name}, [q+32];"
    if source == "constant" and space == "local":
        return f"mov.u64 {name}, own;"
    if space in SHORT:
        return f"ld.volatile.global.u64 {name}, [at]; and.b64 {name}, {name}, 48;"
    return f"mov.u64 {name}, at;"


def stored(name: str, kind: str, place: int) -> str:
    if kind != "pred":
        return f"st.volatile.global.{kind} [to+{4 * place // 16 * 16}], {name};"
    return f".reg .b32 z{place}; selp.b32 z{place}, 1, 0, {name}; st.volatile.global.b32 [to+{4 * place}], z{place};"

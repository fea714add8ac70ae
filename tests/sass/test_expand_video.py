"""Video instructions taken apart, against themselves on the cpu device."""

from __future__ import annotations

import random

import numpy as np
import pytest

from drawloom.ptx.isa import FORMS
from drawloom.ptx.isa_selectors import FIELDS, selected
from tests.sass.expansion import expanded, kernel, loaded

EDGES = np.array([0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF], np.uint32)


def spellings(name: str, count: int) -> list[tuple[str, list[str]]]:
    """Random opcodes of ``name`` with the selectors of their operands."""
    pick = random.Random(name)
    found: list[tuple[str, list[str]]] = []
    fields = FIELDS[name]
    while len(found) < count:
        form = pick.choice(FORMS[name])
        modifiers = [pick.choice(a) for a, o in zip(form.slots, form.optional) if not o or pick.random() < 0.5]
        types = [pick.choice(t) for t in form.types]
        selectors = [""] * len(form.operands)
        merges = len(selectors) == 4 and name != "vmad" and (fields > 1 or not {"add", "min", "max"} & set(modifiers))
        for n in range(0 if merges else 1, 3):
            if pick.random() < 0.5:
                continue
            if fields == 1:
                selectors[n] = pick.choice([".b0", ".b1", ".b2", ".b3", ".h0", ".h1"])
            elif n:
                selectors[n] = "." + "hb"[fields // 4] + "".join(pick.choices("01234567"[: 2 * fields], k=fields))
            else:
                kept = [d for d in "3210"[-fields:] if pick.random() < 0.6] or ["0"]
                selectors[n] = "." + "hb"[fields // 4] + "".join(kept)
        if name == "vmad" and "po" not in modifiers and pick.random() < 0.5:
            place = pick.choice([1, 2, 3])
            selectors[place] = "-" + selectors[place]
        found.append((".".join([name, *modifiers, *types]), selectors))
    return found


def program(found: list[tuple[str, list[str]]]) -> str:
    """Every spelling of the same three values: results of instruction k from ``out + 4 * k * n`` on."""
    lines = []
    for opcode, selectors in found:
        operands = [selected(x, s) for x, s in zip(["y", "x0", "x1", "x2"], selectors)]
        lines.append(f"{opcode} {', '.join(operands)};\nst.global.b32 [q], y; mad.wide.u32 q, n1, 4, q;\n")
    text = kernel("mov.u32", ["u32"] * 4)
    plain = "mov.u32 y, x0, x1, x2;"
    store = "ld.param.u64 q, [out]; mad.wide.u32 q, i, 4, q;"
    assert plain in text and store in text
    body = f"{store}\n{''.join(lines)}ret;\n}}\n"
    return text[: text.index(plain)] + body


@pytest.mark.parametrize("group", range(4))
def test_video_instructions_in_steps(group: int) -> None:
    rng = np.random.default_rng(7)
    edges = [np.resize(e, 12**3) for e in (EDGES, np.repeat(EDGES, 12), np.repeat(EDGES, 144))]
    raw = [rng.integers(0, 1 << 32, 500, np.uint32) >> rng.integers(0, 32, 500, np.uint32) for _ in range(3)]
    values = [np.concatenate(pair) for pair in zip(edges, raw)]
    found = [s for name in sorted(FIELDS)[group::4] for s in spellings(name, 6)]
    text = program(found)
    results = []
    for module in (text, str(expanded(text))):
        count = len(values[0])
        out = np.zeros((len(found), count), np.uint32)
        loaded(module)["k"][(count + 255) // 256, 256](count, out, *values)
        results.append(out)
    for (opcode, selectors), want, got in zip(found, *results):
        wrong = np.flatnonzero(got != want)
        assert not wrong.size, (opcode, selectors, [hex(s[wrong[0]]) for s in values], hex(got[wrong[0]]))

"""Conversions expanded for sm_61 against themselves on the cpu device, and the forms that are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from drawloom.ptx import parse
from drawloom.ptx.isa import OpcodeError, decode
from drawloom.sass.expand import expand
from tests.sass.expansion import compute, expanded, kernel

TYPES = "u8 s8 u16 s16 u32 s32 u64 s64 f16 f32 f64".split()
HELD = {"u8": "u16", "s8": "s16", "f16": "b16"}
MODIFIERS = ["", "sat", "rn", "rz.sat", "rp.ftz", "rzi", "rni.sat", "rmi.ftz.sat", "ftz", "ftz.sat", "rm.ftz.sat"]


def forms() -> list[tuple[str, str, str]]:
    out = []
    for to in TYPES:
        for source in TYPES:
            for modifiers in MODIFIERS:
                text = ".".join(["cvt", *([modifiers] if modifiers else []), to, source])
                try:
                    decode(text)
                except OpcodeError:
                    continue
                out.append((text, HELD.get(to, to), HELD.get(source, source)))
    return out


def values(type: str) -> np.ndarray:
    """Patterns of every size, and floats around the ends of every integer type and of the subnormals."""
    rng = np.random.default_rng(4)
    bits = int(type[1:])
    raw = rng.integers(0, 1 << 64, 3000, dtype=np.uint64) >> rng.integers(0, 64, 3000).astype("u8")
    out = [raw, -raw, raw << np.uint64(40)]
    if type[0] in "fb":
        ends = np.array([0, 0.5, 1, 127.5, 128, 255, 255.5, 256, 32767, 65535, 2.0**31, 2.0**32, 2.0**63, 2.0**64])
        near = np.concatenate(
            [ends, ends * (1 + 2**-10), ends * (1 - 2**-10), [2**-126, 2**-126 * (1 - 2**-30), 1e-40]]
        )
        near = np.concatenate([near, -near, [np.inf, -np.inf, np.nan, 3e38, 1e300]])
        with np.errstate(all="ignore"):
            out.append(near.astype(f"f{bits // 8}").view(f"u{bits // 8}").astype("u8"))
    return np.concatenate(out).astype(f"u{bits // 8}")


FORMS = forms()


def test_forms_are_found() -> None:
    changed = [f for f in FORMS if expand(m := parse(kernel(*_case(f))), 61) is not m]
    assert len(FORMS) > 250
    assert 60 < len(changed) < len(FORMS)


def _case(form: tuple[str, str, str]) -> tuple[str, list[str]]:
    return form[0], [form[1], form[2]]


@pytest.mark.parametrize("form", [f for f in FORMS if expand(m := parse(kernel(*_case(f))), 61) is not m], ids=str)
def test_conversions_in_steps(form: tuple[str, str, str]) -> None:
    text = kernel(*_case(form))
    source = values(form[2])
    want = compute(text, form[1], source)
    got = compute(str(expanded(text, 61)), form[1], source)
    if form[1] in ("f32", "f64", "b16"):
        view = {"f32": "f4", "f64": "f8", "b16": "f2"}[form[1]]
        same = (got == want) | (np.isnan(got.view(view)) & np.isnan(want.view(view)))
    else:
        same = got == want
    assert same.all(), (hex(source[~same][0]), hex(got[~same][0]), hex(want[~same][0]))


def test_what_flushes_or_saturates_between_doubles_and_floats_is_left_by_no_expansion() -> None:
    """Also not by the functions of division."""
    for opcode in ("div.rn.ftz.f32", "cvt.rn.ftz.sat.f32.f64", "cvt.ftz.f64.f32"):
        types = {"div": ["f32"] * 3, "cvt": ["f64", "f32"] if opcode.endswith("f64.f32") else ["f32", "f64"]}
        for function in expanded(kernel(opcode, types[opcode[:3]]), 61).functions.values():
            for i in function.instructions():
                assert i.name != "cvt" or not (i.opcode.ftz or i.opcode.sat)

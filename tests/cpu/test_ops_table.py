"""Every pure form of the instruction table lowers to LLVM IR that LLVM's verifier accepts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import llvmlite.binding as llvm
import pytest

from drawloom.cpu.emitter import Emitter, Value
from drawloom.cpu.ops import PURE, operand_elems
from drawloom.ptx.isa import FORMS, Form, OpcodeError, decode
from tests.cpu.jit import features_of, load, looped, store

#: Pure opcodes that need to know where memory lies; they are lowered with the memory instructions.
ELSEWHERE = {"mov", "cvta", "isspacep", "createpolicy.range"}


def spellings(form: Form) -> Iterator[str]:
    """Each type of the form with each modifier at least once: optional ones all absent, then in turn present."""
    widest = max([len(s) for s in form.slots], default=1)
    for types in product(*form.types):
        seen: set[str] = set()
        for turn in range(-1, widest):
            words = [form.name]
            for slot, optional in zip(form.slots, form.optional, strict=True):
                if not optional or turn >= 0:
                    words.append(slot[max(turn, 0) % len(slot)])
            text = ".".join([*words, *types])
            if text not in seen:
                seen.add(text)
                yield text


def test_every_pure_opcode_is_covered() -> None:
    pure = {name for name, forms in FORMS.items() if _is_pure(name, forms)}
    assert pure - set(PURE) == ELSEWHERE
    assert set(PURE) <= pure


def _is_pure(name: str, forms: list[Form]) -> bool:
    for text in spellings(forms[0]):
        try:
            return decode(text).effect == 0
        except OpcodeError:
            continue
    raise AssertionError(name)


@pytest.mark.parametrize("target", ["host", "avx2", "sse4.2"])
@pytest.mark.parametrize("name", sorted(PURE))
def test_every_form_lowers(name: str, target: str) -> None:
    lowered = 0
    for form in FORMS[name]:
        for text in spellings(form):
            try:
                opcode = decode(text)
            except OpcodeError:
                continue
            for lanes in (32, 0):
                e = Emitter(features_of(target))
                results, arguments = operand_elems(opcode, form)
                results = [*results, "i1"] if opcode.writes_carry else results
                arguments = [*arguments, "i1"] if opcode.reads_carry else arguments
                values = [load(e, f"%ap{i}", elem, lanes) for i, elem in enumerate(arguments)]
                if name == "lop3":
                    values[3] = Value("splat (i32 150)" if lanes else "150", "i32", lanes)
                out = PURE[name](e, opcode, values)
                assert [v.elem for v in out] == results, text
                assert {v.lanes for v in out} == {lanes}, text
                for i, value in enumerate(out):
                    store(e, f"%rp{i}", value)
                module = llvm.parse_assembly(looped(e, "\n".join(e.lines), results, arguments, lanes))
                module.verify()
            lowered += 1
    assert lowered

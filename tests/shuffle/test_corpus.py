"""The emulator on the PTX of other compilers: nothing is raised, each load is in the trace or refused with a reason,
and what is found has the form that the synthesis relies on."""

from __future__ import annotations

from pathlib import Path

import pytest

from drawloom.ptx import parse
from drawloom.ptx.cfg import build_cfg
from drawloom.ptx.dominators import dominators
from drawloom.ptx.ir import Instruction
from drawloom.shuffle.choose import choose
from drawloom.shuffle.emulator import analyse
from drawloom.shuffle.facts import LOCKSTEP, NO_WRAP, Options
from drawloom.shuffle.trace import trace

CORPUS = Path(__file__).parents[1] / "golden" / "corpus"
FILES = sorted([*CORPUS.glob("*/*.sm_80.O3.ptx"), *CORPUS.glob("*/*.sm_80.ptx")])


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name.split('.')[0]}")
def test_every_function_has_a_report(path: Path) -> None:
    module = parse(path.read_text(), str(path))
    for function in [f for f in module.functions.values() if f.has_body]:
        report = analyse(module, function, Options(shared=True, solver_steps=0))
        assert not [r for r in report.refusals if r.at < 0], report.refusals
        seen = {access.at for access in report.trace} | {refusal.at for refusal in report.refusals}
        assert set(report.loads) <= seen
        assert len(trace(module, report).rows) == len({(a.at, a.address, a.guard) for a in report.trace})
        cfg = build_cfg(function, module)
        tree = dominators(cfg)
        block_of = {at: block.id for block in cfg.blocks for at in range(block.first, block.last + 1)}
        for candidate in choose(report, lambda c: all(a.kind != LOCKSTEP for a in c.assumptions)):
            load, source = function.body[candidate.load], function.body[candidate.source]
            assert isinstance(load, Instruction) and isinstance(source, Instruction)
            assert abs(candidate.delta) <= 31
            assert tree.dominates(block_of[candidate.source], block_of[candidate.load])
            assert load.opcode.types[0].bits == source.opcode.types[0].bits
            for assumption in candidate.assumptions:
                if assumption.kind == NO_WRAP and assumption.testable:
                    where = function.body[assumption.at]
                    assert isinstance(where, Instruction) and assumption.register in where.sources()
                    assert tree.dominates(block_of[assumption.at], block_of[candidate.load])


def test_the_same_text_gives_the_same_report() -> None:
    text = (CORPUS / "nvcc" / "sobel.sm_80.O3.ptx").read_text()
    found = []
    for _ in range(2):
        module = parse(text)
        report = analyse(module, module.kernels[0], Options(solver_steps=0))
        found.append((repr(choose(report, lambda c: True)), trace(module, report).text()))
    assert found[0] == found[1]

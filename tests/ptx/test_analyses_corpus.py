"""All analyses over the whole PTX corpus: no error, results that fit together, nothing slow."""

import time
from pathlib import Path

import pytest

from drawloom.ptx.cfg import build_cfg
from drawloom.ptx.dominators import dominators, post_dominators
from drawloom.ptx.ir import Module
from drawloom.ptx.liveness import liveness, members, pressure
from drawloom.ptx.loops import find_loops
from drawloom.ptx.parser import parse
from drawloom.ptx.reaching import reaching_definitions
from drawloom.ptx.ssa import construct, destruct
from drawloom.ptx.uniformity import UNIFORM_BLOCK, VARYING, BlockShape, branches, uniformity

CORPUS = Path(__file__).resolve().parents[1] / "golden" / "corpus"
FOLDERS = sorted({p.parent.name for p in CORPUS.glob("*/*.ptx")})


def modules(folder: str) -> list[Module]:
    paths = sorted((CORPUS / folder).glob("*.ptx"))
    return [parse(p.read_text(encoding="utf-8"), str(p)) for p in paths]


@pytest.mark.parametrize("folder", FOLDERS)
def test_analyses_of_every_function(folder: str):
    instructions = 0
    seconds = 0.0
    for module in modules(folder):
        for function in module.functions.values():
            if not function.has_body:
                continue
            start = time.process_time()
            cfg = build_cfg(function, module)
            dominators(cfg)
            post_dominators(cfg)
            find_loops(cfg)
            live = liveness(cfg)
            pressure(cfg, live)
            reaching = reaching_definitions(cfg, live)
            found = uniformity(cfg, BlockShape(x_is_warps=True), live)
            ssa = construct(function, module)
            back = destruct(ssa)
            seconds += time.process_time() - start
            instructions += len(function.instructions())
            entry = [d for d in reaching.definitions if d.is_entry]
            assert {d.register.id for d in entry} == set(members(live.live_in[0]))
            assert all(u.definitions for u in reaching.uses)
            reachable = sum(len(cfg.blocks[b].instructions) for b in cfg.rpo)
            assert len(back.instructions()) == reachable, "destruction left copies behind"
            alone, lanes = branches(cfg, live), uniformity(cfg, None, live)
            assert [alone.is_divergent(b.id) for b in cfg.blocks] == [lanes.is_divergent(b.id) for b in cfg.blocks]
            assert all(UNIFORM_BLOCK <= found.kind(r.id) <= VARYING for r in function.registers)
    # Plain Python takes some 40 µs for all of this; the bound only catches what grows faster than the input.
    assert seconds < 400e-6 * instructions + 1

"""Reaching definitions against a search over paths by definition, and hand-written chains."""

from hypothesis import given

from drawloom.ptx.cfg import Cfg, build_cfg
from drawloom.ptx.ir import Function
from drawloom.ptx.reaching import ReachingDefinitions, reaching_definitions
from tests.ptx.graphs import HEADER, cfg_of, parse
from tests.ptx.test_liveness import programs


def chains(found: ReachingDefinitions, name: str) -> list[list[tuple[int, int]]]:
    """For each use of a register the places of its definitions."""
    uses = [u for u in found.uses if u.register.name == name]
    return [[(found.definitions[d].block, found.definitions[d].place) for d in u.definitions] for u in uses]


def test_join_and_guard():
    found = reaching_definitions(
        cfg_of(
            "mov.u32 %r1, 1; @%p1 bra L; mov.u32 %r1, 2; L: add.u32 %r2, %r1, %r1;"
            "@%p1 mov.u32 %r1, 3; add.u32 %r3, %r1, 1; mov.u32 %r1, 4; add.u32 %r3, %r1, 1; ret;"
        )
    )
    assert chains(found, "%r1") == [[(0, 0), (1, 0)], [(0, 0), (1, 0), (2, 1)], [(2, 3)]]
    assert chains(found, "%p1") == [[(0, -1)], [(0, -1)]]
    first = next(d for d in found.definitions if d.register.name == "%r1")
    assert [found.uses[u].place for u in first.uses] == [0, 2]
    assert found.definitions[0].is_entry and not first.is_entry
    assert [u.register.name for u in found.at(2, 0)] == ["%r1"] and found.at(2, 3) == [] and found.at(9, 9) == []


def test_loop():
    found = reaching_definitions(
        cfg_of("mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 5; @%p1 bra L; ret;")
    )
    assert chains(found, "%r1") == [[(0, 0), (1, 0)], [(1, 0)]]


def test_results_are_used_where_a_function_returns():
    text = HEADER + (
        ".func (.reg .u32 %out) f(.reg .u32 %a)\n{ .reg .pred %p<3>; mov.u32 %out, %a; setp.eq.u32 %p1, %a, 0;"
        "@%p1 ret; add.u32 %out, %a, 1; }\n"
    )
    found = reaching_definitions(build_cfg(parse(text).functions["f"]))
    uses = [u for u in found.uses if u.instruction is None]
    assert [(u.block, u.place, u.register.name) for u in uses] == [(0, 3, "%out"), (1, 1, "%out")]
    assert chains(found, "%out") == [[(0, 0)], [(1, 0)]]


def writers(cfg: Cfg, block_id: int, place: int, register: int) -> set[tuple[int, int]]:
    """The definitions met on all ways back from just before an instruction; (0, -1) is the entry."""
    out: set[tuple[int, int]] = set()
    seen: set[int] = set()
    work = [(block_id, place)]
    while work:
        at, before = work.pop()
        instructions = cfg.blocks[at].instructions
        for index in range(min(before, len(instructions)) - 1, -1, -1):
            if register in [r.id for r in instructions[index].destinations()]:
                out.add((at, index))
                if instructions[index].guard is None:
                    break
        else:
            if at == 0:
                out.add((0, -1))
            for pred in cfg.blocks[at].preds:
                if pred not in seen and cfg.is_reachable(pred):
                    seen.add(pred)
                    work.append((pred, 10**9))
    return out


@given(programs())
def test_chains_agree_with_a_search_over_paths(function: Function):
    cfg = build_cfg(function)
    found = reaching_definitions(cfg)
    for use in found.uses:
        definitions = [found.definitions[d] for d in use.definitions]
        assert all(d.register is use.register for d in definitions)
        assert {(d.block, d.place) for d in definitions} == writers(cfg, use.block, use.place, use.register.id)
        assert use.definitions == sorted(use.definitions)
        assert all(use.id in d.uses for d in definitions)
    assert sum(len(d.uses) for d in found.definitions) == sum(len(u.definitions) for u in found.uses)
    reads = [(b, i, r.id) for b in cfg.rpo for i, s in enumerate(cfg.blocks[b].instructions) for r in s.sources()]
    assert {(u.block, u.place, u.register.id) for u in found.uses} == set(reads)
    writes = [(b, i) for b in cfg.rpo for i, s in enumerate(cfg.blocks[b].instructions) for _ in s.destinations()]
    assert sorted((d.block, d.place) for d in found.definitions if not d.is_entry) == sorted(writes)
    for definition in found.definitions:
        if not definition.is_entry:
            assert definition.instruction is cfg.blocks[definition.block].instructions[definition.place]

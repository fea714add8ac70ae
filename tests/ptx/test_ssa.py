"""SSA construction and destruction: hand cases, and random programs that must store the same values after it."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from drawloom.ptx.cfg import build_cfg
from drawloom.ptx.dominators import DominatorTree
from drawloom.ptx.ir import Address, Function, Instruction, Module, Register, Statement
from drawloom.ptx.parser import parse
from drawloom.ptx.ssa import SsaFunction, construct, destruct, replace_functions
from tests.ptx.graphs import HEADER, Graph, fill, function_from, function_of, graphs, insn, module_of
from tests.ptx.small_machine import run


def lines(function: Function) -> list[str]:
    return [repr(s).strip() for s in function.body if isinstance(s, Instruction)]


def check(ssa: SsaFunction) -> None:
    """One definition per value, definitions dominate uses, edges and phis fit together."""
    where: dict[int, tuple[int, int]] = {v.id: (0, -1) for v in ssa.parameters if v is not None}
    where.update(dict.fromkeys(ssa.undefined, (0, -1)))

    def define(register: Register, place: tuple[int, int]) -> None:
        assert ssa.registers[register.id] is register
        assert register.id not in where, f"{register} is written twice"
        where[register.id] = place

    for block in ssa.blocks:
        assert ssa.blocks[block.id] is block
        assert all(block.id in ssa.blocks[s].preds for s in block.succs)
        assert all(block.id in ssa.blocks[p].succs for p in block.preds)
        for phi in block.phis:
            define(phi.destination, (block.id, -1))
        for index, statement in enumerate(block.statements):
            if isinstance(statement, Instruction):
                for register in statement.destinations():
                    define(register, (block.id, index))
    order = reachable_order(ssa)
    tree = DominatorTree(0, order, [b.preds for b in ssa.blocks])

    def check_use(register: Register, block_id: int, index: int) -> None:
        def_block, def_index = where[register.id]
        assert def_index < index if def_block == block_id else tree.dominates(def_block, block_id)

    for block in ssa.blocks:
        for phi in block.phis:
            assert len(phi.arguments) == len(block.preds) > 1 or block.preds
            for argument, pred in zip(phi.arguments, block.preds, strict=True):
                check_use(argument, pred, 10**9)
        for index, statement in enumerate(block.statements):
            if isinstance(statement, Instruction):
                for register in statement.sources():
                    check_use(register, block.id, index)
                for register in statement.destinations():
                    if register.id in ssa.kept:
                        assert statement.guard is not None
                        check_use(ssa.kept[register.id], block.id, index)
        for register in block.results:
            check_use(register, block.id, 10**9)


def reachable_order(ssa: SsaFunction) -> list[int]:
    order: list[int] = []
    seen = {0}
    stack = [(0, iter(ssa.blocks[0].succs))]
    while stack:
        block_id, succs = stack[-1]
        following = next((s for s in succs if s not in seen), None)
        if following is None:
            stack.pop()
            order.append(block_id)
        else:
            seen.add(following)
            stack.append((following, iter(ssa.blocks[following].succs)))
    return order[::-1]


def test_phi_at_a_join():
    ssa = construct(function_of("mov.u32 %r1, 1; @%p1 bra L; mov.u32 %r1, 2; L: st.global.u32 [%rd1], %r1; ret;"))
    check(ssa)
    (phi,) = ssa.blocks[2].phis
    assert [a.id for a in phi.arguments] == [i.destinations()[0].id for i in movs(ssa)]
    store = ssa.blocks[2].statements[0]
    assert isinstance(store, Instruction) and store.operands[1] is phi.destination


def movs(ssa: SsaFunction) -> list[Instruction]:
    found = [s for b in ssa.blocks for s in b.statements if isinstance(s, Instruction)]
    return [i for i in found if i.opcode.name == "mov"]


def test_no_phi_for_what_is_dead_at_the_join():
    ssa = construct(function_of("mov.u32 %r1, 1; @%p1 bra L; mov.u32 %r1, 2; L: ret;"))
    assert all(not b.phis for b in ssa.blocks)


def test_guarded_definition_keeps_the_old_value():
    ssa = construct(function_of("mov.u32 %r1, 1; @%p1 mov.u32 %r1, 2; st.global.u32 [%rd1], %r1; ret;"))
    check(ssa)
    first, second = movs(ssa)
    assert ssa.kept == {second.destinations()[0].id: first.destinations()[0]}
    # The old value of a register that nobody reads any more is not kept.
    assert construct(function_of("@%p1 mov.u32 %r1, 2; ret;")).kept == {}


UNCHANGED = [
    "mov.u32 %r1, 1; @%p1 bra L; mov.u32 %r1, 2; L: st.global.u32 [%rd1], %r1; ret;",
    "mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L; st.global.u32 [%rd1], %r1; ret;",
    "L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L; st.global.u32 [%rd1], %r1; ret;",
    "mov.u32 %r1, 1; @%p1 mov.u32 %r1, 2; @!%p1 add.u32 %r1, %r1, 3; st.global.u32 [%rd1], %r1; ret;",
    "@%p1 mov.u32 %r1, 2; @!%p1 mov.u32 %r1, 3; st.global.u32 [%rd1], %r1; ret;",
    "ld.global.v2.u32 {%r1, %r2}, [%rd1+8]; setp.eq.u32 %p1|%p2, %r1, %r2; @!%p2 st.global.u32 [%rd1], %r1; ret;",
    "T: .branchtargets A, B; brx.idx %r1, T; A: mov.u32 %r2, 1; bra C; B: mov.u32 %r2, 2; C: mov.u32 %r3, %r2;"
    "st.global.u32 [%rd1], %r3; ret;",
]


def test_hand_cases_come_back_as_they_were():
    for body in UNCHANGED:
        module = module_of(body)
        function = module.functions["k"]
        ssa = construct(function, module)
        check(ssa)
        back = replace_functions(module, {"k": destruct(ssa)})
        assert lines(back.functions["k"]) == lines(function)
        assert lines(parse(str(back)).functions["k"]) == lines(function)


def test_unreachable_code_is_dropped_but_not_the_tables_in_it():
    body = "bra L; mov.u32 %r9, 1; T: .branchtargets A, B; exit; L: brx.idx %r1, T; A: ret; B: trap;"
    back = destruct(construct(function_of(body)))
    assert lines(back) == ["bra L", "brx.idx %r1, T", "ret", "trap"]
    assert [b.succs for b in build_cfg(back).blocks] == [[1], [2, 3], [], []]


def test_registers_of_parameters_and_results():
    text = HEADER + (
        ".func (.reg .u32 %out, .reg .u32 %two) f(.reg .u32 %a, .reg .u32 %b)\n{ .reg .pred %p<3>;\n"
        "setp.eq.u32 %p1, %a, 0; mov.u32 %out, %a; mov.u32 %two, %a; @%p1 ret; mov.u32 %out, %b; }\n"
        ".func (.reg .u32 %out) same(.reg .u32 %a)\n{ mov.u32 %out, %a; add.u32 %a, %a, 1; mov.u32 %out, %a; ret; }\n"
    )
    module = parse(text)
    for name in ("f", "same"):
        function = module.functions[name]
        ssa = construct(function, module)
        check(ssa)
        back = destruct(ssa)
        if name == "f":
            assert lines(back) == lines(function)
        assert len(back.instructions()) == len(function.instructions())
        assert [v.register for v in back.params] == [r for r in back.registers if r.name in ("%a", "%b")]
        assert all(v.register is back.registers[v.register.id] for v in back.returns)


def propagate_copies(ssa: SsaFunction) -> None:
    """Replaces what an unguarded ``mov`` between registers writes by what it reads: afterwards the values of one
    register may live at the same time, in which case going back needs real copies."""
    becomes: dict[int, Register] = {}
    for block in ssa.blocks:
        left: list[Statement] = []
        for statement in block.statements:
            if isinstance(statement, Instruction) and statement.opcode.name == "mov" and statement.guard is None:
                destination, source = statement.operands
                if isinstance(source, Register) and isinstance(destination, Register):
                    becomes[destination.id] = source
                    continue
            left.append(statement)
        block.statements = left

    def final(register: Register) -> Register:
        while register.id in becomes:
            register = becomes[register.id]
        return register

    for block in ssa.blocks:
        for phi in block.phis:
            phi.arguments = [final(a) for a in phi.arguments]
        for statement in block.statements:
            if isinstance(statement, Instruction):
                start = 1 if statement.opcode.has_destination else 0
                for index in range(start, len(statement.operands)):
                    operand = statement.operands[index]
                    if isinstance(operand, Register):
                        statement.operands[index] = final(operand)
                    elif isinstance(operand, Address) and isinstance(operand.base, Register):
                        statement.operands[index] = Address(final(operand.base), operand.offset)
                if statement.guard is not None:
                    statement.guard = final(statement.guard)
    for register_id in ssa.kept:
        ssa.kept[register_id] = final(ssa.kept[register_id])


def through(function: Function, change: Callable[[SsaFunction], None] | None = None) -> Function:
    ssa = construct(function)
    check(ssa)
    if change is not None:
        change(ssa)
        check(ssa)
    return destruct(ssa)


SWAP = """
mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r4, 0;
L: st.global.u32 [%rd1], %r1; mov.u32 %r3, %r1; mov.u32 %r1, %r2; mov.u32 %r2, %r3;
add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 5; @%p1 bra L;
st.global.u32 [%rd1], %r2; ret;
"""
LOST_COPY = """
mov.u32 %r1, 1;
L: mov.u32 %r2, %r1; add.u32 %r1, %r2, 1; setp.lt.u32 %p1, %r1, 7; @%p1 bra L;
st.global.u32 [%rd1], %r2; ret;
"""


def test_swap_and_lost_copy_after_copy_propagation():
    for body, expected in ((SWAP, [1, 2, 1, 2, 1, 1]), (LOST_COPY, [6])):
        function = function_of(body)
        assert run(function, {}) == (expected, True)
        back = through(function, propagate_copies)
        assert run(back, {}) == (expected, True)
    # A swap needs three moves a round, the counter none.
    assert len([x for x in lines(through(function_of(SWAP), propagate_copies)) if x.startswith("mov")]) <= 7


def test_what_both_ways_on_take_is_copied_once():
    body = """
    mov.u32 %r1, 9; setp.eq.u32 %p2, %r1, 4; @%p2 bra M;
    L: mov.u32 %r2, %r1; add.u32 %r1, %r2, -2; add.u32 %r3, %r2, -1; st.global.u32 [%rd1], %r3;
    setp.ne.u32 %p1, %r1, 1; @%p1 bra L;
    M: st.global.u32 [%rd1], %r1; ret;
    """
    back = through(function_of(body), propagate_copies)
    assert run(back, {}) == run(function_of(body), {})
    moves = [x for x in lines(back) if x.startswith("mov")]
    assert len(moves) == len(set(moves)) == 2


def test_copy_never_reads_what_nobody_wrote():
    body = """
    L: @%p1 bra A; mov.u32 %r1, 7; A: mov.u32 %r3, %r1; mov.u32 %r1, %r2; mov.u32 %r2, %r3;
    add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 5; @%p2 bra L; st.global.u32 [%rd1], %r1; ret;
    """
    back = through(function_of(body), propagate_copies)
    written: set[int] = set()
    for instruction in back.instructions():
        if instruction.opcode.name == "mov":
            assert all(r.id in written for r in instruction.sources())
        written |= {r.id for r in instruction.destinations()}


REGISTERS = 5


@st.composite
def programs(draw: st.DrawFn) -> Function:
    """Every register is written first, then blocks of a random graph compute, copy, guard and store."""
    graph: Graph = draw(graphs(most_blocks=7))
    function = function_from(graph, registers=REGISTERS)
    predicate, selector, free = function.registers[0], function.registers[1], function.registers[2:]
    any_register = st.sampled_from(free)
    bodies: list[list[Instruction]] = []
    for _ in graph:
        body: list[Instruction] = []
        for _ in range(draw(st.integers(0, 6))):
            guard = draw(st.sampled_from([None, None, predicate]))
            negated = guard is not None and draw(st.booleans())
            d, a, b = draw(any_register), draw(any_register), draw(any_register)
            what = draw(st.sampled_from(["mov", "mov", "mov", "add", "const", "setp", "selp", "selector", "st"]))
            if what == "mov":
                body.append(insn("mov.u32", d, a, guard=guard, negated=negated))
            elif what == "add":
                body.append(insn("add.u32", d, a, b, guard=guard, negated=negated))
            elif what == "const":
                body.append(insn("mov.u32", d, draw(st.integers(0, 9)), guard=guard, negated=negated))
            elif what == "setp":
                body.append(insn("setp.lt.u32", predicate, a, b, guard=guard, negated=negated))
            elif what == "selp":
                body.append(insn("selp.b32", d, a, b, predicate))
            elif what == "selector":
                body.append(insn("add.u32", selector, a, 1))
            else:
                body.append(insn("st.global.u32", Address(None, 16), a, guard=guard, negated=negated))
        body.append(insn("st.global.u32", Address(None, 16), draw(any_register)))
        bodies.append(body)
    fill(function, graph, bodies)
    start = [insn("mov.u32", r, i + 1) for i, r in enumerate(function.registers[1:])]
    function.body[:0] = [insn("setp.lt.u32", predicate, 1, 2), *start]
    return function


def same_meaning(before: Function, after: Function) -> None:
    expected, ended = run(before, {})
    found, found_ended = run(after, {}, most_steps=3000)
    assert found[: len(expected)] == expected
    if ended:
        assert found == expected and found_ended


@given(programs())
def test_round_trip_keeps_the_meaning(function: Function):
    back = through(function)
    same_meaning(function, back)
    assert len(back.instructions()) <= len(function.instructions())


@given(programs())
def test_round_trip_after_copy_propagation_keeps_the_meaning(function: Function):
    same_meaning(function, through(function, propagate_copies))


def test_module_goes_through_printer_and_parser():
    module: Module = module_of(SWAP)
    back = replace_functions(module, {"k": through(module.functions["k"], propagate_copies)})
    assert run(parse(str(back)).functions["k"], {}) == ([1, 2, 1, 2, 1, 1], True)

"""Control-flow graphs for the tests of the analyses: from short PTX bodies, and random ones as edge lists."""

from __future__ import annotations

from collections.abc import Sequence

import networkx
from hypothesis import strategies as st

from drawloom.ptx.cfg import Cfg, build_cfg
from drawloom.ptx.ir import BranchTargets, Function, Immediate, Instruction, Label, LabelRef, Module, Operand, Register
from drawloom.ptx.isa import decode
from drawloom.ptx.parser import parse
from drawloom.ptx.types import PRED, U32

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
REGISTERS = ".reg .pred %p<8>; .reg .u32 %r<32>; .reg .u64 %rd<16>; .reg .f32 %f<8>;\n"


def module_of(body: str, extra: str = "") -> Module:
    """A module with kernel ``k``, whose body declares some registers and then is ``body``."""
    return parse(f"{HEADER}{extra}\n.visible .entry k(.param .u64 p)\n{{\n{REGISTERS}{body}\n}}\n", "k.ptx")


def function_of(body: str, extra: str = "") -> Function:
    return module_of(body, extra).functions["k"]


def cfg_of(body: str, extra: str = "") -> Cfg:
    module = module_of(body, extra)
    return build_cfg(module.functions["k"], module)


def edges_of(cfg: Cfg) -> list[list[int]]:
    return [b.succs for b in cfg.blocks]


#: What may stand at the end of a generated block, by the number of its successors.
Graph = list[tuple[list[int], bool]]


@st.composite
def graphs(draw: st.DrawFn, most_blocks: int = 10) -> Graph:
    """For every block its successors (block numbers) and whether it can leave the function as well."""
    count = draw(st.integers(1, most_blocks))
    block = st.integers(0, count - 1)
    return [
        (draw(st.lists(block, max_size=3, unique=True)), draw(st.sampled_from([False, False, False, True])))
        for _ in range(count)
    ]


def terminators(function: Function, graph: Graph, index: int) -> list[Instruction | BranchTargets]:
    """Instructions that give block ``index`` of ``graph`` its edges. Registers 0 (predicate) and 1 are read."""
    predicate, selector = function.registers[0], function.registers[1]
    succs, leaves = graph[index]
    out: list[Instruction | BranchTargets] = []
    if not succs:
        return [Instruction(decode("exit"), [])]
    if leaves:
        out.append(Instruction(decode("exit"), [], predicate))
    labels = [LabelRef(f"B{s}") for s in succs]
    if len(succs) == 1:
        out.append(Instruction(decode("bra"), [labels[0]]))
    elif len(succs) == 2:
        out.append(Instruction(decode("bra"), [labels[0]], predicate))
        out.append(Instruction(decode("bra"), [labels[1]]))
    else:
        out.append(BranchTargets(f"T{index}", [r.name for r in labels]))
        out.append(Instruction(decode("brx.idx"), [selector, LabelRef(f"T{index}")]))
    return out


def function_from(graph: Graph, registers: int = 0) -> Function:
    """A function with the shape of ``graph``: its block 0 is the entry.

    Registers 2 ... 2 + registers - 1 are u32 and free for the bodies of ``fill``.
    """
    function = Function("k", is_entry=True)
    function.new_register(PRED)
    function.new_register(U32)
    for _ in range(registers):
        function.new_register(U32)
    fill(function, graph)
    return function


def fill(function: Function, graph: Graph, bodies: Sequence[Sequence[Instruction]] = ()) -> None:
    """Gives a function of ``function_from`` another body."""
    function.body = []
    for index in range(len(graph)):
        function.body.append(Label(f"B{index}"))
        if bodies:
            function.body.extend(bodies[index])
        function.body.extend(terminators(function, graph, index))


def with_exit(cfg: Cfg) -> networkx.DiGraph:
    """The reachable part of a graph with a virtual exit node ``len(cfg.blocks)``."""
    graph = networkx.DiGraph()
    graph.add_nodes_from([*cfg.rpo, len(cfg.blocks)])
    for block_id in cfg.rpo:
        graph.add_edges_from([(block_id, s) for s in cfg.blocks[block_id].succs])
    graph.add_edges_from([(b, len(cfg.blocks)) for b in cfg.exit_blocks])
    return graph


def insn(text: str, *operands: Operand | int, guard: Register | None = None, negated: bool = False) -> Instruction:
    """``insn("add.u32", d, a, 1)``."""
    made: list[Operand] = [Immediate(o) if isinstance(o, int) else o for o in operands]
    return Instruction(decode(text), made, guard, negated)

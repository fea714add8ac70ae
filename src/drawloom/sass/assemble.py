"""The assembler: PTX to a cubin (thesis chapter 5).

    PTX -> expand -> inline -> unfold -> select -> copies -> meetings of lanes
        -> registers -> order -> stalls and scoreboards -> words -> cubin

Every stage works on one function at a time and can be looked at alone: `machine_code(...)` stops before the file.
"""

from __future__ import annotations

from drawloom.errors import Error, UnsupportedError
from drawloom.ptx import parse, verify
from drawloom.ptx.asynchronous import synchronous
from drawloom.ptx.collecting import uncollected
from drawloom.ptx.declarations import sm_number
from drawloom.ptx.dominators import dominators
from drawloom.ptx.ir import Function, Module
from drawloom.ptx.loops import find_loops
from drawloom.sass.abi import LEAST_REGISTERS, OWN, RETURN_ADDRESS
from drawloom.sass.access import Operands
from drawloom.sass.assembly import AssembledFunction, Assembly
from drawloom.sass.availability import check_available
from drawloom.sass.bounds import MOST_REGISTERS, Bounds, bounds_of, check_local, check_target
from drawloom.sass.calls import MOST_COPIED, CallPlan, callees_first, plan_calls
from drawloom.sass.convergence import meetings
from drawloom.sass.copies import drop_copies
from drawloom.sass.cubin import Cubin, write_cubin
from drawloom.sass.describe import (
    declared_shared,
    describe_calls,
    describe_code,
    describe_header,
    linkage_of,
    prototype,
)
from drawloom.sass.divergence_stack import wait_at_once
from drawloom.sass.encoding import pack_section
from drawloom.sass.exits import leave_at_once
from drawloom.sass.expand.expand import expand
from drawloom.sass.hoist import hoist
from drawloom.sass.inline import inline
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import Target, load_target
from drawloom.sass.jumps import drop_jumps
from drawloom.sass.latencies import timing
from drawloom.sass.lines import Lines
from drawloom.sass.machine import STACK_POINTER, Machine, MachineFunction
from drawloom.sass.meeting_places import falls_through, set_meetings
from drawloom.sass.opposite_guards import begin_lives
from drawloom.sass.order import Orderer
from drawloom.sass.partial_waits import RowTimetable
from drawloom.sass.registers import Allocation, assign_registers, too_few
from drawloom.sass.section import Joined, begin_kernel, changed_by, join, make_frame
from drawloom.sass.select import Selector, make_selector
from drawloom.sass.spill import OutOfRegisters
from drawloom.sass.timetable import Timetable
from drawloom.sass.unfold import unfold
from drawloom.sass.variables import Variables

#: Architectures that the selector makes code for; the encodings of others are in the tables already.
SELECTED = (61, 75, 80, 86, 89, 90)


def assemble(
    source: str | Module, arch: str = "sm_90", *, max_registers: int = 255, serial: bool = False, cuda: int = 12,
    line_info: bool = False, most_copied: int = MOST_COPIED, relocatable: bool = False, filename: str = "<text>",
) -> Cubin:  # fmt: skip
    """The cubin of PTX text, or of a module, for an architecture such as "sm_90" or "sm_90a".

    ``max_registers`` bounds the general registers of a thread where no directive of the kernel does; ``serial`` waits
    for every instruction before the next; ``cuda`` is the file's layout, 12 or 13; ``line_info`` adds line tables, by
    ``.loc`` where the PTX has it and else of the PTX itself; ``most_copied`` is how many instructions all copies of
    one device function may have together, with 0 each stays a function; ``relocatable`` makes a file for a linker
    (``-c``), in which visible device functions can be called by others; ``filename`` is what errors call the text.

    Raises ``ParseError`` and ``VerifyError`` for PTX that is wrong and ``UnsupportedError`` for what the target or the
    assembler lacks, each with file, line and column; ``TypeError`` for a source that is neither, or an architecture
    that is no text, ``Error`` for a number of registers that no thread can have. Directives that cannot be obeyed are
    in ``Cubin.warnings``.
    """
    if not isinstance(source, (str, Module)):
        raise TypeError(
            f"the source is of type {type(source).__name__}, expected PTX text or a drawloom.ptx module; "
            "drawloom.load takes paths"
        )
    if not isinstance(arch, str):
        raise TypeError(f"the architecture is {arch!r}, expected text such as 'sm_90'")
    if not isinstance(max_registers, int):
        raise TypeError(f"max_registers is {max_registers!r}, expected a number")
    if not 0 < max_registers <= MOST_REGISTERS:
        raise Error(f"max_registers is {max_registers!r}, expected 1 to {MOST_REGISTERS}")
    return uncollected(  # collecting costs an eighth of the time
        lambda: _assembled(source, arch, max_registers, serial, cuda, line_info, most_copied, relocatable, filename)
    )


def _assembled(
    source: str | Module, arch: str, max_registers: int, serial: bool, cuda: int, line_info: bool, most_copied: int,
    relocatable: bool, filename: str,
) -> Cubin:  # fmt: skip
    target = target_number(arch)
    module = parse(source, filename) if isinstance(source, str) else source
    verify(module)
    check_target(module, arch)
    warnings = check_available(module, target)
    lines = Lines(module) if line_info else None
    ptx_target = sm_number(module.arch)
    declared = module.functions
    module = hoist(expand(synchronous(module), target), relocatable)
    plan = plan_calls(module, most_copied, relocatable)
    module = unfold(inline(module, plan), target, plan.ids, relocatable)
    variables = Variables(module, plan.ids, relocatable, target)
    assembly = Assembly(target, ptx_target, variables=variables.placed, cuda=cuda, is_specific=arch.endswith("a"))
    assembly.is_relocatable = relocatable
    for function in module.functions.values():
        if function.has_body and (function.is_entry or (relocatable and function.name in plan.kept)):
            bounds = bounds_of(function, target, max_registers)
            warnings += bounds.warnings
            made = assemble_function(module, function, target, bounds, serial, variables, lines, plan)
            if relocatable and function.is_entry:
                made.linked_shared_bytes = declared_shared(declared[function.name])
            assembly.functions.append(made)
    if lines is not None:
        lines.finish(assembly)
    if relocatable:
        known = {name: prototype(module.functions[name]) for f in assembly.functions for name in f.externs}
        assembly.extern_addresses = {name: text for name, text in known.items() if name in plan.ids}
        assembly.extern_prototypes = {name: text for name, text in known.items() if name not in plan.ids}
    assembly.addresses = variables.relocations()
    assembly.address_bytes = 8 * len(assembly.addresses)
    cubin = write_cubin(assembly)
    cubin.warnings = warnings
    return cubin


def target_number(arch: str) -> int:
    """90 for "sm_90" and "sm_90a". Raises UnsupportedError, a drawloom.Error, for what no code is made for."""
    number = sm_number(arch) if arch.startswith("sm_") else 0
    known = [f"sm_{n}" for n in SELECTED]
    if arch not in known and arch != "sm_90a":
        why = "a virtual architecture, which has no machine code" if arch.startswith("compute_") else "not one of ours"
        raise UnsupportedError(f"no code is made for '{arch}', {why}; there is", known)
    return number


def assemble_function(
    module: Module, function: Function, target: int, bounds: Bounds, serial: bool, variables: Variables | None = None,
    lines: Lines | None = None, plan: CallPlan | None = None,
) -> AssembledFunction:  # fmt: skip
    """One kernel; what it reads of ``variables`` is noted there."""
    tables = load_target(target)
    out = AssembledFunction(function.name, b"")
    if function.is_entry:
        describe_header(out, module, function, target, bounds)
    else:
        out.is_entry, out.linkage = False, linkage_of(function.linkage)
    plan = plan or CallPlan(False)
    made = kernel_code(module, function, target, bounds.registers, serial, variables, plan)
    used, code = made.used, made.joined.code
    out.code = pack(tables, code)
    out.registers = max(used.registers, STACK_POINTER + 1) + extra_registers(tables)
    out.barriers = made.barriers
    check_local(module, function, code.frame)
    out.frame_bytes = code.frame
    out.spill_stores, out.spill_loads = used.spill_stores, used.spill_loads
    out.has_shared = made.has_shared
    describe_code(out, made.functions, code, tables)
    describe_calls(out, made.joined, module, plan)
    if lines is not None:
        lines.note(out, code, tables)
    return out


class KernelCode:
    """The code of a kernel with all that it calls: `functions` are those of the module, `used` the most that one of
    them uses, `barriers` the named barriers."""

    def __init__(self, joined: Joined, functions: list[Function], used: Allocation) -> None:
        self.joined = joined
        self.functions = functions
        self.used = used
        self.barriers = 0
        self.has_shared = False


def kernel_code(
    module: Module, kernel: Function, target: int, max_registers: int, serial: bool, variables: Variables | None,
    plan: CallPlan,
) -> KernelCode:  # fmt: skip
    """A kernel and the functions that stay behind it in its section, all labels placed."""
    tables = load_target(target)
    variables = variables or Variables(module, plan.ids)
    leaves = plan.relocatable or plan.leaves_file(kernel.name)
    behind = [] if plan.relocatable else plan.needs(kernel.name)
    functions = [kernel, *[module.functions[name] for name in behind]]
    selectors = [make_selector(module, f, target, variables, kernel, leaves) for f in functions]
    codes = [selector.run() for selector in selectors]
    # Where code of other files runs in between, each block that needs the descriptor reads it.
    uses_descriptor = not leaves and any(selector.uses_descriptor for selector in selectors)
    used = Allocation()
    known = plan.known(kernel.name) if behind else set()
    changed: dict[str, int] = {}
    alone: dict[str, Allocation] = {}
    for n in callees_first_places(functions, plan):
        code = codes[n]
        if code.name in known:
            code.saved = OWN
        for site in code.calls:
            if site.callee in changed:
                site.call.clobbers = changed[site.callee] | site.results | 3 << RETURN_ADDRESS
        alone[code.name] = finish_function(selectors[n], code, tables, max_registers, serial, uses_descriptor)
        used.add(alone[code.name])
        if code.name in known:
            changed[code.name] = changed_by(code)
    if any(code.calls or not code.is_entry for code in codes):
        used.registers = max(used.registers, LEAST_REGISTERS)
    made = KernelCode(join(codes, tables), functions, used)
    for part in made.joined.parts:
        part.spill_stores, part.spill_loads = alone[part.name].spill_stores, alone[part.name].spill_loads
    made.barriers = max(selector.barriers for selector in selectors)
    made.has_shared = bool(selectors[0].shared)
    return made


def callees_first_places(functions: list[Function], plan: CallPlan) -> list[int]:
    """The places of the functions of a section, a kernel first, in an order in which each stands behind all that it
    calls, as far as there is one."""
    if len(functions) == 1:
        return [0]
    places = {function.name: n for n, function in enumerate(functions)}
    return [places[name] for name in callees_first(plan, functions[0].name) if name in places]


def machine_code(
    module: Module, function: Function, target: int, max_registers: int = 255, serial: bool = False,
) -> tuple[Joined, MachineFunction, Allocation]:  # fmt: skip
    """The instructions of a kernel that calls nothing in their final order, with registers, control bits and labels."""
    made = kernel_code(module, function, target, max_registers, serial, None, CallPlan(False))
    return made.joined, made.joined.code, made.used


def finish_function(
    selector: Selector, code: MachineFunction, tables: Target, max_registers: int, serial: bool, uses_descriptor: bool
) -> Allocation:
    """From what was selected to instructions in their final order, with registers and control bits."""
    drop_copies(code, selector.settled())
    tree = dominators(selector.cfg)
    loops = find_loops(selector.cfg)
    for b in selector.cfg.rpo:
        code.blocks[b].depth = loops.depth(b)
    found = meetings(selector.cfg, selector.uniform, breaks=not tables.wide)
    end_every_way(code, tables)
    leave_at_once(code, tables)
    set_meetings(code, tables, found, loops, tree)
    drop_jumps(code)
    if not tables.wide:
        wait_at_once(code)
    if code.is_entry:
        begin_kernel(code, tables, uses_descriptor, selector.function.pos)
    begin_lives(code)
    try:
        used = assign_registers(
            code, max(max_registers - extra_registers(tables), 0), 1 << STACK_POINTER | 1 << code.frame_pointer
        )
    except OutOfRegisters as lack:
        raise too_few(lack, code, selector.module, max_registers) from lack
    make_frame(code, tables)
    timings = timing(selector.number)
    operands = Operands(timings)
    for block in code.blocks:
        operands.add(block.instructions)
    if not serial:
        orderer = Orderer(timings, operands)
        for block in code.blocks:
            block.instructions = orderer.ordered(block.instructions)
    if tables.wide or serial:
        Timetable(code, tables, timings, operands, serial).run()
    else:
        RowTimetable(code, tables, timings, operands).run()
    return used


def end_every_way(code: MachineFunction, tables: Target) -> None:
    """Blocks that run off the end of the kernel leave it."""
    for block in code.blocks:
        if not block.successors and falls_through(block):
            block.instructions.append(Machine(tables.opcode("EXIT", ""), []))


def extra_registers(tables: Target) -> int:
    """How many registers sm_75 and later need beyond those that a program uses."""
    return 2 if tables.wide else 0


def pack(tables: Target, code: MachineFunction) -> bytes:
    """The words of a function, an endless loop behind them, padded with NOPs to 128 bytes, on sm_61 to 64."""
    nop = tables.opcode("NOP", "")
    padded: list[Instruction] = []
    for block in code.blocks:
        padded += block.instructions
    padded.append(Machine(tables.opcode("BRA", "L"), [-tables.word_bytes]))
    while len(padded) % (8 if tables.wide else 6):
        padded.append(Machine(nop, []))
    return pack_section(tables, padded)


__all__ = ["assemble", "assemble_function", "machine_code"]

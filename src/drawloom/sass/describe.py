"""What a cubin says about a kernel besides its code: linkage, parameters, and where instructions of some kinds stand.

Which instructions are listed was read off ptxas's code for probes; docs/sass.md has the table.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import CallPrototype, CallTargets, Function, Instruction, Module, Variable
from drawloom.ptx.layout import align_up, param_layout, scoped_name, shared_layout
from drawloom.sass.assembly import CONST, LOCAL, POINTS_TO, SHARED, VISIBLE, WEAK, AssembledFunction, Parameter, Part
from drawloom.sass.bounds import Bounds, check_shared
from drawloom.sass.calls import CallPlan
from drawloom.sass.divergence_stack import stack_bytes
from drawloom.sass.effects import effects
from drawloom.sass.effects_table import WARP_WIDE
from drawloom.sass.encoding import address_of
from drawloom.sass.isa import Target
from drawloom.sass.machine import Machine, MachineFunction
from drawloom.sass.section import Joined

#: Instructions for several lanes of a warp; those of a PTX instruction with a member mask are listed apart.
_WARP_WIDE: Final = frozenset(WARP_WIDE)
_NO_MASK: Final = 0xFFFFFFFF
_WORD: Final = 4
#: Letters of types in prototypes.
_FLOATS: Final[dict[str, str]] = {"f32": "f", "f64": "d"}
_LETTERS: Final[dict[int, str]] = {1: "b", 2: "h", 4: "i", 8: "l", 16: "x"}
#: With the register that has the member mask.
_MASK_REGISTER: Final = 0x05000000
_BLOCK_IDS: Final = ("SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z")
#: The stack of a warp of sm_61 where functions call themselves, and what those of other files may need (ptxas's).
_RECURSIVE_STACK: Final = 2048
_EXTERNAL_STACK: Final = 512
#: Up to this target pointers to constants have a number of their own.
_LAST_CONST_POINTERS: Final = 89
_CONST_POINTER: Final = 3
#: Up to these targets block indices along z are announced, and atomics of system scope listed.
_LAST_BLOCK_Z: Final = 89
_LAST_SYSTEM_ATOMS: Final = 61


def linkage_of(name: str) -> str:
    """The linkage in the file of a function or variable with this PTX linkage."""
    return WEAK if name in (".weak", ".common") else VISIBLE if name in (".visible", ".extern") else LOCAL


def describe_header(out: AssembledFunction, module: Module, function: Function, target: int, bounds: Bounds) -> None:
    """What the kernel's header says. Raises UnsupportedError where its shared memory is too large."""
    places, size = param_layout(function)
    out.linkage = linkage_of(function.linkage)
    out.parameters = [parameter(at, v, target) for v, (at, _, _) in zip(function.params, places, strict=True)]
    out.parameter_bytes = size
    offsets, out.shared_bytes = shared_layout(module, function)
    out.shared_align = shared_alignment(module, offsets)
    bounds.note(out)
    check_shared(module, function, out.shared_bytes)


def shared_alignment(module: Module, offsets: dict[str, int]) -> int:
    """The largest alignment of the shared variables that have an offset, as a number of bytes."""
    if not offsets:
        return _WORD
    found = [v.alignment for v in module.variables.values() if v.name in offsets]
    for function in module.functions.values():
        found += [v.alignment for v in function.variables if scoped_name(function, v) in offsets]
    return max(found, default=_WORD)


def declared_shared(function: Function) -> int:
    """The bytes of the shared variables that a function declares, one behind the other."""
    end = 0
    for variable in function.variables:
        if variable.space == SHARED:
            end = align_up(end, variable.alignment) + variable.size
    return end


def parameter(offset: int, variable: Variable, target: int) -> Parameter:
    """A parameter; of a `.ptr` also where and how aligned it points."""
    if not variable.is_pointer:
        return Parameter(offset, variable.size)
    space = POINTS_TO[variable.pointer_space or "generic"]
    if variable.pointer_space == CONST and target <= _LAST_CONST_POINTERS:
        space = _CONST_POINTER
    return Parameter(offset, variable.size, space, max(variable.pointer_align, 1).bit_length() - 1)


def describe_calls(out: AssembledFunction, joined: Joined, module: Module, plan: CallPlan) -> None:
    """The functions that stand behind a kernel in its section, and those of other files that are called."""
    if plan.relocatable:
        describe_links(out, joined, module, plan)
        return
    frames = {part.name: part.frame for part in joined.parts}
    frames[out.name] = joined.code.frame
    out.stack_bytes = plan.deepest(out.name, frames) if len(frames) > 1 else joined.code.frame
    out.parts = [
        Part(
            f"${out.name}${p.name}", p.offset, p.size, p.frame, linkage_of(module.functions[p.name].linkage),
            p.spill_stores, p.spill_loads,
        )
        for p in joined.parts
    ]  # fmt: skip
    if out.parts:
        out.parts[-1].size = len(out.code) - out.parts[-1].offset
    if out.crs_stack_bytes:
        if any(plan.is_recursive(part.name) for part in joined.parts):
            out.crs_stack_bytes = _RECURSIVE_STACK
        elif joined.external:
            out.crs_stack_bytes += _EXTERNAL_STACK
    out.externs = list(joined.external)
    out.calls = list(joined.external)
    out.relocations = joined.relocations
    out.offsets["SYSCALL_OFFSETS"] = joined.external_calls
    if plan.uses_pointers(out.name):
        out.constants = joined.table(plan.ids)


def describe_links(out: AssembledFunction, joined: Joined, module: Module, plan: CallPlan) -> None:
    """What a linker is told of a function: what it calls, how it may be called, what is to be filled in."""
    function = module.functions[out.name]
    names = list(dict.fromkeys(site.callee for site in joined.code.calls if site.callee))
    out.calls = names
    named = names + [r.symbol for r in joined.relocations if r.symbol in module.functions]
    out.externs = [name for name in dict.fromkeys(named) if not module.functions[name].has_body]
    out.relocations = joined.relocations
    # A linker adds up what functions need, and knows what their calls push.
    out.crs_stack_bytes = stack_bytes(joined.code, True) if joined.code.target < 75 else None
    # All shared variables are the module's, for the linker to place.
    out.shared_bytes, out.has_shared = 0, False
    out.is_address_taken = out.name in plan.ids
    if not function.is_entry and (out.is_address_taken or out.linkage != LOCAL):
        out.prototype = prototype(function)
    tables = [s for s in function.body if isinstance(s, (CallPrototype, CallTargets))]
    found: list[str] = []
    for table in tables:
        if isinstance(table, CallPrototype):
            found.append(prototype_of(table.returns, table.params))
        else:
            found += [prototype(module.functions[name]) for name in table.functions]
    out.indirect_branches = [(at, []) for at in joined.jumps]
    if any(not site.callee for site in joined.code.calls):
        out.pointer_calls = list(dict.fromkeys(found))
        out.pointer_callees = [name for name in plan.ids if prototype(module.functions[name]) in out.pointer_calls]


def prototype(function: Function) -> str:
    """The types of a function's results and parameters, a letter or number of bytes for each."""
    return prototype_of(function.returns, function.params)


def prototype_of(returns: list[Variable], params: list[Variable]) -> str:
    return "#" + ("".join([letter(v) for v in returns]) or "v") + "".join([letter(v) for v in params])


def letter(variable: Variable) -> str:
    if variable.shape:
        return f"b{variable.size}"
    return _FLOATS.get(variable.type.name) or _LETTERS[variable.type.bytes]


def describe_code(out: AssembledFunction, functions: list[Function], code: MachineFunction, tables: Target) -> None:
    """Where the instructions stand that the driver and tools are told of; ``functions`` are those of the code."""
    exits: list[int] = []
    warp_wide: list[int] = []
    together: list[int] = []
    masks: list[int] = []
    block_ids: list[int] = []
    system_atoms: list[int] = []
    diverges = False
    origins: dict[int, list[str]] = {}
    mask = (-1, _NO_MASK)  # the position of the last WARPSYNC, and what is said of its mask
    for index, instruction in noted_of(code):
        base = effects(instruction.opcode).base
        if base == "EXIT":
            exits.append(address_of(tables, index))
        elif base == "WARPSYNC":
            diverges = True
            mask = (instruction.pos, mask_of(instruction))
        elif base in ("BSSY", "RET"):
            diverges = True
        elif base in _WARP_WIDE:
            origins = origins or origins_of(functions)
            origin = origins.get(instruction.pos, [""])
            if "sync" in origin:
                together.append(address_of(tables, index))
                masks.append(mask[1] if mask[0] == instruction.pos else _NO_MASK)
            elif origin[0] != "activemask":
                warp_wide.append(address_of(tables, index))
        elif base in ("S2R", "S2UR"):
            name = special_name(instruction, tables)
            if name in _BLOCK_IDS:
                block_ids.append(address_of(tables, index))
                out.reads_block_z |= name == _BLOCK_IDS[2] and tables.number <= _LAST_BLOCK_Z
        elif base in ("ATOM", "RED") and tables.number <= _LAST_SYSTEM_ATOMS:
            origins = origins or origins_of(functions)
            if "sys" in origins.get(instruction.pos, ()):
                system_atoms.append(address_of(tables, index))
    out.offsets["EXIT_INSTR_OFFSETS"] = exits
    out.offsets["COOP_GROUP_INSTR_OFFSETS"] = together
    out.offsets["COOP_GROUP_MASK_REGIDS"] = masks
    out.offsets["INT_WARP_WIDE_INSTR_OFFSETS"] = warp_wide
    if tables.number <= _LAST_SYSTEM_ATOMS:
        out.offsets["S2RCTAID_INSTR_OFFSETS"] = block_ids
        out.offsets["ATOM_SYS_INSTR_OFFSETS"] = system_atoms
        out.crs_stack_bytes = stack_bytes(code)
    elif diverges:
        out.crs_stack_bytes = 0


def instructions_of(code: MachineFunction) -> list[Machine]:
    return [instruction for block in code.blocks for instruction in block.instructions]


def noted_of(code: MachineFunction) -> list[tuple[int, Machine]]:
    """The instructions of which anything is said, each behind its number."""
    found: list[tuple[int, Machine]] = []
    begin = 0
    for block in code.blocks:
        for place, instruction in enumerate(block.instructions):
            told = instruction.opcode.effects or effects(instruction.opcode)
            if told.is_noted:
                found.append((begin + place, instruction))
        begin += len(block.instructions)
    return found


def special_name(instruction: Machine, tables: Target) -> str:
    """The special register that an S2R or S2UR reads."""
    for slot, value in zip(instruction.opcode.slots, instruction.values, strict=True):
        if slot.kind == "S":
            return tables.special_names.get(value, "")
    return ""


def mask_of(instruction: Machine) -> int:
    """What is said of the mask of a WARPSYNC: its register, if it is in one."""
    for slot, value in zip(instruction.opcode.slots, instruction.values, strict=True):
        if slot.kind == "R":
            return _MASK_REGISTER | value
    return _NO_MASK


def origins_of(functions: list[Function]) -> dict[int, list[str]]:
    """The words of the PTX opcode at each position."""
    found = {-1: [""]}
    for function in functions:
        for statement in function.body:
            if isinstance(statement, Instruction) and statement.pos >= 0:
                found[statement.pos] = statement.opcode.text.split(".")
    return found

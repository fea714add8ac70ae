"""A PTX function to the text of an LLVM function: blocks, branches under masks, calls, barriers, dispatch.

    define i64 @kernel(ptr %launch, ptr %slot, i64 %index, ptr %state)          one warp of one block
    define i64 @func(ptr %launch, ptr %slot, i64 %index, ptr %state, mask, ptr results, ptr argument ...)

A kernel returns ``abi.DONE``, ``BARRIER``, ``YIELD`` or ``FAULT``; on ``BARRIER`` and ``YIELD`` its live
registers are in the state's frame and the next call goes on behind the barrier. A device function returns the
lanes that left the kernel inside it (bits 0 to 31) and whether it failed (bit 32).
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu import abi
from drawloom.cpu.atomics import Atomics
from drawloom.cpu.body import Body, NeedsLanes, NeedsWarps, Place
from drawloom.cpu.branches import Branches
from drawloom.cpu.calls import Calls
from drawloom.cpu.cooperation import Cooperation
from drawloom.cpu.emitter import Emitter, Value, int_const, type_of
from drawloom.cpu.gangs import LARGE
from drawloom.cpu.lane_operations import LaneOperations
from drawloom.cpu.layouts import Layout, register_bytes
from drawloom.cpu.local_variables import LocalVariables
from drawloom.cpu.neighbours import Groups, find_groups
from drawloom.cpu.parting import Parting, Threads
from drawloom.cpu.pure import Pure
from drawloom.cpu.shapes import VARYING
from drawloom.cpu.slices import Stretch, slices_of
from drawloom.cpu.spinning import spinning_loops, varying_exits
from drawloom.cpu.stack import Stack
from drawloom.cpu.suspension import Suspension
from drawloom.cpu.turns import turns
from drawloom.errors import SourceError, UnsupportedError
from drawloom.ptx.ir import Function, Instruction, Module, Symbol
from drawloom.ptx.isa import ATOMIC, BARRIER, CALL, FENCE, LOAD, PURE, STORE, WARP
from drawloom.ptx.layout import GlobalsLayout, has_dynamic_stack
from drawloom.ptx.liveness import bits

#: How many times the vector registers a block's live values may fill and still run at once; measured on the kernels
#: of the corpus: 1.0 to 2 gain 10 to 60 %, from 2.0 on spills cost more than barriers.
_REGISTERS_OVER: Final = 2
#: Lines of LLVM's code that save a register at a stop and load it again behind it.
_LINES_OF_A_COPY: Final = 6


class Lowered:
    """What the launch of a lowered function needs to know."""

    def __init__(self, frame_bytes: int, local_bytes: int, suspends: bool, spins: bool, runtime: str) -> None:
        #: LLVM functions for warps that part, and bytes of the state of each of their threads.
        self.runtime = runtime
        self.state_bytes = 0
        self.frame_bytes = frame_bytes
        self.local_bytes = local_bytes
        self.suspends = suspends
        self.spins = spins


class FunctionLowering:
    """Lowers one function."""

    def __init__(
        self,
        module: Module,
        function: Function,
        emitter: Emitter,
        layout: Layout,
        check: bool,
        image: GlobalsLayout,
        operations: LaneOperations,
        has_stack: bool = False,
    ) -> None:
        body = Body(module, function, emitter, layout, image, has_stack)
        lanes = layout.lanes
        self.body = body
        self.function = function
        self.f = body.f
        self.e = emitter
        self.lanes = lanes
        self.is_kernel = body.is_kernel
        self.plan = body.plan
        spinning = spinning_loops(module, body.plan.cfg, body.plan.loops)
        if lanes and any(body.plan.region_of[h] >= 0 and h in varying_exits(body.plan) for h in spinning):
            raise NeedsLanes("lanes leave a loop one by one, as memory that others write tells them")
        if body.f.at_once:
            self.admit_at_once(bool(spinning), layout.always)
        self.memory = Atomics(body.f, check)
        self.calls = Calls(body, self.memory)
        self.stack = Stack(body, self.memory, has_dynamic_stack(function))
        self.variables = LocalVariables(body, self.stack) if check else None
        self.suspension = Suspension(body, spinning)
        self.pure = Pure(body, body.f, self.calls)
        self.slices = None if check else slices_of(body, self.calls)
        #: By block, the accesses that are done with their neighbours, and what goes slice by slice.
        self.groups: dict[int, Groups] = {}
        self.stretches: dict[int, dict[int, Stretch]] = {}
        self.cooperation = Cooperation(body, self.suspension, operations, check)
        self.branches = Branches(body, self.suspension)
        #: Where lanes of warps that part can go on in this code, which is that for one thread.
        self.entries: set[Place] = set()
        #: The loads behind which warps let the others read, too.
        self.turns: set[Place] = set()
        self.parting: Parting | None = None

    # -- warps that part ---------------------------------------------------------------------------------

    def absences(self) -> list[Place]:
        """The warp operations whose members may be absent."""
        return self.cooperation.absences()

    def places(self, absences: list[Place]) -> set[Place]:
        """Where lanes of a warp can be when it parts at one of ``absences``."""
        found = set(absences)
        for b in {place[0] for place in absences}:
            found.update([(c, 0) for c in self.plan.waiting_blocks(b)])
        return found

    def part_into(self, threads: Threads) -> None:
        """Let warps go on as ``threads`` where members of their operations are absent."""
        self.parting = self.cooperation.parting = Parting(self.body, threads)

    # -- blocks at once ----------------------------------------------------------------------------------

    def admit_at_once(self, spins: bool, always: bool) -> None:
        """Raise ``NeedsWarps`` if the threads of a block cannot run as one vector, or (not ``always``) lose by it."""
        if not self.is_kernel:
            raise NeedsWarps("a device function")
        if spins:
            raise NeedsWarps("a loop may wait for another thread")
        if always:
            return
        if self.body.live_bytes() > _REGISTERS_OVER * register_bytes(self.e.features):
            raise NeedsWarps("the values of so many threads do not fit the vector registers")
        if self.body.scatters_in_loops():
            raise NeedsWarps("warps that have nothing to do would go through gathers with the others")
        if self.body.updates_of_their_own():
            raise NeedsWarps("warps would wait at a barrier behind each other's atomics")

    # -- the whole ---------------------------------------------------------------------------------------

    def lower(self, name: str) -> Lowered:
        f = self.f
        e = self.e
        if self.is_kernel and not f.at_once:
            self.turns = turns(self.plan, set(f.shared_offsets))
        self.plan_blocks()
        f.allocas.append(f"  %live = alloca {f.slot_type('i1', self.lanes)}")
        outer = e.lines
        e.lines = []
        self.prologue()
        for b in self.plan.order:
            self.lower_block(b)
        parted = ""
        if self.parting is not None and self.suspension.resumes:
            self.parting.resumption()
            parted = self.parting.resume()
        if self.plan.region_exit:
            self.branches.emit_dispatch()
        f.place("leave")
        e.line("  ret i64 0" if self.is_kernel else "  br label %return")
        if not self.is_kernel:
            self.function_return()
        body = e.lines
        e.lines = outer
        e.line(self.header(name) + " #0 {")
        e.line("entry:")
        e.lines.extend(f.allocas)
        self.suspension.entry_switch(parted)
        e.lines.extend(body)
        e.line("}")
        local = self.body.thread_bytes if self.is_kernel else 0
        runtime = self.parting.runtime() if self.parting is not None else ""
        suspends = bool(self.suspension.resumes)
        lowered = Lowered(f.kept_bytes, local, suspends, self.suspension.spins, runtime)
        if self.parting is not None:
            lowered.state_bytes = self.parting.threads.stride
        return lowered

    def plan_blocks(self) -> None:
        """Find the accesses that are done together, and what of a warp goes slice by slice."""
        f = self.f
        searched = self.lanes > 0 and not self.memory.check
        for b in self.plan.order:
            self.groups[b] = find_groups(self.plan.cfg.blocks[b].instructions, self.memory) if searched else {}
        if self.slices is not None:
            self.stretches = self.slices.find(self.groups, self.turns)
            f.has_word_masks = bool(self.stretches)
        if self.is_kernel and not f.at_once and not self.memory.check:
            f.residents = self.residents()

    def residents(self) -> int:
        """The registers that are in the frame of the state all the time: a bit set. They are those that vary and
        outlast a stop, where copies at stops would be more of a large kernel's code than what it computes."""
        varying = bits([id for id, shape in enumerate(self.f.shapes) if shape.kind == VARYING or not self.lanes])
        held = copies = count = 0
        for b in self.plan.order:
            live_after = self.plan.live.live_after(b)
            instructions = self.plan.cfg.blocks[b].instructions
            count += len(instructions)
            for index, instruction in enumerate(instructions):
                if self.suspension.kept.stops(instruction):
                    held |= live_after[index] & varying
                    copies += (live_after[index] & varying).bit_count()
        return held if count >= LARGE and copies * _LINES_OF_A_COPY > count else 0

    def header(self, name: str) -> str:
        """The function's first line; only a kernel that stops is called from outside its object code."""
        record = "ptr noalias %launch, ptr noalias %slot, i64 %index, ptr noalias %state"
        if self.is_kernel and name == "kernel":
            linkage, inlined = ("", "") if self.suspension.resumes else ("internal ", " alwaysinline")
            return f"define {linkage}i64 @{name}({record}){inlined}"
        if self.is_kernel:
            return f"define internal i64 @{name}({record})"
        pointers = "".join([f", ptr %arg{i}" for i in range(len(self.function.params))])
        mask = type_of("i1", self.lanes)
        return f"define internal i64 @{name}({record}, {mask} %mask, i32 %alive, ptr %results{pointers})"

    def prologue(self) -> None:
        f = self.f
        if self.variables is not None and self.is_kernel:
            self.variables.enter_kernel()
        f.place("start")
        if self.body.local_stride:
            self.local_memory()
        if self.is_kernel:
            f.store(self.initial_mask(), self.body.live)
            if self.body.has_stack:
                self.stack.begin_kernel()
        else:
            f.store(Value("%mask", "i1", self.lanes), self.body.live)
            self.stack_check()
            self.function_blocks()
            self.stack.begin_function()
            if self.variables is not None:
                self.variables.enter_function()
        for variable in self.function.variables:
            if variable.space == "param":
                self.param_block(variable.name, variable.size)
        f.jump(f"B{self.plan.order[0]}")

    def stack_check(self) -> None:
        """A device function that finds the worker's stack nearly full fails instead of running over its end."""
        f = self.f
        e = self.e
        here = e.value("i64", 0, f"ptrtoint ptr {f.alloca('depth', 'i8')} to i64")
        used = e.binary("sub", f.word("%slot", abi.SLOT_STACK, False), here)
        deep, fine = f.label("deep"), f.label("fine")
        f.branch_expected(e.icmp("slt", used, int_const("i64", abi.STACK_LIMIT)), fine, deep)
        f.place(deep)
        f.fail(abi.ERROR_STACK, self.function.pos, Value("%mask", "i1", self.lanes))
        f.place(fine)

    def local_memory(self) -> None:
        """Where lane 0's ``.local`` variables stand: in the slot for kernels, on the stack for functions."""
        f = self.f
        e = self.e
        if self.is_kernel:
            base = f.alloca("local", "i64")
            f.store(int_const("i64", 0), base)
            start = f.word("%slot", abi.SLOT_LOCAL, False)
            bytes_per_unit = self.body.thread_bytes * max(self.lanes, 1)
            offset = e.binary("mul", Value("%index", "i64", 0), int_const("i64", bytes_per_unit))
            f.store(e.binary("add", start, offset), base)
            self.f.local_slot = base
        else:
            count = self.body.local_stride * max(self.lanes, 1)
            memory = f.alloca("locals", f"[{count} x i8]", max(64, self.body.alignment))
            self.f.local_slot = f.alloca("local", "i64")
            f.store(e.value("i64", 0, f"ptrtoint ptr {memory} to i64"), self.f.local_slot)

    def initial_mask(self) -> Value:
        """The lanes of this unit that the block has threads for."""
        f = self.f
        e = self.e
        if not self.lanes or f.at_once:
            return f.all_lanes()
        if f.is_gang:
            left = e.binary("sub", f.word("%launch", abi.LAUNCH_BLOCK), f.first_column())
        else:
            threads = f.word("%launch", abi.LAUNCH_THREADS)
            left = e.binary("sub", threads, e.binary("shl", Value("%index", "i64", 0), int_const("i64", 5)))
        left = f.narrow(left)
        return e.icmp("slt", f.lane_ids(), e.splat(left, self.lanes))

    def param_block(self, name: str, size: int) -> None:
        f = self.f
        stride = max(size, 1)
        f.blocks[name] = f.alloca("param", f"[{stride * max(self.lanes, 1)} x i8]", 64)
        f.block_strides[name] = stride

    def function_blocks(self) -> None:
        """Parameters and results of a device function stand in blocks of the caller, one row per lane."""
        f = self.f
        for i, variable in enumerate(self.function.params):
            f.blocks[variable.name] = f"%arg{i}"
            f.block_strides[variable.name] = max(variable.size, 1)
            if variable.register is not None:
                place = self.memory.symbol_place(Symbol(variable.name), 0, "param")
                f.mask = Value("%mask", "i1", self.lanes)
                value = self.memory.load_lanes(place, f.passed_elem(variable.register), 1, False)[0]
                f.write_as(variable.register, value)
        for variable in self.function.returns:
            f.blocks[variable.name] = "%results"
            f.block_strides[variable.name] = max(variable.size, 1)

    def function_return(self) -> None:
        """Hand back register results and the lanes that left the kernel."""
        f = self.f
        e = self.e
        f.place("return")
        f.mask = Value("%mask", "i1", self.lanes)
        for variable in self.function.returns:
            if variable.register is not None:
                place = self.memory.symbol_place(Symbol(variable.name), 0, "param")
                value = f.as_elem(f.read(variable.register, self.lanes), f.passed_elem(variable.register))
                self.memory.store_lanes(place, [value], value.elem, 1, False)
        self.stack.end_function()
        if self.variables is not None:
            self.variables.leave_function()
        gone = f.load(self.body.gone_slot(), "i1", self.lanes)
        bits = f.mask_bits(gone)
        e.line(f"  ret i64 {e.cast('zext', bits, 'i64').text}")

    # -- blocks ------------------------------------------------------------------------------------------

    def lower_block(self, b: int) -> None:
        f = self.f
        body = self.body
        f.place(f"B{b}")
        body.block = b
        if self.plan.region_of[b] >= 0:
            slot = body.mask_slot(b)
            f.mask = f.load(slot, "i1", self.lanes)
            f.store(f.no_lanes(), slot)
        else:
            f.mask = f.load(body.live, "i1", self.lanes)
        f.waiting = self.plan.waiting[b]
        body.live_after = self.plan.live.live_after(b)
        self.suspension.enter_block(b)
        block = body.cfg.blocks[b]
        if (b, 0) in self.entries:
            self.suspension.admit((b, 0))
        groups = self.groups[b]
        moved = bits([id for group in groups.values() for member in group for id in registers_of(member)])
        stretches = self.stretches.get(b, {})
        needed = self.plan.live.live_in[b]
        done = 0
        for index, instruction in enumerate(block.instructions):
            if index < done:
                continue
            if index in stretches:
                self.lower_stretch(stretches[index], moved)
                done = stretches[index].end
                needed = body.live_after[done - 1]
                continue
            body.index = index
            f.needed = needed | body.live_after[index] | moved
            needed = body.live_after[index]
            if index and (b, index) in self.entries:
                self.suspension.admit((b, index))
            if instruction is block.terminator and instruction.opcode.effect != CALL:
                break
            group = groups.get(index)
            try:
                if group is None:
                    self.lower_instruction(instruction)
                elif group:
                    f.guard = None
                    self.memory.access_group(group)
            except UnsupportedError as error:
                raise self.refusal(instruction, error) from None
            self.suspension.pass_by(instruction)
            if (b, index) in self.turns:
                self.suspension.suspend(abi.TURN, body.live_after[index])
                body.reload_mask()
        self.branches.terminate(b)

    def lower_stretch(self, stretch: Stretch, moved: int) -> None:
        """Lower instructions that go slice by slice; ``moved`` are registers of accesses that are grouped."""
        body = self.body
        block = body.cfg.blocks[body.block].instructions
        self.f.needed = stretch.needed | moved
        try:
            for index in stretch.scalars:
                body.index = index
                self.lower_instruction(block[index])
            assert self.slices is not None
            self.f.needed = stretch.needed | moved
            self.slices.lower(stretch, moved)
        except UnsupportedError as error:
            raise self.refusal(block[body.index], error) from None
        for index in range(stretch.start, stretch.end):
            body.index = index
            self.suspension.pass_by(block[index])

    def refusal(self, instruction: Instruction, error: UnsupportedError) -> UnsupportedError:
        """The same error, naming the place in the PTX."""
        place = self.body.module.error(SourceError, instruction.pos, error.message)
        return UnsupportedError(str(place))

    def lower_instruction(self, instruction: Instruction) -> None:
        f = self.f
        self.body.here = f.mask
        condition = f.condition(instruction)
        if condition is None:
            f.guard = None
            self.dispatch(instruction)
            if instruction.opcode.effect == CALL:
                self.go_on_if_any()
            return
        lanes = condition.lanes
        if instruction.opcode.effect == PURE:
            f.guard = condition
            self.dispatch(instruction)
            f.guard = None
            return
        outer = f.mask
        inner = self.e.binary("and", outer, condition) if lanes else outer
        then, done = f.label("guarded"), f.label("after")
        stops = instruction.opcode.effect == BARRIER
        if stops:
            self.suspension.outer = f.alloca("outer", f.slot_type("i1", self.lanes))
            f.store(outer, self.suspension.outer)
        f.branch(f.any_lane(inner) if lanes else condition, then, done)
        f.place(then)
        f.mask = inner
        f.guard = inner if lanes else None
        self.dispatch(instruction)
        f.guard = None
        f.mask = outer
        f.jump(done)
        f.place(done)
        if stops:
            f.mask = f.load(self.suspension.outer, "i1", self.lanes)
            self.suspension.outer = ""
        if instruction.opcode.effect in (CALL, BARRIER, WARP):
            self.body.reload_mask()
        if instruction.opcode.effect == CALL:
            self.go_on_if_any()

    def go_on_if_any(self) -> None:
        """Skip the rest of the block when its last lane has left the kernel in a call."""
        f = self.f
        region = self.plan.region_of[self.body.block]
        some = f.label("some")
        f.branch_expected(
            f.any_lane(f.mask), some, "leave" if region < 0 else f"A{region}.{self.plan.place[self.body.block]}"
        )
        f.place(some)

    def dispatch(self, instruction: Instruction) -> None:
        effect = instruction.opcode.effect
        if effect == PURE:
            self.pure.lower(instruction)
        elif effect == LOAD:
            self.memory.load(instruction)
        elif effect == STORE:
            self.memory.store(instruction)
        elif effect == ATOMIC:
            self.memory.atomic(instruction, self.body.result_used(instruction))
        elif effect == FENCE:
            self.memory.fence(instruction.opcode)
        elif effect == WARP:
            self.cooperation.warp_operation(instruction)
        elif effect == BARRIER:
            self.cooperation.barrier(instruction)
        elif effect == CALL:
            self.call(instruction)
        else:
            self.side_effect(instruction)

    def side_effect(self, instruction: Instruction) -> None:
        name = instruction.opcode.name
        if name in ("trap", "brkpt"):  # there is no debugger to break into
            self.f.fail(abi.ERROR_BRKPT if name == "brkpt" else abi.ERROR_TRAP, instruction.pos, self.f.mask)
            self.f.place(self.f.label("unreachable"))
        elif name in ("alloca", "stacksave", "stackrestore"):
            self.stack.lower(instruction)

    def call(self, instruction: Instruction) -> None:
        if self.f.at_once:
            raise NeedsWarps("a call")
        gone = self.calls.lower(instruction)
        if gone is None:
            return
        self.body.leave_lanes(gone)


def registers_of(instruction: Instruction) -> list[int]:
    """The registers that an instruction reads and writes."""
    return [register.id for register in [*instruction.sources(), *instruction.destinations()]]

"""One function while it is being lowered: its plan, which lanes are alive, and where the lowering stands.

The parts that lower blocks, instructions, branches and stops share it. Lanes are alive until they leave the
function; a lane of a region runs a block when it waits there, in the block's own mask.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu import abi
from drawloom.cpu.abi import WARP
from drawloom.cpu.emitter import Emitter, Value, int_const
from drawloom.cpu.frame import Frame
from drawloom.cpu.layouts import Layout
from drawloom.cpu.shapes import UNIFORM, VARYING, Rules, Shape
from drawloom.cpu.structure import Structure
from drawloom.errors import SourceError, UnsupportedError
from drawloom.ptx.cfg import build_cfg
from drawloom.ptx.ir import Address, Function, Instruction, Module, Operand, Register
from drawloom.ptx.isa import ATOMIC, LOAD, STORE
from drawloom.ptx.layout import GlobalsLayout, align_up, local_layout, param_layout
from drawloom.ptx.liveness import before, members

#: A place of a function: a block, and the number of the instruction before which a lane stands there.
Place = tuple[int, int]

#: What a device function returns when the launch has failed; the lanes that left the kernel are below.
_FUNCTION_FAULT: Final = 1 << 32


class NeedsLanes(Exception):
    """A kernel cannot run as vectors of lanes; its reason is the message. It runs lane by lane instead."""


class NeedsWarps(Exception):
    """The threads of a block cannot run as one vector; its reason is the message. They run warp by warp instead."""


class Body:
    """What is known of the function, and the stack slots of its masks.

    ``lanes`` is as in ``Layout``. ``block`` and ``index`` are the place that is being lowered,
    ``live_after`` the registers live behind every instruction of the block.
    """

    def __init__(
        self, module: Module, function: Function, emitter: Emitter, layout: Layout, image: GlobalsLayout,
        has_stack: bool = False,
    ) -> None:  # fmt: skip
        self.module = module
        self.function = function
        self.e = emitter
        lanes = layout.lanes
        self.lanes = lanes
        self.is_kernel = function.is_entry
        self.cfg = build_cfg(function, module)
        local_offsets, local_size = local_layout(function)
        #: Bytes of ``.local`` variables of a lane; from one lane's to the next's; and what a launch provides.
        #: Whether local memory of the kernel is also for ``alloca``.
        self.has_stack = has_stack and self.is_kernel
        self.alignment = self.local_alignment()
        self.local_bytes = self.local_stride = self.thread_bytes = align_up(local_size, self.alignment)
        if self.has_stack:
            stack = abi.DYNAMIC_STACK - abi.STACK_TOP_BYTES
            self.local_stride = align_up(self.local_bytes + stack, self.alignment)
            self.thread_bytes = self.local_stride + abi.STACK_TOP_BYTES
        params = frozenset([v.name for v in function.params]) if self.is_kernel else frozenset[str]()
        others = [v.name for v in function.variables if v.space == "param"]
        if not self.is_kernel:
            others += [v.name for v in function.params + function.returns]
        rules = Rules(
            layout.segment, params, frozenset(local_offsets), self.local_stride, frozenset(others), lanes or WARP
        )
        self.plan = Structure(self.cfg, rules, self.is_kernel)
        if lanes and not self.plan.loops.is_reducible and self.plan.divergent:
            raise NeedsLanes("control flow is irreducible")
        shapes = [s if s is not None and lanes else Shape(UNIFORM) for s in self.plan.shapes]
        if not lanes:
            self.forget_divergence()
        self.f = Frame(module, function, emitter, layout, shapes, image)
        self.f.local_offsets = local_offsets
        self.f.local_stride = self.local_stride
        if self.is_kernel:
            places = param_layout(function)[0]
            self.f.param_offsets = {v.name: p[0] for v, p in zip(function.params, places, strict=True)}
        else:
            self.f.fault_exit = f"  ret i64 {_FUNCTION_FAULT}"
        #: The stack slot of the lanes that are alive.
        self.live = "%live"
        #: Of the lanes that wait at each block of a region.
        self.masks: dict[int, str] = {}
        #: Of the lanes that left the kernel in this device function.
        self.gone = ""
        #: Of the carry flag.
        self.carry = ""
        #: The ``.param`` variables of a kernel's calls.
        self.call_blocks = [v.name for v in function.variables if v.space == "param"]
        self.block = 0
        self.index = 0
        #: The lanes that have come to the current instruction, whatever its guard.
        self.here = self.f.mask
        self.live_after: list[int] = []

    def local_alignment(self) -> int:
        """What lanes' local memory is aligned to, in bytes. Raises UnsupportedError where a variable wants more than
        the memory of a block has, or, beside the tops of the stacks, that of a warp."""
        variables = [v for v in self.function.variables if v.space == "local"]
        most = abi.STACK_TOP_BYTES * max(self.lanes, 1) if self.has_stack else abi.LOCAL_ALIGNMENT
        for variable in variables:
            if variable.alignment > min(most, abi.LOCAL_ALIGNMENT):
                message = f"'{variable.name}' is aligned to {variable.alignment} bytes of local memory"
                expected = f"at most {min(most, abi.LOCAL_ALIGNMENT)} on the cpu device"
                place = self.module.error(SourceError, variable.pos, message, expected)
                raise UnsupportedError(str(place))
        return max([16, *[v.alignment for v in variables]])

    def forget_divergence(self) -> None:
        """A single thread diverges from nobody."""
        plan = self.plan
        plan.waiting = [0] * len(self.cfg.blocks)
        plan.region_of = [-1] * len(self.cfg.blocks)
        plan.region_exit = []
        plan.divergent = set()
        plan.carry = Shape(UNIFORM)

    # -- masks -------------------------------------------------------------------------------------------

    def mask_slot(self, b: int) -> str:
        """The lanes that wait at block ``b`` of a region."""
        name = self.masks.get(b)
        if name is None:
            name = f"%m{b}"
            self.f.no_lanes_slot(name)
            self.masks[b] = name
        return name

    def gone_slot(self) -> str:
        """The lanes that left the kernel inside this device function."""
        if not self.gone:
            self.gone = "%gone"
            self.f.no_lanes_slot("%gone")
        return self.gone

    def reload_mask(self) -> None:
        """After lanes may have left the kernel, or after a resumption, the mask is what is still alive."""
        f = self.f
        live = f.load(self.live, "i1", self.lanes)
        f.mask = live if self.plan.region_of[self.block] < 0 else self.e.binary("and", f.mask, live)

    def leave_lanes(self, gone: Value) -> None:
        """``gone`` leave the kernel: they are no longer live, nor in the current mask."""
        f = self.f
        e = f.e
        stay = e.binary("xor", gone, int_const("i1", 1, self.lanes))
        live = e.binary("and", f.load(self.live, "i1", self.lanes), stay)
        f.store(live, self.live)
        f.mask = e.binary("and", f.mask, stay)
        if not self.is_kernel:
            slot = self.gone_slot()
            f.store(e.binary("or", f.load(slot, "i1", self.lanes), gone), slot)

    def depart(self, gone: Value, is_exit: bool) -> None:
        """Lanes go away for good: from the kernel, or by ``ret`` from this function."""
        f = self.f
        if self.is_kernel or is_exit:
            self.leave_lanes(gone)
            return
        e = f.e
        stay = e.binary("xor", gone, int_const("i1", 1, self.lanes))
        f.store(e.binary("and", f.load(self.live, "i1", self.lanes), stay), self.live)
        f.mask = e.binary("and", f.mask, stay)

    def warp_live(self) -> Value:
        """The lanes of the warp that have not left the kernel, also those that are not in this function: bits."""
        f = self.f
        if self.is_kernel:
            return f.mask_word(f.load(self.live, "i1", self.lanes))
        gone = f.mask_word(f.load(self.gone_slot(), "i1", self.lanes))
        return f.e.binary("and", Value("%alive", "i32", 0), f.e.binary("xor", gone, int_const("i32", -1)))

    # -- registers ---------------------------------------------------------------------------------------

    def carry_lanes(self) -> int:
        return 0 if self.plan.carry is not None and self.plan.carry.kind == UNIFORM else self.lanes

    def carry_slot(self) -> str:
        if not self.carry:
            self.carry = "%carry"
            self.f.allocas.append(f"  %carry = alloca {self.f.slot_type('i1', self.carry_lanes())}")
        return self.carry

    def result_used(self, instruction: Instruction) -> bool:
        live = self.live_after[self.index]
        return any(live >> r.id & 1 for r in instruction.destinations())

    def live_bytes(self) -> int:
        """The most bytes that varying registers, apart from predicates, take at any point of the function."""
        registers = self.function.registers
        bits = [r.type.bits if self.f.shape(r).kind == VARYING and r.type.bits > 1 else 0 for r in registers]
        most = 0
        for b in self.plan.order:
            for live in self.plan.live.live_after(b):
                most = max(most, sum([bits[id] for id in members(live)]))
        return most * self.lanes // 8

    def scatters_in_loops(self) -> bool:
        """Whether some lanes of a loop's round go to memory that is not side by side, while the others wait."""
        for b in self.plan.order:
            if self.plan.region_of[b] >= 0 and self.plan.loops.loop_of[b] >= 0:
                for instruction in self.cfg.blocks[b].instructions:
                    if instruction.opcode.effect in (LOAD, STORE) and any(map(self.is_varying, instruction.operands)):
                        return True
        return False

    def updates_of_their_own(self) -> bool:
        """Whether lanes update memory of their own, one lane after the other, and go through that only once."""
        for b in self.plan.order:
            if self.plan.loops.loop_of[b] < 0:
                for instruction in self.cfg.blocks[b].instructions:
                    if instruction.opcode.effect == ATOMIC and not all(map(self.is_common, instruction.operands)):
                        return True
        return False

    def is_common(self, operand: Operand) -> bool:
        """Whether an operand is no address, or one that all lanes share."""
        if not isinstance(operand, Address) or not isinstance(operand.base, Register):
            return True
        return self.f.shape(operand.base).kind == UNIFORM

    def is_varying(self, operand: Operand) -> bool:
        """Whether an operand is an address that is of no regular shape over the lanes."""
        if not isinstance(operand, Address) or not isinstance(operand.base, Register):
            return False
        return self.f.shape(operand.base).kind == VARYING

    def live_before(self, place: Place) -> int:
        """The registers that lanes need which stand at ``place``."""
        b, index = place
        if index == 0:
            return self.plan.live.live_in[b]
        return before(self.cfg.blocks[b].instructions[index], self.plan.live.live_after(b)[index])

    def live_across(self, instruction: Instruction) -> int:
        """The registers whose values are needed after ``instruction``, apart from what it writes itself."""
        live = self.live_after[self.index]
        if instruction.guard is not None:
            return live
        for register in instruction.destinations():
            live &= ~(1 << register.id)
        return live

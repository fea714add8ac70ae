"""Where a warp stops and goes on: registers saved to the frame of its state, a return, and a label to come back to.

A kernel that stops returns ``abi.BARRIER``, ``YIELD``, ``PAUSE`` or ``WARP_OPERATION``; its next call starts
with a switch to the label behind the stop. Loops that may wait for another thread yield now and then.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu import abi
from drawloom.cpu.body import Body, Place
from drawloom.cpu.call_blocks import live_call_blocks
from drawloom.cpu.emitter import int_const, type_of
from drawloom.cpu.frame import byte_size
from drawloom.cpu.kept import Kept
from drawloom.cpu.shapes import WIDENED
from drawloom.ptx.ir import Instruction
from drawloom.ptx.liveness import members

_ROUNDS_BEFORE_YIELD: Final = 64


class Suspension:
    """The stops of one function.

    ``spinning`` are the headers of loops that may wait for another thread. Afterwards ``resumes`` are the labels
    to go on at, and ``spins`` tells whether a stop waits in a loop.
    """

    def __init__(self, body: Body, spinning: set[int]) -> None:
        self.body = body
        self.f = body.f
        self.e = body.e
        self.lanes = body.lanes
        self.plan = body.plan
        self.spinning = spinning
        self.kept = Kept(body.plan, body.lanes)
        self.held = 0
        self.resumes: list[str] = []
        self.spins = False
        self.fuel = ""
        #: The slot of the block's mask while a guarded instruction runs for some of its lanes.
        self.outer = ""
        #: The numbers of the places where a lane of a warp that parts can go on; of the code for one thread.
        self.entries: dict[Place, int] = {}
        #: Where in the frame such a lane finds what it needs.
        self.handed: dict[str, int] = {}

    def enter_block(self, b: int) -> None:
        """What the frame holds when ``b`` begins."""
        self.held = self.kept.at(b)

    def pass_by(self, instruction: Instruction) -> None:
        """What the frame holds behind an instruction of the current block."""
        body = self.body
        self.held = self.kept.step(instruction, body.live_after[body.index], self.held, body.block)

    def entry_switch(self, parted: str) -> None:
        """Jump to where the state says, or to the beginning; ``parted``: a further case."""
        e = self.e
        if self.resumes:
            at = self.f.word("%state", abi.STATE_RESUME, False)
            cases = " ".join([f"i64 {i + 1}, label %{label}" for i, label in enumerate(self.resumes)]) + parted
            e.line(f"  switch i64 {at.text}, label %start [{cases}]")
        else:
            e.line("  br label %start")

    def suspend(self, status: int, live: int, running: bool = True) -> None:
        """Save the registers in ``live``, return ``status``, and go on here when called again.

        ``running`` says that this is inside a block, whose mask must be kept, too.
        """
        f = self.f
        e = self.e
        f.save_registers()
        slots: list[tuple[str, str]] = [(self.body.live, f.slot_type("i1", self.lanes))]
        held: list[tuple[str, str]] = []
        registers = f.function.registers
        for id in members((live | f.waiting) & ~f.residents):
            register = registers[id]
            where = held if running and self.held >> id & 1 else slots
            where.append((f.memory_of(f.slot(register)), f.slot_type(f.elem_of(register), f.slot_lanes(register))))
            if f.shapes[id].kind == WIDENED:
                where.append((f.memory_of(f.base_slot(register)), type_of("i32", f.rows)))
        if self.plan.carry_lasts:
            slots.append((self.body.carry_slot(), f.slot_type("i1", self.body.carry_lanes())))
        if self.f.local_slot:
            slots.append((self.f.local_slot, "i64"))
        for slot in [*self.masks(running), *([self.outer] if self.outer else [])]:
            slots.append((slot, f.slot_type("i1", self.lanes)))
        part = running and (self.plan.region_of[self.body.block] >= 0 or f.guard is not None)
        if part:
            current = f.alloca("running", f.slot_type("i1", self.lanes))
            f.store(f.mask, current)
            slots.append((current, f.slot_type("i1", self.lanes)))
        label = f"resume{len(self.resumes) + 1}"
        blocks: list[str] = []
        if running:
            sizes = {name: f.block_strides[name] for name in self.body.call_blocks}
            blocks = live_call_blocks(self.body.cfg, self.body.block, self.body.index, sizes)
        for name in blocks:
            self.move_block(name, True)
        for slot, type in slots:
            value = e.fresh()
            e.line(f"  {value} = load {type}, ptr {slot}")
            e.line(f"  store {type} {value}, ptr {self.frame_address(slot, type)}, align 1")
        f.set_word("%state", abi.STATE_RESUME, int_const("i64", len(self.resumes) + 1))
        self.resumes.append(label)
        e.line(f"  ret i64 {status}")
        f.place(label)
        for slot, type in held + slots:
            value = e.fresh()
            e.line(f"  {value} = load {type}, ptr {self.frame_address(slot, type)}, align 1")
            e.line(f"  store {type} {value}, ptr {slot}")
        for name in blocks:
            self.move_block(name, False)
        f.mask = f.load(slots[-1][0] if part else self.body.live, "i1", self.lanes)
        if f.guard is not None:
            f.guard = f.mask

    def masks(self, running: bool) -> list[str]:
        """The slots of the masks of blocks where lanes may wait; behind a block, that is all of its region."""
        b = self.body.block
        region = self.plan.region_of[b]
        if not running:
            return list(self.body.masks.values()) if region >= 0 else []
        return [self.body.mask_slot(c) for c in self.plan.waiting_blocks(b) if self.plan.region_of[c] == region]

    def admit(self, place: Place) -> None:
        """A place where a lane that ran in its warp's vector can go on: its state holds all that it needs there."""
        f = self.f
        e = self.e
        on = f.label("here")
        f.jump(on)
        label = f"resume{len(self.resumes) + 1}"
        self.resumes.append(label)
        self.entries[place] = len(self.resumes)
        f.place(label)
        f.store(f.all_lanes(), self.body.live)
        registers = [f.function.registers[id] for id in members(self.body.live_before(place))]
        slots = [(f"register {r.id}", f.memory_of(f.slot(r)), f.elem_of(r)) for r in registers]
        if self.plan.carry_lasts:
            slots.append(("carry", self.body.carry_slot(), "i1"))
        if self.f.local_slot:
            slots.append(("local", self.f.local_slot, "i64"))
        for name, slot, type in slots:
            value = e.fresh()
            e.line(f"  {value} = load {type}, ptr {self.frame_address(slot, type)}, align 1")
            e.line(f"  store {type} {value}, ptr {slot}")
            self.handed[name] = f.kept_at[slot]
        for name in self.body.call_blocks:
            self.handed[f"param {name}"] = self.block_offset(name)
            self.move_block(name, False)
        f.jump(on)
        f.place(on)
        f.mask = f.load(self.body.live, "i1", 0)

    def block_offset(self, name: str) -> int:
        """Where in the frame a ``.param`` variable of calls is kept, lane after lane."""
        return self.f.keep(self.f.blocks[name], self.f.block_strides[name] * max(self.lanes, 1))

    def move_block(self, name: str, out: bool) -> None:
        """Copy a ``.param`` variable of calls to the frame (``out``), or back."""
        e = self.e
        block = self.f.blocks[name]
        size = self.f.block_strides[name] * max(self.lanes, 1)
        start = 8 * abi.STATE_FRAME + self.block_offset(name)
        at = 0
        while at < size:
            step = 8 if size - at >= 8 else 1
            kept = e.value("ptr", 0, f"getelementptr inbounds i8, ptr %state, i64 {start + at}").text
            used = e.value("ptr", 0, f"getelementptr inbounds i8, ptr {block}, i64 {at}").text
            source, target = (used, kept) if out else (kept, used)
            value = e.value(f"i{8 * step}", 0, f"load i{8 * step}, ptr {source}, align 1")
            e.line(f"  store {value.typed}, ptr {target}, align 1")
            at += step

    def frame_address(self, slot: str, type: str) -> str:
        """Where in the state's frame a stack slot is kept."""
        offset = self.f.keep(slot, byte_size(type))
        return self.e.value("ptr", 0, f"getelementptr inbounds i8, ptr %state, i64 {8 * abi.STATE_FRAME + offset}").text

    # -- loops -------------------------------------------------------------------------------------------

    def back_edge(self, header: int) -> None:
        """A loop starts over: a place to notice that the launch was cancelled."""
        f = self.f
        e = self.e
        at = f.word_pointer("%launch", abi.LAUNCH_CANCEL)
        cancel = e.value("i64", 0, f"load atomic i64, ptr {at} monotonic, align 8")
        on, stop = f.label("again"), f.label("cancelled")
        f.branch_expected(e.icmp("eq", cancel, int_const("i64", 0)), on, stop)
        f.place(stop)
        f.leave_with_fault()
        f.place(on)
        spins = header in self.spinning
        if self.body.is_kernel and (spins or not self.lanes):
            self.breathe(header, spins)

    def breathe(self, header: int, spins: bool) -> None:
        """Now and then let the other warps (threads, lane by lane) run: this loop may wait for one of them."""
        f = self.f
        e = self.e
        self.spins = self.spins or spins
        if not self.fuel:
            self.fuel = "%fuel"
            f.allocas.append("  %fuel = alloca i32")
            f.allocas.append(f"  store i32 {_ROUNDS_BEFORE_YIELD}, ptr %fuel")
        left = e.binary("sub", f.load(self.fuel, "i32", 0), int_const("i32", 1))
        f.store(left, self.fuel)
        on, stop = f.label("goes"), f.label("yields")
        f.branch_expected(e.icmp("ne", left, int_const("i32", 0)), on, stop)
        f.place(stop)
        live = self.plan.live.live_in[header]
        region = self.plan.region_of[header]
        if region >= 0:
            for b in [*[c for c in self.plan.order if self.plan.region_of[c] == region], self.plan.region_exit[region]]:
                if b >= 0:
                    live |= self.plan.live.live_in[b]
                    if self.plan.region_of[b] == region:
                        self.body.mask_slot(b)
        pos = self.body.cfg.blocks[header].instructions[0].pos if self.body.cfg.blocks[header].instructions else -1
        f.set_word("%state", abi.STATE_POS, int_const("i64", pos))
        self.suspend(abi.YIELD if spins else abi.PAUSE, live, False)
        f.jump(on)
        f.place(on)

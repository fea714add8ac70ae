"""Calls of functions that do something for one active lane after the other: scattered stores, updates of shared memory.

A kernel may have hundreds of such places. Each passes its vectors in memory to a function that all alike ones share.
"""

from __future__ import annotations

from collections.abc import Callable

from drawloom.cpu.emitter import Value, int_const
from drawloom.cpu.frame import Frame
from drawloom.cpu.lane_loops import LaneLoops

#: Emits what is done with the address and the values of one lane.
ForLane = Callable[[Value, list[Value]], None]


class LaneCalls(LaneLoops):
    """The calls of one function, and where it passes vectors."""

    def __init__(self, frame: Frame) -> None:
        super().__init__(frame)
        #: Stack slots by place among the arguments and element type.
        self.slots: dict[str, str] = {}

    def call(self, name: str, base: Value, offsets: Value, values: list[Value], emit: ForLane) -> None:
        """Do what ``emit`` emits for each active lane, lowest first, by a function whose name begins with ``name``.

        The address is ``base`` plus the lane's offset. Values are one for each lane, or one for all.
        """
        f = self.f
        e = f.e
        mask = f.mask_bits(f.mask)
        shapes = [f"{v.elem}{'' if v.lanes else '.all'}" for v in values]
        name = ".".join([name, offsets.elem, str(f.lanes), *shapes])
        if name not in e.functions:
            e.functions[name] = self.function(name, offsets.elem, values, emit)
        passed = [f"ptr {self.passed(v, i)}" if v.lanes else v.typed for i, v in enumerate(values)]
        at = self.passed(offsets, len(values))
        e.line(f"  call void @{name}({', '.join([base.typed, f'ptr {at}', *passed, mask.typed])})")

    def passed(self, value: Value, place: int) -> str:
        """The slot of a vector, for as long as a call takes; ``place`` is its place among the arguments."""
        key = f"{place} {value.elem}"
        slot = self.slots.get(key)
        if slot is None:
            slot = self.slots[key] = self.f.alloca("passed", value.type, 64)
        self.f.store(value, slot)
        return slot

    def function(self, name: str, offset_elem: str, values: list[Value], emit: ForLane) -> list[str]:
        """The text of the function: straight through when all lanes take part, else a loop over those that do."""
        f = self.f
        e = f.e
        bits = f"i{f.lanes}"
        outer, e.lines = e.lines, []

        def for_lane(lane: Value) -> None:
            offset = e.cast("sext", self.element("%offsets", offset_elem, lane), "i64")
            given = [
                self.element(f"%value{i}", v.elem, lane) if v.lanes else Value(f"%value{i}", v.elem, 0)
                for i, v in enumerate(values)
            ]
            emit(e.binary("add", Value("%base", "i64", 0), offset), given)

        parameters = [f"{'ptr' if v.lanes else v.elem} %value{i}" for i, v in enumerate(values)]
        header = ", ".join(["i64 %base, ptr %offsets", *parameters, f"{bits} %mask"])
        e.line(f"define internal void @{name}({header}) #2 {{")
        e.line("start:")
        mask = Value("%mask", bits, 0)
        every = e.icmp("eq", mask, int_const(bits, -1))
        e.line(f"  br {every.typed}, label %every, label %some, !prof !1")
        e.line("every:")
        for number in range(f.lanes):
            for_lane(int_const("i32", number))
        e.line("  ret void")
        e.line("some:")
        none = e.icmp("eq", mask, int_const(bits, 0))
        e.line(f"  br {none.typed}, label %done, label %lane")
        e.line("lane:")
        left = Value("%left", bits, 0)
        e.line(f"  %left = phi {bits} [ %mask, %some ], [ %rest, %lane ]")
        for_lane(f.first_bit(left))
        e.line(f"  %rest = and {bits} %left, {e.binary('sub', left, int_const(bits, 1)).text}")
        last = e.icmp("eq", Value("%rest", bits, 0), int_const(bits, 0))
        e.line(f"  br {last.typed}, label %done, label %lane")
        e.line("done:")
        e.line("  ret void")
        e.line("}")
        made, e.lines = e.lines, outer
        return made

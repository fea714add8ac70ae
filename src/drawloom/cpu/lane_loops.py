"""Loops over the lanes of a mask: what has no vector instruction is done for one lane at a time."""

from __future__ import annotations

from drawloom.cpu.emitter import Value, int_const
from drawloom.cpu.frame import Frame


class LaneLoops:
    """Opens and closes loops over lanes in one function's frame."""

    def __init__(self, frame: Frame) -> None:
        self.f = frame
        #: The innermost open loop over lanes: its slot for the lanes that are left, its labels.
        self.left = ""
        self.left_elem = "i32"
        self.head = ""
        self.tail = ""

    def spill(self, value: Value) -> str:
        """A vector in memory, so that a lane can be picked by number."""
        slot = self.f.alloca("lanes", value.type, 64)
        self.f.store(value, slot)
        return slot

    def element(self, slot: str, elem: str, lane: Value) -> Value:
        at = self.f.e.value("ptr", 0, f"getelementptr inbounds {elem}, ptr {slot}, {lane.typed}")
        return self.f.load(at.text, elem, 0)

    def set_element(self, slot: str, value: Value, lane: Value) -> None:
        at = self.f.e.value("ptr", 0, f"getelementptr inbounds {value.elem}, ptr {slot}, {lane.typed}")
        self.f.store(value, at.text)

    def lane_loop_begin(self, mask: Value) -> Value:
        """Open a loop over the set lanes, lowest first; returns the lane's number as an i32."""
        f = self.f
        e = f.e
        bits = f.mask_bits(mask)
        if 0 < mask.lanes < 32:  # a row of lanes
            bits = e.cast("zext", bits, "i32")
        self.left_elem = bits.elem
        self.left = f.alloca("left", bits.elem)
        self.head, self.tail = f.label("lane"), f.label("lanes")
        f.store(bits, self.left)
        start = f.load(self.left, bits.elem, 0)
        f.fork(e.icmp("ne", start, int_const(bits.elem, 0)), self.head, self.tail)
        f.arm(self.head)
        left = f.load(self.left, bits.elem, 0)
        rest = e.binary("and", left, e.binary("sub", left, int_const(bits.elem, 1)))
        f.store(rest, self.left)
        return f.first_bit(left)

    def lane_loop_end(self) -> None:
        f = self.f
        left = f.load(self.left, self.left_elem, 0)
        again = f.e.icmp("ne", left, int_const(self.left_elem, 0))
        f.e.line(f"  br i1 {again.text}, label %{self.head}, label %{self.tail}")
        f.join(self.tail)

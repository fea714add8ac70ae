"""What a selector knows of PTX registers: written once, never written, constants, copies, how often they are read.

A register is *settled* when one unguarded instruction writes it and no path reads it before: its definition then
dominates its reads, as in SSA form, and whatever computes it may be moved down to them or forgotten for a copy.
"""

from __future__ import annotations

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.ir import Register
from drawloom.ptx.liveness import Liveness


class Definitions:
    """Per register id: `instruction` is the one definition of a settled register, None for others; `reads` counts
    how often it is read; `reader` is what reads it last."""

    def __init__(self, cfg: Cfg, live: Liveness) -> None:
        uses = live.uses
        self.reads = uses.reads
        self.reader = uses.reader
        self.instruction = list(uses.definition)
        for id in uses.unsettled:
            self.instruction[id] = None
        for id in live.ids(live.into[0]):
            self.instruction[id] = None
        for parameter in cfg.function.params:
            if parameter.register is not None:
                self.instruction[parameter.register.id] = None

    def settled(self, register: Register) -> bool:
        return self.instruction[register.id] is not None

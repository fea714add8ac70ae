"""Seeds to small PTX programs that mean the same on every correct device: the input of the differential fuzzer.

Programs are deterministic by construction. Every register of a pool is initialised before the body; threads write
only their own slots of the output, and shared slots of their own between barriers; several threads meet in one word
only with an operation whose order does not matter; the bits of a NaN are made canonical before anything but floating
point sees them; integer divisors are odd; no ``.approx`` result is compared.
"""

from __future__ import annotations

import random

import numpy as np

from drawloom.ptx.types import TYPES
from tools.programs.control import ControlFlow
from tools.programs.program import (
    ACCUMULATORS,
    DECLARED,
    EDGES,
    INPUT_WORDS,
    LOCAL_BYTES,
    PRIVATE_SLOTS,
    TABLE_WORDS,
    Program,
)
from tools.programs.writer import Registers


def generate(seed: int, sm: int = 0) -> Program:
    """The program of ``seed``; the same on every machine and run. ``sm`` is the target whose instructions it keeps
    to; 0 leaves it to the seed."""
    return Generator(seed, sm).program()


class Generator(ControlFlow):
    """Chooses the shape of the launch and writes the frame around the statements."""

    def __init__(self, seed: int, sm: int = 0) -> None:
        super().__init__(seed, sm)
        self._choose_shape()
        if sm:  # such programs are for machine code, where members at several instructions do not meet (docs/sass.md)
            self.uses_meetings = False

    def _choose_shape(self) -> None:
        pick = self.random
        shapes = [
            (32, 1, 1), (64, 1, 1), (96, 1, 1), (33, 1, 1), (48, 1, 1), (7, 1, 1), (8, 4, 1), (16, 3, 1), (5, 5, 1),
            (32, 2, 1), (4, 4, 4), (3, 3, 3), (1, 1, 1), (70, 1, 1), (1, 40, 1), (64, 1, 1), (8, 8, 1), (16, 8, 1),
            (12, 4, 1), (24, 2, 2), (48, 2, 1),
        ]  # fmt: skip
        self.block = pick.choice(shapes)
        self.threads = self.block[0] * self.block[1] * self.block[2]
        blocks = 1 if self.threads > 64 else pick.choice([1, 1, 2, 3])
        self.grid = (blocks, 1, 1) if pick.random() < 0.7 else (1, blocks, 1)
        self.blocks = blocks
        classes = ["s", "l", "f", "d", "h", "hh"]
        classes += ["bh", "bhh"] if self.sm >= 90 else []
        classes += ["ff"] if self.sm >= 100 else []
        chosen = pick.sample(classes, pick.randint(1, 4))
        if "ff" in chosen and "l" not in chosen:
            chosen.append("l")
        if "d" in chosen and "l" not in chosen:
            chosen.append("l")
        pools = {"p": 3, "r": pick.randint(3, 5)}
        pools.update({c: pick.randint(2, 3) for c in classes if c in chosen})
        # Halves cross over to integers through 16-bit registers.
        if ("h" in pools or "bh" in pools) and "s" not in pools:
            pools["s"] = 2
        self.pools = pools
        self.kernel_registers = Registers(pools)
        self.registers = self.kernel_registers
        self.uses_shared = pick.random() < 0.45
        self.dynamic_shared = self.uses_shared and pick.random() < 0.3
        self.uses_table = pick.random() < 0.3
        self.table_space = pick.choice(["const", "global"])
        self.uses_local = pick.random() < 0.3
        # Of its own stream: programs without a stack stay what they were.
        self.uses_stack = random.Random(f"stack {self.seed}").random() < 0.15
        self.uses_meetings = random.Random(f"meetings {self.seed}").random() < 0.15
        self.full_warps = self.threads % 32 == 0
        self.slots = sum([n for c, n in pools.items()]) + PRIVATE_SLOTS

    def program(self) -> Program:
        pick = self.random
        if pick.random() < 0.25:
            for index in range(pick.randint(1, 2)):
                self._write_function(f"device{index}")
        self.lines = []
        self.registers = self.kernel_registers
        self.in_kernel = True
        self._prologue()
        self.budget = pick.randint(8, 40)
        self.statements(0, True)
        self._epilogue()
        kernel = self.lines
        text = "\n".join([*self._header(), *self.function_text, *self._kernel_head(), *kernel, "ret;", "}", ""])
        data = np.random.default_rng(self.seed)
        edges = np.array(EDGES, np.uint32)
        choice = data.choice(edges, INPUT_WORDS)
        noise = data.integers(0, 1 << 32, INPUT_WORDS, dtype=np.uint64).astype(np.uint32)
        kind = data.random(INPUT_WORDS)
        words = np.where(kind < 0.45, choice, noise)
        small = data.integers(-40, 40, INPUT_WORDS).astype(np.int32).view(np.uint32)
        words = np.where(kind > 0.8, small, words).astype(np.uint32)
        output = np.arange(self.threads * self.blocks * self.slots * 2, dtype=np.uint32) * np.uint32(0x01000193)
        accumulators = np.zeros(ACCUMULATORS * 2, np.uint32)
        shared = self.threads * 8 + 64 if self.dynamic_shared else 0
        return Program(
            self.seed, text, self.grid, self.block, shared, words, output.astype(np.uint32), accumulators,
            pick.randint(0, 5),
        )  # fmt: skip

    def _header(self) -> list[str]:
        out = [".version 8.6", f".target sm_{self.sm}", ".address_size 64"]
        if self.uses_table:
            values = [self.random.choice(EDGES) for _ in range(TABLE_WORDS)]
            out.append(f".{self.table_space} .align 8 .b32 table[{TABLE_WORDS}] = {{{', '.join(map(str, values))}}};")
        if self.uses_shared:
            if self.dynamic_shared:
                out.append(".extern .shared .align 16 .b8 scratch[];")
            else:
                out.append(f".shared .align 16 .b8 scratch[{self.threads * 8 + 64}];")
        return out

    def _kernel_head(self) -> list[str]:
        out = [
            ".visible .entry k(.param .u64 input, .param .u64 output, .param .u64 accumulators, .param .u32 n)",
            "{",
            *self.registers.declarations(),
        ]
        if self.uses_local:
            out.append(f".local .align 16 .b8 frame[{LOCAL_BYTES}];")
        return out

    def _prologue(self) -> None:
        """Pointers, the thread's number, and a value in every pool register and every own byte of memory."""
        r = self.registers
        self.input, self.out, self.acc = r.new("u64"), r.new("u64"), r.new("u64")
        self.tid, self.gtid, self.n = r.new("u32"), r.new("u32"), r.new("u32")
        t, u = r.new("u32"), r.new("u32")
        for register, name in ((self.input, "input"), (self.out, "output"), (self.acc, "accumulators")):
            self.emit(f"ld.param.u64 {register}, [{name}];")
        if self.random.random() < 0.5:
            self.emit(f"cvta.to.global.u64 {self.input}, {self.input};")
        self.emit(f"ld.param.u32 {self.n}, [n];")
        self.emit(f"mov.u32 {self.tid}, %tid.x;")
        if self.block[1] > 1:
            self.emit(f"mov.u32 {t}, %tid.y;")
            self.emit(f"mov.u32 {u}, %ntid.x;")
            self.emit(f"mad.lo.u32 {self.tid}, {t}, {u}, {self.tid};")
        if self.block[2] > 1:
            self.emit(f"mov.u32 {t}, %tid.z;")
            self.emit(f"mad.lo.u32 {self.tid}, {t}, {self.block[0] * self.block[1]}, {self.tid};")
        self.emit(f"mov.u32 {t}, %ctaid.{'x' if self.grid[0] >= self.grid[1] else 'y'};")
        self.emit(f"mad.lo.u32 {self.gtid}, {t}, {self.threads}, {self.tid};")
        offset = r.new("u64")
        self.emit(f"mul.wide.u32 {offset}, {self.gtid}, {self.slots * 8};")
        self.emit(f"add.u64 {self.out}, {self.out}, {offset};")
        start = r.new("u64")
        total = sum([n for c, n in self.pools.items()])
        stride = min(total * 8, 64)
        self.emit(f"mul.wide.u32 {start}, {self.gtid}, {stride};")
        limit = INPUT_WORDS * 4 - total * 8
        mask = 1 << (limit.bit_length() - 1)
        self.emit(f"and.b64 {start}, {start}, {(mask - 1) & ~7};")
        self.emit(f"add.u64 {start}, {start}, {self.input};")
        at = 0
        for cls, names in r.pools.items():
            for name in names:
                self._initialise(cls, name, start, at)
                at += 8
        if self.uses_local:
            for k in range(0, LOCAL_BYTES, 16):
                value = self.reg("r")
                self.emit(f"st.local.v4.b32 [frame+{k}], {{{value}, {self.reg('r')}, {value}, {self.reg('r')}}};")
        if self.uses_shared:
            self._initialise_shared()

    def _initialise(self, cls: str, name: str, start: str, at: int) -> None:
        if cls == "p":
            t = self.new("b32")
            self.emit(f"ld.global.u32 {t}, [{start}+{at}];")
            self.emit(f"setp.lt.s32 {name}, {t}, {self.random.choice([0, 1, 100])};")
        else:
            self.emit(f"ld.global.{DECLARED[cls]} {name}, [{start}+{at}];")

    def _initialise_shared(self) -> None:
        self.shared_base, self.shared_own = self.new("u32"), self.new("u32")
        zero = self.new("b64")
        self.emit(f"mov.u32 {self.shared_base}, scratch;")
        self.emit(f"mad.lo.u32 {self.shared_own}, {self.tid}, 8, {self.shared_base};")
        self.emit(f"cvt.u64.u32 {zero}, {self.tid};")
        self.emit(f"st.shared.b64 [{self.shared_own}], {zero};")
        first = self.new("pred")
        self.emit(f"setp.eq.u32 {first}, {self.tid}, 0;")
        for k in range(8):
            self.emit(f"@{first} st.shared.b64 [{self.shared_base}+{self.threads * 8 + 8 * k}], 0;")
        self.emit("bar.sync 0;")

    def _epilogue(self) -> None:
        """Every pool register goes to the thread's slots, floats with canonical NaNs."""
        at = 0
        for cls, names in self.registers.pools.items():
            for name in names:
                if cls == "p":
                    t = self.new("b32")
                    self.emit(f"selp.b32 {t}, 1, 0, {name};")
                    self.emit(f"st.global.b32 [{self.out}+{at}], {t};")
                else:
                    value = self.as_bits(cls, name)
                    width = TYPES[DECLARED[cls]].bits
                    self.emit(f"st.global.b{width} [{self.out}+{at}], {value};")
                at += 8

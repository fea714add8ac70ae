"""What all statements are written with: lines, labels, registers, and bits of floats that every device agrees on."""

from __future__ import annotations

import random

from drawloom.ptx.types import TYPES
from tools.programs.program import CANONICAL, DECLARED


class Registers:
    """Names of one function's registers: pools that random operations write, and fresh ones that they do not."""

    def __init__(self, pools: dict[str, int]) -> None:
        self.pools = {c: [f"%{c}{i}" for i in range(n)] for c, n in pools.items()}
        self.fresh: dict[str, int] = {}

    def new(self, declared: str) -> str:
        """A register of its own, declared as ``.declared``."""
        index = self.fresh.get(declared, 0)
        self.fresh[declared] = index + 1
        return f"%t_{declared}_{index}"

    def declarations(self) -> list[str]:
        out = [f".reg .{DECLARED[c]} {', '.join(names)};" for c, names in self.pools.items() if names]
        out += [f".reg .{declared} %t_{declared}_<{count}>;" for declared, count in self.fresh.items()]
        return out


class Device:
    """A device function that the kernel may call: classes of its parameters and of its result."""

    def __init__(self, name: str, params: list[str], result: str, recursive: bool) -> None:
        self.name = name
        self.params = params
        self.result = result
        self.recursive = recursive


class Writer:
    """Writes one program; ``lines`` is the function being written. Subclasses add kinds of statements."""

    def __init__(self, seed: int, sm: int = 0) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        chosen = 100 if self.random.random() < 0.1 else 90
        self.sm = sm or chosen
        self.lines: list[str] = []
        self.labels = 0
        self.functions: list[Device] = []
        self.function_text: list[str] = []
        self.in_kernel = True
        self.budget = 0
        self.registers = Registers({})
        self.pools: dict[str, int] = {}
        self.uses_local = self.uses_shared = self.uses_table = self.uses_stack = False
        self.uses_meetings = False
        self.table_space = "const"
        self.slots = 0
        self.threads = 1
        self.blocks = 1
        self.full_warps = False
        self.exited = self.chained = False
        self.in_uniform_loop = False
        # Registers of the kernel that statements may rely on; the prologue sets them.
        self.input = self.out = self.acc = ""
        self.tid = self.gtid = self.n = ""
        self.shared_base = self.shared_own = ""

    def statements(self, depth: int, uniform: bool) -> None:
        """A run of statements; ``uniform`` says that all threads of the block execute it together."""
        raise NotImplementedError

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def reg(self, cls: str) -> str:
        return self.random.choice(self.registers.pools[cls])

    def new(self, declared: str) -> str:
        return self.registers.new(declared)

    def as_bits(self, cls: str, name: str) -> str:
        """A register with the bits of ``name``, in which every NaN is the canonical one."""
        if cls in ("s", "r", "l"):
            return name
        width = TYPES[DECLARED[cls]].bits
        t = self.new(f"b{width}")
        if cls in ("f", "d"):
            q = self.new("pred")
            self.emit(f"mov.b{width} {t}, {name};")
            self.emit(f"testp.notanumber.f{width} {q}, {name};")
            self.emit(f"selp.b{width} {t}, {CANONICAL[cls]}, {t}, {q};")
        elif cls in ("h", "bh"):
            q = self.new("pred")
            self.emit(f"setp.nan.{'f16' if cls == 'h' else 'bf16'} {q}, {name}, {name};")
            self.emit(f"selp.b16 {t}, {CANONICAL[cls]}, {name}, {q};")
        elif cls == "ff":
            parts = [self.new("f32"), self.new("f32")]
            self.emit(f"mov.b64 {{{parts[0]}, {parts[1]}}}, {name};")
            low, high = self.as_bits("f", parts[0]), self.as_bits("f", parts[1])
            self.emit(f"mov.b64 {t}, {{{low}, {high}}};")
        else:
            half = "h" if cls == "hh" else "bh"
            parts = [self.new("b16"), self.new("b16")]
            self.emit(f"mov.b32 {{{parts[0]}, {parts[1]}}}, {name};")
            low, high = self.as_bits(half, parts[0]), self.as_bits(half, parts[1])
            self.emit(f"mov.b32 {t}, {{{low}, {high}}};")
        return t

"""Seeds to programs of index arithmetic: sums, products and shifts of a few values with small constants, in blocks that
dominate each other, and loads and stores at addresses made of them, generic ones of every space too; and a few places
of each thread in global, shared and local memory that are written and read again and again, by halves and bytes, too;
and the same instruction behind a branch that bounds its operands and where nothing does.
The optimiser's passes over integers, pointers and memory find more here than in the programs of ``generator``."""

from __future__ import annotations

import random

import numpy as np

from tools.programs.program import ACCUMULATORS, EDGES, INPUT_WORDS, Program

THREADS = 4
#: 8-byte slots of a thread in the output, and elements of the tile that is read at computed places.
SLOTS = 96
TILE = 64
#: Bytes of a thread's own that are written and read again, in each space.
SCRATCH = 32
#: Registers with the address of those: global, shared as such and as a generic address, local.
SCRATCHES = (("own", "global", SLOTS * 8), ("mine", "shared", 0), ("any", "", 0), ("frame", "local", 0))


def generate_indices(seed: int) -> Program:
    """The program of ``seed``; the same on every machine and run."""
    return _Writer(seed).program()


class _Writer:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(f"indices {seed}")
        self.lines: list[str] = []
        self.count = {32: 0, 64: 0}
        self.values: dict[int, list[str]] = {32: [], 64: []}
        self.slot = 0
        self.labels = 0

    def new(self, bits: int) -> str:
        self.count[bits] += 1
        return f"%{'r' if bits == 32 else 'd'}{self.count[bits]}"

    def emit(self, line: str) -> None:
        self.lines.append(f"    {line};")

    def value(self, bits: int) -> str:
        """A recent value, as a rule: chains grow."""
        known = self.values[bits]
        return self.random.choice(known[-6:] if self.random.random() < 0.6 else known)

    def constant(self) -> int:
        return self.random.choice([0, 1, 1, 2, 3, 4, 8, 12, -1, -2, -4, 16, 100, -100, 1 << 20, (1 << 31) - 1])

    def operand(self, bits: int) -> str:
        return str(self.constant()) if self.random.random() < 0.35 else self.value(bits)

    def operation(self) -> None:
        """One value more."""
        pick = self.random
        bits = pick.choice([32, 64, 64])
        type = pick.choice("us") + str(bits)
        kind = pick.choice("add add add sub mul mad shl neg wide madwide cvt narrow and div".split())
        if kind in ("wide", "madwide", "cvt"):
            bits = 64
        if kind == "narrow":
            bits = 32
        out = self.new(bits)
        sign = pick.choice("us")
        if kind in ("add", "sub"):
            self.emit(f"{kind}.{type} {out}, {self.value(bits)}, {self.operand(bits)}")
        elif kind == "mul":
            self.emit(f"mul.lo.{type} {out}, {self.value(bits)}, {self.operand(bits)}")
        elif kind == "mad":
            self.emit(f"mad.lo.{type} {out}, {self.value(bits)}, {self.operand(bits)}, {self.operand(bits)}")
        elif kind == "shl":
            self.emit(f"shl.b{bits} {out}, {self.value(bits)}, {pick.choice([0, 1, 2, 2, 3, 4, 31, 63])}")
        elif kind == "neg":
            self.emit(f"neg.s{bits} {out}, {self.value(bits)}")
        elif kind == "wide":
            self.emit(f"mul.wide.{sign}32 {out}, {self.value(32)}, {self.operand(32)}")
        elif kind == "madwide":
            self.emit(f"mad.wide.{sign}32 {out}, {self.value(32)}, {self.operand(32)}, {self.value(64)}")
        elif kind == "cvt":
            self.emit(f"cvt.{sign}64.{sign}32 {out}, {self.value(32)}")
        elif kind == "narrow":
            self.emit(f"cvt.u32.u64 {out}, {self.value(64)}")
        elif kind == "div":
            self.division(bits, type, out)
        else:
            self.emit(f"and.b{bits} {out}, {self.value(bits)}, {pick.choice([7, 63, 255, 4095])}")
        self.values[bits].append(out)

    def division(self, bits: int, type: str, out: str) -> None:
        """By an odd positive number; now and then the other result of the same operands."""
        pick = self.random
        positive, odd, value = self.new(bits), self.new(bits), self.value(bits)
        self.emit(f"and.b{bits} {positive}, {self.value(bits)}, {pick.choice([255, 65535, (1 << bits - 1) - 1])}")
        self.emit(f"or.b{bits} {odd}, {positive}, 1")
        first, second = pick.choice([("div", "rem"), ("rem", "div")])
        self.emit(f"{first}.{type} {out}, {value}, {odd}")
        if pick.random() < 0.4:
            other = self.new(bits)
            self.emit(f"{second}.{type} {other}, {value}, {odd}")
            self.values[bits].append(other)

    def store(self, bits: int, value: str) -> None:
        if self.slot < SLOTS:
            self.emit(f"st.global.u{bits} [%own+{self.slot * 8}], {value}")
            self.slot += 1

    def access(self) -> None:
        """A load, and now and then a store, of a tile at an index that was made small, with constants around it."""
        pick = self.random
        space = pick.choice(["input", "shared", "local"])
        index, scaled, place = self.new(64), self.new(64), self.new(64)
        self.emit(f"and.b64 {index}, {self.value(64)}, {TILE // 4 - 1}")
        if pick.random() < 0.5:
            more = self.new(64)
            self.emit(f"add.s64 {more}, {index}, {pick.randint(0, 7)}")
            index = more
        self.emit(f"shl.b64 {scaled}, {index}, 2")
        self.emit(f"add.{pick.choice('us')}64 {place}, %{space}, {scaled}")
        offset = 4 * pick.randint(0, 8)
        if pick.random() < 0.5:
            more = self.new(64)
            self.emit(f"add.s64 {more}, {place}, {4 * pick.randint(0, 8)}")
            place = more
        out = self.new(32)
        if space == "local" and pick.random() < 0.5:
            self.emit(f"st.u32 [{place}+{offset}], {self.value(32)}")
        self.emit(f"ld.u32 {out}, [{place}+{offset}]")
        self.values[32].append(out)

    def scratch(self) -> None:
        """A store or a load of one of a few bytes, now and then at a place that is only known when it runs."""
        pick = self.random
        name, space, start = pick.choice(SCRATCHES)
        type = pick.choice("u32 u32 b32 s32 u64 u16 s16 u8".split())
        bytes = int(type[1:]) // 8
        offset = start + pick.randrange(0, SCRATCH // 2, bytes)
        base = f"%{name}"
        if pick.random() < 0.3:
            index = self.new(64)
            base = self.new(64)
            self.emit(f"and.b64 {index}, {self.value(64)}, {SCRATCH // 2 - bytes & -bytes}")
            self.emit(f"add.u64 {base}, %{name}, {index}")
        where = f"{'.' + space if space else ''}.{type}"
        bits = 64 if bytes == 8 else 32
        if pick.random() < 0.5:
            guard = f"@{pick.choice(['', '!'])}%first " if pick.random() < 0.15 else ""
            self.emit(f"{guard}st{where} [{base}+{offset}], {self.value(bits)}")
        else:
            out = self.new(bits)
            self.emit(f"ld{where} {out}, [{base}+{offset}]")
            self.values[bits].append(out)

    def statements(self, depth: int) -> None:
        pick = self.random
        for _ in range(pick.randint(4, 14)):
            chance = pick.random()
            if chance < 0.57:
                self.operation()
            elif chance < 0.74:
                self.scratch()
            elif chance < 0.84:
                self.access()
            elif chance < 0.92 or depth > 2:
                bits = pick.choice([32, 64])
                self.store(bits, self.value(bits))
            elif chance < 0.95:
                self.bounded()
            elif chance < 0.97:
                self.branch(depth)
            else:
                self.loop(depth)

    def branch(self, depth: int) -> None:
        """Values of the side stay in it."""
        self.labels += 1
        label, predicate = f"L{self.labels}", f"%p{self.labels}"
        self.emit(f"setp.lt.s32 {predicate}, {self.value(32)}, {self.constant()}")
        self.emit(f"@{predicate} bra {label}")
        known = {bits: list(names) for bits, names in self.values.items()}
        self.statements(depth + 1)
        self.values = known
        self.lines.append(f"{label}:")

    def bounded(self) -> None:
        """A branch that bounds a value, and the same arithmetic and comparisons of it on the side, where sums may be
        sure not to wrap and comparisons to come out alike, and behind, where they are not."""
        pick = self.random
        self.labels += 1
        label, predicate = f"L{self.labels}", f"%p{self.labels}"
        value = self.value(32)
        compare = f"{pick.choice(['ge', 'gt', 'lt'])}.{pick.choice('su')}32"
        self.emit(f"setp.{compare} {predicate}, {value}, {pick.choice(EDGES)}")
        self.emit(f"@{predicate} bra {label}")
        known = {bits: list(names) for bits, names in self.values.items()}
        forms = [(pick.choice("add add shl test test".split()), self.constant(), pick.choice("su")) for _ in range(3)]
        self.repeated(value, forms)
        self.store(32, self.value(32))
        self.store(64, self.value(64))
        self.values = known
        self.lines.append(f"{label}:")
        self.repeated(value, forms)

    def repeated(self, value: str, forms: list[tuple[str, int, str]]) -> None:
        for kind, constant, sign in forms:
            out, wide = self.new(32), self.new(64)
            if kind == "test":
                self.labels += 1
                self.emit(f"setp.lt.{sign}32 %p{self.labels}, {value}, {constant}")
                self.emit(f"selp.b32 {out}, {value}, {constant}, %p{self.labels}")
            else:
                operation = f"add.{sign}32" if kind == "add" else "shl.b32"
                self.emit(f"{operation} {out}, {value}, {constant if kind == 'add' else constant % 31}")
            self.emit(f"cvt.{sign}64.{sign}32 {wide}, {out}")
            self.values[32].append(out)
            self.values[64].append(wide)

    def loop(self, depth: int) -> None:
        """A few rounds; a number and a pointer into the shared tile go along."""
        self.labels += 1
        label, predicate = f"L{self.labels}", f"%p{self.labels}"
        index, pointer, got = self.new(32), self.new(64), self.new(32)
        self.emit(f"mov.u32 {index}, 0")
        self.emit(f"mov.u64 {pointer}, %shared")
        self.lines.append(f"{label}:")
        self.emit(f"ld.u32 {got}, [{pointer}+{4 * self.random.randint(0, 8)}]")
        known = {bits: list(names) for bits, names in self.values.items()}
        self.values[32] += [index, got]
        self.statements(depth + 2)
        self.values = known
        self.emit(f"add.u64 {pointer}, {pointer}, 4")
        self.emit(f"add.u32 {index}, {index}, 1")
        self.emit(f"setp.lt.u32 {predicate}, {index}, {self.random.randint(1, 4)}")
        self.emit(f"@{predicate} bra {label}")
        self.values[32] += [index, got]

    def program(self) -> Program:
        emit = self.emit
        for k in range(4):
            register = self.new(32)
            emit(f"ld.global.u32 {register}, [%input+{4 * k}]")
            self.values[32].append(register)
            register = self.new(64)
            emit(f"ld.global.u64 {register}, [%input+{32 + 8 * k}]")
            self.values[64].append(register)
        self.values[32].append("%tid")
        for _ in range(3):
            self.statements(0)
        for name, space, start in SCRATCHES:
            for offset in range(0, SCRATCH if space != "local" else 0, 8):
                emit(f"ld{'.' + space if space else ''}.u64 %offset, [%{name}+{start + offset}]")
                self.store(64, "%offset")
        for bits in (32, 64):
            for name in self.values[bits]:
                self.store(bits, name)
        fill = [f"    st.local.u32 [frame+{4 * k}], {k * 77};" for k in range(TILE)]
        fill += [f"    st.{space}.u64 [%{name}+{start + 8 * k}], {k * 55};" for name, space, start in SCRATCHES if space
                 for k in range(SCRATCH // 8)]  # fmt: skip
        share = [f"    st.shared.u32 [tile+{4 * k}], {k * 99};" for k in range(TILE)]
        text = "\n".join(
            [
                ".version 8.6", ".target sm_80", ".address_size 64", f".shared .align 8 .b8 tile[{4 * TILE}];",
                f".shared .align 8 .b8 mine[{THREADS * SCRATCH}];",
                ".visible .entry k(.param .u64 input, .param .u64 output, .param .u64 accumulators, .param .u32 n)",
                "{",
                "    .reg .b32 %tid, %zero;",
                "    .reg .b64 %input, %own, %offset, %shared, %local, %mine, %any, %frame;",
                f"    .reg .pred %p<{self.labels + 1}>, %first;", f"    .reg .b32 %r<{self.count[32] + 1}>;",
                f"    .reg .b64 %d<{self.count[64] + 1}>;", f"    .local .align 8 .b8 frame[{4 * TILE}];",
                f"    .local .align 8 .b8 scratch[{SCRATCH}];",
                "    ld.param.u64 %input, [input];", "    ld.param.u64 %own, [output];", "    mov.u32 %tid, %tid.x;",
                f"    mul.wide.u32 %offset, %tid, {SLOTS * 8 + SCRATCH};", "    add.u64 %own, %own, %offset;",
                "    mov.u64 %mine, mine;", f"    mul.wide.u32 %offset, %tid, {SCRATCH};",
                "    add.u64 %mine, %mine, %offset;", "    cvta.shared.u64 %any, %mine;",
                "    mov.u64 %frame, scratch;",
                "    setp.ne.u32 %first, %tid, 0;", "    @%first bra filled;", *share, "filled:", "    bar.sync 0;",
                "    mov.u64 %shared, tile;", "    cvta.shared.u64 %shared, %shared;",
                "    mov.u64 %local, frame;", "    cvta.local.u64 %local, %local;", *fill, *self.lines,
                "    ret;", "}", "",
            ]
        )  # fmt: skip
        data = np.random.default_rng(self.seed)
        words = data.choice(np.array(EDGES, np.uint32), INPUT_WORDS)
        output = np.zeros(THREADS * (SLOTS * 2 + SCRATCH // 4), np.uint32)
        accumulators = np.zeros(ACCUMULATORS * 2, np.uint32)
        return Program(self.seed, text, (1, 1, 1), (THREADS, 1, 1), 0, words, output, accumulators, 0)

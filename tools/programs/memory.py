"""Statements on memory: gathers from the input, private slots, words that all threads add to, local arrays."""

from __future__ import annotations

from drawloom.ptx.types import TYPES
from tools.programs.operations import Operations
from tools.programs.program import DECLARED, INPUT_WORDS, LOCAL_BYTES, PRIVATE_SLOTS, TABLE_WORDS


class MemoryStatements(Operations):
    """Loads, stores and atomics whose result does not depend on the order of threads."""

    def _memory(self) -> None:
        choices = [self._load_input]
        if self.in_kernel:
            choices += [self._private, self._private, self._accumulate, self._hint, self._affine_load]
            if self.uses_table:
                choices.append(self._load_table)
        else:
            choices = [self._frame]
        if self.uses_local:
            choices.append(self._frame)
        self.random.choice(choices)()

    def _index(self, modulus: int) -> str:
        """A 64-bit register with a value below ``modulus``, a power of two."""
        t, wide = self.new("u32"), self.new("u64")
        self.emit(f"and.b32 {t}, {self.reg('r')}, {modulus - 1};")
        self.emit(f"cvt.u64.u32 {wide}, {t};")
        return wide

    def _load_input(self) -> None:
        """A gather from the input in one of many widths."""
        pick = self.random
        if not self.in_kernel:
            self._frame()
            return
        kind = pick.choice(["v4", "v2", "wide", "word", "word", "half", "byte"])
        size = {"v4": 16, "v2": 8, "wide": 8, "word": 4, "half": 2, "byte": 1}[kind]
        wide = self._index(2048 // size)
        address = self.new("u64")
        self.emit(f"mad.lo.u64 {address}, {wide}, {size}, {self.input};")
        cache = pick.choice(["", "", ".nc", ".ca", ".cg", ".volatile"])
        space = ".global" if cache == ".nc" or pick.random() < 0.7 else ""
        offset = pick.choice([0, size, 2 * size])
        op = f"ld{cache}{space}" if cache == ".volatile" else f"ld{space}{cache}"
        at = f"[{address}+{offset}]"
        pools = self.registers.pools
        if kind == "v4" and len(pools["r"]) >= 4:
            names = pick.sample(pools["r"], 4)
            if pick.random() < 0.3:
                names[pick.randrange(4)] = "_"
            self.emit(f"{op}.v4.{pick.choice(['u32', 'b32'])} {{{', '.join(names)}}}, {at};")
        elif kind in ("v2", "v4"):
            self.emit(f"{op}.v2.b32 {{{', '.join(pick.sample(pools['r'], 2))}}}, {at};")
        elif kind == "wide" and "l" in pools:
            self.emit(f"{op}.{pick.choice(['u64', 's64', 'b64'])} {self.reg('l')}, {at};")
        elif kind == "half":
            cls = pick.choice([c for c in ("s", "r", "l") if c in pools])
            self.emit(f"{op}.{pick.choice(['u16', 's16'])} {self.reg(cls)}, {at};")
        elif kind == "byte":
            cls = pick.choice([c for c in ("s", "r", "l") if c in pools])
            self.emit(f"{op}.{pick.choice(['u8', 's8'])} {self.reg(cls)}, {at};")
        else:
            single = "f" in pools and pick.random() < 0.5
            name = self.reg("f" if single else "r")
            self.emit(f"{op}.{'f32' if single else 'b32'} {f'{{{name}}}' if pick.random() < 0.2 else name}, {at};")

    def _affine_load(self) -> None:
        """Neighbours read neighbours, through an index that may wrap at 32 bits; lanes outside do not load."""
        pick = self.random
        index, inside, wide = self.new("u32"), self.new("pred"), self.new("u64")
        stride = pick.choice([1, 1, 1, 2, 3, -1, -2, 4, 0])
        start = pick.choice([0, 1, 7, 100, 900, -1, -5, -17, -100, self.n])
        self.emit(f"mad.lo.u32 {index}, {pick.choice([self.tid, self.gtid])}, {stride}, {start};")
        size = pick.choice([4, 4, 4, 8])
        words = INPUT_WORDS * 4 // size
        if pick.random() < 0.5:
            self.emit(f"setp.lt.u32 {inside}, {index}, {words - 8};")
            self.emit(f"mul.wide.u32 {wide}, {index}, {size};")
            self.emit(f"add.u64 {wide}, {self.input}, {wide};")
        else:
            # Signed, around the middle of the input.
            moved = self.new("u32")
            self.emit(f"add.u32 {moved}, {index}, 200;")
            self.emit(f"setp.lt.u32 {inside}, {moved}, 400;")
            self.emit(f"mad.wide.s32 {wide}, {index}, {size}, {self.input};")
            self.emit(f"add.u64 {wide}, {wide}, {200 * size};")
        offset = pick.choice([0, size, 4 * size])
        if size == 8:
            self.emit(f"@{inside} ld.global.v2.b32 {{{self.reg('r')}, _}}, [{wide}+{offset}];")
        else:
            self.emit(f"@{inside} ld.global{pick.choice(['', '.nc'])}.b32 {self.reg('r')}, [{wide}+{offset}];")

    def _load_table(self) -> None:
        wide, base, address = self._index(TABLE_WORDS), self.new("u64"), self.new("u64")
        self.emit(f"mov.u64 {base}, table;")
        self.emit(f"mad.lo.u64 {address}, {wide}, 4, {base};")
        self.emit(f"ld.{self.table_space}.b32 {self.reg('r')}, [{address}];")

    def _private(self) -> None:
        """Stores, loads and atomics with results, on slots that only this thread has."""
        pick = self.random
        slot = (self.slots - pick.randint(1, PRIVATE_SLOTS)) * 8
        space = pick.choice([".global", ""])
        at = f"[{self.out}+{slot}]"
        wide = "l" in self.registers.pools and pick.random() < 0.3
        cls, bits = ("l", 64) if wide else ("r", 32)
        kind = pick.random()
        if kind < 0.3:
            name = self.reg(cls)
            self.emit(f"st{space}.b{bits} {at}, {f'{{{name}}}' if pick.random() < 0.2 else name};")
        elif kind < 0.5:
            self.emit(f"ld{space}.b{bits} {self.reg(cls)}, {at};")
        elif kind < 0.6 and len(self.registers.pools["r"]) >= 2:
            a, b = pick.sample(self.registers.pools["r"], 2)
            self.emit(f"{pick.choice(['st', 'st.volatile'])}.global.v2.b32 {at}, {{{a}, {b}}};")
        elif kind < 0.7:
            self.emit(f"atom{space}.cas.b{bits} {self.reg(cls)}, {at}, {self.reg(cls)}, {self.reg(cls)};")
        elif kind < 0.8:
            self.emit(f"atom{space}.exch.b{bits} {self.reg(cls)}, {at}, {self.reg(cls)};")
        else:
            typed = ["min.u", "max.u", "min.s", "max.s", "add.u", "and.b", "or.b", "xor.b"]
            operation = pick.choice(typed + (["inc.u", "dec.u"] if bits == 32 else []))
            order = pick.choice(["", "", ".relaxed.gpu", ".acquire.cta", ".acq_rel.sys"]) if self.sm >= 70 else ""
            self.emit(f"atom{order}{space}.{operation}{bits} {self.reg(cls)}, {at}, {self.reg(cls)};")

    def _accumulate(self, space: str = ".global", base: str = "", guard: str = "") -> None:
        """An operation of many threads on one word; each operation has a word of its own, so order is nothing."""
        pick = self.random
        base = base or self.acc
        operations = [
            ("add.u32", "r"), ("add.s32", "r"), ("and.b32", "r"), ("or.b32", "r"), ("xor.b32", "r"), ("min.u32", "r"),
            ("max.u32", "r"), ("min.s32", "r"), ("max.s32", "r"), ("inc.u32", ""), ("dec.u32", ""), ("add.f32", "f"),
            ("add.u64", "l"), ("min.s64", "l"), ("max.u64", "l"), ("xor.b64", "l"), ("add.f64", "d"), ("or.b64", "l"),
            ("add.noftz.f16x2", "hh"), ("add.noftz.bf16x2" if self.sm >= 90 else "add.noftz.f16x2", "bhh"),
        ]  # fmt: skip
        index = pick.randrange(len(operations))
        operation, cls = operations[index]
        if cls in ("f", "d"):
            # Small whole numbers, whose sums are exact in every order.
            t, value = self.new("b32"), self.new("f32" if cls == "f" else "f64")
            self.emit(f"and.b32 {t}, {self.reg('r')}, 255;")
            self.emit(f"cvt.rn.{'f32' if cls == 'f' else 'f64'}.u32 {value}, {t};")
        elif cls in ("hh", "bhh"):
            # One in some lanes of some threads: a sum below 256, which bf16 still counts to.
            if self.threads * self.blocks * 2 > 256:
                return
            value = self.new("b32")
            one = "0x3F80" if operation.endswith("bf16x2") else "0x3C00"
            self.emit(f"selp.b32 {value}, {one}, {one}0000, {self.reg('p')};")
        elif cls == "":
            value = "1000"
        elif cls in self.registers.pools:
            value = self.reg(cls)
        else:
            return
        spelled = pick.choice([space, ""]) if space == ".global" else space
        at = f"[{base}+{index * 8}]" if space == ".global" else f"[{base}]"
        if pick.random() < 0.7:
            self.emit(f"{guard}red{spelled}.{operation} {at}, {value};")
        else:
            unused = self.new({"f16x2": "b32", "bf16x2": "b32"}.get(kind := operation.rpartition(".")[2], kind))
            self.emit(f"{guard}atom{spelled}.{operation} {unused}, {at}, {value};")

    def _frame(self) -> None:
        """Loads and stores in a local array at computed places, through the generic address at times."""
        if not self.uses_local:
            self._operation(guarded=False)
            return
        pick = self.random
        cls = pick.choice([c for c in ("s", "r", "l") if c in self.registers.pools])
        size = TYPES[DECLARED[cls]].bytes
        wide, base, address = self._index(LOCAL_BYTES // size), self.new("u64"), self.new("u64")
        self.emit(f"mov.u64 {base}, frame;")
        space = ".local"
        if pick.random() < 0.4:
            self.emit(f"cvta.local.u64 {base}, {base};")
            space = ""
        self.emit(f"mad.lo.u64 {address}, {wide}, {size}, {base};")
        if pick.random() < 0.5:
            self.emit(f"st{space}.b{size * 8} [{address}], {self.reg(cls)};")
        else:
            self.emit(f"ld{space}.{pick.choice('us')}{size * 8} {self.reg(cls)}, [{address}];")

    def _hint(self) -> None:
        """What must change nothing: fences, prefetches, naps, and questions about an address."""
        pick = self.random
        kind = pick.randrange(6)
        if kind == 0:
            fences = ["fence.acq_rel.gpu;", "fence.sc.cta;"] if self.sm >= 70 else []
            self.emit(pick.choice(["membar.cta;", "membar.gl;", *fences, "membar.sys;"]))
        elif kind == 1:
            self.emit(f"prefetch.global.{pick.choice(['L1', 'L2'])} [{self.input}];")
        elif kind == 2 and self.sm >= 70:
            self.emit(f"nanosleep.u32 {pick.randint(0, 50)};")
        elif kind == 3:
            address = pick.choice([self.input, self.out, self.acc])
            self.emit(f"isspacep.{pick.choice(['global', 'shared', 'local'])} {self.reg('p')}, {address};")
        elif kind == 4 and self.uses_shared:
            wide = self.new("u64")
            self.emit(f"cvt.u64.u32 {wide}, {self.shared_own};")
            self.emit(f"cvta.shared.u64 {wide}, {wide};")
            self.emit(f"isspacep.{pick.choice(['global', 'shared', 'local'])} {self.reg('p')}, {wide};")
        elif kind == 5 and len(self.registers.pools["r"]) >= 2:
            a, b = pick.sample(self.registers.pools["r"], 2)
            self.emit(f"mov.v2.b32 {{{a}, {b}}}, {{{b}, {a}}};")

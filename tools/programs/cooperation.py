"""What threads do together: barriers, exchanges through shared memory, warp operations under every mask."""

from __future__ import annotations

from tools.programs.memory import MemoryStatements
from tools.programs.program import CHAIN, DECLARED, GUARDED, LOCK


class Cooperation(MemoryStatements):
    """Barriers and warp operations, on full warps, partial ones and those with exited lanes."""

    def _barrier(self, depth: int) -> None:
        pick = self.random
        kind = pick.random()
        number = pick.choice([0, 0, 1, 7, 15])
        if kind < 0.4:
            self.emit(f"{pick.choice(['bar.sync', 'barrier.sync', 'barrier.cta.sync.aligned'])} {number};")
        elif kind < 0.6:
            name = pick.choice(["bar.red", "barrier.cta.red", "barrier.red"])
            self.emit(f"{name}.popc.u32 {self.reg('r')}, {number}, {self._predicate()};")
        else:
            name = pick.choice(["bar.red", "barrier.cta.red"])
            self.emit(f"{name}.{pick.choice(['and', 'or'])}.pred {self.reg('p')}, {number}, {self._predicate()};")

    def _predicate(self) -> str:
        return self.random.choice(["", "!"]) + self.reg("p")

    def _shared_exchange(self, depth: int) -> None:
        """Everybody writes a slot; after a barrier everybody reads some slot; a barrier ends it."""
        pick = self.random
        cls = pick.choice([c for c in ("s", "r", "l", "f") if c in self.registers.pools])
        type = {"s": "u16", "r": "b32", "l": "b64", "f": "f32"}[cls]
        volatile = pick.choice(["", "", ".volatile"])
        value = self.as_bits(cls, self.reg(cls))  # what a thread leaves behind is read as bits by others
        own = f"[{self.shared_own}]"
        space = ".shared"
        address = self.new("u32")
        t = self.new("u32")
        if pick.random() < 0.3:
            generic = self.new("u64")
            self.emit(f"cvt.u64.u32 {generic}, {self.shared_own};")
            self.emit(f"cvta.shared.u64 {generic}, {generic};")
            self.emit(f"st{volatile}.{type} [{generic}], {value};")
        else:
            self.emit(f"st{volatile}{space}.{type} {own}, {value};")
        self.emit("bar.sync 0;")
        if pick.random() < 0.5:
            self.emit(f"rem.u32 {t}, {self.reg('r')}, {self.threads};")
        else:
            # A neighbour, around the end.
            past = self.new("pred")
            self.emit(f"add.u32 {t}, {self.tid}, {pick.randint(0, self.threads)};")
            self.emit(f"setp.ge.u32 {past}, {t}, {self.threads};")
            self.emit(f"@{past} sub.u32 {t}, {t}, {self.threads};")
        self.emit(f"mad.lo.u32 {address}, {t}, 8, {self.shared_base};")
        self.emit(f"ld{volatile}{space}.{type} {self.reg(cls)}, [{address}];")
        self.emit(pick.choice(["bar.sync 0;", "barrier.sync 0;"]))

    def _shared_atomic(self, depth: int) -> None:
        """A shared word that everybody changes in one way, and reads after a barrier."""
        pick = self.random
        word = self.new("u32")
        first, guard = self.new("pred"), self.reg("p")
        where = self.threads * 8 + 8 * pick.randrange(8)
        self.emit(f"add.u32 {word}, {self.shared_base}, {where};")
        self.emit(f"setp.eq.u32 {first}, {self.tid}, {self.threads - 1};")
        self.emit(f"@{first} st.shared.b64 [{word}], {pick.choice([0, 1, -1, 77])};")
        self.emit("bar.sync 0;")
        operation = pick.choice(["add.u32", "and.b32", "or.b32", "xor.b32", "min.s32", "max.u32"])
        if pick.random() < 0.7:
            self.emit(f"@{guard} red.shared.{operation} [{word}], {self.reg('r')};")
        else:
            self.emit(f"@!{guard} atom.shared.{operation} {self.new('b32')}, [{word}], {self.reg('r')};")
        self.emit("bar.sync 0;")
        self.emit(f"ld.shared.b32 {self.reg('r')}, [{word}];")
        self.emit("bar.sync 0;")

    def _warp_operation(self, depth: int) -> None:
        """One operation of all lanes that are there."""
        self._collective("0xFFFFFFFF", self.full_warps)

    def _masked_warp_operation(self, depth: int) -> None:
        """Lanes part by a predicate; those of one side, and only they, do an operation with their mask."""
        mask, other, end = self.new("b32"), self.label(), self.label()
        p = self.new("pred")
        self.emit(f"mov.pred {p}, {self.reg('p')};")
        self.emit(f"vote.sync.ballot.b32 {mask}, {p}, 0xFFFFFFFF;")
        self.emit(f"@!{p} bra {other};")
        self._collective(mask, False)
        self._operation(guarded=False)
        if self.random.random() < 0.5:
            self.emit(f"bra {end};")
            self.emit(f"{other}:")
            self.emit(f"not.b32 {mask}, {mask};")
            self._collective(mask, False)
            self.emit(f"{end}:")
        else:
            self.emit(f"{other}:")

    def _meeting(self, depth: int) -> None:
        """Lanes part, and each side does the same operations with masks that name the other side, too, at places of its
        own: on both sides of a branch, under guards that exclude each other, or some before the sides meet again."""
        pick = self.random
        p, other, end = self.new("pred"), self.label(), self.label()
        self.emit(f"mov.pred {p}, {self.reg('p')};")
        operations = [self._shared_operation() for _ in range(pick.randint(1, 3))]
        kind = pick.random()
        if kind < 0.3:
            for operation in operations:
                for guard in pick.choice([(f"@{p}", f"@!{p}"), (f"@!{p}", f"@{p}")]):
                    self._operation(guarded=False)
                    self.emit(f"{guard} {self._instance(operation)}")
            return
        late = kind > 0.7
        self.emit(f"@!{p} bra {other};")
        for operation in operations:
            self._operation(guarded=False)
            self.emit(self._instance(operation))
        self.statements(depth + 1, False)
        self.emit(f"bra {end};")
        self.emit(f"{other}:")
        for operation in [] if late else operations:
            self.emit(self._instance(operation))
            self._operation(guarded=True)
        self.emit(f"{end}:")
        for operation in operations if late else []:
            self.emit(f"@!{p} {self._instance(operation)}")

    def _shared_operation(self) -> str:
        """A warp operation of all lanes but for the registers of a lane: R and P are results, A and B operands."""
        pick = self.random
        choices = ["vote.sync.ballot.b32 R, B, 0xFFFFFFFF;", "bar.warp.sync 0xFFFFFFFF;"]
        choices += [f"vote.sync.{name}.pred P, B, 0xFFFFFFFF;" for name in ("all", "any", "uni")]
        choices += [f"redux.sync.{name} R, A, 0xFFFFFFFF;" for name in ("add.u32", "min.s32", "max.u32", "xor.b32")]
        choices += ["match.any.sync.b32 R, A, 0xFFFFFFFF;", "match.all.sync.b32 R|P, A, 0xFFFFFFFF;"]
        if self.full_warps:
            shuffles = [("idx", 31), ("bfly", 31), ("up", 0)]
            choices += [f"shfl.sync.{n}.b32 R|P, A, {pick.randrange(32)}, {c}, 0xFFFFFFFF;" for n, c in shuffles]
        return pick.choice(choices)

    def _instance(self, operation: str) -> str:
        text = operation.replace("R", self.reg("r")).replace("P", self.reg("p")).replace(" A,", f" {self.reg('r')},")
        return text.replace(" B,", f" {self._predicate()},")

    def _collective(self, mask: str, full: bool) -> None:
        pick = self.random
        kind = pick.random()
        r = self.reg
        if kind < 0.4:
            self._shuffle(mask, full)
        elif kind < 0.5:
            self.emit(f"vote.sync.ballot.b32 {r('r')}, {self._predicate()}, {mask};")
        elif kind < 0.6:
            self.emit(f"vote.sync.{pick.choice(['all', 'any', 'uni'])}.pred {r('p')}, {self._predicate()}, {mask};")
        elif kind < 0.7 and self.sm >= 70:
            cls = "l" if "l" in self.registers.pools and pick.random() < 0.3 else "r"
            t = self.new(DECLARED[cls])
            self.emit(f"and.{DECLARED[cls]} {t}, {r(cls)}, {pick.choice([1, 3])};")
            if pick.random() < 0.5:
                self.emit(f"match.any.sync.{DECLARED[cls]} {r('r')}, {t}, {mask};")
            else:
                self.emit(f"match.all.sync.{DECLARED[cls]} {r('r')}|{r('p')}, {t}, {mask};")
        elif kind < 0.85 and self.sm >= 80:
            operation = pick.choice(
                ["add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"]
            )
            self.emit(f"redux.sync.{operation} {r('r')}, {r('r')}, {mask};")
        elif kind < 0.9 and mask.startswith("0x") and self.sm >= 90:
            # Who is chosen is open; that it is one of them is not.
            p, t = self.new("pred"), self.new("b32")
            self.emit(f"elect.sync _|{p}, {mask};")
            self.emit(f"vote.sync.ballot.b32 {t}, {p}, {mask};")
            self.emit(f"popc.b32 {r('r')}, {t};")
        else:
            self.emit(f"bar.warp.sync {mask};")

    def _shuffle(self, mask: str, full: bool) -> None:
        """A shuffle; where lanes may be missing, what came from one of them is replaced by the own value."""
        pick = self.random
        mode = pick.choice(["up", "down", "bfly", "idx"])
        a, d, p = self.reg("r"), self.new("b32"), self.new("pred")
        b = str(pick.randrange(32)) if pick.random() < 0.6 else self.reg("r")
        segment = pick.choice([0, 0, 0, 16, 24, 28, 30, 31, 8])
        c = segment << 8 | (0 if mode == "up" else pick.choice([31, 31, 31, 15, 7]))
        target = f"{d}|{p}"
        if full and pick.random() < 0.3:
            target = d
        self.emit(f"shfl.sync.{mode}.b32 {target}, {a}, {b}, {c}, {mask};")
        if full:
            self.emit(f"mov.b32 {self.reg('r')}, {d};")
            if target != d:
                self.emit(f"mov.pred {self.reg('p')}, {p};")
            return
        lane, source, present, here = self.new("b32"), self.new("b32"), self.new("b32"), self.new("pred")
        self.emit(f"mov.u32 {lane}, %laneid;")
        always = self.new("pred")
        self.emit(f"setp.lt.u32 {always}, {lane}, 32;")
        self.emit(f"vote.sync.ballot.b32 {present}, {always}, {mask};")
        distance = self.new("b32")
        self.emit(f"and.b32 {distance}, {b}, 31;")
        if mode == "idx":
            self.emit(f"and.b32 {source}, {lane}, {segment};")
            self.emit(f"and.b32 {distance}, {distance}, {31 & ~segment};")
            self.emit(f"or.b32 {source}, {source}, {distance};")
        else:
            self.emit(
                f"{ {'up': 'sub.u32', 'down': 'add.u32', 'bfly': 'xor.b32'}[mode] } {source}, {lane}, {distance};"
            )
        self.emit(f"selp.b32 {source}, {source}, {lane}, {p};")
        self.emit(f"shr.u32 {present}, {present}, {source};")
        self.emit(f"and.b32 {present}, {present}, 1;")
        self.emit(f"setp.ne.u32 {here}, {present}, 0;")
        self.emit(f"selp.b32 {self.reg('r')}, {d}, {a}, {here};")
        self.emit(f"mov.pred {self.reg('p')}, {p};")

    def _reduction(self, depth: int) -> None:
        """The usual tree over a full warp, or the lanes that execute together."""
        if self.full_warps:
            d = self.new("b32")
            operation = self.random.choice(["add.u32", "max.s32", "xor.b32"])
            target = self.reg("r")
            for distance in (16, 8, 4, 2, 1):
                self.emit(f"shfl.sync.bfly.b32 {d}, {target}, {distance}, 31, 0xFFFFFFFF;")
                self.emit(f"{operation} {target}, {target}, {d};")
        else:
            self._warp_operation(depth)

    def _active_mask(self, depth: int) -> None:
        """Which lanes execute together is open; that this one does is not."""
        mask, own = self.new("b32"), self.new("b32")
        self.emit(f"activemask.b32 {mask};")
        self.emit(f"mov.u32 {own}, %lanemask_eq;")
        self.emit(f"and.b32 {mask}, {mask}, {own};")
        self.emit(f"sub.u32 {self.reg('r')}, {mask}, {own};")

    def _lock(self, depth: int) -> None:
        """Every thread takes a lock, spinning until its holder, in the same warp perhaps, gives it back."""
        seen, done, count, head = self.new("b32"), self.new("pred"), self.new("b32"), self.label()
        skip = self.label()
        lock, guarded = f"[{self.acc}+{LOCK * 8}]", f"[{self.acc}+{GUARDED * 8}]"
        self.emit(f"{head}:")
        self.emit(f"atom.global.cas.b32 {seen}, {lock}, 0, 1;")
        self.emit(f"setp.ne.u32 {done}, {seen}, 0;")
        self.emit(f"@{done} bra {skip};")
        self.emit("membar.gl;")
        self.emit(f"ld.volatile.global.u32 {count}, {guarded};")
        self.emit(f"add.u32 {count}, {count}, {self.random.randint(1, 9)};")
        self.emit(f"st.volatile.global.u32 {guarded}, {count};")
        self.emit("membar.gl;")
        self.emit(f"atom.global.exch.b32 {count}, {lock}, 0;")
        self.emit(f"{skip}:")
        self.emit(f"@{done} bra {head};")

    def _chain(self, depth: int) -> None:
        """Each block waits for the one before it, as a scan with look-back does; once per program."""
        if self.chained or self.exited:
            return
        self.chained = True
        own, waits, passed, first, head, end = (
            self.new("u32"), self.new("pred"), self.new("b32"), self.new("pred"), self.label(), self.label()
        )  # fmt: skip
        self.emit(f"div.u32 {own}, {self.gtid}, {self.threads};")
        self.emit(f"setp.ne.u32 {first}, {self.tid}, {self.random.randrange(self.threads)};")
        self.emit(f"@{first} bra {end};")
        self.emit(f"{head}:")
        load = "ld.acquire.gpu" if self.sm >= 70 else "ld.volatile"
        self.emit(f"{load}.global.u32 {passed}, [{self.acc}+{CHAIN * 8}];")
        self.emit(f"setp.ne.u32 {waits}, {passed}, {own};")
        self.emit(f"@{waits} bra {head};")
        release = ".release.gpu" if self.sm >= 70 else ""
        self.emit(f"red{release}.global.add.u32 [{self.acc}+{CHAIN * 8}], 1;")
        self.emit(f"{end}:")
        self.emit("bar.sync 0;")

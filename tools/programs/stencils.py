"""Generated stencil-like kernels: loads at offsets from an index of the thread, for the synthesis of shuffles.

Every thread folds what it loads into a number, which goes to a place of its own. What is random: the shape of the block
and the grid; how the index is made (rows or linear, the lane beside the column of the block, a stride, 16 or 32 bits
that wrap or 64) and made wide; types, vectors, ``.nc``; offsets; guards that differ in a warp or not; branches around
loads; loops over rows, over a grid, of different length in each lane, with iterations left early, and what their last
ones made; indices widened under a guard; stores before loads, to where a lane or another one loads; barriers;
loads from shared memory. No program has a race: what is written is read by its lane, or behind a barrier.
"""

from __future__ import annotations

import random
from typing import Final

import numpy as np

from tools.programs.program import Program

#: Elements that can be loaded around every index, in front of and behind those that 16 bits can name.
MARGIN: Final = 4096
ELEMENTS: Final = (1 << 16) + 2 * MARGIN
WORDS: Final = ELEMENTS * 16 // 4
#: Elements of the output that are loaded and stored, one for each thread of a block, and more behind.
SIZES: Final = (1, 31, 32, 33, 97, 331, 1000)
BLOCKS: Final = (
    (32, 1, 1), (64, 1, 1), (96, 1, 1), (31, 1, 1), (33, 1, 1), (48, 1, 1), (1, 1, 1), (100, 1, 1), (16, 4, 1),
    (32, 2, 1), (64, 2, 1), (8, 4, 2), (5, 7, 3), (2, 32, 1), (32, 1, 2),
)  # fmt: skip
#: Type of a load -> the kind of register that takes it.
TYPES: Final[dict[str, str]] = {
    "u8": "r", "s8": "r", "b8": "s", "u16": "s", "s16": "r", "b16": "s", "u32": "r", "s32": "l", "b32": "r", "f32": "f",
    "u64": "l", "f64": "d",
}  # fmt: skip
#: What stands in a register of a kind before a guarded load.
INITIAL: Final[dict[str, str]] = {
    "s": "mov.b16 {}, 7;", "r": "mov.b32 {}, 7;", "l": "mov.b64 {}, 7;", "f": "mov.f32 {}, 0f40000000;",
    "d": "mov.f64 {}, 0d4000000000000000;",
}  # fmt: skip
SIZE: Final[dict[str, int]] = {name: int(name[1:]) // 8 for name in TYPES}
SHARED_BYTES: Final = 4096
#: A shift from every thread's place in the output to where no thread has its own.
APART: Final = -MARGIN * 8


def generate_stencil(seed: int, is_strided: bool = False) -> Program:
    """The program of a seed; ``is_strided`` puts grid-stride loops and stores through a shifted pointer into it."""
    return _Stencil(seed, is_strided).program()


class _Stencil:
    def __init__(self, seed: int, is_strided: bool) -> None:
        self.seed = seed
        self.is_strided = is_strided
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.made = 0
        choose = self.random.choice
        self.block = choose(BLOCKS)
        self.grid = (choose((1, 2, 3)), choose((1, 1, 2)), 1)
        self.n = choose(SIZES)
        self.type = choose(list(TYPES))
        self.vector = choose((1, 1, 1, 2, 4)) if SIZE[self.type] * 4 <= 16 or self.random.random() < 0.3 else 1
        if SIZE[self.type] * self.vector > 16:
            self.vector = 2
        self.nc = choose((".nc", ""))
        #: The index registers, as 64-bit numbers of bytes into the input.
        self.bases: list[str] = []

    # -- parts ---------------------------------------------------------------------------------------------

    def emit(self, line: str) -> None:
        self.lines.append("    " + line)

    def name(self, kind: str) -> str:
        self.made += 1
        return f"%{kind}{self.made}"

    def label(self) -> str:
        self.made += 1
        return f"L{self.made}"

    def program(self) -> Program:
        self.prologue()
        self.index()
        for _ in range(self.random.randint(2, 5)):
            kinds = (self.loads, self.loads, self.branch, self.loop, self.lane_loop, self.store, self.exchange)
            more = (self.grid_stride, self.grid_stride, self.shifted_store) if self.is_strided else ()
            self.random.choice((*kinds, self.shared, self.behind_loop, self.widened_under_guard, *more))(0)
        if self.is_strided:
            self.grid_stride(0)
        if self.has_left():
            self.lines.append("DONE:")
        self.emit("st.global.u64 [%acc], %sum;")
        self.emit("ret;")
        registers = {"r": "b32", "l": "b64", "s": "b16", "f": "f32", "d": "f64", "p": "pred"}
        declared = "\n".join(f"    .reg .{type} %{kind}<{self.made + 1}>;" for kind, type in registers.items())
        body = "\n".join(self.lines)
        extra = ", .param .u64 shift" if self.is_strided else ""
        shape = self.random.choice(("", "", f"\n.reqntid {', '.join(map(str, self.block))}"))
        text = f"""// seed {self.seed}
.version 7.8
.target sm_70
.address_size 64
.extern .shared .align 16 .b8 pool[];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 acc, .param .u32 n{extra}){shape}
{{
{declared}
    .reg .b64 %in, %out, %acc, %sum, %own; .reg .b32 %tx, %ty, %tz, %nx, %ny, %cx, %cy, %thread, %threads, %i, %n;
    .reg .b32 %place, %lane, %column;
{body}
}}
"""
        numbers = np.random.default_rng(self.seed)
        threads = int(np.prod(self.block)) * int(np.prod(self.grid))
        return Program(
            self.seed, text, self.grid, self.block, SHARED_BYTES,
            numbers.integers(0, 1 << 32, WORDS, dtype=np.uint32),
            numbers.integers(0, 1 << 32, 4 * threads + 4 * MARGIN, dtype=np.uint32),
            np.zeros(2 * threads, np.uint32), self.n,
            self.shift() if self.is_strided else None,
        )  # fmt: skip

    def shift(self) -> int:
        """By how many bytes the launch shifts a pointer, never to the place of another thread."""
        return self.random.choice((0, APART, SIZE[self.type] if self.vector > 1 else 0)) % (1 << 64)

    def prologue(self) -> None:
        """The arguments, the number of the thread in its block and in the grid, and the place of its result."""
        for line in (
            "ld.param.u64 %in, [in];", "ld.param.u64 %out, [out];", "ld.param.u64 %acc, [acc];",
            "ld.param.u32 %n, [n];", "cvta.to.global.u64 %in, %in;",
            "mov.u32 %tx, %tid.x;", "mov.u32 %ty, %tid.y;", "mov.u32 %tz, %tid.z;",
            "mov.u32 %lane, %laneid;", "and.b32 %column, %tx, 31;",
            "mov.u32 %nx, %ntid.x;", "mov.u32 %ny, %ntid.y;", "mov.u32 %cx, %ctaid.x;", "mov.u32 %cy, %ctaid.y;",
            "mad.lo.s32 %thread, %tz, %ny, %ty;", "mad.lo.s32 %thread, %thread, %nx, %tx;", "mov.u32 %r0, %nctaid.x;",
            "mad.lo.s32 %r0, %cy, %r0, %cx;", "mov.u32 %threads, %ntid.z;", "mul.lo.s32 %threads, %threads, %ny;",
            "mul.lo.s32 %threads, %threads, %nx;", "mad.lo.s32 %place, %r0, %threads, %thread;",
            "mul.wide.u32 %l0, %place, 8;", "add.s64 %acc, %acc, %l0;", "mov.u64 %sum, 0;",
            f"mul.wide.u32 %l0, %place, {SIZE[self.type] * self.vector};", f"add.s64 %own, %out, {MARGIN * 8};",
            "add.s64 %own, %own, %l0;", f"add.s64 %in, %in, {MARGIN * SIZE[self.type] * self.vector};",
        ):  # fmt: skip
            self.emit(line)

    def index(self) -> None:
        """%i, the index that most loads are around: in rows of x, or by the number of the thread."""
        kind = self.random.randrange(4)
        if kind < 2:
            self.emit("mad.lo.s32 %i, %cx, %nx, %tx;")
            if kind:
                row = self.random.choice((40, 64, 100))
                self.emit(f"mad.lo.s32 %i, %ty, {row}, %i;")
        else:
            self.emit(f"mov.b32 %i, {'%place' if kind == 2 else '%thread'};")
        if self.random.random() < 0.3:
            self.emit(f"mul.lo.s32 %i, %i, {self.random.choice((2, 3, 4, 5))};")
        if self.random.random() < 0.15:
            self.emit(f"{self.random.choice(('xor', 'and', 'or'))}.b32 %i, %i, {self.random.choice((1, 7, 28, 0x7F))};")
        self.bases.append(self.base("%i"))
        if self.random.random() < 0.4:
            self.emit("setp.ge.s32 %p0, %i, %n;")
            self.emit("@%p0 bra DONE;")
        if self.random.random() < 0.3:  # one place in blocks of some shapes
            self.bases += [self.base("%lane"), self.base("%column")]
        for _ in range(self.random.randrange(2)):
            other = self.name("r")
            self.emit(f"add.s32 {other}, %i, {self.random.randint(-33, 33)};")
            self.bases.append(self.base(other))

    def base(self, index: str) -> str:
        """The address of an element of the input by a 32-bit index, through fewer bits or more."""
        size = SIZE[self.type] * self.vector
        wide, address = self.name("l"), self.name("l")
        kind = self.random.randrange(6)
        if kind == 0:
            self.emit(f"mul.wide.s32 {wide}, {index}, {size};")
        elif kind == 1:
            self.emit(f"cvt.s64.s32 {wide}, {index};")
            self.emit(f"mul.lo.s64 {wide}, {wide}, {size};")
        elif kind == 2:  # 16 bits that wrap
            low, start = self.name("r"), self.random.choice((0, 65500, 65535, 32760))
            self.emit(f"add.s32 {low}, {index}, {start};")
            self.emit(f"cvt.u64.u16 {wide}, {low};")
            self.emit(f"mul.lo.u64 {wide}, {wide}, {size};")
        elif kind == 3:  # 32 bits that wrap, and 2^32 put back where they did
            low, is_low, start = self.name("r"), self.name("p"), (1 << 31) - self.random.choice((1, 20, 40, 300))
            self.emit(f"add.s32 {low}, {index}, {start};")
            self.emit(f"cvt.s64.s32 {wide}, {low};")
            self.emit(f"setp.lt.s64 {is_low}, {wide}, 0;")
            step = self.random.choice((1 << 32, (1 << 32) + 7))
            self.emit(f"@{is_low} add.s64 {wide}, {wide}, {step};")
            self.emit(f"sub.s64 {wide}, {wide}, {start};")
            self.emit(f"mul.lo.s64 {wide}, {wide}, {size};")
        elif kind == 4:
            self.emit(f"mul.wide.u32 {wide}, {index}, {size};")
            self.emit(f"cvt.s64.s32 {wide}, {index};")
            self.emit(f"shl.b64 {wide}, {wide}, {size.bit_length() - 1};")
        else:  # an index that is no linear number of the lane's
            self.emit(f"and.b32 {self.name('r')}, {index}, 0x3FFF;")
            self.emit(f"mul.wide.u32 {wide}, %r{self.made}, {size};")
        self.emit(f"add.s64 {address}, %in, {wide};")
        return address

    def fold(self, register: str, type: str) -> None:
        """Put a loaded value into the sum."""
        wide = self.name("l")
        kind = register[1]
        if kind == "d":
            self.emit(f"mov.b64 {wide}, {register};")
        elif kind == "f":
            self.emit(f"mov.b32 %r{self.made}, {register};")
            self.emit(f"cvt.u64.u32 {wide}, %r{self.made};")
        elif kind != "l":
            self.emit(f"cvt.u64.{'u16' if kind == 's' else 'u32'} {wide}, {register};")
        else:
            self.emit(f"mov.b64 {wide}, {register};")
        self.emit(f"mad.lo.u64 %sum, %sum, 31, {wide};")

    def load(self, address: str, offset: int, guard: str = "", space: str = "global") -> None:
        """One load, at a number of elements from an address."""
        type = self.type
        if self.random.random() < 0.1:
            same = [name for name in TYPES if SIZE[name] == SIZE[type]]
            type = self.random.choice(same)
        kind = TYPES[type]
        size = SIZE[type]
        nc = self.nc if space == "global" and address != "%own" else ""
        if self.vector > 1 and self.random.random() < 0.8:
            names = [self.name(kind) for _ in range(self.vector)]
            where = f"[{address}+{offset * size * self.vector}]"
            given = f"ld.{space}{nc}.v{self.vector}.{type} {{{', '.join(names)}}}, {where};"
        else:
            names = [self.name(kind)]
            given = f"ld.{space}{nc}.{type} {names[0]}, [{address}+{offset * size}];"
        if guard:
            for name in names:
                self.emit(INITIAL[kind].format(name))
        self.emit(guard + given)
        for name in names:
            self.fold(name, type)

    # -- statements: each is given how deep it is nested ----------------------------------------------------

    def loads(self, depth: int) -> None:
        """Some loads around an index."""
        address = self.random.choice(self.bases)
        offsets = [self.random.choice((-33, -5, -2, -1, -1, 0, 0, 1, 1, 2, 3, 7, 31, 32)) for _ in range(4)]
        guard = ""
        if self.random.random() < 0.25:
            predicate = self.name("p")
            self.emit(self.condition(predicate))
            guard = f"@{self.random.choice(('', '!'))}{predicate} "
        if self.random.random() < 0.1:
            pointer = self.name("l")
            self.emit(f"add.s64 {pointer}, {address}, {8 * SIZE[self.type]};")
            address = pointer
        for offset in offsets[: self.random.randint(2, 4)]:
            self.load(address, offset, guard)

    def condition(self, predicate: str) -> str:
        """A condition: the same for all lanes, or of the lane."""
        return self.random.choice(
            (
                f"setp.lt.s32 {predicate}, %n, 40;",
                f"setp.lt.s32 {predicate}, %i, %n;",
                f"setp.ne.s32 {predicate}, %cx, 0;",
                f"setp.lt.u32 {predicate}, %thread, 37;",
                f"setp.gt.s32 {predicate}, %tx, 0;",
                f"setp.{self.random.choice(('ne', 'eq', 'lt'))}.s32 {predicate}, %lane, %column;",
            )
        )

    def branch(self, depth: int) -> None:
        """An if, perhaps with an else."""
        predicate, other, done = self.name("p"), self.label(), self.label()
        self.emit(self.condition(predicate))
        self.emit(f"@{predicate} bra {other};")
        self.inner(depth)
        if self.random.random() < 0.5:
            self.emit(f"bra {done};")
            self.lines.append(f"{other}:")
            self.inner(depth)
            self.lines.append(f"{done}:")
        else:
            self.lines.append(f"{other}:")

    def inner(self, depth: int) -> None:
        kinds = (self.loads, self.loads, self.store) + ((self.branch, self.loop, self.lane_loop) if depth < 2 else ())
        for _ in range(self.random.randint(1, 2)):
            self.random.choice(kinds)(depth + 1)

    def loop(self, depth: int) -> None:
        """Some rows, as many for all lanes; the address goes on."""
        self.counted(depth, f"mov.u32 %r{self.made + 1}, {self.random.randint(1, 4)};")

    def lane_loop(self, depth: int) -> None:
        """A loop that goes round more often in some lanes."""
        source = self.random.choice(("%tx", "%i", "%thread"))
        self.counted(depth, f"and.b32 %r{self.made + 1}, {source}, {self.random.choice((1, 3))};")

    def counted(self, depth: int, trips: str) -> None:
        self.emit(trips)
        count, row, predicate = self.name("r"), self.name("l"), self.name("p")
        head, end = self.label(), self.label()
        self.emit(f"add.u32 {count}, {count}, 1;")
        self.emit(f"mov.b64 {row}, {self.random.choice(self.bases)};")
        self.lines.append(f"{head}:")
        saved, self.bases = self.bases, [*self.bases, row, row]
        if self.random.random() < 0.3:  # lanes that leave the rest of an iteration out
            skip, again = self.name("p"), self.label()
            self.loads(depth)
            self.emit(f"and.b32 %r{self.made + 1}, %i, {self.random.choice((1, 2))};")
            self.made += 1
            self.emit(f"setp.eq.s32 {skip}, %r{self.made}, 0;")
            self.emit(f"@{skip} bra {again};")
            self.inner(depth)
            self.lines.append(f"{again}:")
        else:
            self.inner(depth)
        self.bases = saved
        self.emit(f"add.s64 {row}, {row}, {self.random.choice((0, 1, 40, 64)) * SIZE[self.type] * self.vector};")
        self.emit(f"sub.u32 {count}, {count}, 1;")
        self.emit(f"setp.eq.u32 {predicate}, {count}, 0;")
        self.emit(f"@{predicate} bra {end};")
        self.emit(f"bra {head};")
        self.lines.append(f"{end}:")

    def grid_stride(self, depth: int) -> None:
        """A loop over rows around a loop from a number of the thread's in strides: of any length, to bounds that lanes
        share or not, with iterations and loops that some lanes leave early."""
        choose = self.random.choice
        row, rows, again = self.name("r"), self.name("r"), self.name("p")
        i, bound, stride, more = self.name("r"), self.name("r"), self.name("r"), self.name("p")
        outer, inner, left, end = self.label(), self.label(), self.label(), self.label()
        start = choose(("%tx", "%tx", "%tx", "%i", "%thread", "%lane"))
        starts = (f"mov.b32 {row}, 0;", f"mov.b32 {row}, %ty;", f"mov.b32 {row}, %cy;", f"and.b32 {row}, %tx, 1;")
        self.emit(choose(starts))
        self.emit(f"mov.b32 {rows}, {self.random.randint(1, 4)};")
        self.emit(f"and.b32 {bound}, {choose(('%n', '%n', '%cx', '%tx'))}, {choose((3, 31, 63))};")
        self.emit(f"add.u32 {bound}, {bound}, {choose((1, 20, 32, 33, 64, 96))};")
        self.emit(f"mov.b32 {stride}, {choose((7, 20, 32, 32, 33, 48, 64, '%nx', '%nx'))};")
        if self.random.random() < 0.3:
            self.emit(f"max.u32 {stride}, {stride}, {choose(('%n', '%threads'))};")
        self.lines.append(f"{outer}:")
        self.emit(f"and.b32 {i}, {start}, 1023;")
        if self.random.random() < 0.4:  # lanes skip rows, the odd ones others than the even ones
            turn = self.name("r")
            self.emit(f"add.u32 {turn}, {row}, %tx;")
            self.emit(f"and.b32 {turn}, {turn}, {choose((1, 1, 3))};")
            self.emit(f"setp.eq.s32 {more}, {turn}, 0;")
            self.emit(f"@{more} bra {left};")
        if self.random.random() < 0.5:  # some lanes go around the inner loop not once
            self.emit(f"setp.ge.s32 {more}, {i}, {bound};")
            self.emit(f"@{more} bra {left};")
        self.lines.append(f"{inner}:")
        self.row_of_grid(depth, row, i, left, end)
        self.lines.append(f"{end}:")
        self.emit(f"add.s32 {i}, {i}, {stride};")
        self.emit(f"setp.lt.s32 {more}, {i}, {bound};")
        self.emit(f"@{more} bra {inner};")
        self.lines.append(f"{left}:")
        self.emit(f"add.s32 {row}, {row}, {choose((1, 1, 2))};")
        self.emit(f"setp.lt.s32 {again}, {row}, {rows};")
        self.emit(f"@{again} bra {outer};")

    def row_of_grid(self, depth: int, row: str, i: str, left: str, end: str) -> None:
        """The iteration of a grid-stride loop for a place in a row."""
        index = self.name("r")
        self.emit(f"mad.lo.s32 {index}, {row}, {self.random.choice(('40', '64', '100', '%n', '%nx'))}, {i};")
        saved, self.bases = self.bases, [self.base(index)]
        if self.random.random() < 0.4:
            lower = self.name("r")
            self.emit(f"add.s32 {lower}, {index}, {self.random.choice(('40', '100', '%n'))};")
            self.bases.append(self.base(lower))
        if self.random.random() < 0.2:
            self.leave(end, i)
        self.loads(depth)
        if self.random.random() < 0.5:
            self.random.choice((self.store, self.shifted_store, self.branch, self.lane_loop))(2)
        if self.random.random() < 0.2:
            self.leave(left, i)
        self.loads(depth)
        self.bases = saved

    def leave(self, target: str, i: str) -> None:
        """A way out of an iteration or a loop for some lanes."""
        predicate, value = self.name("p"), self.name("r")
        self.emit(f"cvt.u32.u64 {value}, %sum;")
        self.emit(f"and.b32 {value}, {self.random.choice((value, i, i))}, {self.random.choice((1, 6, 64))};")
        self.emit(f"setp.eq.s32 {predicate}, {value}, {self.random.choice((0, 1, 6, 64))};")
        self.emit(f"@{predicate} bra {target};")

    def shifted_store(self, depth: int) -> None:
        """Load from the lane's own place and from the input, store through a pointer that the launch shifts, and load
        again: the store hits the place, a part of it, or nothing."""
        shift, pointer = self.name("l"), self.name("l")
        self.emit(f"ld.param.u64 {shift}, [shift];")
        self.emit(f"add.s64 {pointer}, %own, {shift};")
        self.load("%own", 0)
        self.loads(depth)
        vector, self.vector = self.vector, 1
        if SIZE[self.type] == 8:
            self.emit(f"st.global.u64 [{pointer}], %sum;")
        else:
            value = self.name("r")
            self.emit(f"cvt.u32.u64 {value}, %sum;")
            narrow = {1: "u8", 2: "u16", 4: "u32"}[SIZE[self.type]]
            self.emit(f"st.global.{narrow} [{pointer}], {value};")
        self.vector = vector
        self.load("%own", 0)
        self.loads(depth)

    def behind_loop(self, depth: int) -> None:
        """Loads by what the last iteration has made, of a loop that lanes leave together or apart."""
        last, count, value, other = self.name("r"), self.name("r"), self.name("r"), self.name("r")
        predicate, address, head = self.name("p"), self.name("l"), self.label()
        self.emit(f"and.b32 {last}, {self.random.choice(('%tx', '%thread', '%n', '%cx'))}, 7;")
        self.emit(f"mov.u32 {count}, 0;")
        self.emit(f"mov.u32 {other}, 1;")
        self.lines.append(f"{head}:")
        if self.random.random() < 0.4:
            mask = self.name("r")
            self.load(self.random.choice((self.bases[0], "%own")), 0)
            self.emit(f"activemask.b32 {mask};")
            self.emit(f"bar.warp.sync {mask};")
        if self.random.random() < 0.3:
            self.store(depth)
        self.iteration(count, value, other)
        self.emit(f"add.u32 {count}, {count}, 1;")
        self.emit(f"setp.le.u32 {predicate}, {count}, {last};")
        self.emit(f"@{predicate} bra {head};")
        self.emit(f"and.b32 {value}, {value}, 1023;")
        self.emit(f"mul.wide.u32 {address}, {value}, {SIZE[self.type] * self.vector};")
        self.emit(f"add.s64 {address}, {address}, {self.random.choice(self.bases)};")
        saved, self.bases = self.bases, [address]
        self.loads(depth)
        self.bases = saved

    def iteration(self, count: str, value: str, other: str) -> None:
        """A value that each iteration makes, the same in all lanes that are in it together."""
        kind = self.random.randrange(4)
        if kind == 0:  # by branches
            self.emit(f"mov.u32 {value}, 0;")
            for bit in range(self.random.choice((1, 2, 5))):
                part, zero, skip = self.name("r"), self.name("p"), self.label()
                self.emit(f"and.b32 {part}, {count}, {1 << bit};")
                self.emit(f"setp.eq.u32 {zero}, {part}, 0;")
                self.emit(f"@{zero} bra {skip};")
                self.emit(f"add.u32 {value}, {value}, {3 << bit};")
                self.lines.append(f"{skip}:")
        elif kind == 1:  # a variable that is no count, before it is changed
            self.emit(f"mov.u32 {value}, {other};")
            self.emit(f"mad.lo.u32 {other}, {other}, 3, 1;")
        elif kind == 2:  # the count of a loop inside
            again, inner = self.name("p"), self.label()
            self.emit(f"mov.u32 {value}, 0;")
            self.lines.append(f"{inner}:")
            self.emit(f"add.u32 {value}, {value}, 1;")
            self.emit(f"setp.le.u32 {again}, {value}, {count};")
            self.emit(f"@{again} bra {inner};")
        else:  # a load from one address
            place = self.name("l")
            self.emit(f"mul.wide.u32 {place}, {count}, {self.random.choice((0, 4))};")
            self.emit(f"add.s64 {place}, %in, {place};")
            self.emit(f"and.b64 {place}, {place}, -4;")
            self.emit(f"ld.global{self.nc}.u32 {value}, [{place}];")

    def widened_under_guard(self, depth: int) -> None:
        """Loads by an index of 16 bits that is widened on one way from a branch, and under a guard on the other."""
        low, first, second = self.name("r"), self.name("s"), self.name("s")
        predicate, wide, odd, both = self.name("p"), self.name("l"), self.label(), self.label()
        self.emit(f"add.s32 {low}, %i, {self.random.choice((0, 65500, 65520, 65535))};")
        self.emit(f"cvt.u16.u32 {first}, {low};")
        self.emit(f"mov.u64 {wide}, 0;")
        self.emit(self.condition(predicate))
        self.emit(f"@{predicate} bra {odd};")
        self.emit(f"cvt.u64.u16 {wide}, {first};")
        self.emit(f"mov.b16 {second}, {self.random.choice(('0', first))};")
        self.emit(f"bra {both};")
        self.lines.append(f"{odd}:")
        self.emit(f"mov.b16 {second}, {first};")
        self.lines.append(f"{both}:")
        self.emit(f"@{predicate} cvt.u64.u16 {wide}, {second};")
        self.emit(f"mul.lo.u64 {wide}, {wide}, {SIZE[self.type] * self.vector};")
        self.emit(f"add.s64 {wide}, %in, {wide};")
        saved, self.bases = self.bases, [wide]
        self.loads(depth)
        self.bases = saved

    def store(self, depth: int) -> None:
        """Load from, store to, and load from the lane's own place in the output."""
        value, size = self.name("r"), SIZE[self.type]
        self.load("%own", 0)
        self.emit(f"cvt.u32.u64 {value}, %sum;")
        guard = ""
        if self.random.random() < 0.3:
            predicate = self.name("p")
            self.emit(self.condition(predicate))
            guard = f"@{self.random.choice(('', '!'))}{predicate} "
        if size == 8:
            self.emit(f"{guard}st.global.u64 [%own], %sum;")
        else:
            narrow = {1: "u8", 2: "u16", 4: "u32"}[size]
            self.emit(f"{guard}st.global.{narrow} [%own], {value};")
        self.load("%own", 0)

    def exchange(self, depth: int) -> None:
        """Store for a neighbour in the block, behind a barrier, between loads of the same place."""
        if self.has_left():
            self.loads(depth)
            return
        predicate = self.name("p")
        last = self.name("r")
        self.emit(f"sub.u32 {last}, %threads, 1;")
        self.emit(f"setp.lt.u32 {predicate}, %thread, {last};")
        value = self.name("r")
        vector, self.vector = self.vector, 1
        stride = vector
        self.emit("bar.sync 0;")
        self.load("%own", stride, f"@{predicate} ")
        self.emit("bar.sync 0;")
        self.emit(f"cvt.u32.u64 {value}, %sum;")
        narrow = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}[SIZE[self.type]]
        self.emit(f"st.global.{narrow} [%own], {'%sum' if SIZE[self.type] == 8 else value};")
        self.emit("bar.sync 0;")
        self.load("%own", stride, f"@{predicate} ")
        self.load("%own", stride, f"@{predicate} ")
        self.emit("bar.sync 0;")
        self.vector = vector

    def shared(self, depth: int) -> None:
        """Every thread fills its place in shared memory; then it loads those of others."""
        if self.has_left():
            self.loads(depth)
            return
        place, address, value = self.name("r"), self.name("r"), self.name("r")
        self.emit("bar.sync 0;")
        self.emit(f"mov.u32 {address}, pool;")
        self.emit(f"mad.lo.u32 {address}, %thread, 4, {address};")
        self.emit(f"cvt.u32.u64 {value}, %sum;")
        self.emit(f"st.shared.u32 [{address}], {value};")
        self.emit("bar.sync 0;")
        predicate = self.name("p")
        self.emit(f"sub.u32 {place}, %threads, 2;")
        self.emit(f"setp.lt.s32 {predicate}, %thread, {place};")
        for offset in self.random.sample((0, 1, 2), 2):
            loaded = self.name("r")
            self.emit(f"mov.u32 {loaded}, 3;")
            self.emit(f"@{predicate} ld.shared.u32 {loaded}, [{address}+{4 * offset}];")
            self.fold(loaded, "u32")
        self.emit("bar.sync 0;")

    def has_left(self) -> bool:
        """Whether threads may have gone to the end, so that no barrier can follow."""
        return any("bra DONE" in line for line in self.lines)

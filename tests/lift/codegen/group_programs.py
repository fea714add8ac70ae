"""Random programs of work-groups: phases of work-items and warps in local and global memory, with layout between."""

import random
from collections.abc import Callable
from typing import Any

from drawloom import lift
from drawloom.lift.language.ir import Lambda

#: How many elements a group gets.
CHUNKS = (4, 6, 8, 12, 16, 32, 64)
#: Work-groups by how the program uses work-items; None lets the compiler choose.
LOCAL_SIZES: dict[str, tuple[Any, ...]] = {
    "lines": (None, 1, 2, 3, 4, 5, 8, 16, 32),
    "planes": (None, (2, 2), (4, 2), (3, 2), (1, 4), (4, 4)),
    "warps": (None, 32, 64, 96),
}
#: Elements stay whole numbers that float32 holds exactly.
FUNCTIONS: tuple[Any, ...] = (lambda e: e + e, lambda e: e + 1, lift.id, lift.neg)

Shape = tuple[int, ...]
Array = tuple[Any, Shape]  # an expression, and the lengths of its one or two dimensions
MOST_PADDED = 24


class GroupGenerator:
    """Draws one program; `options` are what to compile it with."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.kind = self.random.choice(("lines", "lines", "planes", "warps"))
        local_size = self.random.choice(LOCAL_SIZES[self.kind])
        self.options = {"local_size": local_size, "sub_groups": self.kind == "warps" and self.random.random() < 0.5}
        self.chunk = self.random.choice(CHUNKS)

    def program(self) -> Lambda:
        groups = lift.split(self.chunk) >> lift.map_wrg(self.group) >> lift.join
        return lift.fun(lift.array(lift.float32, lift.size("N")), lambda x: groups(x), name="groups")

    def group(self, part: Any) -> Any:
        value, shape = part, (self.chunk,)
        kept: Array | None = None
        for _ in range(self.random.randint(1, 4)):
            value, shape = self.layout(value, shape)
            value, shape = self.phase(value, shape, self.random.choice((lift.to_local, lift.to_local, lift.to_global)))
            if kept is None and self.random.random() < 0.4:
                kept = value, shape
            elif kept is not None and kept[1] == shape and len(shape) == 1 and self.random.random() < 0.5:
                value, kept = self.combine(kept[0], value), None
        value, shape = self.layout(value, shape)
        return self.items(lift.to_global, lift.id)(value if len(shape) == 1 else lift.join(value))

    def combine(self, left: Any, right: Any) -> Any:
        return self.items(lift.to_local, lambda a, b: a + b + b)(lift.zip(left, right))

    # Layout

    def layout(self, value: Any, shape: Shape) -> Array:
        for _ in range(self.random.randint(0, 2)):
            step = self.random.choice(LAYOUTS)
            found = step(self, value, shape)
            if found is not None:
                value, shape = found
        return value, shape

    def split(self, value: Any, shape: Shape) -> Array | None:
        if len(shape) != 1:
            return None
        factors = [factor for factor in range(2, shape[0]) if shape[0] % factor == 0]
        if not factors:
            return None
        factor = self.random.choice(factors)
        return lift.split(factor)(value), (shape[0] // factor, factor)

    def join(self, value: Any, shape: Shape) -> Array | None:
        return (lift.join(value), (shape[0] * shape[1],)) if len(shape) == 2 else None

    def transpose(self, value: Any, shape: Shape) -> Array | None:
        return (lift.transpose(value), shape[::-1]) if len(shape) == 2 else None

    def reorder(self, value: Any, shape: Shape) -> Array:
        return lift.gather(self.random.choice((lift.reverse, lambda i, n: (i + 1) % n)))(value), shape

    def take(self, value: Any, shape: Shape) -> Array | None:
        return (lift.take(shape[0] - 1)(value), (shape[0] - 1,)) if len(shape) == 1 and shape[0] > 3 else None

    def pad(self, value: Any, shape: Shape) -> Array | None:
        if len(shape) != 1 or shape[0] > MOST_PADDED:
            return None
        boundary = self.random.choice(("clamp", "wrap", "mirror"))
        return lift.pad(1, 0, boundary)(value), (shape[0] + 1,)

    # Phases

    def dimension(self) -> int:
        return self.random.randrange(2) if self.kind == "planes" else 0

    def items(self, space: Any, function: Any) -> Any:
        """Return a map over work-items into an address space."""
        return space(lift.map_lcl(function, dim=self.dimension()))

    def phase(self, value: Any, shape: Shape, space: Any) -> Array:
        """Compute every element by some work-item, into an address space."""
        function = self.random.choice(FUNCTIONS)
        forms = ROWS if len(shape) == 2 else LINES
        for _ in range(4):
            found = self.random.choice(forms)(self, value, shape, space, function)
            if found is not None:
                return found
        if len(shape) == 2:
            return self.items(space, lift.map_seq(function))(value), shape
        return self.items(space, function)(value), shape

    def line(self, value: Any, shape: Shape, space: Any, function: Any) -> Array:
        return self.items(space, function)(value), shape

    def line_of_warps(self, value: Any, shape: Shape, space: Any, function: Any) -> Array | None:
        widths = [width for width in (4, 8, 16, 32) if shape[0] % width == 0]
        if self.kind != "warps" or not widths:
            return None
        warps = lift.map_warp(lambda row: space(lift.map_lane(function))(row))
        return lift.join(warps(lift.split(self.random.choice(widths))(value))), shape

    def sums_of_pairs(self, value: Any, shape: Shape, space: Any, function: Any) -> Array | None:
        if shape[0] % 2:
            return None
        sums = lift.map_lcl(lift.reduce_seq(0, lift.add) >> space(lift.map_seq(function)), dim=self.dimension())
        return lift.join(sums(lift.split(2)(value))), (shape[0] // 2,)

    def guarded_chunks(self, value: Any, shape: Shape, space: Any, function: Any) -> Array:
        chunks = lift.split_guarded(self.random.choice((2, 3, 5)))(value)
        return lift.join(self.items(space, lift.map_seq(function))(chunks)), shape

    def iterations(self, value: Any, shape: Shape, space: Any, function: Any) -> Array:
        dimension = self.dimension()
        step = lift.gather(lift.reverse) >> lift.to_local(lift.map_lcl(function, dim=dimension))
        return lift.iterate(2, step)(self.items(lift.to_local, lift.id)(value)), shape

    def plane(self, value: Any, shape: Shape, space: Any, function: Any) -> Array | None:
        if self.kind == "warps":
            return space(lift.map_warp(lift.map_lane(function)))(value), shape
        if self.kind != "planes":
            return None
        inner = self.random.randrange(2)
        return space(lift.map_lcl(lift.map_lcl(function, dim=inner), dim=1 - inner))(value), shape

    def sums_of_rows(self, value: Any, shape: Shape, space: Any, function: Any) -> Array:
        sums = lift.map_lcl(lift.reduce_seq(1, lift.add) >> space(lift.map_seq(function)), dim=self.dimension())
        return lift.join(sums(value)), shape[:1]

    def scans_of_rows(self, value: Any, shape: Shape, space: Any, function: Any) -> Array:
        return self.items(space, lift.scan_seq(0, lift.add))(value), shape

    def rows_in_registers(self, value: Any, shape: Shape, space: Any, function: Any) -> Array:
        row = lift.to_private(lift.map_seq(function)) >> space(lift.map_seq(function))
        return lift.map_lcl(row, dim=self.dimension())(value), shape


Step = Callable[[GroupGenerator, Any, Shape], Array | None]
Form = Callable[[GroupGenerator, Any, Shape, Any, Any], Array | None]
LAYOUTS: tuple[Step, ...] = (
    GroupGenerator.split, GroupGenerator.join, GroupGenerator.transpose, GroupGenerator.reorder, GroupGenerator.take,
    GroupGenerator.pad,
)  # fmt: skip
LINES: tuple[Form, ...] = (
    GroupGenerator.line, GroupGenerator.line_of_warps, GroupGenerator.sums_of_pairs, GroupGenerator.guarded_chunks,
    GroupGenerator.iterations,
)  # fmt: skip
ROWS: tuple[Form, ...] = (
    GroupGenerator.plane, GroupGenerator.sums_of_rows, GroupGenerator.scans_of_rows, GroupGenerator.rows_in_registers,
)  # fmt: skip

"""The outliner: splits straight-line control code into kernels and what is left, HorseIR to HorseIR.

Every reduction, every grouped reduction and every row vector that control code needs is the root of a kernel. A kernel
computes its roots from stored columns and scalars; the element-wise statements between are copied into each kernel that
needs them, so that rows never go through memory. Roots over one table whose inputs are ready at the same time share a
kernel: each column is read once. Compression stays a mask inside (thesis sections 4.2.5 and 4.3.3), and a group whose
keys have few values is aggregated in place.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse import ranges as ranges_module
from drawloom.horse import shapes as shapes_module
from drawloom.horse.builtins import BUILTINS
from drawloom.horse.infer import variable_types
from drawloom.horse.ir import (
    Assign,
    Call,
    Function,
    FunctionRef,
    Module,
    Name,
    Operand,
    Param,
    Return,
    Statement,
    Target,
    operands,
)
from drawloom.horse.ranges import Facts, Ranges
from drawloom.horse.shapes import Compressed, Constant, Shape, Size, Symbol
from drawloom.horse.templates import S64, fits, has_template
from drawloom.horse.types import BOOL, Type, VectorType

#: Groups that a kernel aggregates in place, by the product of the sizes of the keys' ranges: so many anyway, and as
#: many as the table has rows. (6,000,000 rows take 110 ms for any number of groups from 30,000 on, where sorting them
#: takes 360; docs/horse.md.)
FEW_GROUPS: Final = 1 << 16
#: Most entries of a table of groups: 512 MiB. A reduction has three at most, and one tells which groups there are.
MAX_ENTRIES: Final = 1 << 26

#: What makes masks over a whole table as control code.
_HOST_MASKS: Final = frozenset(["like", "member", "contains", "touched"])
_REDUCTIONS: Final = frozenset(["sum", "avg", "min", "max", "len"])


class Outline:
    """The outlined module, and the analyses of ``main`` that code generation reads.

    ``ranges`` and ``types`` are by the variable names of ``main``, which kernels keep.
    """

    def __init__(self, module: Module, types: dict[str, Type], ranges: Ranges, shapes: dict[str, Shape]) -> None:
        self.module = module
        self.types = types
        self.ranges = ranges
        self.shapes = shapes


def outline(module: Module, facts: Facts) -> Outline:
    """The module with ``main`` split into kernels; as it is where ``main`` has control flow of its own."""
    main = module.function("main")
    if main is None or not shapes_module.is_straight(main.body):
        return Outline(module, {}, Ranges(), {})
    types = variable_types(main)
    ranges = ranges_module.analyse(main, types, facts)
    shapes = shapes_module.analyse(main)
    split = _Outliner(module, main, types, ranges, shapes, facts)
    return Outline(split.run(), types, ranges, shapes)


class _Root:
    """A value that leaves a kernel: the variable, the table it runs over, when its inputs are ready, and its group.

    ``group`` is the variable of the group that it is reduced by, "" without one; a kernel has one group at most.
    """

    def __init__(self, name: str, table: str, level: int, group: str = "") -> None:
        self.name = name
        self.table = table
        self.level = level
        self.group = group


class _Outliner:
    def __init__(
        self,
        module: Module,
        main: Function,
        types: dict[str, Type],
        ranges: Ranges,
        shapes: dict[str, Shape],
        facts: Facts,
    ) -> None:
        self.facts = facts
        self.module = module
        self.main = main
        self.types = types
        self.ranges = ranges
        self.shapes = shapes
        self.statements: list[Assign] = [s for s in main.body if isinstance(s, Assign)]
        self.definition: dict[str, Assign] = {}
        self.users: dict[str, list[Assign]] = {}
        for statement in self.statements:
            for target in statement.targets:
                self.definition[target.name] = statement
            for name in _names(statement):
                self.users.setdefault(name, []).append(statement)
        #: Statements that kernels compute: element-wise ones, and the insides of fused groups.
        self.inside: set[str] = set()
        #: Where a variable is first ready: the number of kernel rounds before it.
        self.level: dict[str, int] = {}
        self.roots: dict[str, _Root] = {}
        #: The group that the variables of a fused group belong to.
        self.group_of: dict[str, str] = {}

    def run(self) -> Module:
        fused = self.fused_groups()
        for statement in self.statements:
            self.place(statement, fused)
        self.find_escapes()
        if not self.roots:
            return self.module
        return self.build()

    # Which statements can be inside

    def place(self, statement: Assign, fused: dict[str, str]) -> None:
        """Decides whether a statement is inside kernels, a root of one, or control code, and when it is ready."""
        name = statement.targets[0].name
        level = max([self.level.get(n, 0) for n in _names(statement)], default=0)
        if name in fused:
            self.inside.add(name)
            self.level[name] = level
            if self.is_group_root(statement):
                self.roots[name] = _Root(name, fused[name], level, self.group_of[name])
                self.level[name] = level + 1
            return
        table = self.table_of(statement)
        if table is not None and self.is_reduction(statement):
            self.roots[name] = _Root(name, table, level)
            self.level[name] = level + 1
        elif table is not None and self.is_element_wise(statement):
            self.inside.add(name)
            self.level[name] = level
        else:
            # Control code runs after the kernel that makes the rows it reads.
            after = [self.level[n] + 1 for n in _names(statement) if n in self.inside and n not in self.roots]
            self.level[name] = max([level, *after])

    def call(self, statement: Assign) -> Call | None:
        value = statement.value
        return value if isinstance(value, Call) and value.function.name in BUILTINS else None

    def table_of(self, statement: Assign) -> str | None:
        """The table whose rows the call works on, by its variable; None where it works on something else."""
        call = self.call(statement)
        if call is None:
            return None
        found: Symbol | None = None
        sizes: list[Size] = []
        for argument in call.arguments:
            size = shapes_module.operand_size(argument, self.shapes)
            if size is None or (isinstance(size, Constant) and size.count == 1):
                continue
            if call.function.name == "member" and argument is call.arguments[1]:
                continue
            found = shapes_module.base(size)
            if found is None or not self.is_available(argument, size):
                return None
            sizes.append(size)
        if found is None or any(s != sizes[0] for s in sizes):
            return None
        return found.table

    def is_available(self, operand: Operand, size: Size) -> bool:
        """Whether a kernel can have the rows of an operand: it computes them, or they are a whole column in memory.

        Besides stored columns these are masks that control code makes, such as LIKE over a large dictionary.
        """
        assert isinstance(operand, Name)
        if operand.name in self.inside:
            return True
        if not isinstance(size, Symbol):
            return False
        return self.is_stored(operand.name) or self.is_host_mask(operand.name)

    def is_host_mask(self, name: str) -> bool:
        call = self.call(self.definition[name])
        return self.types[name] == BOOL and call is not None and call.function.name in _HOST_MASKS

    def is_stored(self, name: str) -> bool:
        value = self.definition[name].value
        call = value.value if hasattr(value, "value") else value
        return isinstance(call, Call) and call.function.name in ("column_value", "column_valid")

    def is_element_wise(self, statement: Assign) -> bool:
        call = self.call(statement)
        if call is None:
            return False
        builtin = BUILTINS[call.function.name]
        if builtin.target != "gpu" or builtin.is_reduction:
            return False
        return isinstance(self.size(statement), Symbol | Compressed) and has_template(call, self.types, self.ranges)

    def size(self, statement: Assign) -> Size:
        return self.shapes[statement.targets[0].name].size

    def is_reduction(self, statement: Assign) -> bool:
        call = self.call(statement)
        return (
            call is not None
            and call.function.name in _REDUCTIONS
            and self.reduces(call.function.name, call.arguments[0])
        )

    def reduces(self, name: str, operand: Operand) -> bool:
        """Whether the reduction has a template for the operand."""
        if name == "len":
            return True
        type = self.types[operand.name] if isinstance(operand, Name) else None
        if not isinstance(type, VectorType):
            return False
        if type.kind == "text":
            return name in ("min", "max") and self.ranges.of(operand, type) is not None
        return type.is_float or fits(self.ranges.of(operand, type), S64)

    # Groups

    def fused_groups(self) -> dict[str, str]:
        """The variables of groups that are aggregated in place, each with its table's variable."""
        fused: dict[str, str] = {}
        # What is element-wise does not depend on the groups: place everything once to know it.
        for statement in self.statements:
            self.place(statement, fused)
        for statement in self.statements:
            call = self.call(statement)
            if call is not None and call.function.name == "group":
                fused.update(self.group_members(statement, call) or {})
        self.inside.clear()
        self.level.clear()
        self.roots.clear()
        return fused

    def group_members(self, statement: Assign, call: Call) -> dict[str, str] | None:
        """The variables from a group's list of keys to its razed reductions; None where it cannot be fused."""
        listed = call.arguments[0]
        if not isinstance(listed, Name):
            return None
        keys = self.call(self.definition[listed.name])
        if keys is None or keys.function.name != "list" or len(self.users[listed.name]) != 1:
            return None
        found = self.key_table(keys.arguments)
        if found is None:
            return None
        table, groups = found
        key_names = [k.name for k in keys.arguments if isinstance(k, Name)]
        members = [listed.name, statement.targets[0].name]
        for user in self.users.get(members[1], []):
            name = user.targets[0].name
            members.append(name)
            used = self.call(user)
            assert used is not None
            more = self.first_rows(name, key_names) if used.function.name == "keys" else self.cells(name, table)
            if more is None:
                return None
            members.extend(more)
        reductions = [m for m in members if self.is_each(m)]
        if groups * (3 * len(reductions) + 1) > MAX_ENTRIES:
            return None
        self.group_of.update(dict.fromkeys(members, members[1]))
        return dict.fromkeys(members, table)

    def is_each(self, name: str) -> bool:
        call = self.call(self.definition[name])
        return call is not None and call.function.name == "each"

    def key_table(self, keys: list[Operand]) -> tuple[str, int] | None:
        """The table of a group's keys and how many groups there can be, when they are few enough; None otherwise."""
        groups = 1
        tables: set[str] = set()
        sizes: set[str] = set()
        for key in keys:
            type = self.types.get(key.name) if isinstance(key, Name) else None
            size = shapes_module.operand_size(key, self.shapes)
            if not isinstance(type, VectorType) or size is None or not self.is_available(key, size):
                return None
            range = self.ranges.of(key, type)
            symbol = shapes_module.base(size)
            if range is None or symbol is None or type.is_float:
                return None
            groups *= max(range[1] - range[0] + 1, 1)
            tables.add(symbol.table)
            sizes.add(str(size))
        if len(sizes) != 1:
            return None
        table = tables.pop()
        rows = self.facts.rows(self.ranges.tables[table])
        return (table, groups) if groups <= max(FEW_GROUPS, rows) else None

    def first_rows(self, name: str, keys: list[str]) -> list[str] | None:
        """The keys of the groups: the only thing that may be read at the groups' first rows."""
        members: list[str] = []
        for user in self.users.get(name, []):
            call = self.call(user)
            if call is None or call.function.name != "index":
                return None
            key, index = call.arguments
            if not (isinstance(key, Name) and key.name in keys and isinstance(index, Name) and index.name == name):
                return None
            members.append(user.targets[0].name)
        return members

    def cells(self, name: str, table: str) -> list[str] | None:
        """From the groups' rows through @each_right(@index), masks and @each(reduction) to @raze."""
        members: list[str] = []
        todo = [name]
        while todo:
            for user in self.users.get(todo.pop(), []):
                made = user.targets[0].name
                call = self.call(user)
                if made in members:
                    continue
                if call is None or not self.is_cell_step(call):
                    return None
                members.append(made)
                if call.function.name != "raze":
                    todo.append(made)
        return members

    def is_cell_step(self, call: Call) -> bool:
        name = call.function.name
        if name == "raze":
            return True
        inner = call.arguments[0]
        if not isinstance(inner, FunctionRef):
            return False
        if name == "each_right":
            rows = call.arguments[1]
            size = shapes_module.operand_size(rows, self.shapes)
            return (
                inner.name == "index" and size is not None and isinstance(rows, Name) and self.is_available(rows, size)
            )
        if name == "each_item":
            return inner.name == "compress"
        if name != "each" or inner.name not in _REDUCTIONS:
            return False
        rows_of = self.cell_rows(call.arguments[1])
        return inner.name == "len" or (rows_of is not None and self.reduces(inner.name, rows_of))

    def cell_rows(self, cells: Operand) -> Operand | None:
        """The row vector whose cells an @each_right or @each_item made."""
        call = self.call(self.definition[cells.name]) if isinstance(cells, Name) else None
        if call is None or call.function.name not in ("each_right", "each_item"):
            return None
        return call.arguments[1] if call.function.name == "each_right" else self.cell_rows(call.arguments[2])

    def is_group_root(self, statement: Assign) -> bool:
        call = self.call(statement)
        return call is not None and call.function.name in ("raze", "index")

    # Building

    def find_escapes(self) -> None:
        """Row vectors computed inside that control code reads become roots."""
        returned: set[str] = set()
        for statement in self.main.body:
            if isinstance(statement, Return):
                returned.update([v.name for v in statement.values if isinstance(v, Name)])
        for name in sorted(self.inside, key=self.order):
            if name in self.roots or not isinstance(self.types[name], VectorType):
                continue
            outside = [u for u in self.users.get(name, []) if not self.is_inside(u)]
            table = shapes_module.base(self.shapes[name].size)
            if (outside or name in returned) and table is not None:
                self.roots[name] = _Root(name, table.table, self.level[name])

    def is_inside(self, statement: Assign) -> bool:
        name = statement.targets[0].name
        return name in self.inside or name in self.roots

    def order(self, name: str) -> int:
        return self.statements.index(self.definition[name])

    def build(self) -> Module:
        """Control code and kernel calls, in the order in which their inputs are ready."""
        kernels: list[Function] = []
        body: list[Statement] = []
        wanted = self.reachable()
        control = [s for s in self.statements if not self.is_inside(s) and s.targets[0].name in wanted]
        for level in range(max(self.level.values()) + 1):
            body.extend([s for s in control if self.level[s.targets[0].name] == level])
            regions = {(r.table, r.group) for r in self.roots.values() if r.level == level}
            for table, group in sorted(regions, key=self.region_order):
                roots = [r for r in self.roots.values() if (r.level, r.table, r.group) == (level, table, group)]
                names = sorted([r.name for r in roots if r.name in wanted], key=self.order)
                if names:
                    kernel = self.kernel(f"main_{len(kernels)}", names)
                    kernels.append(kernel)
                    body.append(self.kernel_call(kernel, names))
        body.append(self.main.body[-1])
        main = Function("main", self.main.params, self.main.returns, body)
        others = [f for f in self.module.functions if f is not self.main]
        return Module(self.module.name, self.module.imports, [main, *kernels, *others])

    def region_order(self, region: tuple[str, str]) -> tuple[int, int]:
        table, group = region
        return (self.order(table), self.order(group) if group else -1)

    def reachable(self) -> set[str]:
        """The variables that the result depends on."""
        last = self.main.body[-1]
        assert isinstance(last, Return)
        todo = [v.name for v in last.values if isinstance(v, Name)]
        wanted: set[str] = set()
        while todo:
            name = todo.pop()
            if name not in wanted and name in self.definition:
                wanted.add(name)
                todo.extend(_names(self.definition[name]))
        return wanted

    def kernel(self, name: str, roots: list[str]) -> Function:
        """The kernel that computes ``roots``: the slice of inside statements, its parameters what they read."""
        needed: set[str] = set()
        params: set[str] = set()
        todo = list(roots)
        while todo:
            wanted = todo.pop()
            if wanted in needed or wanted in params:
                continue
            if wanted in roots or wanted in self.inside:
                needed.add(wanted)
                todo.extend(_names(self.definition[wanted]))
            else:
                params.add(wanted)
        body: list[Statement] = [s for s in self.statements if s.targets[0].name in needed]
        body.append(Return([Name(r) for r in roots]))
        given = [Param(p, self.types[p]) for p in sorted(params, key=self.order)]
        return Function(name, given, [self.types[r] for r in roots], body, True)

    def kernel_call(self, kernel: Function, roots: list[str]) -> Assign:
        arguments: list[Operand] = [Name(p.name) for p in kernel.params]
        targets = [Target(r, self.types[r]) for r in roots]
        return Assign(targets, Call(FunctionRef(kernel.name), arguments))


def _names(statement: Assign) -> list[str]:
    return [o.name for o in operands(statement.value) if isinstance(o, Name)]

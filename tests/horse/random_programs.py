"""Random HorseIR programs over one table: vectors, masks, groups, sorts and lists, in branches, loops and functions.

A variable's *rows* say which others it goes with: "1" for scalars, else a name for one length. Sums are only of floats
that are halves of small integers, so that every order of adding gives the same.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Final

import pyarrow as pa

from drawloom.horse.ir import FunctionRef, Literal, Name, Operand
from drawloom.horse.rules import SignatureError
from drawloom.horse.signatures import result_type
from drawloom.horse.types import BOOL, I64, SYM, WILDCARD, DecimalType, ListType, Type, VectorType, named_type

FUNCTIONS: Final = """
    def clamp(x:i64, most:i64) : i64 {
        var m:bool = @gt(x, most);
        var y:i64 = @if_else(m, most, x);
        return y;
    }

    kernel kept(x:i64, m:bool) : i64, i64 {
        var c:i64 = @compress(m, x);
        var a:i64 = @max(c);
        var n:i64 = @len(c);
        return a, n;
    }

    def halvings(n:i64) : i64 {
        var done:bool = @lt(n, 2:i64);
        if (done) { return 0:i64; }
        var less:i64 = @minus(n, 3:i64);
        var rest:i64 = @halvings(less);
        var made:i64 = @plus(rest, 1:i64);
        return made;
    }
"""
_WORDS: Final = ["", "a", "ab", "b", "ba", "é", "z%"]
_DATES: Final = (-3000, 30000)
_NUMERIC: Final = ("plus", "minus", "mul")
_COMPARE: Final = ("eq", "neq", "lt", "leq", "gt", "geq")


def random_table(rng: random.Random, rows: int) -> pa.Table:
    each = range(rows)
    few = rng.choice([2, 5, 300])
    return pa.table({
        "h": pa.array([rng.randint(0, 9) for _ in each], pa.int16()),
        "i": pa.array([rng.randint(-few, few) for _ in each], pa.int32()),
        "b": pa.array([rng.choice([rng.randint(-50, 50), rng.randint(-(10**9), 10**9)]) for _ in each], pa.int64()),
        "d": pa.array([Decimal(rng.randint(-9999, 9999)).scaleb(-2) for _ in each], pa.decimal128(9, 2)),
        "f": pa.array([rng.randint(-40, 40) / 2 for _ in each], pa.float64()),
        "g": pa.array([rng.choice([float("nan"), float("-inf"), -0.0, 1.5]) for _ in each], pa.float32()),
        "s": pa.array([rng.choice(_WORDS) for _ in each], pa.string()),
        "q": pa.array([rng.random() < 0.6 for _ in each], pa.bool_()),
        "dt": pa.array([rng.randint(*_DATES) for _ in each], pa.int32()).cast(pa.date32()),
    })  # fmt: skip


class Variable:
    """``is_clean`` says that sums of it are exact."""

    def __init__(self, name: str, type: VectorType, rows: str, is_clean: bool = True) -> None:
        self.name = name
        self.type = type
        self.rows = rows
        self.is_clean = is_clean


class Programs:
    """Programs over the table ``t`` of the columns of ``random_table``, from one seed."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0
        self.lines: list[str] = []
        self.known: list[Variable] = []
        #: What a mask made of rows, by the mask and those rows, and how often each mask was written.
        self.compressed: dict[tuple[str, int, str], str] = {}
        self.version: dict[str, int] = {}
        #: What each copy is a copy of.
        self.data: dict[tuple[str, int], tuple[str, int]] = {}

    def program(self, statements: int) -> str:
        """The text of a program; ``main`` returns some of its variables."""
        self.lines, self.known, self.count = [], [], 0
        self.lines.append("var t:table = @load_table(`t:sym);")
        types = {"h": "i16", "i": "i32", "b": "i64", "d": "decimal<9,2>", "f": "f64", "g": "f32", "s": "str",
                 "q": "bool", "dt": "date"}  # fmt: skip
        for name, type in types.items():
            self.lines.append(f"var {name}:{type} = check_cast(@column_value(t, `{name}:sym), {type});")
            self.known.append(Variable(name, _named(type), "t", name != "g"))
        self.statements(statements, 2)
        chosen = self.rng.sample(self.known, min(len(self.known), self.rng.randint(2, 8)))
        names = ", ".join([v.name for v in chosen])
        gives = ", ".join([str(v.type) for v in chosen])
        body = "\n        ".join([*self.lines, f"return {names};"])
        main = f"    def main() : {gives} {{\n        {body}\n    }}\n"
        return f"module m {{\n    import Builtin.*;\n\n{main}{FUNCTIONS}}}\n"

    def statements(self, count: int, depth: int) -> None:
        makers = [self.element_wise] * 10 + [self.compress] * 5 + [self.reduce] * 5 + [self.gather, self.group] * 2
        makers += [self.sort, self.call, self.update, self.update, self.cells, self.join, self.join, self.copy]
        for _ in range(count):
            if depth and self.rng.random() < 0.12:
                self.rng.choice([self.branch, self.repeat, self.loop])(depth - 1)
            else:
                self.rng.choice(makers)()

    # Variables

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def pick(self, rows: str = "", kinds: str = "", type: VectorType | None = None) -> Variable | None:
        """A variable, of these rows, of one of these kinds, of this type; later ones are likelier."""
        found = [
            v for v in self.known
            if (not rows or v.rows == rows) and (not kinds or v.type.kind in kinds.split()) and type in (None, v.type)
        ]  # fmt: skip
        if not found:
            return None
        return found[max(self.rng.randrange(len(found)), self.rng.randrange(len(found)))]

    def literal(self, type: VectorType) -> Literal:
        rng = self.rng
        if type.kind == "text":
            return Literal([rng.choice(_WORDS)], type)
        if type.is_float:
            return Literal([rng.randint(-20, 20) / 2], type)
        if type.kind == "bool":
            return Literal([rng.randint(0, 1)], type)
        return Literal([rng.randint(*_DATES) if type.text == "date" else rng.randint(-9, 9)], type)

    def operand(self, like: Variable, type: VectorType | None = None) -> tuple[Operand, VectorType, bool]:
        """What goes with a variable: its rows, a scalar or a literal; of the type, or of the variable's kind."""
        kinds = "" if type else "int decimal float" if like.type.is_numeric else like.type.kind
        side = self.pick(self.rng.choice([like.rows, like.rows, "1"]), kinds, type)
        if side is None or self.rng.random() < 0.3:
            made = type or like.type
            return self.literal(made), made, True
        return Name(side.name), side.type, side.is_clean

    def assign(self, call: str, arguments: list[Operand], types: list[Type], rows: str, is_clean: bool = True) -> None:
        """Declares a variable for the call's value, where there is one."""
        from drawloom.horse.builtins import BUILTINS
        from drawloom.horse.printer import print_operand

        try:
            made = result_type(BUILTINS[call].signature, call, arguments, types)
        except SignatureError:
            return
        name = self.fresh()
        self.lines.append(f"var {name}:? = @{call}({', '.join([print_operand(a) for a in arguments])});")
        if isinstance(made, VectorType):
            self.known.append(Variable(name, made, rows, is_clean))

    # Statements

    def element_wise(self) -> None:
        rng = self.rng
        a = self.pick()
        if a is None:
            return
        x, name = (
            Name(a.name),
            rng.choice(["compare", "numeric", "numeric", "unary", "choose", "logic", "part", "convert"]),
        )
        if name == "compare" or (name == "numeric" and not a.type.is_numeric):
            y, type, _ = self.operand(a)
            self.assign(rng.choice(_COMPARE), [x, y], [a.type, type], a.rows)
        elif name == "numeric":
            y, type, is_clean = self.operand(a)
            call = rng.choice(_NUMERIC)
            clean = a.is_clean and is_clean and call != "mul"
            self.assign(call, [x, y], [a.type, type], a.rows, clean or not (a.type.is_float or type.is_float))
        elif name == "unary":
            if a.type.is_integer and rng.random() < 0.6:
                self.assign("mod", [x, Literal([rng.choice([7, 97, -5])], a.type)], [a.type, a.type], a.rows)
            else:
                self.assign(rng.choice(["neg", "abs"]), [x], [a.type], a.rows, a.is_clean)
        elif name == "choose":
            mask = self.pick(a.rows, "bool")
            y, type, is_clean = self.operand(a, a.type)
            if mask is not None:
                self.assign("if_else", [Name(mask.name), x, y], [BOOL, a.type, type], a.rows, a.is_clean and is_clean)
        elif name == "logic":
            mask = self.pick("", "bool")
            if mask is not None:
                y, type, _ = self.operand(mask, BOOL)
                call = rng.choice(["and", "or", "not"])
                more = ([y], [type]) if call != "not" else ([], [])
                self.assign(call, [Name(mask.name), *more[0]], [BOOL, *more[1]], mask.rows)
        elif name == "part":
            if a.type.kind == "text":
                pattern = rng.choice(["%a%", "_", "a%", "%", "é"])
                options = Literal(rng.sample(_WORDS, 2), a.type)
                call, y = rng.choice([("like", Literal([pattern], a.type)), ("member", options)])
                self.assign(call, [x, y], [a.type, y.type], a.rows)
            elif a.type.text == "date":
                self.assign(rng.choice(["date_year", "date_month", "date_day"]), [x], [a.type], a.rows)
        elif a.type.is_numeric:
            to = rng.choice(["f64", "i64", "decimal<12,3>", "i32"])
            if to in ("f64", "decimal<12,3>") or not a.type.is_float:
                self.assign("convert", [x, Literal([to], SYM)], [a.type, SYM], a.rows, a.is_clean and to != "f64")

    def compress(self) -> None:
        mask = self.pick("", "bool")
        if mask is None or mask.rows == "1":
            return
        for _ in range(self.rng.randint(1, 3)):
            a = self.pick(mask.rows)
            if a is not None:
                key = (*self.data_of(mask), mask.rows)
                rows = self.compressed.setdefault(key, f"{mask.name}_{len(self.compressed)}")
                self.assign("compress", [Name(mask.name), Name(a.name)], [BOOL, a.type], rows, a.is_clean)

    def reduce(self) -> None:
        a = self.pick()
        if a is None or a.rows == "1":
            return
        calls = ["len", "min", "max"] + (["sum", "avg"] if a.is_clean and a.type.is_numeric else [])
        self.assign(self.rng.choice(calls), [Name(a.name)], [a.type], "1", a.type.is_exact)

    def gather(self) -> None:
        a = self.pick()
        if a is None or a.rows == "1":
            return
        mask, rows = self.pick(a.rows, "bool"), self.fresh()
        if mask is None or self.rng.random() < 0.3:
            self.assign("unique", [Name(a.name)], [a.type], rows)
        else:
            self.assign("where", [Name(mask.name)], [BOOL], rows)
        where = self.known[-1]
        if where.rows == rows:
            for _ in range(self.rng.randint(1, 2)):
                b = self.pick(a.rows)
                if b is not None:
                    self.assign("index", [Name(b.name), Name(where.name)], [b.type, I64], rows, b.is_clean)

    def sort(self) -> None:
        a = self.pick()
        if a is None or a.rows == "1":
            return
        listed, up = self.fresh(), self.rng.randint(0, 1)
        self.lines.append(f"var {listed}:list<?> = @list({a.name});")
        rows = self.fresh()
        self.lines.append(f"var {rows}:i64 = @order({listed}, {up}:bool, 0:bool);")
        self.assign("index", [Name(a.name), Name(rows)], [a.type, I64], a.rows, a.is_clean)

    def join(self) -> None:
        """The rows of both sides, and what is picked by them; or a mask of the rows that have a partner."""
        a = self.pick("", "int text time")
        b = self.pick(type=a.type) if a is not None else None
        if a is None or b is None or "1" in (a.rows, b.rows):
            return
        left, right, pairs = self.fresh(), self.fresh(), self.fresh()
        self.lines.append(f"var {left}:list<?> = @list({a.name}); var {right}:list<?> = @list({b.name});")
        if self.rng.random() < 0.3:
            self.assign("contains", [Name(left), Name(right)], [ListType(a.type), ListType(b.type)], a.rows)
            return
        self.lines.append(f"var {pairs}:? = @join({left}, {right});")
        for side, given in ((0, a), (1, b)):
            rows = self.fresh()
            self.lines.append(f"var {rows}:? = @item({pairs}, {side}:i64);")
            self.known.append(Variable(rows, I64, pairs))
            for _ in range(self.rng.randint(0, 2)):
                picked = self.pick(given.rows)
                if picked is not None:
                    self.assign("index", [Name(picked.name), Name(rows)], [picked.type, I64], pairs, picked.is_clean)

    def group(self) -> None:
        """Groups as a kernel may aggregate in place, and what is made of their results."""
        key = self.pick("", "int text bool time")
        if key is None or key.rows == "1":
            return
        other = self.pick(key.rows, "int text bool time")
        keys = key.name if other is None or self.rng.random() < 0.5 else f"{key.name}, {other.name}"
        listed, group, firsts, rows = [self.fresh() for _ in range(4)]
        self.lines.append(f"var {listed}:list<?> = @list({keys}); var {group}:? = @group({listed});")
        self.lines.append(f"var {firsts}:? = @keys({group}); var {rows}:? = @values({group});")
        if self.rng.random() < 0.7:
            self.assign("index", [Name(key.name), Name(firsts)], [key.type, I64], group)
        for _ in range(self.rng.randint(1, 3)):
            a, mask = self.pick(key.rows), self.pick(key.rows, "bool")
            if a is None:
                continue
            cells, sums = self.fresh(), self.fresh()
            calls = ["len", "min", "max"] + (["sum", "avg"] if a.is_clean and a.type.is_numeric else [])
            self.lines.append(f"var {cells}:? = @each_right(@index, {a.name}, {rows});")
            if mask is not None and self.rng.random() < 0.3:
                masks, kept = self.fresh(), self.fresh()
                self.lines.append(f"var {masks}:? = @each_right(@index, {mask.name}, {rows});")
                self.lines.append(f"var {kept}:? = @each_item(@compress, {masks}, {cells});")
                cells, calls = kept, [c for c in calls if c in ("len", "sum")]
            if a.type.is_numeric and self.rng.random() < 0.4:
                # No group in place has this: a kernel over cells does.
                mapped = self.fresh()
                step = self.rng.choice(["neg", "abs"])
                self.lines.append(f"var {mapped}:? = @each(@{step}, {cells});")
                cells, calls = mapped, [c for c in calls if c != "avg"]
            call = self.rng.choice(calls)
            self.lines.append(f"var {sums}:? = @each(@{call}, {cells});")
            made = result_type("each", "each", [FunctionRef(call)], [WILDCARD, ListType(a.type)])
            self.assign("raze", [Name(sums)], [made], group, a.type.is_exact and call != "avg")

    def cells(self) -> None:
        a = self.pick()
        b = self.pick(type=a.type) if a is not None else None
        if a is None or b is None:
            return
        listed, mapped, rows = self.fresh(), self.fresh(), self.fresh()
        self.lines.append(f"var {listed}:list<?> = @list({a.name}, {b.name});")
        self.lines.append(f"var {mapped}:list<?> = @each(@len, {listed});")
        self.assign("raze", [Name(mapped)], [ListType(I64)], rows)
        self.assign("raze", [Name(listed)], [ListType(a.type)], rows + "r", a.is_clean and b.is_clean)

    def call(self) -> None:
        a, mask = self.pick(type=I64), None
        if a is None:
            return
        name = self.fresh()
        if a.rows == "1":
            small = self.fresh()
            self.lines.append(f"var {small}:i64 = @mod({a.name}, 40:i64);")
            self.lines.append(f"var {name}:i64 = @halvings({small});")
            self.known.append(Variable(name, I64, "1"))
            return
        mask = self.pick(a.rows, "bool")
        if mask is None or self.rng.random() < 0.5:
            self.lines.append(f"var {name}:i64 = @clamp({a.name}, 10:i64);")
            self.known.append(Variable(name, I64, a.rows))
            return
        count = self.fresh()
        self.lines.append(f"var {name}:i64, var {count}:i64 = @kept({a.name}, {mask.name});")
        self.known += [Variable(name, I64, "1"), Variable(count, I64, "1")]

    def update(self) -> None:
        """Writes a variable again, with another of its type and rows or a function of itself."""
        a = self.pick()
        if a is None or a.name in ("h", "i", "b", "d", "f", "g", "s", "q", "dt"):
            return
        self.version[a.name] = self.version.get(a.name, 0) + 1
        if a.type in (I64, _named("i32")):
            self.lines.append(f"{a.name} = @mod({a.name}, {self.rng.choice([11, 50])}:{a.type});")
            return
        mask = self.pick(a.rows, "bool")
        y, _, is_clean = self.operand(a, a.type)
        if mask is not None and mask.name != a.name:
            from drawloom.horse.printer import print_operand

            self.lines.append(f"{a.name} = @if_else({mask.name}, {a.name}, {print_operand(y)});")
            a.is_clean = a.is_clean and is_clean

    def copy(self) -> None:
        a = self.pick("", self.rng.choice(["bool", ""]))
        if a is not None:
            name = self.fresh()
            self.lines.append(f"var {name}:{a.type} = {a.name};")
            self.known.append(Variable(name, a.type, a.rows, a.is_clean))
            self.data[(name, self.version.get(name, 0))] = self.data_of(a)

    def data_of(self, variable: Variable) -> tuple[str, int]:
        own = (variable.name, self.version.get(variable.name, 0))
        return self.data.get(own, own)

    # Control flow. What a body declares ends with it; a loop's masks are others in each round.

    def inside(self, depth: int) -> list[str]:
        outer, known, versions = self.lines, len(self.known), dict(self.version)
        self.lines = []
        self.version = {name: self.version.get(name, 0) + 1000 for name in [v.name for v in self.known]}
        self.statements(self.rng.randint(1, 4), depth)
        made, self.lines = self.lines, outer
        self.version = {name: count + 1 for name, count in {**versions, **self.version}.items()}
        self.known = self.known[:known]
        return made

    def branch(self, depth: int) -> None:
        condition = self.condition()
        self.lines.append(f"if ({condition}) {{")
        self.lines.extend(["    " + line for line in self.inside(depth)])
        if self.rng.random() < 0.5:
            self.lines.append("} else {")
            self.lines.extend(["    " + line for line in self.inside(depth)])
        self.lines.append("}")

    def repeat(self, depth: int) -> None:
        self.lines.append(f"repeat ({self.rng.randint(0, 3)}:i64) {{")
        self.lines.extend(["    " + line for line in [*self.inside(depth), *self.jump()]])
        self.lines.append("}")

    def loop(self, depth: int) -> None:
        n, more = self.fresh(), self.fresh()
        most = self.rng.randint(0, 3)
        self.lines.append(f"var {n}:i64 = 0:i64; var {more}:bool = @lt({n}, {most}:i64);")
        self.lines.append(f"while ({more}) {{")
        self.lines.append(f"    {n} = @plus({n}, 1:i64); {more} = @lt({n}, {most}:i64);")
        self.lines.extend(["    " + line for line in [*self.jump(), *self.inside(depth)]])
        self.lines.append("}")

    def jump(self) -> list[str]:
        if self.rng.random() < 0.7:
            return []
        return [f"if ({self.condition()}) {{ {self.rng.choice(['break', 'continue'])}; }}"]

    def condition(self) -> str:
        found = self.pick("1", "bool")
        return found.name if found is not None else f"{self.rng.randint(0, 1)}:bool"


def _named(text: str) -> VectorType:
    made = named_type(text) if not text.startswith("decimal") else DecimalType(9, 2)
    assert made is not None
    return made

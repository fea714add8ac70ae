"""Random kernels in the collective register cache idiom, with arguments, that have no undefined behaviour.

Every index is taken modulo the size it has to be below, every work-item writes to places of its own, and loops that end
at run time count down. What is drawn: mixed scalar types, private and group-wide arrays, indices known at compile time
or not, shuffles from lanes known or not, nested conditions, counted loops and loops at run time, loads under masks.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.types import TYPES

SCALARS = ("float", "double", "int", "uint", "long", "short", "uchar", "ulong")
INTEGERS = ("int", "uint", "long", "short", "uchar", "ulong")
#: Numbers of each pointer that a work-item may read or write.
REACH = 6
ARITHMETIC = ("+", "-", "*", "+", "-", "*", "/")
BITWISE = ("&", "|", "^", "%", "<<", ">>")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Generator:
    """A kernel for a seed. `text` is its source, `wg_size` and `groups` how it runs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.wg_size = self.random.choice((1, 2, 3, 4, 4, 5, 8))
        self.groups = self.random.choice((1, 3, 5))
        self.real = self.random.choice(("float", "double"))
        self.scalars: dict[str, str] = {}
        self.arrays: dict[str, tuple[str, int]] = {}
        self.locals: dict[str, tuple[str, int]] = {}
        self.loop_variables: dict[str, int] = {}
        self.depth = 0
        self.names = 0
        self.statements_left = self.random.randint(6, 22)
        self.inputs = {f"in{n}": self.random.choice(SCALARS) for n in range(2)}
        self.outputs = {f"out{n}": self.random.choice(SCALARS) for n in range(2)}
        self.text = self.kernel()

    # Statements.

    def kernel(self) -> str:
        parameters = [f"const {type} *{name}" for name, type in self.inputs.items()]
        parameters += [f"{type} *{name}" for name, type in self.outputs.items()]
        lines = [f"__kernel void drawn({', '.join(parameters)}, int number, {self.real} factor) {{"]
        for _ in range(self.random.randint(1, 3)):
            lines.append(self.declare_scalar())
        for _ in range(self.random.randint(1, 3)):
            lines.append(self.declare_array())
        if self.random.random() < 0.4:
            lines.append(self.declare_local())
        for name in self.arrays:
            lines += self.fill(name)
        while self.statements_left > 0:
            lines += self.statement()
        lines += self.results()
        return "\n".join([*lines, "}", ""])

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def declare_scalar(self) -> str:
        name, type = self.name("s"), self.random.choice((self.real, self.real, *SCALARS))
        text = f"{type} {name}"
        if self.random.random() < 0.8:
            text += f" = {self.expression(2)}"
        self.scalars[name] = type
        return text + ";"

    def declare_array(self) -> str:
        name, type = self.name("a"), self.random.choice((self.real, self.real, self.real, *SCALARS))
        size = self.random.choice((2, 3, 4, 4, 5, 8))
        self.arrays[name] = (type, size)
        return f"{type} {name}[{size}];"

    def declare_local(self) -> str:
        name, type = self.name("shared"), self.random.choice((self.real, "int"))
        size = self.random.choice((1, 3, self.wg_size))
        self.locals[name] = (type, size)
        return f"__local {type} {name}[{size}];"

    def fill(self, name: str) -> list[str]:
        size = self.arrays[name][1]
        pointer = self.random.choice(list(self.inputs))
        index = f"get_global_id() * {REACH} + ix % {REACH}"
        return [f"for (int ix = 0; ix < {size}; ++ix)", f"    {name}[ix] = {pointer}[{index}];"]

    def statement(self) -> list[str]:
        self.statements_left -= 1
        kinds = [self.assignment] * 6 + [self.branch] * 2 + [self.counted_loop] * 3 + [self.output]
        kinds += [self.run_time_loop] * (self.depth < 2)
        if self.depth >= 3:
            kinds = [self.assignment]
        return self.random.choice(kinds)()

    def nested(self, count: int) -> list[str]:
        self.depth += 1
        scalars = dict(self.scalars)
        lines = []
        if self.random.random() < 0.4:
            lines.append(self.declare_scalar())
        for _ in range(count):
            lines += self.statement()
        self.scalars = scalars
        self.depth -= 1
        return ["    " + line for line in lines]

    def assignment(self) -> list[str]:
        target, type = self.target()
        if self.random.random() < 0.3:
            operators = ("+", "-", "*") if type in ("float", "double") else ("+", "-", "*", "&", "|", "^")
            return [f"{target} {self.random.choice(operators)}= {self.expression(2, type not in ('float', 'double'))};"]
        return [f"{target} = {self.expression(3)};"]

    def target(self) -> tuple[str, str]:
        choice = self.random.random()
        if choice < 0.35 and self.scalars:
            name = self.random.choice(list(self.scalars))
            return name, self.scalars[name]
        if choice < 0.45 and self.locals:
            name = self.random.choice(list(self.locals))
            type, size = self.locals[name]
            return f"{name}[{self.index(size)}]", type
        name = self.random.choice(list(self.arrays))
        type, size = self.arrays[name]
        return f"{name}[{self.index(size)}]", type

    def output(self) -> list[str]:
        name = self.random.choice(list(self.outputs))
        return [f"{name}[get_global_id() * {REACH} + {self.index(REACH)}] = {self.expression(2)};"]

    def branch(self) -> list[str]:
        lines = [f"if ({self.condition(2)}) {{", *self.nested(self.random.randint(1, 3)), "}"]
        if self.random.random() < 0.4:
            lines[-1] = "} else {"
            lines += [*self.nested(self.random.randint(1, 2)), "}"]
        return lines

    def counted_loop(self) -> list[str]:
        name = self.name("ix")
        begin, end = self.random.choice((0, 0, 1)), self.random.choice((2, 3, 4, 4, 5, 8))
        header = f"for (int {name} = {begin}; {name} < {end}; ++{name})"
        if self.random.random() < 0.3:
            header = f"for (int {name} = {end - 1}; {name} >= {begin}; {name} -= 1)"
        self.loop_variables[name] = end
        lines = [header + " {", *self.nested(self.random.randint(1, 3)), "}"]
        del self.loop_variables[name]
        return lines

    def run_time_loop(self) -> list[str]:
        name = self.name("left")
        lines = [f"int {name} = {self.expression(1, True)} & {self.random.choice((1, 3, 7))};"]
        body = self.nested(self.random.randint(1, 2))
        if self.random.random() < 0.5:
            return [*lines, f"while ({name} > 0) {{", *body, f"    {name} -= 1;", "}"]
        return [*lines, f"for (; {name} > 0; {name} = {name} - 1) {{", *body, "}"]

    def results(self) -> list[str]:
        lines = []
        values = [*self.scalars, *[f"{name}[{size - 1}]" for name, (_, size) in self.arrays.items()]]
        values += [f"{name}[0]" for name in self.locals]
        for number, value in enumerate(values[: 2 * REACH]):
            pointer = list(self.outputs)[number % 2]
            lines.append(f"{pointer}[get_global_id() * {REACH} + {number // 2}] = {value};")
        return ["    " + line for line in lines]

    # Expressions.

    def index(self, size: int) -> str:
        """Return an index below a size: a constant, the local id, a loop's variable, or one known at run time."""
        choice = self.random.random()
        fitting = [name for name, end in self.loop_variables.items() if end <= size]
        if fitting and choice < 0.6:
            return self.random.choice(fitting)
        if self.loop_variables and choice < 0.7:
            name = self.random.choice(list(self.loop_variables))
            return self.random.choice((f"{name} % {size}", f"({name} + 1) % {size}", f"{name} / 2 % {size}"))
        if choice < 0.85:
            return str(self.random.randrange(size))
        if choice < 0.92:
            return f"get_local_id() % {size}"
        return f"(uint)({self.expression(1, True)}) % {size}"

    def condition(self, depth: int) -> str:
        choice = self.random.random()
        if choice < 0.25:
            return f"get_local_id() {self.random.choice(COMPARISONS)} {self.random.randrange(self.wg_size + 1)}"
        if choice < 0.4 and depth > 0:
            return f"{self.condition(depth - 1)} {self.random.choice(('&&', '||'))} {self.condition(depth - 1)}"
        if choice < 0.5 and depth > 0:
            return f"!({self.condition(depth - 1)})"
        return f"{self.expression(1)} {self.random.choice(COMPARISONS)} {self.expression(1)}"

    def expression(self, depth: int, integer: bool = False) -> str:
        if depth <= 0 or self.random.random() < 0.15:
            return self.leaf(integer)
        choice = self.random.random()
        if choice < 0.5:
            left, right = self.expression(depth - 1, integer), self.expression(depth - 1, integer)
            return f"({left} {self.random.choice(ARITHMETIC)} {right})"
        if choice < 0.6:
            left, right = self.expression(depth - 1, True), self.expression(depth - 1, True)
            return f"({left} {self.random.choice(BITWISE)} {right})"
        if choice < 0.7:
            then, otherwise = self.expression(depth - 1, integer), self.expression(depth - 1, integer)
            return f"({self.condition(1)} ? {then} : {otherwise})"
        if choice < 0.82:
            known = self.random.randrange(self.wg_size)
            lane = self.random.choice(
                (str(known), "get_local_id() + 1", f"{known} - (int)get_local_id()", "number")
            )
            return f"shuffle({self.expression(depth - 1, integer)}, {lane})"
        if choice < 0.87:
            return f"{self.random.choice(('max', 'min'))}({self.expression(depth - 1, integer)}, {self.leaf(integer)})"
        if integer:
            return f"(- {self.expression(depth - 1, True)})"
        function = self.random.choice(("sqrt(fabs({}))", "fabs({})", "fmax({}, 1)", "fma({}, factor, 2)", "rcp({})",
                                       "isnan({})", "(- {})", "fmin({}, factor)"))  # fmt: skip
        return function.format(self.expression(depth - 1))

    def leaf(self, integer: bool) -> str:
        choice = self.random.random()
        text, type = self.variable()
        if choice < 0.55 and text:
            return f"(int){text}" if integer and type in ("float", "double") else text
        if choice < 0.7:
            name = self.random.choice(list(self.inputs))
            load = f"{name}[get_global_id() * {REACH} + {self.random.randrange(REACH)}]"
            return f"(int){load}" if integer and self.inputs[name] in ("float", "double") else load
        if choice < 0.8:
            return self.random.choice(("(int)get_local_id()", "(int)get_group_id()", "number", *self.loop_variables))
        if integer:
            return self.random.choice(("0", "1", "3", "7u", "-2", "100L", "0x7fffffff"))
        return self.random.choice(("0", "2", "0.5f", "1.5", "-3", "factor", "1e3f"))

    def variable(self) -> tuple[str, str]:
        choices: list[tuple[str, str]] = list(self.scalars.items())
        for name, (type, size) in {**self.arrays, **self.locals}.items():
            choices.append((f"{name}[{self.constant_index(size)}]", type))
        return self.random.choice(choices) if choices else ("", "")

    def constant_index(self, size: int) -> str:
        fitting = [name for name, end in self.loop_variables.items() if end <= size]
        if fitting and self.random.random() < 0.7:
            name = self.random.choice(fitting)
            return self.random.choice((name, name, f"{size - 1} - {name}"))
        return self.random.choice((str(self.random.randrange(size)), f"get_local_id() % {size}"))

    # Arguments.

    def arguments(self) -> dict[str, Any]:
        """Return arrays of small numbers, some of them zero, and fresh outputs."""
        rng = np.random.default_rng(self.random.randrange(2**32))
        size = self.groups * self.wg_size * REACH
        result: dict[str, Any] = {name: draw(rng, type, size) for name, type in self.inputs.items()}
        result.update({name: draw(rng, type, size) for name, type in self.outputs.items()})
        result["number"] = int(rng.integers(-3, 9))
        result["factor"] = float(rng.integers(-8, 9)) / 4
        return result


def draw(rng: np.random.Generator, type: str, size: int) -> NDArray[Any]:
    dtype = TYPES[type].dtype
    if dtype.kind == "f":
        numbers = rng.integers(-40, 41, size) / 8
        return np.asarray(np.where(rng.random(size) < 0.5, rng.standard_normal(size), numbers)).astype(dtype)
    low = -9 if dtype.kind == "i" else 0
    return np.asarray(rng.integers(low, 10, size)).astype(dtype)

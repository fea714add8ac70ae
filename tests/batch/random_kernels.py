"""Random kernels in the collective register cache idiom, with arguments, that have no undefined behaviour.

Every index is taken modulo the size it has to be below, every work-item writes to places of its own, and loops that end
at run time count down. What is drawn: mixed scalar types, private and group-wide arrays, indices known at compile time
or not, shuffles from lanes known or not, nested conditions, counted loops and loops at run time, loads under masks,
functions with early returns that call each other and write through pointers, pointer variables, structs, assignments
and increments within expressions, pointers that walk over arrays, constants of file scope, `break`,
`continue` and `switch`.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.types import TYPES

SCALARS = ("float", "double", "int", "uint", "long", "short", "uchar", "ulong")
INTEGERS = ("int", "uint", "long", "short", "uchar", "ulong")
#: Turns of the loops around a call: more of them unroll to more than is worth a test.
MOST_CALLS = 24
#: Numbers of each pointer that a work-item may read or write.
REACH = 6
ARITHMETIC = ("+", "-", "*", "+", "-", "*", "/")
BITWISE = ("&", "|", "^", "%", "<<", ">>")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Function(NamedTuple):
    """A drawn function. `pointer` is the type and the least size of what its pointer points to, `calls` how many calls
    one call of it makes, itself too."""

    name: str
    result: str
    scalars: tuple[str, ...]
    takes_pair: bool
    pointer: tuple[str, int] | None
    is_constant: bool
    calls: int = 1

    @property
    def writes(self) -> bool:
        return self.pointer is not None and not self.is_constant


class Generator:
    """A kernel for a seed. `text` is its source, `wg_size` and `groups` how it runs.

    `arrays` has what is indexed, by name: "z" is z[index], and "z.a" in `members` is z[index].a.
    """

    #: Whether calls that change memory, and assignments, may stand beside operands that read it; C leaves their order
    #: open.
    orders_calls = True
    #: Whether some kernels have what the language did not always have: assignments within expressions.
    draws_effects = True

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.wg_size = self.random.choice((1, 2, 3, 4, 4, 5, 8))
        self.groups = self.random.choice((1, 3, 5))
        self.real = self.random.choice(("float", "double"))
        self.scalars: dict[str, str] = {}
        self.arrays: dict[str, tuple[str, int]] = {}
        self.locals: dict[str, tuple[str, int]] = {}
        self.loop_variables: dict[str, int] = {}
        self.members: dict[str, str] = {}
        self.pairs: dict[str, int] = {}
        self.pointers: dict[str, str] = {}
        self.constants: set[str] = set()
        self.tables_by_name: dict[str, tuple[str, int]] = {}
        self.listed: set[str] = set()
        self.functions: list[Function] = []
        self.fields: dict[str, str] = {}
        self.in_function = False
        self.returns = ""
        self.turns = 1
        self.loops = 0
        self.calls = 0
        self.depth = 0
        self.names = 0
        self.statements_left = self.random.randint(6, 22)
        self.has_effects = self.draws_effects and self.random.random() < 0.6
        self.inputs = {f"in{n}": self.random.choice(SCALARS) for n in range(2)}
        self.outputs = {f"out{n}": self.random.choice(SCALARS) for n in range(2)}
        self.text = self.kernel()

    # Statements.

    def kernel(self) -> str:
        text = self.struct() + self.tables()
        for _ in range(self.random.choice((0, 0, 1, 2, 3))):
            text += self.function()
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
            if name not in self.listed and name not in self.constants:
                lines += self.fill(name)
        for _ in range(self.random.choice((0, 0, 1, 2)) if self.fields else 0):
            lines.append(self.declare_pair())
        for _ in range(self.random.choice((0, 0, 1, 2))):
            lines += self.declare_pointer()
        while self.statements_left > 0:
            lines += self.statement()
        lines += self.results()
        return text + "\n".join([*lines, "}", ""])

    def struct(self) -> str:
        """Draw the struct `pair`, in half of the kernels."""
        if self.random.random() < 0.5:
            return ""
        self.fields = {"a": self.random.choice((self.real, *SCALARS)), "b": self.random.choice(SCALARS)}
        fields = "".join(f"{type} {name}; " for name, type in self.fields.items())
        return f"typedef struct {{ {fields}{self.real} c[2]; }} pair;\n"

    def tables(self) -> str:
        """Draw constants of file scope, which functions see, too."""
        text = ""
        for _ in range(self.random.choice((0, 1, 2)) if self.has_effects else 0):
            name, type = self.name("table"), self.random.choice((self.real, *SCALARS))
            size = self.random.choice((1, 2, 3, 4, 5, 8))
            values = ", ".join(self.random.choice(("1", "-2", "'b'", "3 * 7 - 1", "0x55u")) for _ in range(size))
            word = self.random.choice(("__constant", "const", "static const"))
            text += f"{word} {type} {name}[{self.random.choice(('', str(size)))}] = {{{values}}};\n"
            self.tables_by_name[name] = type, size
            self.constants.add(name)
        self.arrays.update(self.tables_by_name)
        return text

    def function(self) -> str:
        """Draw a function; it sees its parameters and the functions before it."""
        name, result = self.name("f"), self.random.choice((self.real, *SCALARS, *["pair"] * bool(self.fields)))
        scalars = [self.random.choice((self.real, *SCALARS)) for _ in range(self.random.randint(1, 2))]
        takes_pair = bool(self.fields) and self.random.random() < 0.4
        pointer = None
        if self.random.random() < 0.6:
            pointer = self.random.choice((self.real, self.real, *SCALARS)), self.random.choice((1, 1, 2, 3))
        drawn = Function(name, result, tuple(scalars), takes_pair, pointer, self.random.random() < 0.4)
        outer = self.scalars, self.arrays, self.pairs, self.pointers, self.statements_left
        self.scalars, self.arrays, self.pairs, self.pointers = {}, dict(self.tables_by_name), {}, {}
        self.in_function, self.returns = True, result
        parameters = []
        for type in drawn.scalars:
            self.scalars[self.name("x")] = type
            parameters.append(f"{type} {self.last_name}")
        if takes_pair:
            parameters.append(f"pair {self.name('z')}")
            self.add_pair(self.last_name, 0)
        if pointer is not None:
            self.arrays[self.name("p")] = pointer
            parameters.append(f"{'const ' * drawn.is_constant}{pointer[0]} *{self.last_name}")
            if drawn.is_constant:
                self.constants.add(self.last_name)
        self.statements_left = 0
        self.calls = 0
        self.depth = 2
        lines = [f"static inline {result} {name}({', '.join(parameters)}) {{"]
        for _ in range(self.random.randint(0, 3)):
            lines += ["    " + line for line in self.statement()]
        lines += [f"    {self.return_statement()}", "}", ""]
        self.depth = 0
        self.in_function, self.returns = False, ""
        self.scalars, self.arrays, self.pairs, self.pointers, self.statements_left = outer
        self.functions.append(drawn._replace(calls=1 + self.calls))
        return "\n".join(lines)

    def return_statement(self) -> str:
        return f"return {self.pair_value() if self.returns == 'pair' else self.expression(2)};"

    def early_return(self) -> list[str]:
        return [f"if ({self.condition(1)})", f"    {self.return_statement()}"]

    @property
    def last_name(self) -> str:
        return f"{self.last_prefix}{self.names}"

    def name(self, prefix: str) -> str:
        self.names += 1
        self.last_prefix = prefix
        return self.last_name

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
        if self.has_effects and self.random.random() < 0.3:
            # The list may read the elements of other arrays only.
            del self.arrays[name]
            values = [self.expression(1, type not in ("float", "double")) for _ in range(size)]
            self.arrays[name] = (type, size)
            self.listed.add(name)
            return f"{type} {name}[] = {{{', '.join(values)}}};"
        return f"{type} {name}[{size}];"

    def declare_local(self) -> str:
        name, type = self.name("shared"), self.random.choice((self.real, "int"))
        size = self.random.choice((1, 3, self.wg_size))
        self.locals[name] = (type, size)
        return f"__local {type} {name}[{size}];"

    def declare_pair(self) -> str:
        """Declare a struct, or an array of some."""
        name, size = self.name("z"), self.random.choice((0, 0, 2, 3))
        values = [f"{{{self.expression(1)}, {self.expression(1)}}}" for _ in range(size or 1)]
        self.add_pair(name, size)
        return f"pair {name}{f'[{size}]' if size else ''} = {'{' + ', '.join(values) + '}' if size else values[0]};"

    def add_pair(self, name: str, size: int) -> None:
        self.pairs[name] = size
        for field, type in self.fields.items():
            if size:
                self.arrays[f"{name}.{field}"] = type, size
                self.members[f"{name}.{field}"] = name
            else:
                self.scalars[f"{name}.{field}"] = type
        if not size:
            self.arrays[f"{name}.c"] = self.real, 2

    def declare_pointer(self) -> list[str]:
        """Declare a pointer into a private array or an input; some items may move it."""
        name = self.name("p")
        arrays = {array: found for array, found in self.arrays.items() if array not in self.members}
        base = self.random.choice([*arrays, *self.inputs])
        if base in self.inputs:
            type, size, start = self.inputs[base], REACH, f"{base} + get_global_id() * {REACH}"
        else:
            (type, size), start = self.arrays[base], base
        skipped = self.random.randrange(min(size, 2))
        is_constant = base in self.inputs or base in self.constants or self.random.random() < 0.3
        lines = [f"{'const ' * is_constant}{type} *{name} = {start} + {skipped};"]
        if size - skipped > 1 and self.random.random() < 0.5:
            skipped += 1
            move = self.random.choice((f"{name} += 1;", f"++{name};", f"{name} = 1 + {name};"))
            lines.append(self.random.choice((move, f"if ({self.condition(1)}) {move}")))
        if is_constant:
            self.constants.add(name)
        self.arrays[name] = type, size - skipped
        self.pointers[name] = start
        return lines

    def fill(self, name: str) -> list[str]:
        size = self.arrays[name][1]
        pointer = self.random.choice(list(self.inputs))
        index = f"get_global_id() * {REACH} + ix % {REACH}"
        end = f"sizeof({name}) / sizeof({name}[0])" if self.has_effects and self.random.random() < 0.5 else size
        return [f"for (int ix = 0; ix < {end}; ++ix)", f"    {name}[ix] = {pointer}[{index}];"]

    def statement(self) -> list[str]:
        self.statements_left -= 1
        kinds = [self.assignment] * 6 + [self.branch] * 2 + [self.counted_loop] * 3 + [self.output]
        kinds += [self.run_time_loop] * (self.depth < 2)
        if self.in_function:
            kinds = [self.assignment] * 2 + [self.branch, self.counted_loop, self.early_return]
        if self.depth >= 3:
            kinds = [self.assignment, *[self.early_return] * self.in_function]
        if self.pairs:
            kinds += [self.pair_assignment]
        if self.functions and self.depth < 3:
            kinds += [self.call_statement]
        if self.has_effects:
            kinds += [self.chain] + [self.jump] * (2 * (self.loops > 0))
        if self.has_effects and self.depth < 3:
            kinds += [self.walk, self.switch]
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

    def jump(self) -> list[str]:
        """Leave a loop or its turn, perhaps after another statement."""
        word = self.random.choice(("break;", "continue;"))
        if self.random.random() < 0.5:
            return [f"if ({self.condition(1)})", f"    {word}"]
        lines = [f"if ({self.condition(1)}) {{", *["    " + line for line in self.assignment()], f"    {word}", "}"]
        if self.random.random() < 0.3:
            lines[-1:] = ["} else {", *["    " + line for line in self.assignment()], "}"]
        return lines

    def switch(self) -> list[str]:
        """Draw labels of which some fall through to the next."""
        labels = [f"case {number}:" for number in self.random.sample((0, 1, 2, 3, 5, "'a'"), self.random.randint(1, 4))]
        if self.random.random() < 0.6:
            labels.insert(self.random.randint(0, len(labels)), "default:")
        lines = [f"switch ({self.expression(1, True)}{self.random.choice((' & 3', ''))}) {{"]
        for label in labels:
            lines.append(label)
            if self.random.random() < 0.8:
                lines += ["    {", *["    " + line for line in self.nested(1)], "    }"]
            if self.random.random() < 0.7:
                lines.append("    break;")
            elif self.loops and self.random.random() < 0.3:
                lines.append("    continue;")
        lines[-1] += "" if lines[-1].endswith(";") else " ;"
        return [*lines, "}"]

    def chain(self) -> list[str]:
        """Assign the value of an assignment."""
        if not self.scalars:
            return self.assignment()
        name = self.random.choice(list(self.scalars))
        target = self.target()[0] if self.orders_calls else self.random.choice(list(self.scalars))
        if target == name and not self.orders_calls:
            return self.assignment()
        is_real = self.scalars[name] in ("float", "double")
        operator = self.random.choice(("=", "=", "+=", "-=", "*=") if is_real else ("=", "+=", "-=", "^=", "|="))
        return [f"{target} = {name} {operator} {self.expression(2, not is_real)};"]

    def walk(self) -> list[str]:
        """Send a pointer over an array, which it writes to or sums up."""
        arrays = {name: found for name, found in self.arrays.items() if name not in self.members}
        if not arrays:
            return self.chain()
        name = self.random.choice(list(arrays))
        type, size = arrays[name]
        walker, turn = self.name("w"), self.name("n")
        step, start = self.random.choice(((f"*{walker}++", name), (f"*--{walker}", f"{name} + {size}")))
        if name in self.constants:
            action = f"{self.name('sum')} = {step}"
            lines = [f"const {type} *{walker} = {start};", f"{type} {self.last_name};"]
            self.scalars[self.last_name] = type
        else:
            action = f"{step} {self.random.choice(('=', '+='))} {self.expression(2, type not in ('float', 'double'))}"
            lines = [f"{type} *{walker} = {start};"]
        header = self.random.choice((f"{turn} = {size}; {turn}--;", f"{turn} = 0; {turn} < {size}; {turn}++"))
        return [*lines, f"for (int {header}) {action};"]

    def target(self) -> tuple[str, str]:
        choice = self.random.random()
        if choice < 0.35 and self.scalars:
            name = self.random.choice(list(self.scalars))
            return name, self.scalars[name]
        if choice < 0.45 and self.locals and not self.in_function:
            name = self.random.choice(list(self.locals))
            type, size = self.locals[name]
            return f"{name}[{self.index(size)}]", type
        arrays = [name for name in self.arrays if name not in self.constants]
        if not arrays:
            name = self.random.choice(list(self.scalars))
            return name, self.scalars[name]
        name = self.random.choice(arrays)
        type, size = self.arrays[name]
        return self.element(name, self.index(size)), type

    def element(self, name: str, index: str) -> str:
        if name in self.pointers and index == "0":
            return f"*{name}"
        if name not in self.members:
            return f"{name}[{index}]"
        array = self.members[name]
        return f"{array}[{index}]{name.removeprefix(array)}"

    def pair_assignment(self) -> list[str]:
        name = self.random.choice(list(self.pairs))
        size = self.pairs[name]
        return [f"{name}[{self.index(size)}] = {self.pair_value()};" if size else f"{name} = {self.pair_value()};"]

    def pair_value(self) -> str:
        """Return an expression of type `pair`. What each of its scalars evaluates again has no calls."""
        choice = self.random.random()
        functions = [function for function in self.functions if function.result == "pair"]
        if choice < 0.3 and functions:
            text = self.call(self.random.choice(functions), 1)
            if text:
                return text
        if choice < 0.5 or not self.pairs:
            return f"(pair){{{self.expression(1)}, {self.expression(1)}, {{{self.expression(1)}}}}}"
        name = self.random.choice(list(self.pairs))
        value = f"{name}[{self.constant_index(self.pairs[name])}]" if self.pairs[name] else name
        if choice < 0.65:
            return f"shuffle({value}, {self.random.randrange(self.wg_size)})"
        if choice < 0.8:
            other = self.random.choice(list(self.pairs))
            other = f"{other}[{self.constant_index(self.pairs[other])}]" if self.pairs[other] else other
            return f"(get_local_id() > {self.random.randrange(self.wg_size)} ? {value} : {other})"
        return value

    def call_statement(self) -> list[str]:
        """Call a function, into a variable of its own or for what it writes."""
        function = self.random.choice(self.functions)
        text = self.call(function, 1)
        if not text:
            return self.assignment()
        if self.depth or self.random.random() < 0.5:
            return [text + ";"]
        name = self.name("r")
        if function.result == "pair":
            self.add_pair(name, 0)
        else:
            self.scalars[name] = function.result
        return [f"{function.result} {name} = {text};"]

    def call(self, function: Function, depth: int) -> str:
        """Return a call, nothing where there is no array for its pointer, or within many turns."""
        if self.turns * (function.calls if self.has_effects else 1) > MOST_CALLS:
            return ""
        self.calls += self.turns * function.calls
        outer, self.functions = self.functions, [] if function.writes and not self.orders_calls else self.functions
        arguments = [self.expression(depth - 1) for _ in function.scalars]
        if function.takes_pair:
            arguments.append(self.pair_value())
        self.functions = outer
        if function.pointer is not None:
            pointers = self.pointers_to(*function.pointer, function.is_constant)
            if not pointers:
                return ""
            arguments.append(self.random.choice(pointers))
        return f"{function.name}({', '.join(arguments)})"

    def pointers_to(self, type: str, size: int, is_constant: bool) -> list[str]:
        """Return expressions that point to a number of elements."""
        found = [f"&{name}" for name, other in self.scalars.items() if other == type and size == 1]
        for name, (other, extent) in self.arrays.items():
            if other == type and extent >= size and (is_constant or name not in self.constants):
                at = self.random.randrange(extent - size + 1)
                if name not in self.members:
                    found += [f"{name} + {at}", f"&{name}[{at}]"]
                elif size == 1:
                    found.append(f"&{self.element(name, str(at))}")
        if not self.in_function and is_constant and size <= REACH:
            places = f"get_global_id() * {REACH} + {self.random.randrange(REACH - size + 1)}"
            found += [f"{name} + {places}" for name, other in self.inputs.items() if other == type]
        return found

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
        names = [name]
        if self.has_effects and self.random.random() < 0.3:
            names.append(self.name("iy"))
            up, down = self.random.sample(names, 2)
            header = f"for (int {up} = {begin}, {down} = {end - 1}; {up} < {end}; {up}++, --{down})"
        self.loop_variables.update(dict.fromkeys(names, end))
        self.turns *= end
        lines = [header + " {", *self.body(self.random.randint(1, 3)), "}"]
        self.turns //= end
        for name in names:
            del self.loop_variables[name]
        return lines

    def run_time_loop(self) -> list[str]:
        name = self.name("left")
        lines = [f"int {name} = {self.expression(1, True)} & {self.random.choice((1, 3, 7))};"]
        body = self.body(self.random.randint(1, 2))
        if self.has_effects:
            if self.random.random() < 0.2:
                return [*lines, "do {", *body, f"}} while ({name}-- > 0);"]
            if self.random.random() < 0.2:
                return [*lines, "for (;;) {", f"    if ({name}-- <= 0)", "        break;", *body, "}"]
            header = self.random.choice((f"while ({name}--)", f"while ({name}-- > 0)", f"for (; {name} > 0; {name}--)"))
            return [*lines, header + " {", *body, "}"]
        if self.random.random() < 0.5:
            return [*lines, f"while ({name} > 0) {{", *body, f"    {name} -= 1;", "}"]
        return [*lines, f"for (; {name} > 0; {name} = {name} - 1) {{", *body, "}"]

    def body(self, count: int) -> list[str]:
        """Return the statements of a loop."""
        self.loops += 1
        lines = self.nested(count)
        self.loops -= 1
        return lines

    def results(self) -> list[str]:
        lines = []
        values = [*self.scalars, *[self.element(name, str(size - 1)) for name, (_, size) in self.arrays.items()]]
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
        if self.has_effects and self.orders_calls and self.random.random() < 0.4:
            text = self.effect(True)
            if text:
                return f"(uint){text} % {size}"
        return f"(uint)({self.expression(1, True)}) % {size}"

    def condition(self, depth: int) -> str:
        choice = self.random.random()
        if choice < 0.25:
            return f"get_local_id() {self.random.choice(COMPARISONS)} {self.random.randrange(self.wg_size + 1)}"
        if choice < 0.4 and depth > 0:
            return f"{self.condition(depth - 1)} {self.random.choice(('&&', '||'))} {self.condition(depth - 1)}"
        if choice < 0.5 and depth > 0:
            return f"!({self.condition(depth - 1)})"
        if choice < 0.6 and self.pointers:
            name = self.random.choice(list(self.pointers))
            return f"{name} {self.random.choice(COMPARISONS)} {self.pointers[name]} + {self.random.randrange(2)}"
        return f"{self.expression(1)} {self.random.choice(COMPARISONS)} {self.expression(1)}"

    def expression(self, depth: int, integer: bool = False) -> str:
        if depth <= 0 or self.random.random() < 0.15:
            return self.leaf(integer)
        if self.has_effects and self.orders_calls and self.random.random() < 0.06:
            text = self.effect(integer)
            if text:
                return text
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
        if choice < 0.79:
            known = self.random.randrange(self.wg_size)
            number = self.visible("number", "(int)get_group_id()")
            lane = self.random.choice(
                (str(known), "get_local_id() + 1", f"{known} - (int)get_local_id()", number)
            )
            return f"shuffle({self.expression(depth - 1, integer)}, {lane})"
        if choice < 0.86 and self.functions:
            text = self.call_value(integer, depth)
            if text:
                return text
        if choice < 0.9:
            return f"{self.random.choice(('max', 'min'))}({self.expression(depth - 1, integer)}, {self.leaf(integer)})"
        if integer:
            return f"(- {self.expression(depth - 1, True)})"
        function = self.random.choice(("sqrt(fabs({}))", "fabs({})", "fmax({}, 1)", "fma({}, factor, 2)", "rcp({})",
                                       "isnan({})", "(- {})", "fmin({}, factor)", "floor({})", "copysign({}, factor)",
                                       "as_int((float)({}))", ""))  # fmt: skip
        if not function:
            function = self.random.choice(("exp({})", "log({})", "sin({})", "tan({})", "pow(fabs({}), factor)"))
        return self.visible(function, function.replace("factor", "1.5f")).format(self.expression(depth - 1))

    def effect(self, integer: bool) -> str:
        """Return an assignment or an increment of a scalar, nothing where there is none."""
        names = [name for name, type in self.scalars.items() if not integer or type not in ("float", "double")]
        if not names:
            return ""
        name = self.random.choice(names)
        value = self.expression(1, integer)
        return self.random.choice((f"{name}++", f"--{name}", f"({name} = {value})", f"({name} += {value})"))

    def visible(self, text: str, otherwise: str) -> str:
        """Return text that names a parameter of the kernel, something else in a function."""
        return otherwise if self.in_function else text

    def call_value(self, integer: bool, depth: int) -> str:
        functions = [function for function in self.functions if self.orders_calls or not function.writes]
        if not functions:
            return ""
        function = self.random.choice(functions)
        text, type = self.call(function, depth), function.result
        if text and type == "pair":
            field, type = self.random.choice(list(self.fields.items()))
            text += f".{field}"
        return f"(int){text}" if text and integer and type in ("float", "double") else text

    def leaf(self, integer: bool) -> str:
        choice = self.random.random()
        text, type = self.variable()
        if choice < 0.55 and text:
            return f"(int){text}" if integer and type in ("float", "double") else text
        if choice < 0.7 and not self.in_function:
            name = self.random.choice(list(self.inputs))
            load = f"{name}[get_global_id() * {REACH} + {self.random.randrange(REACH)}]"
            return f"(int){load}" if integer and self.inputs[name] in ("float", "double") else load
        if choice < 0.8:
            names = ("(int)get_local_id()", "(int)get_group_id()", self.visible("number", "5"), *self.loop_variables)
            return self.random.choice(names)
        if integer and self.has_effects and self.random.random() < 0.2:
            return self.random.choice(("'a'", "'\\n'", "'\\x9c'", "sizeof(short)", f"(int)sizeof {text or 5}"))
        if integer:
            return self.random.choice(("0", "1", "3", "7u", "-2", "100L", "0x7fffffff"))
        return self.random.choice(("0", "2", "0.5f", "1.5", "-3", self.visible("factor", "4"), "1e3f"))

    def variable(self) -> tuple[str, str]:
        choices: list[tuple[str, str]] = list(self.scalars.items())
        for name, (type, size) in {**self.arrays, **({} if self.in_function else self.locals)}.items():
            choices.append((self.element(name, self.constant_index(size)), type))
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

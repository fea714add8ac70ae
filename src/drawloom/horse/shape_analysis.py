"""Shape analysis (thesis section 4.2.3): the shape of every variable of a function, forward along its paths.

Variables that one statement writes have one shape, found with that statement; the others have one at each point of the
program, merged where paths meet. Calls of functions are analysed with the shapes of their arguments.
"""

from __future__ import annotations

from drawloom.horse.builtins import BUILTINS
from drawloom.horse.dataflow import Analysis, forward
from drawloom.horse.definitions import objects
from drawloom.horse.ir import (
    Assign,
    Call,
    CheckCast,
    Expression,
    Function,
    Literal,
    Module,
    Name,
    Operand,
    Return,
    Statement,
    Use,
    assigned_once,
    walk,
)
from drawloom.horse.shape_rules import Site, UnlikeSizes, shape_of
from drawloom.horse.shapes import (
    Constant,
    Dynamic,
    Merge,
    Shape,
    Size,
    Symbol,
    Unknown,
    VectorShape,
    base,
    dynamic_shape,
)
from drawloom.horse.symbols import refusal

State = dict[str, Shape]


def analyse(function: Function, module: Module | None = None) -> dict[str, Shape]:
    """The shape of every variable of a function wherever it is.

    What is assigned several times has the shape that all assignments agree on; where they do not it is unknown, and so
    is one whose size may differ from one time to the next. ``module`` has the functions that are called, and the text
    that errors quote. Raises VerifyError for vectors of two constant lengths that do not go together (table 4.4).
    """
    return _Analysis(function, module, {}).whole()


def shapes_at(function: Function, module: Module | None = None) -> dict[Statement, dict[str, Shape]]:
    """The shapes of all variables before each statement. Raises as ``analyse``."""
    analysis = _Analysis(function, module, {})
    made: dict[Statement, dict[str, Shape]] = {}
    have: dict[str, Shape] = {p.name: dynamic_shape(p.type, p.name) for p in function.params}
    for statement in walk(function.body):
        if statement in analysis.states:
            made[statement] = {**have, **analysis.states[statement]}
        if isinstance(statement, Assign):
            have.update({t.name: analysis.once[t.name] for t in statement.targets if t.name in analysis.once})
    return made


class _Analysis(Analysis[State]):
    """``given`` are the shapes of parameters where a call says them; ``open`` the calls that are being analysed."""

    def __init__(
        self,
        function: Function,
        module: Module | None,
        given: dict[str, Shape],
        open: tuple[str, ...] = (),
    ) -> None:
        self.function = function
        self.module = module
        self.open = (*open, function.name)
        single = assigned_once(function)
        #: The masks that are one wherever they are named, by the data that they stand for.
        self.masks = {name: data for name, data in objects(function).items() if name in single}
        written = {t.name for s in walk(function.body) if isinstance(s, Assign) for t in s.targets}
        self.once: State = {}
        start: State = {}
        for param in function.params:
            shape = given.get(param.name) or dynamic_shape(param.type, param.name)
            if param.name in written:
                start[param.name] = shape
            else:
                self.once[param.name] = shape
                self.masks[param.name] = param.name
        self.single = single
        self.points = {statement: i for i, statement in enumerate(walk(function.body))}
        self.states = forward(function.body, start, self).at

    # The framework's side

    def transfer(self, statement: Statement, state: State) -> State:
        if not isinstance(statement, Assign):
            return state
        changed: State = {}
        for target, shape in zip(statement.targets, self.values(statement, state)):
            if target.name in self.single:
                self.once[target.name] = shape
            else:
                changed[target.name] = shape
        return {**state, **changed} if changed else state

    def merge(self, first: State, second: State, at: Statement) -> State:
        """What only one path has is read on none behind."""
        both = [name for name in first if name in second]
        return {name: Merge(f"{name}@{self.points[at]}").shape(first[name], second[name]) for name in both}

    # Results

    def whole(self) -> dict[str, Shape]:
        found = dict(self.once)
        for name in self.start_names():
            found[name] = Unknown(name)
        for statement, state in self.states.items():
            if not isinstance(statement, Assign) or all(t.name in self.single for t in statement.targets):
                continue
            for target, shape in zip(statement.targets, self.values(statement, state)):
                if target.name not in self.single:
                    known = found.get(target.name, shape)
                    found[target.name] = shape if shape == known and _lasts(shape) else Unknown(target.name)
        return found

    def start_names(self) -> list[str]:
        return [p.name for p in self.function.params if p.name not in self.once]

    def returned(self) -> list[Shape] | None:
        """The shapes that the function returns, where all returns agree; None where they do not."""
        found: list[Shape] | None = None
        for statement, state in self.states.items():
            if isinstance(statement, Return):
                shapes = [self.operand("", v, state) for v in statement.values]
                if found is not None and shapes != found:
                    return None
                found = shapes
        return found

    # Expressions

    def values(self, statement: Assign, state: State) -> list[Shape]:
        names = [t.name for t in statement.targets]
        value = statement.value.value if isinstance(statement.value, CheckCast) else statement.value
        if isinstance(value, Call) and value.function.name not in BUILTINS:
            return self.call(names, value, state)
        return [self.value(names[0], value, state)]

    def value(self, name: str, expression: Expression, state: State) -> Shape:
        if isinstance(expression, Use):
            return self.operand(name, expression.operand, state)
        assert isinstance(expression, Call)
        shapes = [self.operand(name, a, state) for a in expression.arguments]
        site = Site(name, expression.arguments, shapes, self.masks)
        try:
            return shape_of(BUILTINS[expression.function.name].shape, site)
        except UnlikeSizes as problem:
            if self.module is None:
                return VectorShape(Dynamic(name))
            message = f"@{expression.function.name} of vectors of lengths {problem}"
            raise refusal(self.module, message, expression.pos, "one length, or one value") from None

    def operand(self, name: str, operand: Operand, state: State) -> Shape:
        if isinstance(operand, Literal):
            return VectorShape(Constant(len(operand.values)))
        if isinstance(operand, Name):
            return state.get(operand.name) or self.once.get(operand.name) or Unknown(name)
        return Unknown(name)

    def call(self, names: list[str], call: Call, state: State) -> list[Shape]:
        """What a function of the module returns: sizes that it makes itself are new ones of the first variable."""
        function = None if self.module is None else self.module.function(call.function.name)
        if function is None:
            return [Unknown(name) for name in names]
        by_type = [dynamic_shape(type, name) for type, name in zip(function.returns, names)]
        if function.name in self.open:
            return by_type
        shapes = [self.operand(names[0], a, state) for a in call.arguments]
        given = {p.name: s for p, s in zip(function.params, shapes)}
        made = _Analysis(function, self.module, given, self.open).returned()
        if made is None:
            return by_type
        known = {str(s.size) for s in shapes}
        return [_outside(shape, names[0], known) for shape in made]


def _outside(shape: Shape, name: str, known: set[str]) -> Shape:
    """A vector that a function returns, as its caller sees it; of other shapes the caller knows nothing."""
    if not isinstance(shape, VectorShape):
        return Unknown(name)
    if isinstance(shape.size, Constant) or str(shape.size) in known:
        return shape
    return VectorShape(Dynamic(f"{name}.{shape.size}"))


def _lasts(shape: Shape) -> bool:
    """Whether the size is the same from one time to the next."""
    size: Size = shape.size
    return isinstance(shape, VectorShape) and (isinstance(size, Constant) or isinstance(base(size), Symbol))

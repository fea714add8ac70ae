"""The typed syntax tree of a kernel file, the grammar that the parser accepts (paper, grammar 1, and what is beyond).

    file       ::= (kernel | function | prototype | struct ';' | 'typedef' type NAME ';' | table | #include "NAME")*
    kernel     ::= '__kernel' 'void' NAME parameters block
    function   ::= ['static'] ['inline'] ('void' | type) NAME parameters block
    prototype  ::= ['static'] ['inline'] ('void' | type) NAME parameters ';'
    table      ::= ['static'] ('const' | '__constant') type declarator (',' declarator)* ';'
    struct     ::= 'struct' [NAME] '{' (type declarator (',' declarator)* ';')* '}'
    type       ::= ['const'] (SCALAR | NAME | 'struct' NAME | struct)
    parameters ::= '(' [type ['*'] NAME (',' type ['*'] NAME)*] ')'
    block      ::= '{' statement* '}'
    statement  ::= block | ';' | expression (',' expression)* ';' | 'return' [expression] ';'
                 | 'break' ';' | 'continue' ';'
                 | ['__local'] type declarator (',' declarator)* ';'
                 | 'if' '(' expression ')' statement ['else' statement]
                 | 'switch' '(' expression ')' '{' (label+ statement*)* '}'
                 | 'while' '(' expression ')' statement
                 | 'do' statement 'while' '(' expression ')' ';'
                 | 'for' '(' [statement] ';' [expression] ';' [statement] ')' statement
    label      ::= 'case' constant ':' | 'default' ':'
    declarator ::= NAME ['=' initial] | NAME ('[' constant ']')+ ['=' initial] | '*' NAME ['=' expression]
                 | NAME '[' ']' ('[' constant ']')* '=' initial
    initial    ::= expression | '{' [designator '='] initial, ... '}'
    designator ::= '.' NAME | '[' constant ']'
    target     ::= NAME | expression '[' expression ']' | '*' expression | target '.' NAME | expression '->' NAME
    expression ::= literal | target | '&' target | expression op expression | unary expression
                 | target '=' expression | target op'=' expression | '++' target | target '++'
                 | 'sizeof' expression | 'sizeof' '(' type ('[' constant ']')* ')' | 'sizeof' '(' type '*' ')'
                 | '(' type ')' expression | '(' type ')' '{' initial, ... '}'
                 | expression '?' expression ':' expression
                 | NAME '(' [expression (',' expression)*] ')' | 'shuffle' '(' expression ',' expression ')'

The tree has no `op=`, no `++`, no implicit conversion, no pointer and no struct: the parser writes them out. An
assignment within an expression is a statement that runs where the expression is evaluated. A pointer is an index into
an array that the parser knows, so that a function has a tree for each set of arrays that calls pass. A struct is a
variable for each of its scalars. `get_local_size()` is a constant. Comparisons and logical operators have the type
`bool`; a `Cast` makes them an `int` where arithmetic needs one.

What a kernel means, beyond C: the work-items of a group run in lockstep, statement by statement; a condition masks the
items for which it is false, and `return` masks an item for the rest of its function, `break` for the rest of the loop,
`continue` for the rest of the turn. A variable's initial value, zero where none is given, reaches masked items too, as
do the arguments of calls. The step of `for (int i = ...; ...; i += ...)` reaches them as well, with several counters,
too. `shuffle(value, lane)` evaluates `value` in every item, masked or not, and gives each item the value of item `lane`
modulo the group's size. A load in a masked item gives 0 and touches no memory, a call in a masked item gives 0.
Operands, arguments, calls and assignments are evaluated from left to right, the value of an assignment before the index
of its target. Where C leaves `i++ + i` undefined, the second operand is the new `i`. An assignment's value is what is
assigned, in masked items, too, where the target stays as it is. Integers wrap, shift counts are taken modulo the width
(OpenCL C 6.3.j), x / 0 is x and x % 0 is 0, conversions of floating point to integers saturate and take NaN to 0. Of
several items that store to one place, the highest one wins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.frontend.source import Position, Source
from drawloom.batch.types import ScalarType


@dataclass(frozen=True, slots=True)
class Expression:
    type: ScalarType
    position: Position


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """A literal; `value` is a NumPy scalar of the type."""

    value: np.generic


@dataclass(frozen=True, slots=True)
class Read(Expression):
    """A scalar variable or parameter."""

    variable: Variable


@dataclass(frozen=True, slots=True)
class Element(Expression):
    """An element of a private or local array."""

    variable: Variable
    index: Expression


@dataclass(frozen=True, slots=True)
class Load(Expression):
    """An element of the memory that a pointer parameter points to."""

    pointer: Parameter
    index: Expression


@dataclass(frozen=True, slots=True)
class Unary(Expression):
    """`op` is - or ~ on promoted operands, or ! on a bool."""

    op: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Expression):
    """`op` is + - * / % & | ^ << >>, or a comparison. Both operands have one type, except for shifts."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logical(Expression):
    """`op` is && or ||; the right operand is evaluated only in the items where it decides."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Conditional(Expression):
    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    operand: Expression


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A builtin function of values (`builtins.py`), all arguments of the result's type unless the table says more."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Shuffle(Expression):
    value: Expression
    lane: Expression


@dataclass(frozen=True, slots=True)
class Identity(Expression):
    """A work-item's place: `name` is get_local_id, get_group_id or get_global_id."""

    name: str


@dataclass(frozen=True, slots=True)
class Invoke(Expression):
    """A call of a function of the file; its value is `result` after the call. A function without results has none, and
    its call stands in an `Evaluate` only."""

    function: Function
    arguments: tuple[Expression, ...]
    result: Read | Element | None


@dataclass(frozen=True, slots=True)
class Effect(Expression):
    """Statements that run first, in the items that evaluate the expression: declarations, assignments and other
    evaluations. `value` is what a variable holds after them, so that no product is fused across an effect."""

    statements: tuple[Statement, ...]
    value: Read | Element | Load


@dataclass(frozen=True, slots=True)
class Statement:
    position: Position


@dataclass(frozen=True, slots=True)
class Declare(Statement):
    """A variable's scope begins. A private one has its initial value in every item, masked ones too; without, zero."""

    variable: Variable
    initial: Expression | None


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    target: Read | Element | Load
    value: Expression


@dataclass(frozen=True, slots=True)
class Evaluate(Statement):
    """An expression whose value nobody takes; its loads may still be refused."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Return(Statement):
    """Masks the items that run it for the rest of the function or kernel. Values are assigned before."""


@dataclass(frozen=True, slots=True)
class Break(Statement):
    """Masks the items that run it for the rest of the innermost loop or `Switch`."""


@dataclass(frozen=True, slots=True)
class Continue(Statement):
    """Masks the items that run it for the rest of the innermost loop's turn."""


#: What sends items elsewhere.
Jump = Return | Break | Continue


@dataclass(frozen=True, slots=True)
class Block(Statement):
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class If(Statement):
    """`is_arm` marks the arm of an expression: what it declares is read where no item takes it, too."""

    condition: Expression
    then: Statement
    otherwise: Statement | None
    is_arm: bool = False


@dataclass(frozen=True, slots=True)
class Switch(Statement):
    """What `break` leaves: an `If` for the statements of each label, in their order, by where an item enters."""

    body: Block
    has_default: bool


@dataclass(frozen=True, slots=True)
class Loop(Statement):
    """`for` and `while`: `first` runs once, `step` after each turn; `tests_first` is False for `do`. `counts_for_all`
    says that the step changes only variables that the loop declares, by arithmetic alone: then it runs in masked items,
    too. `live` is a mask that the body clears in items that leave: they run no more turns."""

    first: Statement | None
    condition: Expression
    step: Statement | None
    body: Statement
    tests_first: bool
    counts_for_all: bool
    live: Expression | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A private or local variable; `extent` is 0 for a scalar. `number` is unique in the kernel. `values` are the
    elements of a constant of file scope, which is a local variable that nothing assigns to."""

    name: str
    type: ScalarType
    extent: int
    is_local: bool
    number: int
    position: Position
    values: NDArray[Any] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A kernel's parameter. `is_pointer` ones point to `type`; `is_constant` ones are not written."""

    name: str
    type: ScalarType
    is_pointer: bool
    is_constant: bool
    position: Position


@dataclass(frozen=True, slots=True)
class ScalarParameter(Expression):
    """A parameter passed by value."""

    parameter: Parameter


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function of the file, for the arrays that the pointers of some calls point into.

    `parameters` take a call's arguments, `results` are read after it; all of them and the variables of the body belong
    to one call at a time, because no function calls itself. `weight` counts the calls that one call makes, itself too;
    `writes` says whether it assigns to what is not its own.
    """

    name: str
    parameters: tuple[Read | Element, ...]
    results: tuple[Read | Element, ...]
    body: Block
    weight: int
    writes: bool


@dataclass(frozen=True, slots=True)
class Kernel:
    """`variables` is how many there are, those of its functions too."""

    name: str
    wg_size: int
    parameters: tuple[Parameter, ...]
    body: Block
    variables: int
    source: Source = field(repr=False)

    def parameter(self, name: str) -> Parameter:
        return next(parameter for parameter in self.parameters if parameter.name == name)

"""What is shared while a file is parsed: its text, the names that it declares, and the function bodies of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from drawloom.batch.frontend.objects import Place, Struct
from drawloom.batch.frontend.preprocess import Preprocessed
from drawloom.batch.frontend.source import BatchParseError, BatchTypeError, Position, Source
from drawloom.batch.frontend.syntax import Declare, Function
from drawloom.batch.frontend.tables import Table
from drawloom.batch.frontend.tree import place_of, type_name
from drawloom.batch.types import C_SPELLINGS, ScalarType

#: Calls that one kernel may make, all those of calls included: each is compiled where it stands.
MOST_CALLS: Final = 10_000
#: Nodes of C that are outside the grammar, in the words of an error.
OUTSIDE: Final = {
    "Label": "a label", "Case": "a case label that is not in a switch's own block",
    "Default": "a default label that is not in a switch's own block", "Union": "union", "Enum": "enum",
    "Typedef": "typedef within a function", "Struct": "a struct that is defined within a function",
    "InitList": "a list of initial values here", "ExprList": "the comma operator",
    "Pragma": "#pragma", "StaticAssert": "_Static_assert",
}  # fmt: skip


class ParameterType(NamedTuple):
    """What a function takes: a value, or a pointer to `type`."""

    name: str
    type: ScalarType | Struct
    is_pointer: bool
    is_constant: bool

    def fits(self, other: ParameterType) -> bool:
        return self[1:3] == other[1:3] and (not self.is_pointer or self.is_constant == other.is_constant)


@dataclass(slots=True, eq=False)
class Definition:
    """A function's name. `node` is its definition, in `file`, None after a prototype alone; `names` are those known to
    its body, `moved` those that the body assigns to."""

    name: str
    result: ScalarType | Struct | None
    parameters: tuple[ParameterType, ...]
    node: Any = None
    file: FileText | None = None
    names: Names | None = None
    moved: frozenset[str] = frozenset()
    is_used: bool = False

    def fits(self, other: Definition) -> bool:
        return (
            self.result is other.result
            and len(self.parameters) == len(other.parameters)
            and all(one.fits(two) for one, two in zip(self.parameters, other.parameters))
        )


class Names(NamedTuple):
    """The structs by tag, type names, functions and constants that are declared outside of functions."""

    structs: dict[str, Struct]
    types: dict[str, ScalarType | Struct]
    functions: dict[str, Definition]
    tables: dict[str, Table]

    def copy(self) -> Names:
        return Names(dict(self.structs), dict(self.types), dict(self.functions), dict(self.tables))


class FileText:
    """A file: pycparser's places as the file's, and errors. `kernels` are the names of its kernels, `library` has the
    builtin functions that are kernel code."""

    def __init__(
        self, source: Source, preprocessed: Preprocessed, wg_size: int, library: dict[str, Definition]
    ) -> None:
        self.source = source
        self.preprocessed = preprocessed
        self.wg_size = wg_size
        self.library = library
        self.kernels: set[str] = set()

    def at(self, node: Any) -> Position:
        return self.preprocessed.position(*place_of(node))

    def parse_error(self, message: str, node: Any, expected: str = "") -> BatchParseError:
        return self.source.parse_error(message, self.at(node), expected)

    def type_error(self, message: str, node: Any, expected: str = "") -> BatchTypeError:
        return self.source.type_error(message, self.at(node), expected)

    def outside_error(self, node: Any) -> BatchParseError:
        name = type(node).__name__
        return self.parse_error(f"{OUTSIDE.get(name, name)} is not part of the language", node)


@dataclass(slots=True)
class Unit:
    """A kernel with its functions: `functions` by definition and pointed-to storage, `active` those being parsed.
    `tables` are the constants of file scope that it uses, `begin` the declarations of their variables."""

    variables: int = 0
    functions: dict[tuple[Any, ...], Function] = field(default_factory=dict)
    active: list[Definition] = field(default_factory=list)
    tables: dict[Table, Place] = field(default_factory=dict)
    begin: list[Declare] = field(default_factory=list)


def read_type(declared: Any, file: FileText, names: Names) -> ScalarType | Struct:
    """Return the type that a declaration names."""
    named = declared.type
    if type_name(named) == "Struct" and named.decls is None:
        struct = names.structs.get(named.name)
        if struct is None:
            raise file.type_error(f"struct {named.name} is not defined", declared)
        return struct
    if type_name(named) != "IdentifierType":
        raise file.outside_error(named)
    if len(named.names) == 1 and named.names[0] in names.types:
        return names.types[named.names[0]]
    scalar = C_SPELLINGS.get(tuple(sorted(named.names)))
    if scalar is None:
        raise file.type_error(f"the type {' '.join(named.names)} is not part of the language", declared)
    return scalar

"""The result types of builtins over enumerations, dictionaries, tables, and positions."""

from __future__ import annotations

from typing import Final

from drawloom.horse.ir import Operand
from drawloom.horse.rules import Rule, arity, refuse
from drawloom.horse.types import I64, SYM, TABLE, WILDCARD, DictType, EnumType, ListType, Type, VectorType


def _is_vector(type: Type) -> bool:
    return isinstance(type, VectorType) or type == WILDCARD


def _enum(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if not all(_is_vector(t) for t in types) or (types[0] != types[1] and WILDCARD not in types):
        raise refuse(name, types, "the keys and the column that they point into, two vectors of one type")
    return EnumType(types[1] if types[0] == WILDCARD else types[0])


def _fetch(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    if not isinstance(types[0], EnumType):
        raise refuse(name, types, "an enumeration")
    return types[0].element


def _keys(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    if isinstance(types[0], EnumType):
        return types[0].element
    if not isinstance(types[0], DictType):
        raise refuse(name, types, "a dictionary or an enumeration")
    return types[0].key


def _values(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    if isinstance(types[0], EnumType):
        return I64
    if not isinstance(types[0], DictType):
        raise refuse(name, types, "a dictionary or an enumeration")
    return types[0].value


def _dict(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if not _is_vector(types[0]) or not (_is_vector(types[1]) or isinstance(types[1], ListType)):
        raise refuse(name, types, "a vector of keys, and a vector or list with a value for each")
    return DictType(types[0], types[1])


def _lookup(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if not isinstance(types[0], DictType) or (types[1] != types[0].key and WILDCARD not in (types[1], types[0].key)):
        raise refuse(name, types, "a dictionary and a vector of keys of its type")
    return types[0].value


def _column_names(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    if types[0] != TABLE:
        raise refuse(name, types, "a table")
    return SYM if name == "column_names" else ListType(WILDCARD)


def _range(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    if types[0] not in (I64, WILDCARD):
        raise refuse(name, types, "how many, as i64")
    return I64


def _unique(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    if not _is_vector(types[0]):
        raise refuse(name, types, "a vector")
    return I64


def _index_of(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if not all(_is_vector(t) for t in types) or (types[0] != types[1] and WILDCARD not in types):
        raise refuse(name, types, "two vectors of one type")
    return I64


def _index_a(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 3)
    if not _is_vector(types[0]) or types[1] not in (I64, WILDCARD) or types[2] not in (types[0], WILDCARD):
        raise refuse(name, types, "a vector, i64 positions, and what to write there, of the vector's type")
    return types[0]


COMPOUND_RULES: Final[dict[str, Rule]] = {
    "enum": _enum, "fetch": _fetch, "keys": _keys, "values": _values, "dict": _dict, "lookup": _lookup,
    "column_names": _column_names, "range": _range, "unique": _unique, "index_of": _index_of, "index_a": _index_a,
}  # fmt: skip

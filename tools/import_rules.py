"""An import-linter contract: from a table of rooms and what each may import to the list of broken imports.

import-linter's own layers would let a front end reach a back end through any floor it stands on, and need
every module they name to exist. This contract checks the direct imports of each room against one table in
pyproject.toml, skips rooms that are not built yet, and refuses rooms that the table does not know. Direct
imports are enough: the table has no cycle (this is checked), so no chain of them can run back up.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.domain.contract import InvalidContractOptions

Rules = dict[str, tuple[str, ...]]


class Breach(NamedTuple):
    """One import that the table does not allow, or a room it does not know (`imported` is then "")."""

    importer: str
    imported: str
    lines: tuple[int, ...]


class RoomsContract(Contract):
    """Options: `rooms`, lines `room -> allowed allowed ...`; `leaves`, modules that every room may import.

    An allowed word is a room, or `room.module` for that one module and what is below it.
    """

    rooms = fields.ListField(subfield=fields.StringField())
    leaves = fields.ListField(subfield=fields.StringField())

    def validate(self) -> None:
        try:
            parse_rules(option(self, "rooms"))
        except ValueError as refusal:
            raise InvalidContractOptions({"rooms": str(refusal)}) from refusal

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        roots: list[str] = self.session_options["root_packages"]
        rules = parse_rules(option(self, "rooms"))
        leaves = frozenset(option(self, "leaves"))
        breaches = [breach for root in roots for breach in find_breaches(graph, root, rules, leaves)]
        return ContractCheck(kept=not breaches, metadata={"breaches": breaches})

    def render_broken_contract(self, check: ContractCheck) -> None:
        metadata: Mapping[str, Any] = check.metadata
        breaches: list[Breach] = metadata["breaches"]
        for breach in breaches:
            output.print_error(describe(breach))
        output.new_line()


def option(contract: Contract, name: str) -> list[str]:
    """An option's value: the class holds its Field under that name, and each instance the parsed list."""
    value: list[str] = getattr(contract, name)
    return value


def parse_rules(lines: Iterable[str]) -> Rules:
    """The table of `room -> allowed ...` lines. Raises ValueError for a bad line or a cycle."""
    rules: Rules = {}
    for line in lines:
        room, arrow, allowed = line.partition("->")
        room = room.strip()
        if not arrow or not room.isidentifier():
            raise ValueError(f"'{line}': expected 'room -> allowed allowed ...'")
        if room in rules:
            raise ValueError(f"'{room}' has two lines")
        rules[room] = tuple(allowed.split())
    for room, allowed_rooms in rules.items():
        for word in allowed_rooms:
            if word.partition(".")[0] not in rules:
                raise ValueError(f"'{room}' may import '{word}', which has no line of its own")
        if room in reachable(rules, room):
            raise ValueError(f"'{room}' may import itself through the rooms it may import")
    return rules


def reachable(rules: Rules, room: str) -> set[str]:
    """Every room that `room` may reach through one or more allowed imports."""
    seen: set[str] = set()
    waiting = [room]
    while waiting:
        for word in rules[waiting.pop()]:
            target = word.partition(".")[0]
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def find_breaches(graph: ImportGraph, root: str, rules: Rules, leaves: frozenset[str]) -> list[Breach]:
    """Every import below package `root` that `rules` does not allow, sorted."""
    breaches = [
        Breach(child, "", ())
        for child in sorted(graph.find_children(root))
        if not known(child.rpartition(".")[2], rules, leaves)
    ]
    for importer in sorted(graph.modules):
        room = room_of(importer, root)
        if not room or room == "__main__":
            continue  # the facade loads every room on demand
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            if not is_below(imported, root) or allows(imported, room, root, rules, leaves):
                continue
            details = graph.get_import_details(importer=importer, imported=imported)
            lines = tuple(sorted({detail["line_number"] for detail in details}))
            breaches.append(Breach(importer, imported, lines))
    return breaches


def known(name: str, rules: Rules, leaves: frozenset[str]) -> bool:
    return name in rules or name in leaves or name == "__main__"


def room_of(module: str, root: str) -> str:
    """`drawloom.ptx.parser` -> `ptx`; "" for the root itself and for what lies outside it."""
    return module[len(root) + 1 :].partition(".")[0] if is_below(module, root) else ""


def is_below(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def allows(imported: str, room: str, root: str, rules: Rules, leaves: frozenset[str]) -> bool:
    """Whether a module of `room` may import the module `imported`."""
    target = room_of(imported, root)
    if target == room:
        return True
    if room in leaves:
        return False  # a leaf imports nothing of ours
    if target in leaves:
        return True
    return any(is_below(imported, f"{root}.{word}") for word in rules.get(room, ()))


def describe(breach: Breach) -> str:
    if not breach.imported:
        return f"{breach.importer} is not in the table of rooms in pyproject.toml"
    lines = ", ".join(f"l.{line}" for line in breach.lines)
    return f"{breach.importer} must not import {breach.imported} ({lines})"

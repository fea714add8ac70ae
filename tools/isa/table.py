"""Solutions of several targets to one table file, in the layout that `drawloom.sass.isa` reads."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tools.isa.explore import free_bits
from tools.isa.solve import ModifierField, OperandField, Solution, gather, spread
from tools.isa.unprinted import settle_unprinted

MEMORY = frozenset("LD LDG ST STG ATOM ATOMG RED REDG CCTL LDGSTS".split())


def ranges(bits: list[int]) -> str:
    """`[72, 73, 74, 80]` as `72-74,80`."""
    parts: list[list[int]] = []
    for bit in bits:
        if parts and parts[-1][-1] + 1 == bit:
            parts[-1].append(bit)
        else:
            parts.append([bit])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def operand_text(operand: OperandField) -> str:
    """`40+14<<2s`: see `drawloom.sass.isa`."""
    pieces = [f"{low}+{width}" + (f"<<{start}" if start else "") for low, width, start in operand.pieces]
    flags = ("s" if operand.signed else "") + ("~" if operand.inverted else "") + ("!" if operand.no_neutral else "")
    return ",".join(pieces) + flags


def preferred(field: ModifierField, counts: dict[int, int]) -> list[list[Any]]:
    """The field's values with what ptxas uses most first, as far as their texts are the same; else by value."""
    uses: Counter[int] = Counter()
    for word, count in counts.items():
        uses[gather(field.bits, word)] += count
    order = sorted(field.values, key=lambda value: (-uses[value], value))
    leaders: dict[tuple[str, ...], int] = {}
    for value in order:
        leaders.setdefault(field.values[value], value)
    by_text = sorted(
        field.values, key=lambda value: (leaders[field.values[value]], value != leaders[field.values[value]], value)
    )
    return [[value, *field.values[value]] for value in by_text]


def row_of(solution: Solution, counts: dict[int, int], target: int) -> tuple[str, list[Any]]:
    """(base, row without targets); modifier fields carry their values, not yet an index."""
    _, base, *structure = solution.key.split(" ")
    kinds = []
    for operand in solution.operands:
        if operand.pieces:
            kinds.append(operand.kind)
        else:
            kinds.append(f"{operand.kind}={operand.constant}")
    operand_bits = field_bits = 0
    for operand in solution.operands:
        for low, width, _ in operand.pieces:
            operand_bits |= ((1 << width) - 1) << low
    for field in solution.fields:
        field_bits |= spread(field.bits, -1)
    free = sum(1 << bit for bit in free_bits(target))
    hidden = hidden_descriptor(base, free & ~(solution.fixed_mask | operand_bits | field_bits), counts, target)
    word = solution.base_word & free & ~operand_bits & ~field_bits
    for bit in free_bits(target):
        silent = not (solution.fixed_mask | operand_bits | field_bits) >> bit & 1
        if silent and counts:
            used = sum(count for seen, count in counts.items() if seen >> bit & 1)
            word = word | 1 << bit if used * 2 > sum(counts.values()) else word & ~(1 << bit)
    if hidden:  # where nothing else is said it is UR4, as ptxas has it most often
        word = word & ~(63 << hidden) | 4 << hidden
    for operand in solution.operands:
        if operand.inverted:
            for low, width, _ in operand.pieces:
                word |= ((1 << width) - 1) << low
    width = 32 if target >= 75 else 16
    row = [
        " ".join(structure),
        kinds,
        f"{word:0{width}x}",
        f"{solution.fixed_mask:0{width}x}",
        [operand_text(operand) for operand in solution.operands if operand.pieces],
        [[ranges(field.bits), field.gaps, preferred(field, counts)] for field in solution.fields],
        solution.template,
        solution.guard,
        {str(bit): place for bit, place in sorted(solution.reuse.items())},
        "ptxas" if solution.emitted else "flip",
    ]
    return base, row


def hidden_descriptor(base: str, silent: int, counts: dict[int, int], target: int) -> int:
    """The low bit of the uniform register with the memory descriptor, which nvdisasm does not print for sm_80 to 89."""
    if base not in MEMORY or not 80 <= target < 90:
        return 0
    varying = 0
    for word in counts:
        varying |= (word ^ next(iter(counts))) & silent
    for low in (32, 64):
        if varying >> low & 63 and silent >> low & 63 == 63:
            return low
    return 0


class Table:
    """One family's forms, equal ones of several targets merged."""

    def __init__(self, targets: list[int]) -> None:
        self.targets = targets
        self.rows: dict[tuple[str, str], list[Any]] = {}
        self.uses: dict[tuple[str, str], int] = {}
        self.special: dict[tuple[int, str], int] = {}

    def add(self, target: int, solution: Solution, counts: dict[int, int]) -> None:
        bit = 1 << self.targets.index(target)
        base, row = row_of(solution, counts, target)
        seen = row.pop()
        name = (base, json.dumps(row))
        self.uses[name] = self.uses.get(name, 0) + sum(counts.values())
        found = self.rows.setdefault(name, [*row, seen, 0])
        found[-1] |= bit
        if seen == "ptxas":
            found[-2] = "ptxas"

    def add_special(self, target: int, value: int, name: str) -> None:
        bit = 1 << self.targets.index(target)
        self.special[value, name] = self.special.get((value, name), 0) | bit

    def data(self) -> dict[str, Any]:
        """The table as `drawloom.sass.isa` takes it."""
        indexes: dict[str, int] = {}
        enumerations: list[Any] = []
        forms: dict[str, list[Any]] = {}
        order = sorted(self.rows, key=lambda name: (name[0], -self.uses[name], name[1]))
        for name in order:
            base, row = name[0], self.rows[name]
            row = list(row)
            fields = []
            for where, gaps, values in row[5]:
                text = json.dumps(values)
                if text not in indexes:
                    indexes[text] = len(enumerations)
                    enumerations.append(values)
                fields.append([where, gaps, indexes[text]])
            row[5] = fields
            forms.setdefault(base, []).append(row)
        forms = {base: settle_unprinted(rows) for base, rows in forms.items()}
        special = [[value, name, bits] for (value, name), bits in sorted(self.special.items())]
        return {"targets": self.targets, "special": special, "enumerations": enumerations, "forms": forms}


def file_text(data: dict[str, Any]) -> str:
    """The table as JSON with one enumeration or form in a line."""
    compact = (",", ":")

    def dump(value: Any) -> str:
        return json.dumps(value, separators=compact)

    lines = ["{", f'"targets":{dump(data["targets"])},', '"special":[']
    lines.append(",\n".join(dump(entry) for entry in data["special"]))
    lines += ["],", '"enumerations":[', ",\n".join(dump(entry) for entry in data["enumerations"]), "],", '"forms":{']
    groups = []
    for base, rows in data["forms"].items():
        groups.append(f"{dump(base)}:[\n" + ",\n".join(dump(row) for row in rows) + "\n]")
    lines += [",\n".join(groups), "}}"]
    return "\n".join(lines) + "\n"

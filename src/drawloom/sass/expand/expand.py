"""Module to Module: every instruction that has a rule becomes the sequence that its rule gives.

A rule is found once for each opcode and target; an instruction without one costs one look into a table. Functions in
which nothing changes are kept as they are.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.collecting import uncollected
from drawloom.ptx.ir import Function, Instruction, Module, Statement
from drawloom.ptx.isa import Opcode
from drawloom.ptx.template import Site
from drawloom.sass.expand.families import family
from drawloom.sass.expand.functions import helper
from drawloom.sass.expand.rules import Rule

TARGETS: Final = (61, 75, 80, 86, 89, 90)


class _Rules:
    """What was found out for a target: the opcodes that stay as they are, and the rules of others."""

    def __init__(self) -> None:
        self.plain: set[Opcode] = set()
        self.rules: dict[Opcode, Rule] = {}


_rules: Final[dict[int, _Rules]] = {}


def expand(module: Module, target: int) -> Module:
    """``module`` in terms of what sm_``target`` (61, 75, 80, 86, 89 or 90) has as machine instructions.

    ``module`` is left as it is; the result shares with it what did not change. The sequences use instructions of
    PTX up to 8.6, whatever version the module declares. Raises ValueError for another target.
    """
    if target not in TARGETS:
        raise ValueError(f"sm_{target}: expected one of {', '.join([str(t) for t in TARGETS])}")
    return uncollected(lambda: _expand_module(module, target))  # collecting takes as long


def _expand_module(module: Module, target: int) -> Module:
    rules = _rules.setdefault(target, _Rules())
    helpers: dict[str, str] = {}
    changed: dict[str, Function] = {}
    for function in module.functions.values():
        if function.has_body:
            made = _expand_function(module, function, rules, target, helpers)
            if made is not None:
                changed[function.name] = made
    if not changed:
        return module
    return module.with_functions(changed, [helper(name, helpers[name]) for name in sorted(helpers)])


def _expand_function(
    module: Module, function: Function, rules: _Rules, target: int, helpers: dict[str, str]
) -> Function | None:
    """The function with its sequences, or None where nothing has to change."""
    found: list[int] = []
    body: list[Statement] = function.body
    plain = rules.plain
    for index in range(len(body)):
        statement = body[index]
        if isinstance(statement, Instruction) and statement.opcode not in plain:
            opcode = statement.opcode
            if opcode not in rules.rules:
                rule = family(opcode, target)
                if rule is None:
                    plain.add(opcode)
                    continue
                rules.rules[opcode] = rule
            found.append(index)
    if not found:
        return None
    site = Site(module, function, helpers)
    start = 0
    for index in found:
        site.function.body.extend(body[start:index])
        instruction = body[index]
        assert isinstance(instruction, Instruction)
        template, sources = rules.rules[instruction.opcode].choose(instruction)
        site.put(template, instruction, sources)
        start = index + 1
    site.function.body.extend(body[start:])
    return site.function

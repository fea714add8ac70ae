"""The layer rules: what the table in pyproject.toml lets through, and what it refuses."""

import tomllib
from pathlib import Path

import pytest
from grimp import ImportGraph

from tools.import_rules import describe, find_breaches, parse_rules, reachable

ROOT = Path(__file__).resolve().parents[2]


def project_table() -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    with open(ROOT / "pyproject.toml", "rb") as file:
        contract = tomllib.load(file)["tool"]["importlinter"]["contracts"][0]
    return parse_rules(contract["rooms"]), frozenset(contract["leaves"])


def graph_of(*imports: tuple[str, str]) -> ImportGraph:
    graph = ImportGraph()
    graph.add_module("drawloom")
    for importer, imported in imports:
        for module in (importer, imported):
            parts = module.split(".")
            for length in range(1, len(parts) + 1):
                graph.add_module(".".join(parts[:length]))
        graph.add_import(importer=importer, imported=imported, line_number=7, line_contents="import")
    return graph


ALLOWED = [
    ("drawloom.cpu.lower", "drawloom.ptx.ir"),
    ("drawloom.ptx.parser", "drawloom.errors"),
    ("drawloom.runtime.devices", "drawloom.cpu"),
    ("drawloom.runtime.cache", "drawloom.build_info"),
    ("drawloom.lift.compile", "drawloom.cuda.clang"),
    ("drawloom.batch.llvm", "drawloom.cpu.vector.emit"),
    ("drawloom.sql.lower", "drawloom.horse.ir"),
    ("drawloom", "drawloom.runtime"),
]

REFUSED = [
    ("drawloom.ptx.parser", "drawloom.reference.machine"),
    ("drawloom.reference.machine", "drawloom.cpu.lower"),
    ("drawloom.opt.dce", "drawloom.sass.select"),
    ("drawloom.cpu.lower", "drawloom.runtime.cache"),
    ("drawloom.horse.outline", "drawloom.cpu.lower"),
    ("drawloom.cuda.clang", "drawloom.horse.ir"),
    ("drawloom.lift.compile", "drawloom.sass"),
    ("drawloom.batch.llvm", "drawloom.cpu.lower"),
    ("drawloom.runtime.devices", "drawloom.sql"),
    ("drawloom.sql.connection", "drawloom.cli.main"),
    ("drawloom.sql.connection", "drawloom"),
    ("drawloom.errors", "drawloom.ptx"),
    ("drawloom.build_info", "drawloom.errors"),
]


@pytest.mark.parametrize("edge", ALLOWED, ids="->".join)
def test_allowed(edge: tuple[str, str]) -> None:
    assert find_breaches(graph_of(edge), "drawloom", *project_table()) == []


@pytest.mark.parametrize("edge", REFUSED, ids="->".join)
def test_refused(edge: tuple[str, str]) -> None:
    breaches = find_breaches(graph_of(edge), "drawloom", *project_table())
    assert [(breach.importer, breach.imported) for breach in breaches] == [edge]
    assert describe(breaches[0]) == f"{edge[0]} must not import {edge[1]} (l.7)"


def test_room_without_a_line_is_refused() -> None:
    graph = graph_of(("drawloom.attic.box", "drawloom.ptx"))
    found = [describe(breach) for breach in find_breaches(graph, "drawloom", *project_table())]
    assert "drawloom.attic is not in the table of rooms in pyproject.toml" in found
    assert "drawloom.attic.box must not import drawloom.ptx (l.7)" in found


def test_back_ends_do_not_reach_each_other_by_any_chain() -> None:
    rules, _ = project_table()
    for room in ("reference", "opt", "shuffle", "sass", "cpu"):
        assert reachable(rules, room) == {"ptx"}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["ptx"], "expected 'room -> allowed"),
        (["ptx ->", "ptx ->"], "two lines"),
        (["cpu -> ptx"], "no line of its own"),
        (["cpu -> ptx", "ptx -> cpu"], "import itself"),
    ],
)
def test_bad_table(lines: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_rules(lines)

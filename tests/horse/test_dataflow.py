"""The data-flow framework: figure 4.5, and random structured programs against an oracle that enumerates their paths."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import drawloom
from drawloom.horse.dataflow import Variables
from drawloom.horse.definitions import Definitions, assigned, objects, reaching
from drawloom.horse.infer import infer
from drawloom.horse.ir import Assign, Function, If, Jump, Loop, Name, Param, Return, Statement, Target, Use, reads, walk
from drawloom.horse.liveness import done_with, live
from drawloom.horse.parser import parse
from drawloom.horse.types import I32

FIGURE_4_5 = """module m { import Builtin.*; def main() : i32 {
    var t1:i32 = (1, -2):i32; var t2:i32 = @abs(t1); var t3:i32 = @plus(t1, t2); var t4:i32 = @mul(t3, 2:i32);
    return t4; } }"""


def test_live_variables_of_figure_4_5() -> None:
    main = infer(parse(FIGURE_4_5)).functions[0]
    variables = Variables(main)
    states = live(main, variables)
    behind = [sorted(variables.names(states.at[s])) for s in main.body]
    assert behind == [["t1"], ["t1", "t2"], ["t3"], ["t4"], []]
    assert states.end == 0
    assert list(done_with(main).values())[::-1] == [[], [], ["t1", "t2"], ["t3"], ["t4"]]


# Random programs, and every path through them with at most two rounds of each loop


def random_body(rng: random.Random, depth: int, in_loop: bool) -> list[Statement]:
    body: list[Statement] = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(["assign", "assign", "assign", "if", "loop", "jump", "return"])
        if kind == "if" and depth:
            inside = [
                random_body(rng, depth - 1, in_loop),
                random_body(rng, depth - 1, in_loop) if rng.random() < 0.6 else [],
            ]
            body.append(If(Name(rng.choice("abcd")), *inside))
        elif kind == "loop" and depth:
            body.append(
                Loop(rng.choice(["while", "repeat"]), Name(rng.choice("abcd")), random_body(rng, depth - 1, True))
            )
        elif kind == "jump" and in_loop:
            body.append(Jump(rng.choice(["break", "continue"])))
        elif kind == "return" and rng.random() < 0.3:
            body.append(Return([Name(rng.choice("abcd"))]))
        else:
            body.append(Assign([Target(rng.choice("abcd"), I32)], Use(Name(rng.choice("abcd")))))
    return body


def paths(body: list[Statement]) -> Iterator[tuple[list[Statement], str]]:
    """The statements of each path, conditions included, and how it ends: "", "break", "continue" or "return"."""
    if not body:
        yield [], ""
        return
    for first, stop in statement_paths(body[0]):
        if stop:
            yield first, stop
        else:
            for rest, end in paths(body[1:]):
                yield first + rest, end


def statement_paths(statement: Statement) -> Iterator[tuple[list[Statement], str]]:
    if isinstance(statement, If):
        for branch in (statement.then, statement.otherwise):
            for inside, stop in paths(branch):
                yield [statement, *inside], stop
    elif isinstance(statement, Loop):
        yield from rounds(statement, 2, True)
    elif isinstance(statement, Jump | Return):
        yield [statement], statement.kind if isinstance(statement, Jump) else "return"
    else:
        yield [statement], ""


def rounds(loop: Loop, left: int, is_first: bool) -> Iterator[tuple[list[Statement], str]]:
    """``while`` reads its condition before each round, ``repeat`` once."""
    head: list[Statement] = [loop] if is_first or loop.kind == "while" else []
    yield head, ""
    if left == 0:
        return
    for inside, stop in paths(loop.body):
        if stop in ("break", "return"):
            yield head + inside, "" if stop == "break" else stop
        else:
            for rest, end in rounds(loop, left - 1, False):
                yield head + inside + rest, end


def writes(statement: Statement) -> set[str]:
    return {t.name for t in statement.targets} if isinstance(statement, Assign) else set()


@pytest.mark.parametrize("seed", range(100))
def test_analyses_are_what_the_paths_say(seed: int) -> None:
    rng = random.Random(seed)
    while True:
        function = Function("f", [Param("a", I32), Param("b", I32)], [], random_body(rng, 2, False))
        ways = [path for path, _ in paths(function.body)]
        if len(ways) <= 2000:
            break
    variables, definitions = Variables(function), Definitions(function)
    numbered = {(place, name): n for n, (place, name) in enumerate(zip(definitions.places, definitions.variables))}
    all_assigned: dict[Statement, set[str]] = {}
    reach: dict[Statement, set[int]] = {}
    may_read: dict[Statement, set[str]] = {}
    for way in ways:
        have = {"a", "b"}
        last = {name: numbered[(None, name)] for name in ("a", "b")}
        for statement in way:
            all_assigned[statement] = all_assigned.get(statement, have) & have
            reach.setdefault(statement, set()).update(last.values())
            have = have | writes(statement)
            last.update({name: numbered[(statement, name)] for name in writes(statement)})
        needed: set[str] = set()
        for statement in reversed(way):
            may_read.setdefault(statement, set()).update(needed)
            needed = needed - writes(statement) | set(reads(statement))
    found = assigned(function, variables).at
    assert {s: set(variables.names(bits)) for s, bits in found.items()} == all_assigned
    found = reaching(function, definitions).at
    assert {s: set(definitions.numbers(bits)) for s, bits in found.items()} == reach
    found = live(function, variables).at
    for statement, names in may_read.items():
        if isinstance(statement, If | Loop):
            continue  # a path does not say where the statement ends
        assert set(variables.names(found[statement])) == names, (seed, statement)


@pytest.mark.parametrize("seed", range(40))
def test_a_path_never_reads_what_was_given_up(seed: int) -> None:
    rng = random.Random(seed)
    function = Function("f", [Param(n, I32) for n in "abcd"], [], random_body(rng, 3, False))
    done = done_with(function)
    for way, _ in zip(paths(function.body), range(500)):
        have = set("abcd")
        for statement in way[0]:
            assert set(reads(statement)) <= have
            have |= writes(statement)
            if not isinstance(statement, If | Loop):
                have -= set(done[statement])


def test_what_no_path_reaches_is_not_checked() -> None:
    infer(parse("module m { def main(x:i32) : i32 { return x; var y:i32 = x; } }"))
    body = "repeat (3:i64) { break; var y:i32 = x; x = y; } return x;"
    infer(parse(f"module m {{ def main(x:i32) : i32 {{ {body} }} }}"))


def refused(body: str) -> str:
    with pytest.raises(drawloom.VerifyError) as refusal:
        infer(parse(f"module m {{ import Builtin.*; def main(x:i32, c:bool) : i32 {{ {body} }} }}"))
    return str(refusal.value)


def test_a_loop_may_run_no_round() -> None:
    assert "'y' is not assigned" in refused("while (c) { var y:i32 = x; } return y;")
    assert "'y' is not assigned" in refused("repeat (1:i64) { if (c) { break; } var y:i32 = x; } return y;")


def test_a_branch_that_leaves_the_loop_assigns_nothing_behind_it() -> None:
    """Once refused: ``break`` and ``continue`` were taken for paths that go on."""
    infer(parse("""module m { def main(x:i32, c:bool) : i32 {
        while (c) { if (c) { break; } else { var y:i32 = x; } x = y; } return x; } }"""))  # fmt: skip


def test_a_function_that_ends_in_a_loop_does_not_return() -> None:
    assert "can end without returning a value" in refused("while (c) { return x; }")


def test_copies_are_one_data_object() -> None:
    text = """module m { import Builtin.*; def main(x:i32, c:bool) : i32 {
        var y:i32 = x; var z:i32 = y; var w:i32 = @neg(z); var v:i32 = w; if (c) { v = x; } var u:i32 = v;
        return u; } }"""
    main = infer(parse(text)).functions[0]
    assert objects(main) == {"x": "x", "c": "c", "y": "x", "z": "x", "w": "w", "v": "v", "u": "u"}
    assert len(list(walk(main.body))) == 8


def test_copies_of_what_one_definition_wrote_are_one_data_object() -> None:
    text = """module m { import Builtin.*; def main(x:i32, c:bool) : i32 {
        var a:i32 = @neg(x); var p:i32 = a; var q:i32 = a; a = @abs(x); var r:i32 = a; if (c) { a = x; }
        var s:i32 = a; return s; } }"""
    assert objects(infer(parse(text)).functions[0]) == {
        "x": "x", "c": "c", "a": "a", "p": "a#2", "q": "a#2", "r": "a#5", "s": "s"
    }  # fmt: skip

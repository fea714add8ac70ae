"""HorseIR text: what is printed parses back to the same module, and what is wrong is refused at its place."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

import drawloom
from drawloom.horse.infer import infer, variable_types
from drawloom.horse.parser import parse

EVERYTHING = """module default {
    import Builtin.*;
    import Builtin.sum;
    import Builtin.{min, max};

    def main(t0:i32, t1:table) : table, list<?> {
        var a:i32 = check_cast(@column_value(t1, `size:sym), i32);
        var b:decimal<15,2> = (-0.05, 1234567890123.99, 7.00):decimal<15,2>;
        var c:f64 = (1.5, 1e+300, nan, inf, -inf, -0.0):f64;
        var d:date = (1994.01.31, 1900.12.01, @-10000000):date;
        var e:month = 1994.02:month;
        var f:time = 23:59:59.999:time;
        var g:sym = (`plain, `"sum(x) \\"quoted\\" \\\\"):sym;
        var h:str = "a\\n\\t\\"b\\" \\\\ ü":str;
        var i:char = ('a', '\\x27', '\\x5c', '\\xff'):char;
        var j:i128 = 170141183460469231731687303715884105727:i128;
        var k:bool = ():bool;
        var l:dict<i64,list<i64>>, var m:enum<sym> = @pair(t0);
        l, m = @default.pair(t0);
        @effect(k);
        while (k) {
            repeat (3:i64) {
                if (k) {
                    break;
                } else {
                    continue;
                }
            }
        }
        return t1, l;
    }

    kernel k0(t0:i32) : i32 {
        var t1:i32 = @plus(t0, 1:i32);
        return t1;
    }

    def nothing() {
        return;
    }
}
"""


def test_everything_prints_as_it_was_written() -> None:
    module = parse(EVERYTHING)
    assert str(module) == EVERYTHING
    assert parse(str(module)) == module


def test_comments_and_spaces_do_not_matter() -> None:
    text = "module m{// a comment\ndef main():table{// another\n return t;}}"
    assert str(parse(text)) == "module m {\n    def main() : table {\n        return t;\n    }\n}\n"


@pytest.mark.parametrize(
    ("body", "place", "expected"),
    [
        ("var t:i32 = 5;", (3, 22), "':' and the type of the literal"),
        ("var t:i32 = 5.5:i32;", (3, 21), "an integer"),
        ("var t:i8 = 300:i8;", (3, 20), "does not fit i8"),
        ("var t:date = 1994.02.30:date;", (3, 22), "not a value of type date"),
        ("var t:decimal<4,2> = 1.234:decimal<4,2>;", (3, 30), "at most 2 digits"),
        ("var t:decimal<39,2> = 1:i32;", (3, 23), "1 to 38 digits"),
        ("var t:str = `a:str;", (3, 21), "double quotes"),
        ("var t:foo = 1:i32;", (3, 15), "a type"),
        ("var t = 1:i32;", (3, 15), "the type of the variable"),
        ("var t:list<i32 = 1:i32;", (3, 24), "'>'"),
        ("t:i32 = @f(1:i32;", (3, 25), "','"),
        ("return t", (4, 1), "','"),
        ("var t:i32 = #;", (3, 21), "starts nothing"),
    ],
)
def test_refusals_name_the_place(body: str, place: tuple[int, int], expected: str) -> None:
    with pytest.raises(drawloom.ParseError) as refusal:
        parse(f"module m {{\n    def main() : table {{\n        {body}\n}}}}", "q.hir")
    assert (refusal.value.line, refusal.value.column) == place
    assert expected in str(refusal.value)
    assert str(refusal.value).startswith("q.hir:")


@given(st.text(alphabet=string.printable, max_size=200))
def test_noise_is_refused_with_our_error(text: str) -> None:
    for candidate in (text, "module m { def main() : table { " + text):
        try:
            parse(candidate)
        except drawloom.Error:
            pass


@given(st.data())
def test_damaged_programs_are_refused_with_our_error(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(EVERYTHING) - 1))
    stop = data.draw(st.integers(start, min(len(EVERYTHING), start + 40)))
    patch = data.draw(st.text(alphabet="`\"'(){}<>,;:=.@1a \n", max_size=6))
    try:
        infer(parse(EVERYTHING[:start] + patch + EVERYTHING[stop:]))
    except drawloom.Error:
        pass


# Inference


def program(body: str, params: str = "", returns: str = "i32") -> str:
    return f"module m {{\nimport Builtin.*;\ndef main({params}) : {returns} {{\n{body}\n}}\n}}"


def test_wildcards_are_inferred() -> None:
    module = infer(parse(program("var s:? = @sum(x); var p:? = @mul(x, y); var c:? = @gt(p, 0:i32); return c;",
                                 "x:decimal<15,2>, y:decimal<16,2>", "bool")))  # fmt: skip
    types = variable_types(module.functions[0])
    assert {n: str(types[n]) for n in "spc"} == {"s": "decimal<38,2>", "p": "decimal<18,4>", "c": "bool"}


def test_calls_between_functions_are_typed() -> None:
    text = """module m { import Builtin.plus;
        def main() : i32 { var a:? = @twice(3:i32); var b:? = @m.twice(a); return b; }
        def twice(x:i32) : i32 { var y:i32 = @Builtin.plus(x, x); return y; } }"""
    assert str(variable_types(infer(parse(text)).functions[0])["b"]) == "i32"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return y;", "'y' is not declared"),
        ("var a:i32 = @nope(x); return a;", "no function @nope"),
        ("var a:i32 = @plus(x); return a;", "takes 2 arguments, not 1"),
        ('var a:i32 = @plus(x, "s":str); return a;', "does not take (i32, str)"),
        ("var a:bool = @plus(x, x); return x;", "is bool and is given i32"),
        ("var a:bool = @gt(x, x); return a;", "return of a value of type bool"),
        ("a = @plus(x, x); return x;", "'a' is not declared"),
        ("var a:i32, var b:i32 = @plus(x, x); return a;", "2 variables for 1 values"),
        ("if (x) { return x; } return x;", "the condition is i32"),
        ("break; return x;", "break outside a loop"),
        ("var a:i32 = @plus(x, x);", "can end without returning"),
        ("var a:? = @each(@nope, x); return x;", "no function @nope"),
        ("var a:? = @sum(@plus); return x;", "@plus is no value"),
        ('var a:? = @convert(x, `str:sym); return x;', "makes no 'str'"),
        ("return x, x;", "return of 2 values"),
        ("var c:bool = @gt(x, x); if (c) { var z:i32 = @plus(x, x); } return z;", "not assigned on every path"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused(body: str, message: str) -> None:
    with pytest.raises(drawloom.VerifyError, match="(?s)" + message.replace("(", r"\(").replace(")", r"\)")) as refusal:
        infer(parse(program(body, "x:i32")))
    assert refusal.value.line > 0


def test_a_variable_assigned_on_both_branches_is_assigned() -> None:
    body = "var c:bool = @gt(x, x); if (c) { var z:i32 = @plus(x, x); } else { z = @neg(x); } return z;"
    infer(parse(program(body, "x:i32")))


def test_a_variable_assigned_before_an_early_return_is_not_needed_there() -> None:
    body = "var c:bool = @gt(x, x); if (c) { return x; } else { var z:i32 = @neg(x); } return z;"
    infer(parse(program(body, "x:i32")))

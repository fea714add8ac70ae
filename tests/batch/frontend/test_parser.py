"""What kernels may be written in, and the place of every refusal."""

import re
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch import BatchParseError, BatchTypeError, interpret, parse_file
from drawloom.batch.frontend.includes import find_beside
from drawloom.batch.frontend.syntax import Assign, Block, Cast, Constant, Declare, Loop
from drawloom.batch.kernels import read_text
from drawloom.errors import Error
from tests.batch.frontend.refusals import refusal

pytest.importorskip("pycparser")


def body(text: str, wg_size: int = 4) -> tuple[object, ...]:
    kernel = parse_file("__kernel void k(float *p, int n) {" + text + "}", wg_size=wg_size)["k"]
    return kernel.body.statements


BAD = {
    "int x = = 3;": "invalid expression",
    "goto end;": "'goto' is not part of the language",
    "switch (n) { n + 1; case 1: ; }": "this stands before a switch's labels",
    "break;": "break stands outside of a loop or switch",
    "for (;;) ; continue;": "continue stands outside of a loop",
    "return 1;": "this returns a value",
    "struct s { int a; } x;": "a struct that is defined within a function is not part of the language",
    "static int x;": "static and __kernel are for functions",
    "int x = (n, 3);": "the comma operator is not part of the language",
    "float a[n];": "the size of a is not known at compile time",
    "float a[0];": "a has 0 elements",
    "float a[4 / 0];": "the size of a has a division by zero",
    "switch (n) { case 1 % 0: ; }": "this case has a division by zero",
    "float a[1 ? 3 + 7 % (2 - 2) : 1];": "the size of a has a division by zero",
    "float a[2][2]; a[1][2] = 1;": "index 2 is out of range for a[2]",
    "float a[64][65];": "a has 4160 elements",
    "float a[2]; a[2] = 1;": "index 2 is out of range for a[2]",
    "float a[2]; a = 1;": "a is an array",
    "float x; x[0] = 1;": "x is not an array",
    "y = 1;": "y is not declared",
    "int x; int x;": "x is declared twice in one block",
    "n.x = 1;": "n is a number, which has no parts",
    "p = 1;": "p is a pointer",
    "float x = 1.5f % 2;": "% of float and int",
    "float x = ~1.5f;": "~ of a float",
    "float a[2]; a[1.0f] = 1;": "an index has the type float",
    "shuffle(1, 4);": "lane 4 is out of range for 4 work-items",
    "shuffle(1);": "shuffle takes 2 arguments, found 1",
    "printf(1);": "printf is not a function of the language",
    "sqrt(1, 2);": "sqrt takes 1 arguments, found 2",
    "get_local_id(1);": "get_local_id of a dimension other than 0",
    "__local int x = 3;": "a __local variable has no initial value",
    'char c = "a";': "the string \"a\" is not part of the language",
    "x x x;": "unexpected x: 'x' is not a type",
    "half x;": "the type half is not supported",
    "n = (half)n;": "the type half is not supported",
    "n = (real)n;": "'real' is not a type",
    "float4 x;": "the type float4 is not supported",
    "for (real x = 0; x < 1; ) ;": "'real' is not a type",
    "n = n n;": "unexpected n\n",
    "long double x;": "the type long double is not part of the language",
    "int x = 99999999999999999999;": "99999999999999999999 is too large for every integer type",
    "double x = 1e999;": "1e999 is too large for double\n",
    "float x = -1e39f;": "1e39f is too large for float\n",
    "double x = 0x1p1024;": "0x1p1024 is too large for double\n",
    "int sqrt = n; n = sqrt(4);": "sqrt is not a function",
    "1 = 2;": "this cannot be assigned to",
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_outside_of_the_grammar_is_refused(text: str) -> None:
    report = refusal("__kernel void k(float *p, int n) {\n    " + text + "\n}")
    assert BAD[text] in report
    place = report.split(":")
    assert place[0] == "k.cl"
    assert place[1] == "2"
    assert int(place[2]) >= 5


def test_a_refusal_quotes_the_line_and_points_at_the_place() -> None:
    report = refusal("__kernel void k(float *p) {\n\tp[0] = undefined_name;\n}")
    assert report == "k.cl:2:9: undefined_name is not declared\n      p[0] = undefined_name;\n             ^"


def test_a_macro_is_blamed_at_its_use() -> None:
    report = refusal("#define BAD undefined_name\n__kernel void k(float *p) {\n    p[0] = BAD;\n}")
    assert report.startswith("k.cl:3:12: undefined_name is not declared")


def test_a_missing_macro_is_named_as_an_unknown_type() -> None:
    assert refusal(read_text("gemm")).startswith("k.cl:4:26: unexpected *: 'real' is not a type\n")
    assert "a macro by defines={'real': ...} or -D real=..." in refusal(read_text("gemm"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file has no kernel"),
        ("int f(int x) { return x; }", "the file has no kernel"),
        ("__kernel int k(float *p) {}", "k returns a value"),
        ("__kernel void k(float **p) {}", "p is neither a value nor a pointer to values"),
        ("__kernel void k(bool *p) {}", "p points to bool"),
        ("__kernel void k(const float *p) { p[0] = 1; }", "p points to constants"),
        ("__kernel void k(float *p, int p) {}", "p is declared twice in one block"),
        ("__kernel void k(float *p) {} __kernel void k(float *p) {}", "k is defined twice"),
        ("__constant int x[] = {1, 4 / 0};\n__kernel void k(float *p) {}", "this initial value of x has a division"),
        ("int x;", "variables do not stand outside of kernels"),
        ("__kernel void k(float *p) { /* ", "this comment does not end"),
        ("__kernel void k(float *p) { p[0] = @; }", "the character '@' is not part of the language"),
        ("#include <math.h>\n__kernel void k(float *p) {}", "#include takes a name in quotes"),
        ("#ifdef X\n#elif 1\n#endif\n__kernel void k(float *p) {}", "the directive #elif is not part of the language"),
        ("#ifdef X\n#if 1\n#endif\n#endif\n__kernel void k(float *p) {}", "the directive #if is not part of"),
        ("#ifdef X\n__kernel void k(float *p) {}", "this condition has no #endif"),
        ("#define TWICE(x) x x\n__kernel void k(float *p) { TWICE(1, 2); }", "TWICE takes 1 arguments, found 2"),
        ("__kernel void k(float *p) {" + "(" * 5000, "too deeply"),
    ],
)
def test_malformed_files_are_refused(text: str, message: str) -> None:
    assert message in refusal(text)


def test_numbers_of_any_size_that_a_type_holds_are_accepted() -> None:
    declared = body("double x = 1.7976931348623157e308, y = 1e-400; float z = 3.4028235e38f; float a[1 ? 2 : 1 / 0];")
    assert len(declared) == 4


@pytest.mark.parametrize("exponent", [0, 3, -140, 100])
@pytest.mark.parametrize("digit", [-1, 0, 1])
def test_a_float_next_to_the_middle_of_two_is_rounded_once(digit: int, exponent: int) -> None:
    for mantissa in (2**23, 2**23 + 1):
        least = Fraction(2) ** max(exponent - 23, -149)
        middle = (mantissa >> max(0, -149 - (exponent - 23))) * least + least / 2
        exact = middle + digit * least / 10**30
        with localcontext(prec=400):
            text = f"{Decimal(exact.numerator) / Decimal(exact.denominator):e}f"
        declared = body(f"float x = {text};")[0]
        assert isinstance(declared, Declare)
        assert isinstance(declared.initial, Constant)
        found = Fraction(float(declared.initial.value))
        assert abs(found - exact) <= least / 2
        if digit == 0:
            assert found / least % 2 == 0


#: Words of the list in docs/batch.md that says what is refused, each with a text to try.
NOT_IN_THE_LANGUAGE = {
    "`goto`": "goto end; end: ;", "`union`": "union u { int a; } x;", "`enum`": "enum e { A } x;",
    "`volatile`": "volatile int x;", "`struct` or `typedef` within": "typedef int t;",
    "a size that is known at run time only": "float t[n];",
    "`static`": "static int x;", "`half`": "half x;", "`long double`": "long double x;", "`float4`": "float4 x;",
    "casts of pointers": "int *q = (int *)p;", "a comma within an expression": "int x = (1, 2);", "strings": 'n = "a";',
    "`#if`": "\n#if 1\n#endif\n", "`#elif`": "\n#ifdef X\n#elif 1\n#endif\n", "`##`": "\n#define A(x) x##1\n",
    "macros with `...`": "\n#define A(...) 1\n", "`#include <NAME>`": "\n#include <math.h>\n",
    "`barrier`": "barrier(1);", "atomic functions": "atomic_inc(p);", "`printf`": "printf(1);",
    "`vload4`": "vload4(0, p);", "`get_num_groups`": "n + get_num_groups(0);",
    "`get_global_size`": "n + get_global_size(0);", "dimensions other than 0": "n + get_local_id(1);",
    "functions of mathematics": "n + erf(1.0f);",
}  # fmt: skip


@pytest.mark.parametrize("words", NOT_IN_THE_LANGUAGE)
def test_what_the_page_calls_refused_is_refused(words: str) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "batch.md").read_text(encoding="utf-8")
    listed = page.partition("refused with file, line and column:")[2].partition("```")[0]
    assert words in " ".join(listed.split())
    assert re.match(r"k\.cl:\d+:\d+: ", refusal(f"__kernel void k(float *p, int n) {{ {NOT_IN_THE_LANGUAGE[words]} }}"))


def test_a_byte_order_mark_is_skipped() -> None:
    mark = "\ufeff"
    assert list(parse_file(f"{mark}__kernel void k(float *p) {{}}", wg_size=1)) == ["k"]
    assert refusal(f"{mark}__kernel void k(float *p) {{ y = 1; }}").startswith("k.cl:1:29: y is not declared")


def test_a_byte_that_is_not_utf_8_is_reported_at_its_place(tmp_path: Path) -> None:
    kernel = tmp_path / "k.cl"
    kernel.write_bytes(b"\xef\xbb\xbf// \xc3\xa4\n__kernel void k(float *p) {}\n// \xc3\xa4\xff\n")
    with pytest.raises(BatchParseError) as refused:
        batch.kernel(kernel, wg_size=1)
    assert str(refused.value).startswith(f"{kernel}:3:5: the byte 0xff is not UTF-8\n  // \u00e4\ufffd\n      ^")
    kernel.write_text('#include "f.h"\n__kernel void k(float *p) {}\n')
    (tmp_path / "f.h").write_bytes(b"\xff")
    with pytest.raises(BatchParseError, match=r"^f\.h:1:1: the byte 0xff is not UTF-8"):
        batch.kernel(kernel, wg_size=1)


def test_group_sizes_are_checked() -> None:
    assert "the group size is 0" in refusal("__kernel void k(float *p) {}", wg_size=0)


def test_the_parser_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pycparser.c_lexer", None)
    assert refusal("__kernel void k(float *p) {}") == (
        "kernels in OpenCL C need pycparser, which is not installed\n  - pip install 'drawloom[batch]'"
    )


def test_the_group_size_is_a_constant() -> None:
    declared = body("double t[get_local_size() * 2 + 1];", wg_size=8)[0]
    assert isinstance(declared, Declare)
    assert declared.variable.extent == 17


def test_implicit_conversions_are_written_out() -> None:
    _, assignment = body("char c; c += n;")
    assert isinstance(assignment, Assign)
    assert isinstance(assignment.value, Cast)
    assert assignment.value.type.name == "char"
    assert assignment.value.operand.type.name == "int"


@pytest.mark.parametrize(
    ("literal", "type", "value"),
    [("1", "int", 1), ("1u", "uint", 1), ("1L", "long", 1), ("0x80000000", "uint", 2**31),
     ("2147483648", "long", 2**31),
     ("0xFFFFFFFFFFFFFFFF", "ulong", 2**64 - 1), ("010", "int", 8), ("0b101", "int", 5), ("1.5", "double", 1.5),
     ("1.5f", "float", 1.5), ("1e3", "double", 1000.0), ("0x1p-1", "double", 0.5), (".5f", "float", 0.5)],
)  # fmt: skip
def test_literals_have_the_types_of_c(literal: str, type: str, value: float) -> None:
    statement = body(f"{literal};")[0]
    constant = statement.value  # type: ignore[attr-defined]
    assert isinstance(constant, Constant)
    assert constant.type.name == type
    assert constant.value.item() == value


def test_macros_conditions_and_comments() -> None:
    text = """
    #define SIZE 4  // a comment
    #define ELEMENT(array, index) \\
        array[(index) % SIZE]
    #ifdef WIDE
    #define T double
    #else
    #define T float
    #endif
    /* a comment
       of two lines */
    __kernel void k(__global T *restrict p) { T a[SIZE]; ELEMENT(a, 5) = p[0]; p[0] = ELEMENT(a, 1); }
    """
    assert parse_file(text, wg_size=1)["k"].parameters[0].type.name == "float"
    assert parse_file(text, wg_size=1, defines={"WIDE": ""})["k"].parameters[0].type.name == "double"


def test_pointers_may_be_moved() -> None:
    text = "__kernel void k(float *p) { *p = 1; *(p + 2) = 3; (p + 1)[3] = 5; *(2 + p + 4 - 1) = 6; *&p[7] = 8; }"
    kernel = parse_file(text, wg_size=1)["k"]
    memory = np.zeros(8, np.float32)
    interpret(kernel, 1, {"p": memory})
    assert memory.tolist() == [1, 0, 3, 0, 5, 6, 0, 8]


def test_a_file_may_have_several_kernels() -> None:
    kernels = parse_file("__kernel void a(int *p) {}\nkernel void b(int *p) {}", wg_size=1)
    assert list(kernels) == ["a", "b"]


def test_for_loops_that_declare_their_counter_count_for_all_items() -> None:
    for text, expected in (("for (int i = 0; i < 3; i++) ;", True), ("int i; for (i = 0; i < 3; i++) ;", False)):
        blocks = [block for block in body(text) if isinstance(block, Block)]
        loop = next(part for block in blocks for part in block.statements if isinstance(part, Loop))
        assert loop.counts_for_all is expected


def test_errors_have_their_classes() -> None:
    with pytest.raises(BatchParseError):
        parse_file("__kernel void k(int *p) { break; }", wg_size=1)
    with pytest.raises(BatchTypeError):
        parse_file("__kernel void k(int *p) { q[0] = 1; }", wg_size=1)


def test_a_file_includes_those_beside_it(tmp_path: Path) -> None:
    half = '#ifndef HALF\n#define HALF\n#include "type.h"\nT half_of(T x) { return x / 2; }\n#endif\n'
    (tmp_path / "half.h").write_text(half)
    (tmp_path / "type.h").write_text("/* a type */\ntypedef double T;\n")
    path = tmp_path / "k.cl"
    path.write_text('#include "half.h"\n#include "half.h"\n__kernel void k(T *p) { p[0] = half_of(p[0]); }\n')
    memory = np.array([5.0])
    parsed = parse_file(path.read_text(), wg_size=1, file=str(path), include=find_beside(tmp_path))["k"]
    interpret(parsed, 1, {"p": memory})
    assert memory[0] == 2.5


def test_a_text_includes_no_file_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `reductions.cl` there changed what `batch.linalg` computed, wherever it ran afterwards."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "det.cl").write_text("")
    (tmp_path / "elimination.cl").write_text("#error not the ready kernels' file\n")
    (tmp_path / "reductions.cl").write_text("#error not the ready kernels' file\n")
    macros = {"real": "double", "stored": "double"}
    assert "det" in parse_file(read_text("det"), wg_size=4, defines=macros, file="det.cl")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#include "none.h"', "k.cl:1:10: there is no file none.h"),
        ('#include "../secret.h"', "k.cl:1:10: there is no file ../secret.h"),
        ("#include none.h", "k.cl:1:1: #include takes a name in quotes"),
        ('#include "self.h"', "self.h:1:10: self.h is included too deeply"),
        ('#include "bad.h"', "bad.h:2:16: y is not declared\n      return x + y;"),
        ('#include "open.h"', "open.h:1:1: this condition has no #endif"),
    ],
)
def test_errors_of_included_files_name_them(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "self.h").write_text('#include "self.h"\n')
    (tmp_path / "bad.h").write_text("int f(int x) {\n    return x + y;\n}\n")
    (tmp_path / "open.h").write_text("#ifdef X\n")
    path = tmp_path / "k.cl"
    path.write_text(text)
    with pytest.raises(Error) as refused:
        parse_file(
            text + "\n__kernel void k(float *p) {}\n", wg_size=1, file=str(path), include=find_beside(tmp_path)
        )
    assert message in str(refused.value)

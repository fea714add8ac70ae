"""What a user reads when something is refused."""

import pickle

import pytest

from drawloom.errors import (
    DeadlockError,
    Error,
    LaunchError,
    MemoryAccessError,
    ParseError,
    SourceError,
    UnsupportedError,
    VerifyError,
    quote_line,
)


def test_source_error_quotes_the_line_and_points() -> None:
    error = ParseError("unknown opcode 'frob'", "k.ptx", 3, 5, "    frob %r1;", "an instruction or '}'")
    assert str(error) == (
        "k.ptx:3:5: unknown opcode 'frob'\n      frob %r1;\n      ^\n  expected an instruction or '}'"
    )


def test_source_error_without_a_place() -> None:
    assert str(VerifyError("empty module", "k.ptx")) == "k.ptx: empty module"
    assert str(VerifyError("too long", "k.ptx", 9)) == "k.ptx:9: too long"


def test_caret_stands_under_the_character_after_tabs() -> None:
    shown, caret = quote_line("\tadd\t%r1;", 6).split("\n")
    assert shown[caret.index("^")] == "%"


def test_launch_error_names_the_kernel() -> None:
    assert str(LaunchError("3 arguments, expected 4", "saxpy")) == "kernel saxpy: 3 arguments, expected 4"


def test_memory_error_says_everything_it_knows() -> None:
    error = MemoryAccessError(
        "load outside every buffer",
        "saxpy",
        "k.ptx",
        12,
        "ld.global.f32 %f1, [%rd1];",
        block=(1, 0, 0),
        thread=(31, 0, 0),
        address=0x40,
        size=4,
    )
    assert str(error) == (
        "kernel saxpy: load outside every buffer\n"
        "  in block (1, 0, 0)\n"
        "  in thread (31, 0, 0)\n"
        "  at k.ptx:12\n"
        "  ld.global.f32 %f1, [%rd1];\n"
        "  address 0x40, 4 bytes"
    )


def test_unsupported_lists_every_item() -> None:
    error = UnsupportedError("this query cannot be lowered yet", ["window functions", "full joins"])
    assert str(error) == "this query cannot be lowered yet\n  - window functions\n  - full joins"
    assert error.items == ["window functions", "full joins"]


@pytest.mark.parametrize("kind", [ParseError, VerifyError])
def test_kinds_are_source_errors(kind: type[SourceError]) -> None:
    assert issubclass(kind, SourceError)
    assert issubclass(kind, Error)


def test_errors_cross_process_borders() -> None:
    before = MemoryAccessError("m", "k", "f.ptx", 4, "ld", (0, 0, 0), (1, 0, 0), 16, 8)
    after = pickle.loads(pickle.dumps(before))
    assert type(after) is MemoryAccessError
    assert str(after) == str(before)
    assert str(pickle.loads(pickle.dumps(DeadlockError("stuck", "k")))) == "kernel k: stuck"


def test_of_a_very_long_line_the_part_around_the_column_is_quoted() -> None:
    line = "a" * 1_000_000 + "?" + "b" * 1_000_000
    shown, caret = quote_line(line, 1_000_001).split("\n")
    assert len(shown) < 500 and shown[len(caret) - 1] == "?"
    assert len(quote_line(line, 0)) < 500
    shown, caret = quote_line(line + "!", len(line) + 1).split("\n")
    assert shown[len(caret) - 1] == "!"


def test_text_without_a_file_name_has_one_in_reports() -> None:
    assert str(ParseError("wrong", "", 3, 1)) == "<text>:3:1: wrong"

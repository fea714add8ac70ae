"""nvcc's options on the command line of `drawloom cc`: from words to what the compiler is asked to make."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from drawloom.cli.cc import UNFUSED, architectures, device_arithmetic, level, preprocessor_words, registers
from drawloom.cli.nvcc_options import NOTED, OPTIONS, REFUSED, help_text, read_command_line
from drawloom.errors import UnsupportedError

DOCS = Path(__file__).parents[2] / "docs" / "cuda.md"


def test_the_options_of_other_peoples_makefiles_are_taken() -> None:
    words = (
        "-x cu a.cpp -c -o a.o -Iinclude -I more -DN=4 --define-macro=M -O4 -std=c++14 --gpu-architecture=compute_70 "
        "--gpu-code=sm_70,sm_80 -Xptxas -v -G -maxrregcount 40 -ccbin g++ -fmad=false -ftz=true -MMD -MF a.d -MT a.o "
        "-t4 --threads 2 --diag-suppress=20012 -res-usage -Wno-deprecated-gpu-targets -pthread -Wall -lineinfo "
        "-forward-unknown-to-host-compiler --expt-extended-lambda -rdc=true -Xcompiler -fPIC,-DHOST -m64 "
        "--use_fast_math -lcuda -lm -L/lib -g -w -cudart shared"
    )
    given = read_command_line(words.split())
    assert given.files == ["a.cpp"] and given.foreign == ["-Wall"]
    assert given.all("include") == ("include", "more") and given.all("define") == ("N=4", "M")
    assert (given.last("output"), given.last("depend_file"), given.last("language")) == ("a.o", "a.d", "cu")
    assert (level(given), registers(given)) == (3, 40)
    assert architectures(given) == (("sm_70", "sm_80"), "sm_70")
    assert given.listed("host") == ("-fPIC", "-DHOST")
    assert preprocessor_words(given, [*given.listed("host")]) == ("-D", "HOST")
    flushed = "-fdenormal-fp-math-f32=preserve-sign,preserve-sign"
    assert device_arithmetic(given) == ("-ffp-contract=off", UNFUSED, flushed)
    assert [note.split()[1] for note in given.notes] == ["-G", "-ccbin", "--diag-suppress"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", (("sm_80",), "sm_80")),
        ("-arch=sm_60", (("sm_60",), "sm_60")),
        ("-arch sm_90,sm_80", (("sm_90", "sm_80"), "sm_90")),
        ("-arch=compute_80", ((), "sm_80")),
        ("-gencode arch=compute_90,code=sm_90 -gencode=arch=compute_70,code=[sm_75,compute_70]",
         (("sm_90", "sm_75"), "sm_70")),
        ('-gencode arch=compute_80,code="sm_80,compute_80"', (("sm_80",), "sm_80")),
    ],
)  # fmt: skip
def test_architectures_are_those_that_nvcc_would_make_code_for(words: str, expected: tuple[object, str]) -> None:
    found, target = architectures(read_command_line(words.split()))
    assert (found, target) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-arch sm_13", ((), "sm_50")),
        ("--gpu-name sm_20", ((), "sm_50")),
        ("--gpu-architecture=compute_20 --gpu-code=compute_20", ((), "sm_50")),
        ("-gencode arch=compute_20,code=sm_20 -gencode arch=compute_80,code=sm_80", (("sm_80",), "sm_50")),
    ],
)
def test_an_architecture_that_is_too_old_is_the_oldest_of_ours_with_a_note(words: str, expected: object) -> None:
    given = read_command_line(words.split())
    assert architectures(given) == expected
    assert "is older than compute_50" in " ".join(given.notes)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-bogus=3", "No such option '-bogus'"), ("-o", "requires an argument"), ("-c=3", "does not take a value"),
        ("-gencode sm_80", "expected arch=compute_NN,code=sm_NN"), ("-Ofast", "expected -O0 to -O4"),
        ("-fmad=maybe", "expected true or false"), ("-maxrregcount=many", "expected a number"),
        ("-code=sm_80", "-code needs -arch"), ("-optf none", "cannot be read"),
    ],
)  # fmt: skip
def test_wrong_words_are_usage_errors(words: str, message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        given = read_command_line(words.split())
        architectures(given), level(given), registers(given), device_arithmetic(given)


def test_options_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "a.rsp").write_text(f'-I"my headers" -DX  # comment\n--options-file {tmp_path / "b.rsp"}\n')
    (tmp_path / "b.rsp").write_text("b.cu -c\n")
    given = read_command_line(["--options-file", str(tmp_path / "a.rsp")])
    assert given.all("include") == ("my headers",) and given.files == ["b.cu"] and given.has("compile")


@pytest.mark.parametrize("key", [key for key, option in OPTIONS.items() if option.fate == REFUSED])
def test_refused_options_say_what_to_do(key: str) -> None:
    option = OPTIONS[key]
    with pytest.raises(UnsupportedError, match="is not supported: "):
        read_command_line([f"-{option.names[0]}", *(["x"] if option.value else [])])


def test_ignored_options_are_told_unless_nothing_is_lost() -> None:
    for option in OPTIONS.values():
        if option.fate not in (REFUSED,) and option.names[0] != "optf":
            notes = read_command_line([f"-{option.names[0]}", *(["7"] if option.value else [])]).notes
            assert bool(notes) == (option.fate == NOTED), option


def test_every_option_is_in_the_help_and_in_the_page() -> None:
    page, text = DOCS.read_text(), help_text()
    for option in OPTIONS.values():
        assert f"`-{option.names[0]}" in page, option
        assert f"-{option.names[0]}" in text


def test_all_major_is_one_architecture_of_each_generation() -> None:
    found, target = architectures(read_command_line(["-arch=all-major"]))
    assert [name[:4] for name in found] == ["sm_6", "sm_7", "sm_8", "sm_9"] and target == found[0]

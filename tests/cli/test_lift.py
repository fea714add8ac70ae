"""`drawloom lift`: a program after each stage."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from drawloom.cli.lift import command
from drawloom.errors import DataError
from drawloom.sass.cubin import read_cubin

PROGRAM = """
from drawloom.lift import array, float32, fun, map_glb, size, user_function

square = user_function("float square(float x) { return x * x; }")
squares = fun(array(float32, size("N")), lambda x: map_glb(square, x), name="squares")
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "squares.py"
    path.write_text(PROGRAM)
    return str(path)


def run(*words: str) -> str:
    return CliRunner().invoke(command, list(words), catch_exceptions=False).output


@pytest.mark.parametrize(
    ("stage", "found"),
    [
        ("lift", "squares(x: [float]N) ="),
        ("types", "[float]N"),
        ("views", "write by mapGlb: MemoryView(out)[g_0]"),
        ("opencl", "out[g_0] = square(x[g_0]);"),
        ("ptx", ".entry squares"),
        ("sass", ".text.squares"),
    ],
)
def test_each_stage_is_printed(program: str, stage: str, found: str) -> None:
    assert found in run(program, "--emit", stage)


def test_known_sizes_and_work_items_change_the_code(program: str) -> None:
    text = run(program, "--size", "N=64", "--local-size", "64", "--num-groups", "1")
    assert "for" not in text.split("kernel void")[1]
    assert "for" in run(program, "--size", "N=64", "--without", "control-flow").split("kernel void")[1]


def test_indices_that_are_data_are_checked_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "found.lift"
    path.write_text("found(x: [float]N, i: [int]M) = mapGlb(0)(id) ∘ lookup(x, i)", encoding="utf-8")
    assert "checked_index(i[g_0], N, fault, 1)" in run(str(path), "--check-indices")
    assert "checked_index" not in run(str(path))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_cubin_goes_to_a_file(program: str, tmp_path: Path, arch: str) -> None:
    path = tmp_path / "squares.cubin"
    assert run(program, "--emit", "cubin", "--arch", arch, "-o", str(path)) == ""
    cubin = read_cubin(path.read_bytes())
    assert (f"sm_{cubin.target}", list(cubin.kernels)) == (arch, ["squares"])


def test_a_cubin_goes_beside_its_program(program: str) -> None:
    assert run(program, "--emit", "cubin") == ""
    assert list(read_cubin(Path(program).with_suffix(".cubin").read_bytes()).kernels) == ["squares"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--arch", "sm_90"), "--arch sm_90 is for --emit sass and cubin, found --emit opencl"),
        (("--emit", "sass", "--arch", "sm_1"), "sm_1"),
        (("--emit", "words"), "'words' is not one of 'lift', 'types', 'views', 'opencl', 'ptx', 'sass', 'cubin'"),
    ],
)
def test_options_that_do_not_fit_are_refused(program: str, words: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(command, [program, *words])
    assert result.exit_code != 0
    assert message in result.output + str(result.exception)


def test_lift_text_is_compiled_too(tmp_path: Path) -> None:
    path = tmp_path / "twice.lift"
    path.write_text("twice(x: [float]N) = mapGlb(0)(λ e . e + e)(x)")
    assert "out[g_0] = add(x[g_0], x[g_0]);" in run(str(path))


def test_the_output_goes_to_a_file(program: str, tmp_path: Path) -> None:
    assert run(program, "-o", str(tmp_path / "squares.cl")) == ""
    assert "kernel void squares" in (tmp_path / "squares.cl").read_text()


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("x = 1", (), "expected one program, found none"),
        ("import nothing_of_this_name", (), "running it failed: ModuleNotFoundError"),
        (PROGRAM + "other = squares\n", (), "expected one program, found squares, other"),
        (PROGRAM, ("--program", "cubes"), "no program cubes"),
        (PROGRAM, ("--size", "K=3"), "size K: the program has N"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, words: tuple[str, ...], message: str) -> None:
    from drawloom import Error

    path = tmp_path / "program.py"
    path.write_text(text)
    with pytest.raises(Error, match=message):
        run(str(path), *words)


def test_files_that_are_no_programs_are_refused(tmp_path: Path) -> None:
    text, script = tmp_path / "bytes.lift", tmp_path / "exits.py"
    text.write_bytes(b"\xff\xfe")
    script.write_text("raise SystemExit(3)")
    for path, message in ((text, "cannot be read as text"), (script, "running it failed: SystemExit: 3")):
        with pytest.raises(DataError, match=message):
            CliRunner().invoke(command, [str(path)], catch_exceptions=False)

"""`drawloom shuffle` and `drawloom-ptxas`."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from drawloom.cli.ptxas_wrapper import OPTIONS, begins_like_ptx, main, run
from drawloom.cli.shuffle import command
from drawloom.errors import DataError, ParseError
from drawloom.ptx import parse, verify
from drawloom.sass.listing import list_cubin

KERNEL = Path(__file__).resolve().parent.parent / "golden" / "shuffle" / "clang" / "laplacian.ptx"
#: A kernel that reads a texture, which is PTX, but not covered.
TEXTURE = """
.version 7.0
.target sm_60
.address_size 64
.visible .entry k(.param .u64 t)
{
    .reg .b64 %l; .reg .b32 %r<4>; .reg .f32 %f<5>;
    ld.param.u64 %l, [t];
    mov.u32 %r1, 0;
    tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%l, {%r1}];
    ret;
}
"""
#: The beginning of a kernel that is not understood.
STRANGE = """.visible .entry strange(.param .u64 a)
{
  .reg .b64 %l<2>; .reg .f32 %f<2>; // kept {
  .newdecl x;
  ld.param.u64 %l1, [a];
  @%p1 ld.global.f32 %f1,
 [%l1];
"""


def test_writes_a_module_and_reports(tmp_path: Path) -> None:
    out, report = tmp_path / "out.ptx", tmp_path / "report.json"
    words = [str(KERNEL), "-o", str(out), "--apply=all", "--report=json", "--report-file", str(report)]
    assert CliRunner().invoke(command, words).exit_code == 0
    verify(parse(out.read_text()))
    assert out.read_text().count("shfl.sync") == 2
    said = json.loads(report.read_text())
    assert (said["shuffles"], said["loads"]) == (2, 7)
    assert {rewrite["delta"] for rewrite in said["functions"][0]["rewrites"]} == {-1, 1}
    assert all(rewrite["assumptions"] for rewrite in said["functions"][0]["rewrites"])


def test_a_report_on_standard_error_stands_alone(tmp_path: Path) -> None:
    """Beside a warning it could not be parsed."""
    source = tmp_path / "in.ptx"
    source.write_text(KERNEL.read_text() + STRANGE)
    words = [str(source), "-o", str(tmp_path / "out.ptx"), "--report=json"]
    done = CliRunner().invoke(command, words)
    assert "'.newdecl' is not supported" in json.loads(done.stderr)["functions"][1]["notes"][0]
    done = CliRunner().invoke(command, [*words, "--report-file", str(tmp_path / "report.json")])
    assert done.stderr.startswith("warning: ")


def test_a_report_may_be_standard_output(tmp_path: Path) -> None:
    words = [str(KERNEL), "--apply=none", "--report=json", "--report-file=-"]
    done = CliRunner().invoke(command, [*words, "-o", str(tmp_path / "out.ptx")])
    assert json.loads(done.stdout)["loads"] == 7 and not done.stderr
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 2 and "is the output, too" in done.output


def test_a_report_never_takes_the_place_of_another_file(tmp_path: Path) -> None:
    source, out = tmp_path / "in.ptx", tmp_path / "out.ptx"
    source.write_text(KERNEL.read_text())
    for place, what in ((source, "the input"), (tmp_path / "." / "in.ptx", "the input"), (out, "the output")):
        done = CliRunner().invoke(command, [str(source), "-o", str(out), "--report=text", "--report-file", str(place)])
        assert done.exit_code == 2 and f"is {what}, too" in done.output
    assert source.read_text() == KERNEL.read_text() and not out.exists()


def test_without_a_place_for_the_report_there_is_no_output(tmp_path: Path) -> None:
    out, report = tmp_path / "out.ptx", tmp_path / "none" / "r.json"
    done = CliRunner().invoke(command, [str(KERNEL), "-o", str(out), "--report=json", "--report-file", str(report)])
    assert done.exit_code != 0 and not out.exists()


@pytest.mark.parametrize("apply", ["none", "all"])
def test_bytes_that_are_no_text_come_out_as_they_went_in(apply: str, tmp_path: Path) -> None:
    """Whatever the terminal's encoding is."""
    strange = b"// caf\xe9 \xc3\xa9\n"
    source = tmp_path / "in.ptx"
    source.write_bytes(KERNEL.read_bytes() + strange)
    done = CliRunner(charset="ascii").invoke(command, [str(source), f"--apply={apply}"])
    assert done.exit_code == 0
    assert done.stdout_bytes.endswith(strange) == (apply == "none")
    assert done.stdout_bytes.count(b"shfl.sync") == (2 if apply == "all" else 0)


def test_a_file_may_be_rewritten_in_its_place_and_stays_as_private(tmp_path: Path) -> None:
    source, link = tmp_path / "in.ptx", tmp_path / "link.ptx"
    source.write_text(KERNEL.read_text())
    source.chmod(0o600)
    link.symlink_to("in.ptx")
    assert CliRunner().invoke(command, [str(link), "--in-place", "--apply=all"]).exit_code == 0
    assert source.read_text().count("shfl.sync") == 2
    assert link.is_symlink() and stat.S_IMODE(source.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.ptx", "link.ptx"]


def test_an_architecture_that_is_none_is_refused() -> None:
    for arch in ("sm_999", "sm_9", "sm_90b", "gfx90a", "compute_", "60"):
        with pytest.raises(DataError, match=f"there is no architecture '{arch}'"):
            CliRunner().invoke(command, [str(KERNEL), "-o", "/dev/null", "--arch", arch], catch_exceptions=False)
    for arch in ("sm_90a", "compute_86", "lto_80", "cpu"):
        assert CliRunner().invoke(command, [str(KERNEL), "-o", "/dev/null", "--arch", arch]).exit_code == 0


def test_a_variant_of_code_that_stays_is_the_input() -> None:
    done = CliRunner().invoke(command, [str(KERNEL), "--arch=sm_90", "--variant=no-load", "--report=text"])
    assert done.stdout == KERNEL.read_text()
    assert "not the results" not in done.stderr


def test_what_does_not_pay_leaves_the_text_as_it_is(tmp_path: Path) -> None:
    out = tmp_path / "out.ptx"
    assert CliRunner().invoke(command, [str(KERNEL), "-o", str(out), "--arch=sm_90"]).exit_code == 0
    assert out.read_text() == KERNEL.read_text()


def test_a_report_as_html_names_every_load() -> None:
    done = CliRunner().invoke(command, [str(KERNEL), "-o", "/dev/null", "--apply=none", "--report=html"])
    assert done.exit_code == 0
    assert done.output.count("<td><code>ld.global") == 7


def test_a_wrong_variant_says_so_in_its_code() -> None:
    done = CliRunner().invoke(command, [str(KERNEL), "--apply=all", "--variant=no-corner"])
    assert done.stdout.startswith("// these are not the results of the program")
    assert done.stderr.startswith("warning: these are not the results of the program")


def test_a_build_of_a_wrong_variant_says_so(
    assembler: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(OPTIONS, "--apply=all --variant=no-load")
    assert run([str(KERNEL)]) == 7
    assert "warning: these are not the results of the program" in capfd.readouterr().err


def test_what_is_not_covered_is_written_as_it_is(tmp_path: Path) -> None:
    source = tmp_path / "texture.ptx"
    source.write_text(TEXTURE)
    done = CliRunner().invoke(command, [str(source), "-o", str(tmp_path / "out.ptx"), "--report=text"])
    assert done.exit_code == 0
    assert (tmp_path / "out.ptx").read_text() == TEXTURE
    assert "note: line 10:5: 'tex.1d.v4.f32.s32' is not supported" in done.output


def test_what_is_no_ptx_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    source = tmp_path / "wrong.ptx"
    source.write_text(TEXTURE.replace(".version 7.0", ""))
    done = CliRunner().invoke(command, [str(source), "-o", str(tmp_path / "out.ptx")])
    assert isinstance(done.exception, ParseError)
    assert not (tmp_path / "out.ptx").exists()


def test_a_kernel_that_is_not_understood_stays_and_the_others_are_rewritten(tmp_path: Path) -> None:
    source = tmp_path / "in.ptx"
    for text in (STRANGE, STRANGE + "  ret;\n}\n"):
        source.write_text(KERNEL.read_text() + text)
        done = CliRunner().invoke(command, [str(source), "-o", str(tmp_path / "out.ptx"), "--apply=all"])
        assert done.exit_code == 0
        line = 3 + KERNEL.read_text().count("\n") + 1
        assert f"warning: strange stays as it is: {source}:{line}:3: '.newdecl' is not supported" in done.stderr
        out = (tmp_path / "out.ptx").read_text()
        assert out.count("shfl.sync") == 2
        assert out.rstrip().endswith(text.rstrip())
    done = CliRunner().invoke(command, [str(source), "-o", "/dev/null", "--apply=none", "--report=json"])
    found = {one["name"]: one for one in json.loads(done.stderr)["functions"]}["strange"]
    (kept,) = found["kept"]
    assert (kept["line"], kept["load"]) == (line + 2, "ld.global.f32 %f1, [%l1]")
    assert kept["reason"].startswith("not analysed: '.newdecl'")
    assert f"{source}:{line}:3: '.newdecl'" in found["notes"][0]


@pytest.fixture
def assembler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of ptxas that keeps what it is given."""
    program = tmp_path / "ptxas"
    program.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/words\nfor f in "$@"; do cat "$f" >> {tmp_path}/kept; done\nexit 7\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.delenv("DRAWLOOM_PTXAS", raising=False)
    return tmp_path


def test_the_wrapper_assembles_rewritten_files(assembler: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPTIONS, "--apply=all")
    assert run(["-arch=sm_90", str(KERNEL), "-o", "out.cubin"]) == 7
    words = (assembler / "words").read_text().split()
    assert words[0] == "-arch=sm_90" and words[2:] == ["-o", "out.cubin"]
    assert words[1].endswith("/laplacian.ptx")
    assert (assembler / "kept").read_text().count("shfl.sync") == 2


def shuffles_of(assembler: Path, *words: str) -> int:
    """How many the assembler gets."""
    (assembler / "kept").unlink(missing_ok=True)
    assert run(list(words)) == 7
    return (assembler / "kept").read_text().count("shfl.sync")


@pytest.mark.parametrize("name", ["K.PTX", "k.s", "k", "k of two words.ptx"])
def test_the_wrapper_rewrites_files_of_any_name(name: str, assembler: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """clang gives its assembler files that end in .s; ptxas takes any name."""
    monkeypatch.setenv(OPTIONS, "--apply=all")
    source = assembler / name
    source.write_text("// made by\n/* somebody */ " + KERNEL.read_text())
    assert shuffles_of(assembler, "-arch=sm_90", str(source)) == 2


def test_the_wrapper_leaves_what_is_written_to(assembler: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPTIONS, "--apply=all")
    out = assembler / "out.ptx"
    out.write_text(KERNEL.read_text())
    run([str(KERNEL), "-o", str(out)])
    assert (assembler / "words").read_text().split()[1:] == ["-o", str(out)]


def test_the_wrapper_rewrites_what_options_files_name(assembler: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = assembler / "two words.ptx"
    source.write_text(KERNEL.read_text())
    inner, outer = assembler / "inner", assembler / "outer"
    inner.write_text(f'"{source}"\n')
    outer.write_text(f"-arch=sm_61 -optf {inner} # -v\n")
    for words in ((f"--options-file={outer}",), ("-optf", str(outer)), (f"-optf={inner},{inner}", "-arch=sm_61")):
        shuffles = shuffles_of(assembler, *words)
        assert shuffles and shuffles == 2 * len([word for word in words[0].split(",") if word])
    assert "-optf" not in (assembler / "words").read_text()


def test_the_wrapper_passes_on_options_files_that_cannot_be_read(assembler: Path) -> None:
    (assembler / "open").write_text('"a')
    (assembler / "round").write_text(f"-optf {assembler}/round")
    for name in ("missing", "open", "round"):
        assert run(["-optf", f"{assembler}/{name}"]) == 7
        assert (assembler / "words").read_text().split() == ["-optf", f"{assembler}/{name}"]


def test_the_wrapper_reads_standard_input(assembler: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPTIONS, "--apply=all")
    for text, shuffles in ((KERNEL.read_bytes(), 2), (b"no PTX", 0)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert shuffles_of(assembler, "-arch=sm_90", "-") == shuffles
    assert (assembler / "kept").read_text() == "no PTX"


def test_the_wrapper_passes_the_file_itself_on_where_nothing_is_rewritten(assembler: Path) -> None:
    run(["-arch=sm_90", str(KERNEL)])
    assert (assembler / "words").read_text().split() == ["-arch=sm_90", str(KERNEL)]


@pytest.mark.parametrize("by", [KeyboardInterrupt, click.Abort])
def test_an_interrupted_wrapper_ends_as_in_a_shell(
    by: type[BaseException], assembler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """click makes an interrupt of a command its own exception."""

    def interrupted(*words: object, **options: object) -> None:
        raise by

    monkeypatch.setattr(command, "main", interrupted)
    monkeypatch.setattr(sys, "argv", ["drawloom-ptxas", str(KERNEL)])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 128 + signal.SIGINT
    assert not (assembler / "words").exists()


def test_the_wrapper_passes_on_no_words_at_all(assembler: Path) -> None:
    assert run([]) == 7


def test_an_assembler_that_a_signal_ends_fails_as_in_a_shell(assembler: Path) -> None:
    (assembler / "ptxas").write_text("#!/bin/sh\nkill -TERM $$\n")
    assert run([str(KERNEL)]) == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (b"\xef\xbb\xbf .version 7.0", True), (b"//\n/* .version */\n.version 7.0", True), (b"/* .version 7.0", False),
        (b"// .version 7.0", False), (b"", False), (b" " * 10000 + b"/* */" * 10000 + b"x", False),
    ],
)  # fmt: skip
def test_how_ptx_begins(data: bytes, is_one: bool) -> None:
    assert begins_like_ptx(data) == is_one


def test_the_wrapper_rewrites_for_the_architecture_of_the_assembler(assembler: Path) -> None:
    for arch, shuffles in (("sm_90", 0), ("sm_61", 2)):
        (assembler / "kept").unlink(missing_ok=True)
        run(["-arch", arch, str(KERNEL)])
        assert (assembler / "kept").read_text().count("shfl.sync") == shuffles


def test_the_wrapper_passes_on_what_it_cannot_read(assembler: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = assembler / "wrong.ptx"
    source.write_text("no PTX")
    assert run([str(source)]) == 7
    assert (assembler / "kept").read_text() == "no PTX"
    assert "leaves" in capfd.readouterr().err


def test_the_wrapper_passes_on_what_it_has_no_memory_for(
    assembler: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def parse(text: str, name: str) -> None:
        raise MemoryError

    monkeypatch.setattr("drawloom.ptx.recovery.parse_known", parse)
    assert run(["-arch=sm_90", str(KERNEL)]) == 7
    assert (assembler / "words").read_text().split() == ["-arch=sm_90", str(KERNEL)]
    assert "too little memory" in capfd.readouterr().err


@pytest.mark.parametrize("options", ['--apply="all', "--apply=bogus", "--nope", "--help"])
def test_the_wrapper_refuses_options_that_are_none(
    options: str, assembler: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(OPTIONS, options)
    assert run([str(KERNEL)]) == 2
    assert not (assembler / "words").exists(), "another build than was asked for"
    assert f"error: {OPTIONS}: " in capfd.readouterr().err


def test_the_wrapper_keeps_its_own_output(assembler: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPTIONS, f"--apply=all -o {assembler}/other.ptx")
    assert run(["-arch=sm_90", str(KERNEL)]) == 7
    assert (assembler / "kept").read_text().count("shfl.sync") == 2
    assert not (assembler / "other.ptx").exists()


def test_an_assembler_that_cannot_be_run_is_named(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for program, words in (("/nope", "/nope cannot be run"), (sys.argv[0], "drawloom-ptxas itself")):
        monkeypatch.setenv("DRAWLOOM_PTXAS", program)
        assert run(["in.ptx"]) == 127
        assert words in capfd.readouterr().err


def test_a_file_for_a_report_needs_a_report(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [str(KERNEL), "--report-file", str(tmp_path / "r.txt")])
    assert done.exit_code == 2 and "needs --report" in done.output


def test_without_an_assembler_the_wrapper_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DRAWLOOM_PTXAS", raising=False)
    assert run([str(KERNEL)]) == 127


@pytest.mark.vendor
def test_a_build_by_nvcc_gets_shuffles(nvcc: str, tmp_path: Path) -> None:
    """nvcc looks for ptxas beside itself: a toolkit of links, in which these two are others (docs/shuffle.md)."""
    source = KERNEL.parent.parent / "src" / "laplacian.cu"
    steps = subprocess.run([nvcc, "--dryrun", "-cubin", str(source)], check=True, capture_output=True, text=True).stderr
    here = next(line for line in steps.splitlines() if "_HERE_=" in line)
    compiler = Path(here.partition("=")[2], "nvcc")
    tools = tmp_path / "toolkit" / "bin"
    tools.mkdir(parents=True)
    for folder, real in ((tools.parent, compiler.parent.parent), (tools, compiler.parent)):
        for path in real.iterdir():
            if path.name not in ("bin", "nvcc", "ptxas"):
                (folder / path.name).symlink_to(path)
    shutil.copy(compiler, tools / "nvcc")
    wrapper = tools / "ptxas"
    wrapper.write_text(f"#!{sys.executable}\nfrom drawloom.cli.ptxas_wrapper import main\n\nmain()\n")
    wrapper.chmod(0o755)
    words = [str(tools / "nvcc"), "-arch=sm_80", "-cubin", str(source), "-o", str(tmp_path / "out.cubin")]
    made = []
    for options in ("--apply=none", "--apply=all"):
        given = {**os.environ, "DRAWLOOM_PTXAS": str(compiler.with_name("ptxas")), OPTIONS: options}
        subprocess.run(words, env=given, check=True)
        made.append(list_cubin((tmp_path / "out.cubin").read_bytes()).count("SHFL"))
    assert made == [0, 2]

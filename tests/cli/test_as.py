"""`drawloom as`: files in and out, ptxas's options, the report, refusals."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import drawloom as package
from drawloom.cli.ptxas_options import OPTIONS, REFUSED, WITHOUT_EFFECT, read_command_line
from drawloom.errors import Error, UnsupportedError
from drawloom.sass.assemble import SELECTED
from drawloom.sass.cubin import read_cubin
from drawloom.sass.decoder import unpack_section
from drawloom.sass.isa import load_target
from drawloom.sass.verify import verify
from tests.cli.conftest import Command
from tools.isa.vendor import find

ROOT = Path(__file__).resolve().parents[2]
SAXPY = ROOT / "benchmarks" / "kernels" / "saxpy.ptx"
HEADER = ".version 8.0\n.target sm_61\n.address_size 64\n"
TWO = HEADER + ".visible .entry a(.param .u32 n) { ret; }\n.visible .entry b() .maxntid 64 { ret; }\n"
DOUBLES = (
    HEADER
    + """.visible .entry k(.param .u64 p) { .reg .u64 a; .reg .f64 x;
ld.param.u64 a, [p];
ld.global.f64 x, [a];
add.f64 x, x, x;
st.global.f64 [a], x; ret; }
"""
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "saxpy.ptx"
    path.write_text(SAXPY.read_text())
    return path


def test_a_cubin_beside_the_file(source: Path, drawloom: Command) -> None:
    done = drawloom("as", str(source), "-arch=sm_90", "-v")
    assert done.exit_code == 0
    assert "Compiling entry function 'saxpy' for 'sm_90'" in done.stderr
    assert re.search(r"Used \d+ registers, used 0 barriers", done.stderr)
    written = source.with_suffix(".cubin")
    assert 4 <= read_cubin(written.read_bytes()).kernels["saxpy"].registers <= 16
    assert bytes(package.assemble(SAXPY.read_text(), "sm_90")) == written.read_bytes()
    umask = os.umask(0o022)
    os.umask(umask)
    assert stat.S_IMODE(written.stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_levels_and_standard_input(tmp_path: Path, drawloom: Command, level: str) -> None:
    out = tmp_path / "out.cubin"
    assert drawloom("as", level, "-o", str(out), "-", input=SAXPY.read_text()).exit_code == 0
    code = read_cubin(out.read_bytes()).kernels["saxpy"].code
    assert verify(load_target(90), unpack_section(load_target(90), code)) == []


@pytest.mark.parametrize(
    "words",
    [
        ["-lineinfo", "-v", "--gpu-name=sm_90a", "@in", "-o", "@out"],  # Triton
        ["-lineinfo", "-suppress-debug-info", "--fmad=false", "-v", "--opt-level", "0", "--gpu-name=sm_90", "@in", "-o",
         "@out"],  # Triton, by its environment variables
        ["-m64", "-O3", "--gpu-name", "sm_90", "--output-file", "@out", "@in"],  # clang
        ["-m64", "-g", "--dont-merge-basicblocks", "--return-at-end", "-v", "--gpu-name", "sm_90", "--output-file",
         "@out", "@in"],  # clang -g
        ["-m64", "-O3", "-lineinfo", "--gpu-name", "sm_90", "--output-file", "@out", "@in"],  # clang -gline-tables-only
        ["-arch=sm_90", "-m64", "@in", "-o", "@out"],  # nvcc
        ["--gpu-name=sm_90", "--maxrregcount=255", "-O3", "@in", "-o", "@out"],
    ],
)  # fmt: skip
def test_what_compilers_pass_to_ptxas_is_taken(
    words: list[str], source: Path, tmp_path: Path, drawloom: Command
) -> None:
    out = tmp_path / "x.o"
    done = drawloom("as", *[word.replace("@in", str(source)).replace("@out", str(out)) for word in words])
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    assert list(read_cubin(out.read_bytes()).kernels) == ["saxpy"]


def test_a_wrapper_named_ptxas(source: Path, tmp_path: Path) -> None:
    """What docs/routing.md tells users to write, called as they call ptxas."""
    script = tmp_path / "ptxas"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m drawloom.cli.main as "$@"\n')
    script.chmod(0o755)
    version = subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout
    assert re.search(r".*release (\d+\.\d+).*", version, re.M)  # how Triton finds out which PTX it may write
    assert re.search(r"\bV\d+\.\d+\.\d+\b", version)  # XLA
    out = tmp_path / "x.cubin"
    subprocess.run([script, "-arch", "sm_90", source, "-o", out], check=True)
    assert out.read_bytes()[:4] == b"\x7fELF"


def test_several_files_go_beside_or_into_a_folder(tmp_path: Path, drawloom: Command) -> None:
    files = [tmp_path / "a.ptx", tmp_path / "b.ptx"]
    for file in files:
        file.write_text(TWO)
    assert drawloom("as", *files).exit_code == 0
    assert sorted(p.name for p in tmp_path.glob("*.cubin")) == ["a.cubin", "b.cubin"]
    folder = tmp_path / "out"
    assert "must be a folder that exists" in drawloom("as", *files, "-o", folder).stderr
    folder.mkdir()
    assert drawloom("as", *files, "-o", folder).exit_code == 0
    assert sorted(p.name for p in folder.iterdir()) == ["a.cubin", "b.cubin"]
    assert drawloom("as", files[0], "-o", folder).exit_code == 0
    (folder / "a.ptx").write_text(TWO)
    done = drawloom("as", files[0], folder / "a.ptx", "-o", folder)
    assert done.exit_code == 2
    assert "would both be written to" in done.stderr


@pytest.mark.parametrize("target", SELECTED)
def test_the_examples_for_every_target(target: int, tmp_path: Path, drawloom: Command) -> None:
    examples = sorted(ROOT.glob("examples/*.ptx"))
    done = drawloom("as", *examples, "-arch", f"sm_{target}", "-o", tmp_path, "-Werror")
    assert (done.exit_code, done.stderr) == (0, "")
    assert [path.stem for path in sorted(tmp_path.iterdir())] == [path.stem for path in examples]
    for path in tmp_path.iterdir():
        assert read_cubin(path.read_bytes()).target == target


def test_no_input_is_written_over(tmp_path: Path, drawloom: Command) -> None:
    file = tmp_path / "a.cubin"
    file.write_text(TWO)
    assert drawloom("as", file).exit_code == 1
    assert drawloom("as", file, "-o", file).exit_code == 1
    assert file.read_text() == TWO


def test_wrong_ptx_names_its_place_and_leaves_no_file(source: Path, drawloom: Command) -> None:
    source.write_text(SAXPY.read_text().replace("fma.rn.f32", "fma.rn.f99"))
    done = drawloom("as", str(source))
    assert done.exit_code == 1
    assert f"{source}:" in done.stderr
    assert list(source.parent.iterdir()) == [source]


def test_an_interruption_leaves_nothing(source: Path, drawloom: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*paths: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    assert drawloom("as", source).exit_code == 130
    assert list(source.parent.iterdir()) == [source]


def test_what_cannot_be_read_or_written(source: Path, tmp_path: Path, drawloom: Command) -> None:
    missing = drawloom("as", tmp_path / "no.ptx")
    assert (missing.exit_code, missing.stderr) == (
        1,
        f"error: cannot read {tmp_path}/no.ptx: No such file or directory\n",
    )
    unwritable = drawloom("as", source, "-o", tmp_path / "no" / "x.cubin")
    assert (unwritable.exit_code, unwritable.stderr[:19]) == (1, "error: cannot write")
    drawloom("as", source)
    assert "is a cubin already" in drawloom("as", source.with_suffix(".cubin"), "-o", tmp_path / "y").stderr


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "{file}: found end of file"),
        (b"\n// nothing\n", "{file}:3:1: found end of file"),
        (b".version 8.0\n\x11\xe2\x80", "{file}:2:1: found the byte 0x11, expected PTX, which is text"),
        (".version 8.0".encode("utf-16"), "{file} is UTF-16 text, expected PTX"),
        (b"BC\xc0\xde", "{file} is LLVM bitcode, expected PTX"),
        (TWO.encode() + b".visible .entry k\xe9() { ret; }", "{file}:LAST:18: found '\\xe9' after the header of 'k'"),
    ],
)
def test_what_is_no_ptx_is_named_with_its_place(data: bytes, said: str, tmp_path: Path, drawloom: Command) -> None:
    file = tmp_path / "a.ptx"
    file.write_bytes(data)
    done = drawloom("as", file)
    said = said.format(file=file).replace("LAST", str(data.count(b"\n") + 1))
    assert (done.exit_code, done.stderr.splitlines()[0]) == (1, f"error: {said}")
    assert list(tmp_path.iterdir()) == [file]


def test_text_with_a_mark_and_with_comments_in_another_encoding(source: Path, drawloom: Command) -> None:
    source.write_bytes(b"\xef\xbb\xbf" + source.read_bytes() + b"// caf\xe9\r\n\0")
    assert drawloom("as", source).exit_code == 0


def test_what_is_no_plain_file_stays(source: Path, drawloom: Command) -> None:
    assert drawloom("as", source, "-o", os.devnull).exit_code == 0
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    link = source.with_name("link.cubin")
    link.symlink_to("real.cubin")
    assert drawloom("as", source, "-o", link).exit_code == 0
    assert link.is_symlink()
    assert read_cubin(link.read_bytes()).kernels


def test_unknown_options_and_targets_are_refused_by_name(source: Path, drawloom: Command) -> None:
    for words, named in (
        (["--device-c"], "--device-c"), (["-foo"], "-foo"), (["-arch=sm_90", "-verbos"], "-verbos"),
        (["--preserve-relocs"], "--preserve-relocs"), (["-dlcm=cg"], "--def-load-cache"), (["-v=1"], "-v"),
        (["-arch"], "-arch"), (["-g", "-O3"], "expected -O0, found -O3"), (["-Ofast"], "--opt-level fast"),
        (["-m32"], "-m 32"),
        (["--fmad=maybe"], "--fmad maybe"), (["--maxrregcount=some"], "some"), (["--cuda=11"], "--cuda 11"),
        (["-pic", "true"], "-pic true"), (["--maxntid=0"], "--maxntid 0"),
    ):  # fmt: skip
        words = [str(source), *words] if words == ["-arch"] else [*words, str(source)]
        done = drawloom("as", *words)
        assert done.exit_code == 2, words
        assert named in done.stderr, words
    with pytest.raises(UnsupportedError, match="sm_30"):
        package.assemble(SAXPY.read_text(), "sm_30")
    assert drawloom("as").exit_code == 2
    assert list(source.parent.iterdir()) == [source]


def test_ptx_for_more_than_the_target_is_refused(tmp_path: Path, drawloom: Command) -> None:
    for asked, arch, taken in (
        ("sm_90", "sm_80", False), ("sm_90a", "sm_90", False), ("sm_90a", "sm_90a", True), ("sm_61", "sm_90a", True),
        ("sm_75", "sm_75", True),
    ):  # fmt: skip
        file = tmp_path / "a.ptx"
        file.write_text(TWO.replace("sm_61", asked))
        done = drawloom("as", file, "-arch", arch)
        assert (done.exit_code == 0) == taken, (asked, arch, done.stderr)
        assert taken or f"{file}:2:1: the PTX is for {asked}" in done.stderr


def test_for_a_virtual_architecture_ptx_is_only_checked(tmp_path: Path, drawloom: Command) -> None:
    """As ptxas does it, which nvcc asks for beside `-arch=sm_90a`."""
    file = tmp_path / "a.ptx"
    for asked, arch, taken in (
        ("sm_61", "compute_90", True), ("sm_90", "compute_90", True), ("sm_90a", "compute_90a", True),
        ("sm_61", "compute_100", True), ("sm_90", "compute_80", False), ("sm_90a", "compute_90", False),
        ("sm_90a", "compute_100", False), ("sm_61", "compute_73", False),
    ):  # fmt: skip
        file.write_text(TWO.replace("sm_61", asked))
        done = drawloom("as", f"-arch={arch}", "-m64", "-v", file)
        assert (done.exit_code == 0, done.stderr == "") == (taken, taken), (asked, arch, done.stderr)
        assert taken or arch in done.stderr
    file.write_text(TWO.replace("ret;", "exit 3;"))
    wrong = drawloom("as", "-arch=compute_90", file, "-o", tmp_path / "x.cubin")
    assert (wrong.exit_code, f"error: {file}:4:" in wrong.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-arch", "sm_80", "-arch=sm_90"], "--gpu-name is given several times, the last value is used: sm_90"),
        (["-O1", "-O3", "-w"], "--opt-level is given several times, the last value is used: 3"),
        (["--fmad=true", "--fmad=false"], "--fmad is given several times, the last value is used: false"),
        (["-g", "-lineinfo"], "--generate-line-info is ignored beside --device-debug"),
        (["-suppress-debug-info"], "--suppress-debug-info is ignored without --device-debug or --generate-line-info"),
        (["-arch", "sm_90", "-arch=sm_90", "-O5", "-O5"], ""),
    ],
)
def test_options_that_disagree_are_warned_of(words: list[str], said: str, source: Path, drawloom: Command) -> None:
    done = drawloom("as", source, *words)
    assert done.exit_code == 0
    assert done.stderr.replace(f"{source}: ", "") == (f"warning: {said}\n" if said else "")


def test_ptx_newer_than_is_known_is_warned_of(tmp_path: Path, drawloom: Command) -> None:
    file = tmp_path / "a.ptx"
    file.write_text(TWO.replace("8.0", "9.9"))
    done = drawloom("as", file)
    newer = f"{file}: PTX 9.9 is newer than 9.0, the newest that is known here"
    assert (done.exit_code, done.stderr) == (0, f"warning: {newer}\n")
    file.write_text(TWO.replace("8.0", "7.9"))
    assert "a.ptx:1:1: PTX version 7.9 is unknown" in drawloom("as", file).stderr


@pytest.mark.parametrize(
    ("source", "arch", "registers", "kind", "said"),
    [
        (TWO.encode(), "sm_86", 255, TypeError, "the source is of type bytes, expected PTX text"),
        (TWO, 86, 255, TypeError, "the architecture is 86, expected text such as 'sm_90'"),
        (TWO, "86", 255, Error, "no code is made for '86'"),
        (TWO, "compute_86", 255, Error, "a virtual architecture, which has no machine code"),
        (TWO, "sm_86", 0, Error, "max_registers is 0, expected 1 to 255"),
        (TWO, "sm_86", 300, Error, "max_registers is 300, expected 1 to 255"),
        (TWO, "sm_86", 64.0, TypeError, "max_registers is 64.0, expected a number"),
        (DOUBLES, "sm_86", 1, Error, "'k' cannot do with 1 registers"),
    ],
)
def test_arguments_in_python_that_cannot_be(
    source: Any, arch: Any, registers: Any, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=re.escape(said)):
        package.assemble(source, arch, max_registers=registers)


def test_options_in_place_of_directives(tmp_path: Path, drawloom: Command) -> None:
    file = tmp_path / "a.ptx"
    file.write_text(TWO)

    def made(*words: str) -> list[tuple[str, int, object]]:
        done = drawloom("as", file, *words)
        assert done.exit_code == 0, done.stderr
        found = read_cubin(file.with_suffix(".cubin").read_bytes()).functions
        return [(name, f.max_registers, f.max_threads) for name, f in sorted(found.items())]

    own = ("b", 255, (64, 1, 1))
    assert made() == [("a", 255, None), own]
    assert made("--maxntid=1024") == [("a", 64, (1024, 1, 1)), own]
    assert made("-minnctapersm", "16") == [("a", 255, None), ("b", 64, (64, 1, 1))]
    assert made("-maxntid", "256,2", "-override-directive-values") == [("a", 128, (256, 2, 1)), ("b", 128, (256, 2, 1))]
    assert made("-maxrregcount=40") == [("a", 40, None), own]
    assert made("-maxrregcount=40", "-override-directive-values") == [("a", 40, None), ("b", 40, (64, 1, 1))]
    assert made("-maxrregcount=archmin", "-w") == [("a", 32, None), own]
    assert made("--entry", "b") == [own]
    assert made("-e", "b", "--entry=a") == [("a", 255, None), own]
    options = tmp_path / "options"
    options.write_text("-maxrregcount 48 -e a")
    assert made("-optf", str(options)) == [("a", 48, None)]
    none = drawloom("as", file, "-e", "c")
    assert (none.exit_code, "no kernel 'c'" in none.stderr, "a, b" in none.stderr) == (1, True, True)


def test_warnings(tmp_path: Path, drawloom: Command) -> None:
    file = tmp_path / "k.ptx"
    file.write_text(DOUBLES)
    low = drawloom("as", file, "-maxrregcount=4", "-warn-double-usage", "-warn-spills", "-warn-lmem-usage")
    assert low.exit_code == 0
    assert low.stderr.splitlines() == [
        f"warning: {file}: '--maxrregcount': 4 registers are too few for sm_90's ABI, 24 are used",
        f"warning: {file}: 'k': doubles are used, first in line 6",
    ]
    assert drawloom("as", file, "-maxrregcount=4", "-w").stderr == ""
    file.with_suffix(".cubin").unlink()
    strict = drawloom("as", file, "-maxrregcount=300", "-Werror")
    assert strict.exit_code == 1
    assert "300 is more than there are" in strict.stderr
    assert list(tmp_path.iterdir()) == [file]


def test_line_tables_on_request(source: Path, drawloom: Command) -> None:
    def sections(*words: str) -> bool:
        assert drawloom("as", source, *words).exit_code == 0
        return b".debug_line" in source.with_suffix(".cubin").read_bytes()

    assert sections("-lineinfo")
    assert sections("-g")
    assert not sections()
    assert not sections("-g", "--suppress-debug-info")


def test_relocatable_files_keep_what_others_may_call(tmp_path: Path, drawloom: Command) -> None:
    file = tmp_path / "f.ptx"
    file.write_text(HEADER + ".visible .func f() { ret; }\n.visible .entry k() { call f; ret; }")
    for words, kind, functions in ((["-c"], 1, ["f", "k"]), ([], 2, ["k"])):
        assert drawloom("as", file, *words).exit_code == 0
        data = file.with_suffix(".cubin").read_bytes()
        assert (data[16], sorted(read_cubin(data).functions)) == (kind, functions)


def test_help_lists_every_option(drawloom: Command) -> None:
    text = drawloom("as", "--help").stdout
    assert all(f"--{name}" in text for name in (*OPTIONS, *WITHOUT_EFFECT))
    assert "sm_90a" in text


@pytest.mark.vendor
def test_every_option_of_ptxas_is_known_under_its_names() -> None:
    ptxas = find("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    text = subprocess.run([ptxas, "--help"], capture_output=True, text=True).stdout
    theirs = dict(re.findall(r"^--([\w-]+)[^\n(]*\(-([\w-]+)\)", text, re.M))
    ours = {long: row[0] for table in (OPTIONS, WITHOUT_EFFECT) for long, row in table.items()} | REFUSED
    assert len(theirs) > 40
    assert {long: ours.get(long) for long in theirs} == theirs


def test_spellings() -> None:
    line = read_command_line(["-O=2", "--opt-level", "1", "-O3", "x.ptx", "-o=y", "--gpu-name=sm_75", "-m", "64", "-"])
    assert (line.files, line.values) == (["x.ptx", "-"], {"opt-level": "3", "output-file": "y", "gpu-name": "sm_75"})

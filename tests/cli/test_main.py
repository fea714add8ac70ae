"""The command around its subcommands: version, help, exit codes, and what start-up imports."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import drawloom
from drawloom.build_info import VERSION, build_kind
from drawloom.cli.main import FILES, SUBCOMMANDS
from drawloom.errors import UnsupportedError

HEAVY = ["numpy", "pyarrow", "llvmlite", "datafusion", "substrait", "google.protobuf", "rich", "cuda"]

# A subcommand that does what its argument says, in place of every subcommand there is.
FAKE = """
import click, sys, time
from drawloom.cli import main
from drawloom.errors import ParseError

@click.command()
@click.argument("what")
def command(what):
    if what == "refuse":
        raise ParseError("unknown opcode 'frob'", "k.ptx", 3, 1, "frob;")
    if what == "hoard":
        raise MemoryError
    if what == "sleep":
        print("ready", flush=True)
        time.sleep(60)
    if what == "chatter":
        for line in range(1_000_000):
            print(line)
    if what == "defect":
        raise ZeroDivisionError("a defect")

main.LazyGroup.get_command = lambda self, ctx, name: command
main.main()
"""


def drawloom_command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "drawloom", *words], capture_output=True, text=True)


def fake_command(what: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", FAKE, "fake", what], capture_output=True, text=True)


def start_fake_command(what: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", FAKE, "fake", what]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_version_says_which_build() -> None:
    done = drawloom_command("--version")
    assert done.returncode == 0
    assert done.stdout == f"drawloom {VERSION} ({build_kind()})\n"
    assert drawloom.__version__ == VERSION


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["no-such-command"]], ids=" ".join)
def test_start_up_imports_nothing_heavy(words: list[str]) -> None:
    code = (
        "import sys\nfrom drawloom.cli.main import main\n"
        f"try:\n    sys.argv[1:] = {words!r}\n    main()\n"
        f"except SystemExit:\n    print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "[]"


COMPILING = [
    "cc -c k.cu -o k.o", "build k.cu --emit cubin -o k.cubin", "as k.ptx -o k.cubin", "opt k.ptx", "shuffle k.ptx",
]  # fmt: skip


@pytest.mark.parametrize("words", COMPILING, ids=lambda words: words.partition(" ")[0])
def test_what_only_compiles_starts_without_numpy(words: str, tmp_path: Path) -> None:
    """NumPy took `drawloom cc` a tenth of a second, for a type that a launch is checked with."""
    if ".cu" in words and not has_clang():
        pytest.skip("there is no clang")
    (tmp_path / "k.cu").write_text("__global__ void k(int *out) { out[threadIdx.x] = 1; }\n")
    (tmp_path / "k.ptx").write_text(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n  ret;\n}\n"
    )
    code = (
        "import sys\nfrom drawloom.cli.main import main\n"
        f"try:\n    sys.argv[1:] = {words.split()!r}\n    main()\n"
        "except SystemExit as end:\n    print(end.code, 'numpy' in sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == "0 False"


def has_clang() -> bool:
    from drawloom.cuda.clang import find_clang

    try:
        find_clang()
    except UnsupportedError:
        return False
    return True


def test_help_lists_the_subcommands_that_exist() -> None:
    done = drawloom_command("--help")
    assert done.returncode == 0
    folder = os.path.dirname(sys.modules["drawloom.cli.main"].__file__ or "")
    present = [name for name in SUBCOMMANDS if os.path.exists(os.path.join(folder, FILES.get(name, name) + ".py"))]
    section = done.stdout.partition("Commands:\n")[2]
    assert [line.split()[0] for line in section.splitlines()] == present


def test_every_subcommand_file_has_a_help_line() -> None:
    folder = os.path.dirname(sys.modules["drawloom.cli.main"].__file__ or "")
    for name in SUBCOMMANDS:
        if os.path.exists(os.path.join(folder, name + ".py")):
            done = drawloom_command(name, "--help")
            assert done.returncode == 0, done.stderr
            assert "Usage:" in done.stdout


def test_unknown_command_exits_2() -> None:
    done = drawloom_command("frobnicate")
    assert done.returncode == 2
    assert "No such command 'frobnicate'" in done.stderr


def test_a_command_that_is_spelt_wrong_is_told_the_right_one() -> None:
    done = subprocess.run([sys.executable, "-m", "drawloom", "sqll"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "No such command 'sqll'. Did you mean sql?" in done.stderr


def test_refusal_prints_the_report_and_exits_1() -> None:
    done = fake_command("refuse")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "error: k.ptx:3:1: unknown opcode 'frob'\n  frob;\n  ^\n"


def test_too_little_memory_is_said_in_a_line() -> None:
    done = fake_command("hoard")
    assert done.returncode == 1
    assert done.stderr == "error: there is too little memory\n"


def test_defect_shows_its_traceback() -> None:
    done = fake_command("defect")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_an_output_that_takes_no_more_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-c", FAKE, "fake", "chatter"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "error: cannot write the output: No space left on device\n"


def test_interrupt_exits_130() -> None:
    with start_fake_command("sleep") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "ready\n"
        started = time.monotonic()
        running.send_signal(signal.SIGINT)
        report = running.stderr.read()
        assert running.wait() == 130
        assert report.strip() == "interrupted"
        assert time.monotonic() - started < 30


def test_reader_that_goes_away_is_no_traceback() -> None:
    with start_fake_command("chatter") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "0\n"
        running.stdout.close()
        assert running.stderr.read() == ""
        assert running.wait() == 1


def test_unknown_attribute_of_the_package() -> None:
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        drawloom.frobnicate

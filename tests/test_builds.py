"""The package builds plain and compiled; both read, print and assemble the golden programs in the same way."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow

# Prints how each program parses, verifies and prints, or the refusal, a hash of what some are assembled to, and where
# the parser came from.
SMOKE = r'''
import hashlib
import sys
from pathlib import Path
import drawloom
from drawloom import ptx
from drawloom.build_info import build_kind
from drawloom.sass.assemble import assemble

accepted = 0
for number, path in enumerate(sys.argv[1:]):
    try:
        module = ptx.parse(Path(path).read_text(encoding="utf-8"), path)
        ptx.verify(module)
        text = str(module)
        assert ptx.parse(text) == module, path
        accepted += 1
        if number % 3 == 0:
            text += hashlib.sha256(bytes(assemble(module, "sm_90"))).hexdigest()
    except drawloom.Error as refusal:
        text = str(refusal)
    print(path, text, sep="\\n")
# More registers live from block to block than a C int has bits.
lines = [f"ld.global.u32 %r{n}, [%rd1+{4 * n}];" for n in range(70)]
lines += ["setp.eq.u32 %p1, %r0, 0;", "@%p1 bra $end;"]
lines += [f"st.global.u32 [%rd1+{4 * n}], %r{69 - n};" for n in range(70)]
print(hashlib.sha256(bytes(assemble(f"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry many(.param .u64 p)
{{
.reg .pred %p<2>;
.reg .b32 %r<70>;
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [p];
{chr(10).join(lines)}
$end: ret;
}}
""", "sm_80"))).hexdigest())
print(build_kind(), accepted, sys.modules["drawloom.ptx.parser"].__file__, file=sys.stderr)
'''


def has_c_compiler() -> bool:
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    return shutil.which(compiler) is not None


def programs() -> list[str]:
    found = [*ROOT.glob("examples/*.ptx"), *ROOT.glob("tests/golden/**/*.ptx")]
    return [str(path.relative_to(ROOT)) for path in sorted(found)]


#: What is compiled where it does not matter what: the one module of a room that is added.
ONE_ROOM = 'COMPILED_FOLDERS = ["src/drawloom/added"]'


def build_wheel(folder: Path, setup: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Builds the wheel of a copy of the sources below `folder`, into folder/wheels. `setup` is a line of setup.py that
    stands for the one with the same beginning; a room of one module is added for it."""
    copy = folder / "source"
    copy.mkdir(parents=True)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__", "*.so"))
    if setup:
        (copy / "src" / "drawloom" / "added").mkdir()
        (copy / "src" / "drawloom" / "added" / "one.py").write_text("def one() -> int:\n    return 1\n")
        begin = setup.partition(" = ")[0] + " = "
        text, count = re.subn(f"(?m)^{begin}.*$", setup, (copy / "setup.py").read_text())
        assert count == 1, setup
        (copy / "setup.py").write_text(text)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--verbose"]
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", str(folder / "wheels")]
    return subprocess.run(
        [*pip, *options, str(copy)], env={**os.environ, **environment}, capture_output=True, text=True
    )


def unpack(folder: Path) -> Path:
    """The folder into which the one wheel that was built is unpacked."""
    (wheel,) = (folder / "wheels").glob("*.whl")
    installed = folder / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    return installed


def run_smoke(installed: Path) -> tuple[str, list[str]]:
    """What the smoke program prints with that build, and its report: kind, programs accepted, parser file."""
    done = subprocess.run(
        [sys.executable, "-c", SMOKE, *programs()],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.split()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    done = build_wheel(folder, DRAWLOOM_BUILD="plain")
    assert done.returncode == 0, done.stdout + done.stderr
    return unpack(folder)


def test_plain_wheel_has_no_machine_code(plain: Path) -> None:
    assert list(plain.rglob("*.so")) == []
    assert (plain / "drawloom" / "py.typed").is_file()
    assert (plain / "drawloom" / "cuda" / "include" / "drawloom" / "polynomials.h").is_file()


@pytest.mark.wheel
@pytest.mark.skipif(not has_c_compiler(), reason="no C compiler: the compiled build cannot be tested")
def test_compiled_wheel_has_machine_code_and_gives_the_same_text(plain: Path, tmp_path: Path) -> None:
    # One test for all that needs the compiled wheel: building it takes a minute or more of processor time, twice that
    # where the C compiler optimises, which changes nothing that is asked here.
    done = build_wheel(tmp_path, DRAWLOOM_BUILD="compiled", DRAWLOOM_OPTIMISE="0")
    assert done.returncode == 0, done.stdout + done.stderr
    compiled = unpack(tmp_path)
    for module in ("ptx/parser", "ptx/verifier", "cpu/lower", "horse/codegen", "sass/assemble", "lift/codegen/kernel"):
        assert list((compiled / "drawloom").glob(f"{module}.*.so")) != [], module
    plain_text, (plain_kind, plain_accepted, plain_parser) = run_smoke(plain)
    compiled_text, (compiled_kind, compiled_accepted, compiled_parser) = run_smoke(compiled)
    assert (plain_kind, compiled_kind) == ("plain", "compiled")
    assert plain_parser == str(plain / "drawloom" / "ptx" / "parser.py")
    assert compiled_parser.startswith(str(compiled))
    assert compiled_parser.endswith(".so")
    assert plain_text == compiled_text
    assert plain_accepted == compiled_accepted
    assert int(plain_accepted) >= len(programs()) // 2  # the others show refusals


def test_failing_c_compiler_falls_back_to_plain(tmp_path: Path) -> None:
    false = shutil.which("false")
    assert false is not None
    done = build_wheel(tmp_path, ONE_ROOM, DRAWLOOM_BUILD="auto", CC=false)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "drawloom: the C build failed" in output
    assert "building plain Python" in output
    assert list(unpack(tmp_path).rglob("*.so")) == []


def test_missing_c_compiler_falls_back_to_plain(tmp_path: Path) -> None:
    done = build_wheel(tmp_path, DRAWLOOM_BUILD="auto", CC="no-such-compiler")
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "drawloom: no C compiler (no-such-compiler) on PATH: building plain Python" in output
    assert list((tmp_path / "wheels").glob("*-py3-none-any.whl")) != []


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"DRAWLOOM_BUILD": "compiled", "CC": "no-such-compiler"}, "no C compiler (no-such-compiler)"),
        ({"DRAWLOOM_BUILD": "fast"}, "DRAWLOOM_BUILD=fast: expected one of auto, plain, compiled"),
    ],
)
def test_build_that_cannot_be_what_was_asked_for_fails(
    tmp_path: Path, environment: dict[str, str], reason: str
) -> None:
    done = build_wheel(tmp_path, **environment)
    assert done.returncode != 0
    assert reason in done.stdout + done.stderr

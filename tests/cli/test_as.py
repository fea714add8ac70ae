"""`drawloom as`: files in and out, the report, refusals."""

from pathlib import Path

import pytest

import drawloom as package
from drawloom.errors import UnsupportedError
from drawloom.sass.cubin import read_cubin
from drawloom.sass.decoder import unpack_section
from drawloom.sass.isa import load_target
from drawloom.sass.verify import verify
from tests.cli.conftest import Command

ROOT = Path(__file__).resolve().parents[2]
SAXPY = ROOT / "benchmarks" / "kernels" / "saxpy.ptx"


def test_a_cubin_beside_the_file(tmp_path: Path, drawloom: Command) -> None:
    source = tmp_path / "saxpy.ptx"
    source.write_text(SAXPY.read_text())
    done = drawloom("as", str(source), "-arch=sm_90", "-v")
    assert done.exit_code == 0
    assert "Compiling entry function 'saxpy' for 'sm_90'" in done.stderr
    cubin = read_cubin((tmp_path / "saxpy.cubin").read_bytes())
    assert 4 <= cubin.kernels["saxpy"].registers <= 16
    assert bytes(package.assemble(SAXPY.read_text(), "sm_90")) == (tmp_path / "saxpy.cubin").read_bytes()


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_levels_and_standard_input(tmp_path: Path, drawloom: Command, level: str) -> None:
    out = tmp_path / "out.cubin"
    assert drawloom("as", level, "-o", str(out), "-", input=SAXPY.read_text()).exit_code == 0
    code = read_cubin(out.read_bytes()).kernels["saxpy"].code
    assert verify(load_target(90), unpack_section(load_target(90), code)) == []


def test_wrong_ptx_names_its_place_and_leaves_no_file(tmp_path: Path, drawloom: Command) -> None:
    source = tmp_path / "bad.ptx"
    source.write_text(SAXPY.read_text().replace("fma.rn.f32", "fma.rn.f99"))
    done = drawloom("as", str(source))
    assert done.exit_code == 1
    assert f"{source}:" in done.stderr
    assert list(tmp_path.iterdir()) == [source]


def test_unknown_options_and_targets_are_refused_by_name(tmp_path: Path, drawloom: Command) -> None:
    assert "--device-c" in drawloom("as", "--device-c", str(SAXPY)).stderr
    with pytest.raises(UnsupportedError, match="sm_30"):
        package.assemble(SAXPY.read_text(), "sm_30")

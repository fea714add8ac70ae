"""CUB and Thrust of the user's own CCCL, compiled by our clang and run on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

import drawloom
from drawloom.cuda import clang, compiler
from drawloom.cuda.clang import CompileError, cccl_folders, find_clang
from drawloom.errors import UnsupportedError
from tests.cuda.test_programs import cc, run

try:
    find_clang()
except UnsupportedError as missing:
    pytest.skip(str(missing), allow_module_level=True)

HERE = Path(__file__).parent
needs_cccl = pytest.mark.skipif(not cccl_folders(), reason="needs pip install drawloom[cccl]")


@needs_cccl
@pytest.mark.slow
def test_collectives_of_blocks_and_algorithms_of_the_device_run(tmp_path: Path) -> None:
    assert cc(str(HERE / "cccl.cu"), "-arch=compute_80", "-o", str(tmp_path / "out")) == ""
    assert run(tmp_path / "out") == "no error, 0 wrong\n"


@needs_cccl
def test_the_header_with_all_of_cub_is_read(tmp_path: Path) -> None:
    """It has an iterator over textures, whose types were refused by name wherever they stood."""
    (tmp_path / "all.cu").write_text("#include <cub/cub.cuh>\n")
    drawloom.compile_cuda(str(tmp_path / "all.cu"))


@pytest.mark.parametrize("header", ["cub/cub.cuh", "thrust/sort.h", "cuda/std/atomic"])
def test_without_cccl_its_headers_say_what_to_install(
    header: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "cccl_folders", tuple)
    (tmp_path / "x.cu").write_text(f"#include <{header}>\nint main() {{}}\n")
    with pytest.raises(CompileError, match=rf"x\.cu:1:10.*{header}.*pip install drawloom\[cccl\]"):
        cc(str(tmp_path / "x.cu"), "-o", str(tmp_path / "x"))


@pytest.mark.parametrize("layout", ["cuda_cccl/include", "cu13/include/cccl"])
def test_the_headers_of_the_package_are_found(layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "nvidia" / layout / "cub"
    folder.mkdir(parents=True)
    monkeypatch.setattr(clang.importlib.util, "find_spec", lambda name: FakeSpec(str(tmp_path / name)))
    cccl_folders.cache_clear()
    assert cccl_folders() == (str(folder.parent),)
    monkeypatch.undo()
    cccl_folders.cache_clear()


class FakeSpec:
    def __init__(self, place: str) -> None:
        self.submodule_search_locations = [place]

"""What `load` takes, and how it refuses everything else."""

import os
import random
from pathlib import Path

import numpy as np
import pytest

import drawloom
from drawloom import DataError, DeviceError, LaunchError, ParseError, UnsupportedError, VerifyError
from drawloom.ptx.ir import Module as PtxModule
from drawloom.ptx.parser import parse
from drawloom.shuffle.pipeline import Shuffled
from tests.runtime import programs

CORPUS = Path(__file__).parents[1] / "golden" / "corpus"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DRAWLOOM_DEVICE", "DRAWLOOM_CHECK", "DRAWLOOM_OPT"):
        monkeypatch.delenv(name, raising=False)


def test_a_path_a_text_bytes_and_a_module(tmp_path: Path) -> None:
    path = tmp_path / "saxpy.ptx"
    path.write_text(programs.SAXPY)
    for source in (path, str(path), programs.SAXPY, programs.SAXPY.encode(), parse(programs.SAXPY)):
        module = drawloom.load(source)
        assert list(module) == ["saxpy"]
        assert len(module) == 1
        assert "saxpy" in module
        assert "nothing" not in module
        assert module["saxpy"] is module["saxpy"] is module.get("saxpy")
        assert module[next(iter(module))] is module["saxpy"]
        assert dict(module) == {"saxpy": module["saxpy"]}
        assert module.get("nothing") is None
        assert module.device.name == "cpu"
    assert module["saxpy"].signature.names() == ["a", "x", "y", "n"]
    assert "saxpy(a, x, y, n) on cpu" in repr(module["saxpy"])


def test_text_that_ends_in_a_nul(tmp_path: Path) -> None:
    path = tmp_path / "saxpy.ptx"
    path.write_bytes(programs.SAXPY.encode() + b"\0")
    assert "saxpy" in drawloom.load(path)


def test_an_unknown_kernel_is_refused_with_the_known_ones() -> None:
    with pytest.raises(LaunchError, match="no kernel 'other' in the module; there are: saxpy"):
        drawloom.load(programs.SAXPY)["other"]


def test_an_unknown_variable_is_refused_with_the_known_ones() -> None:
    module = drawloom.load(programs.VARIABLES)
    assert "table" in module.globals
    assert len(module.globals) == 3
    with pytest.raises(KeyError, match="no variable 'other' in the module; there are: counter, table, matrix"):
        module.globals["other"]
    with pytest.raises(KeyError):
        module.globals["other"] = 1


def test_values_must_fit_the_variable() -> None:
    module = drawloom.load(programs.VARIABLES)
    with pytest.raises(LaunchError, match=r"variable table: got float64\[3\], expected float32\[4\]"):
        module.globals["table"] = [1.0, 2.0, 3.0]
    with pytest.raises(LaunchError, match="variable counter: got float64"):
        module.globals["counter"] = 1.5
    with pytest.raises(LaunchError, match="variable counter: a value is out of range of uint32"):
        module.globals["counter"] = -1
    assert module.globals["counter"] == 5


def test_a_variable_on_the_host_is_its_memory_itself() -> None:
    module = drawloom.load(programs.VARIABLES)
    view = module.globals["matrix"]
    assert view.shape == (2, 3)
    view[1, 2] = 4
    assert module.globals["matrix"][1, 2] == 4


REFUSED_FILES = {
    "missing": (None, "No such file or directory; expected a PTX file"),
    "empty": (b"", "the file is empty, expected PTX"),
    "blank": (b" \n\t\n", "the file is empty, expected PTX"),
    "NULs": (b".version 7.0\n\0\0x", "byte 13 is NUL: not text, expected PTX"),
    "not UTF-8": (b".version 7.0\n\xff\xfe", "byte 13 is not UTF-8 text, expected PTX"),
}


@pytest.mark.parametrize("kind", REFUSED_FILES)
def test_unreadable_files_are_refused(tmp_path: Path, kind: str) -> None:
    data, words = REFUSED_FILES[kind]
    path = tmp_path / "kernel.ptx"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        drawloom.load(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Is a directory; expected a PTX file"):
        drawloom.load(tmp_path)


@pytest.mark.parametrize("source", [3, None])
def test_what_is_no_source_is_refused(source: object) -> None:
    with pytest.raises(DataError, match="expected a path, PTX text or bytes, or a ptx module"):
        drawloom.load(source)  # type: ignore[arg-type]


def test_a_path_with_a_nul_is_refused() -> None:
    with pytest.raises(DataError, match="null byte"):
        drawloom.load("a\0b.ptx")


@pytest.mark.parametrize("name, words", [("k.cu", "CUDA C++"), ("k.cl", "OpenCL C"), ("k.cubin", "machine code")])
def test_other_formats_are_refused_by_name(tmp_path: Path, name: str, words: str) -> None:
    path = tmp_path / name
    path.write_text("__global__ void k() {}")
    with pytest.raises(UnsupportedError) as caught:
        drawloom.runtime.load(path)  # drawloom.load compiles sources
    assert words in str(caught.value)
    assert name in str(caught.value)


def test_machine_code_under_a_ptx_name_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "kernel.ptx"
    path.write_bytes(b"\x7fELF\x02\x01\x01\x33" + bytes(100))
    with pytest.raises(UnsupportedError, match=r"a \.cubin file is machine code"):
        drawloom.load(path)


def test_noise_is_refused_at_a_place(tmp_path: Path) -> None:
    path = tmp_path / "noise.ptx"
    draw = random.Random(7)
    path.write_text("".join(chr(draw.randrange(33, 127)) for _ in range(1_000_000)))
    with pytest.raises(ParseError) as caught:
        drawloom.load(path)
    assert caught.value.file == str(path)
    assert caught.value.line == 1


def test_what_does_not_verify_is_refused_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.ptx"
    path.write_text(programs.SAXPY.replace("bra DONE", "bra NOWHERE"))
    with pytest.raises(VerifyError) as caught:
        drawloom.load(path)
    line = programs.SAXPY[: programs.SAXPY.index("bra DONE")].count("\n") + 1
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_modules_of_32_bit_addresses_are_refused() -> None:
    with pytest.raises((UnsupportedError, VerifyError), match=r"address_size 32"):
        drawloom.load(".version 7.0\n.target sm_60\n.address_size 32\n.visible .entry k() { ret; }\n")


def test_external_variables_are_refused() -> None:
    text = programs.HEADER + ".extern .global .u32 elsewhere;\n.visible .entry k() { ret; }\n"
    with pytest.raises(UnsupportedError, match=r"external variables that no module defines\n  - elsewhere"):
        drawloom.load(text)


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "cuda:-1", "CPU", "cuda:٣"])
def test_unknown_devices_are_refused(name: str) -> None:
    with pytest.raises(DeviceError, match="expected cpu, reference or cuda:N"):
        drawloom.load(programs.SAXPY, name)


def test_a_device_is_a_name() -> None:
    with pytest.raises(DeviceError, match="not 3"):
        drawloom.load(programs.SAXPY, device=3)  # type: ignore[arg-type]


def test_a_gpu_that_is_not_there_is_refused_with_the_reason() -> None:
    with pytest.raises(DeviceError, match=r"no device cuda:77: .*; there are: cpu, reference"):
        drawloom.load(programs.SAXPY, "cuda:77")


def test_the_environment_chooses_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_DEVICE", "reference")
    assert drawloom.load(programs.SAXPY).device.name == "reference"
    assert drawloom.Buffer.alloc(1).device.name == "reference"
    assert drawloom.Stream().device.name == "reference"
    assert drawloom.load(programs.SAXPY, "cpu").device.name == "cpu"


def test_the_environment_turns_checks_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not drawloom.load(programs.SAXPY).check
    monkeypatch.setenv("DRAWLOOM_CHECK", "memory")
    assert drawloom.load(programs.SAXPY).check
    assert not drawloom.load(programs.SAXPY, check="off").check
    for wrong in ("bounds", "1"):
        with pytest.raises(DataError, match=f"check={wrong}: expected memory, race or off"):
            drawloom.load(programs.SAXPY, check=wrong)


def corpus_files() -> list[Path]:
    found = sorted(CORPUS.glob("clang/*.O3.ptx"))
    assert len(found) > 10
    return found


@pytest.mark.parametrize("path", corpus_files(), ids=lambda path: path.stem)
def test_kernels_of_compilers_have_signatures(path: Path) -> None:
    module = drawloom.load(os.fspath(path), "reference")
    for kernel in module.values():
        assert len(kernel.parameters) == len(module.ptx.functions[kernel.name].params)
        assert kernel.limits.static_shared <= 48 * 1024


def test_levels_of_optimisation(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """.version 7.0
.target sm_80
.address_size 64
.entry k(.param .u64 out) {
.reg .b32 %r<4>; .reg .b64 %d<2>;
ld.param.u64 %d1, [out]; mov.u32 %r1, 6; mul.lo.u32 %r2, %r1, 7; st.global.u32 [%d1], %r2; ret; }
"""

    def multiplies(module: drawloom.Module) -> bool:
        """Whether what is compiled multiplies; `module.ptx` always does."""
        out = np.zeros(1, np.uint32)
        module["k"][1, 1](out)
        assert out[0] == 42
        assert multiplications(module.ptx) == 1
        return multiplications(module.optimiser.reached_from("k")) == 1

    assert not multiplies(drawloom.load(text, "cpu"))
    assert multiplies(drawloom.load(text, "cpu", level=0))
    assert multiplies(drawloom.load(text, "reference"))
    assert multiplies(drawloom.load(text, "cpu", check="memory"))
    monkeypatch.setenv("DRAWLOOM_OPT", "0")
    assert multiplies(drawloom.load(text, "cpu"))
    monkeypatch.setenv("DRAWLOOM_OPT", "1")
    assert not multiplies(drawloom.load(text, "cpu"))
    assert not multiplies(drawloom.load(text, "reference"))
    with pytest.raises(drawloom.DataError, match="level=4 of optimisation: expected 0 to 3"):
        drawloom.load(text, "cpu", level=4)


#: out[i] = in[i + 1] - in[i]; the second load has been done by the lane before.
DIFFERENCE = """.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .b32 %r<6>; .reg .b64 %d<6>; .reg .f32 %f<4>;
ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out];
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;
mul.wide.u32 %d3, %r4, 4; add.u64 %d4, %d1, %d3; add.u64 %d5, %d2, %d3;
ld.global.nc.f32 %f1, [%d4+4]; ld.global.nc.f32 %f2, [%d4]; sub.f32 %f3, %f1, %f2;
st.global.f32 [%d5], %f3; ret; }
"""


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_loads_become_shuffles_where_that_is_asked_for(device: str) -> None:
    numbers = np.random.default_rng(1).random(101, dtype=np.float32)

    def run(shuffle: str = "none", check: str | None = None) -> drawloom.Module:
        module = drawloom.load(DIFFERENCE, device, check=check, shuffle=shuffle)
        out = np.zeros(100, np.float32)
        module["k"][2, 50](numbers, out)
        np.testing.assert_array_equal(out, numbers[1:] - numbers[:-1])
        return module

    def shuffles(module: drawloom.Module) -> int:
        return sum(i.opcode.name == "shfl" for i in module.ptx.functions["k"].instructions())

    assert shuffles(run()) == 0
    assert shuffles(run(shuffle="profitable")) == 0  # a host's cache is no further away than another lane
    everything = run(shuffle="all")
    assert shuffles(everything) == 1
    assert isinstance(everything.ptx, Shuffled)
    assert everything.ptx.report.functions[0].rewrites[0].delta == -1
    checked = run(shuffle="all", check="memory")
    assert shuffles(checked) == 0
    assert isinstance(checked.ptx, Shuffled)
    assert "accesses are checked" in checked.ptx.report.notes[0]
    assert (checked.ptx.report.shuffles, checked.ptx.report.is_applied) == (1, False)
    with pytest.raises(drawloom.DataError, match="no way to apply 'most'"):
        drawloom.load(DIFFERENCE, device, shuffle="most")
    with pytest.raises(drawloom.DataError, match="no way to apply 'most'"):
        drawloom.load(DIFFERENCE, device, shuffle="most", check="memory")


def test_the_cache_tells_shuffles_from_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_CACHE_DIR", str(tmp_path))
    numbers = np.arange(33, dtype=np.float32)

    def is_cached(shuffle: str) -> bool:
        return drawloom.load(DIFFERENCE, "cpu", shuffle=shuffle)["k"][1, 32](numbers, np.zeros(32, np.float32)).cached

    assert [is_cached(shuffle) for shuffle in ("none", "all", "none", "all")] == [False, False, True, True]


def multiplications(module: PtxModule) -> int:
    return len([i for i in module.functions["k"].instructions() if i.opcode.name == "mul"])


def test_what_is_in_the_cache_is_not_optimised_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_CACHE_DIR", str(tmp_path))
    x, y = np.ones(64, np.float32), np.ones(64, np.float32)
    first = drawloom.load(programs.SAXPY, "cpu")
    assert not first["saxpy"][1, 64](2.0, x, y, 64).cached
    runs: list[object] = []
    monkeypatch.setattr("drawloom.opt.optimize", lambda *given, **names: runs.append(given))
    assert drawloom.load(programs.SAXPY, "cpu")["saxpy"][1, 64](2.0, x, y, 64).cached
    assert not runs
    other = drawloom.load(programs.SAXPY, "cpu", level=0)["saxpy"][1, 64](2.0, x, y, 64)
    assert not other.cached  # another level is other code
    assert y[0] == 7.0


def test_functions_are_optimised_when_a_kernel_that_reaches_them_is_compiled() -> None:
    text = """.version 7.0
.target sm_80
.address_size 64
.func (.reg .u32 r) twice(.reg .u32 a) { add.u32 r, a, a; add.u32 r, r, 0; ret; }
.entry calls(.param .u64 out) {
.reg .b32 %r<4>; .reg .b64 %d<2>;
ld.param.u64 %d1, [out]; call (%r1), twice, (21); add.u32 %r1, %r1, 0; st.global.u32 [%d1], %r1; ret; }
.entry other(.param .u64 out) { .reg .b32 %r<4>; add.u32 %r1, %r2, 0; ret; }
"""
    module = drawloom.load(text, "cpu", level=2)
    out = np.zeros(1, np.uint32)
    module["calls"][1, 1](out)
    assert out[0] == 42
    made = module.optimiser.reached_from("calls")
    adds = {f.name: len([i for i in f.instructions() if i.opcode.name == "add"]) for f in made.functions.values()}
    assert adds == {"twice": 1, "calls": 0, "other": 1}
    assert [len(f.instructions()) for f in module.optimiser.whole().kernels] == [4, 1]

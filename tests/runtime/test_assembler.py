"""Who makes a GPU's machine code: our assembler unless the user says the driver, and never one for the other."""

from pathlib import Path

import pytest

import drawloom
from drawloom.errors import DataError, UnsupportedError, VerifyError
from drawloom.ptx import parse
from drawloom.runtime.assembler import arch_for, chosen_assembler, image_of, kept_image, machine_code, resources_of
from drawloom.runtime.machine import Device, device
from drawloom.runtime.module import Module
from drawloom.runtime.optimiser import Optimiser
from drawloom.sass.assemble import SELECTED, assemble
from drawloom.sass.cubin import read_cubin
from tests.runtime import programs


def gpu(major: int, minor: int) -> Device:
    return Device("cuda:0", "cuda", "a GPU", 1, 0, compute=(major, minor))


@pytest.mark.parametrize(
    ("compute", "arch"),
    [((7, 5), "sm_75"), ((8, 0), "sm_80"), ((8, 6), "sm_86"), ((8, 9), "sm_89"), ((9, 0), "sm_90"), ((8, 7), ""),
     ((6, 0), ""), ((6, 2), ""), ((7, 0), ""), ((7, 2), ""), ((10, 0), ""), ((12, 1), ""), ((5, 2), "")],
)  # fmt: skip
def test_machine_code_runs_within_a_major_capability(compute: tuple[int, int], arch: str) -> None:
    assert arch_for(compute) == arch
    if compute == (8, 0):
        assert arch_for((8, 5)) == "sm_80"
    if 61 in SELECTED:
        assert arch_for((6, 1)) == "sm_61"


def test_the_environment_chooses_where_the_call_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRAWLOOM_ASSEMBLER", raising=False)
    assert chosen_assembler(None) == "drawloom"
    monkeypatch.setenv("DRAWLOOM_ASSEMBLER", "driver")
    assert (chosen_assembler(None), chosen_assembler("drawloom")) == ("driver", "drawloom")
    with pytest.raises(DataError, match="assembler=ptxas: expected drawloom or driver"):
        drawloom.load(programs.SAXPY, "cpu", assembler="ptxas")


def test_what_the_driver_is_given() -> None:
    module = parse(programs.SAXPY)
    assert image_of(module, gpu(8, 6), "driver") == str(module).encode() + b"\0"
    for compute, target in (((8, 6), 86), ((9, 0), 90)):
        cubin = read_cubin(image_of(module, gpu(*compute), "drawloom"))
        assert (cubin.target, list(cubin.kernels)) == (target, ["saxpy"])
    specific = parse(programs.SAXPY.replace("sm_60", "sm_90a").replace(".version 7.0", ".version 8.0"))
    assert read_cubin(image_of(specific, gpu(9, 0), "drawloom")).assembly.is_specific


def test_what_the_driver_is_given_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_CACHE_DIR", str(tmp_path))
    module = parse(programs.SAXPY)

    def kept(level: int = 2, compute: tuple[int, int] = (8, 6), assembler: str = "drawloom") -> tuple[bytes, bool]:
        return kept_image(Optimiser(module, level), gpu(*compute), assembler)

    made = kept()
    assert not made[1]
    assert kept() == (made[0], True)
    assert [found for _, found in (kept(level=0), kept(compute=(9, 0)), kept(assembler="driver"))] == [False] * 3
    monkeypatch.setenv("DRAWLOOM_CACHE", "off")
    assert kept() == (made[0], False)


def test_refusals_name_the_other_way() -> None:
    module = parse(programs.SAXPY)
    with pytest.raises(UnsupportedError, match=r"cuda:0: .*compute capability 12\.0; assembler='driver'"):
        image_of(module, gpu(12, 0), "drawloom")
    shared = programs.SAXPY.replace(".visible", ".shared .b8 s[60000];\n.visible", 1).replace(
        "ret;", ".reg .u32 t; mov.u32 t, s; st.shared.u32 [t], t; ret;"
    )
    with pytest.raises(UnsupportedError, match="assembler='driver'") as caught:
        image_of(parse(shared), gpu(8, 0), "drawloom")
    assert "60000 bytes of static shared memory" in str(caught.value)
    wrong = parse(programs.SAXPY.replace("fma.rn.f32", "fma.rn.f64"))
    with pytest.raises(VerifyError):  # no compiler takes it
        image_of(wrong, gpu(8, 0), "drawloom")


def test_machine_code_is_for_the_device_or_the_one_asked_for() -> None:
    module = parse(programs.SAXPY)
    cpu = device("cpu")
    for where, arch, shown in ((cpu, "", "sm_90"), (cpu, "sm_61", "sm_61"), (gpu(8, 6), "", "sm_86")):
        text = machine_code(module, where, arch)
        assert f".target\t{shown}" in text and "EXIT" in text
    with pytest.raises(UnsupportedError, match="no code is made for 'sm_12'"):
        machine_code(module, cpu, "sm_12")


def test_resources_are_the_assemblers_on_a_gpu_and_shared_memory_elsewhere() -> None:
    module = Module(parse(programs.SAXPY), device("cpu"))
    found = resources_of(module["saxpy"])
    assert (found.shared, found.registers, found.local, found.spilled) == (0, None, None, None)
    module.device = gpu(8, 6)
    found = resources_of(module["saxpy"])
    made = assemble(programs.SAXPY, "sm_86").kernels["saxpy"]
    assert (found.registers, found.local, found.spilled) == (made.registers, 0, 0)

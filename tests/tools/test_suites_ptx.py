"""The runner of PTX files: what it reports of files that pass, are refused, and whose kernels cannot be compared."""

from pathlib import Path

import pytest

import drawloom
from tests.runtime import programs
from tools.suites import ptx
from tools.suites.report import Outcome

HEADER = ".version 7.8\n.target sm_80\n.address_size 64\n"
KERNEL = HEADER + ".visible .entry k(.param .u64 out) { .reg .b64 %rd<3>; .reg .b32 %r<3>; ld.param.u64 %rd1, [out]; "
IN_ORDER = KERNEL + "mov.u32 %r1, %tid.x; st.global.u32 [%rd1], %r1; ret; }\n"
OUTSIDE = KERNEL + "mov.u32 %r1, 1; st.global.u32 [%rd1+1000000], %r1; ret; }\n"
TEXTURE = HEADER + ".global .texref t;\n"


def outcomes_of(path: Path, text: str) -> dict[str, Outcome]:
    path.write_text(text)
    found = [outcome for outcome in ptx.check(str(path)) if isinstance(outcome, Outcome)]
    return {outcome.name.removeprefix(f"{path}: "): outcome for outcome in found}


def test_a_kernel_goes_through_all_stages(tmp_path: Path) -> None:
    found = outcomes_of(tmp_path / "saxpy.ptx", programs.SAXPY)
    stages = ["parse", "round trip", "optimise -O1", "optimise -O2", "optimise -O3", "assemble sm_61", "run saxpy"]
    assert {name: outcome.kind for name, outcome in found.items()} == dict.fromkeys(stages, "same")


def test_what_cannot_be_compared_says_why(tmp_path: Path) -> None:
    run = outcomes_of(tmp_path / "outside.ptx", OUTSIDE)["run k"]
    assert run.kind == "refused" and run.cause.startswith("guessed arguments: access outside of every buffer: N bytes")


def test_a_refused_file_is_one_outcome_with_its_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptx, "refused_by_ptxas", lambda path, text: "")
    found = outcomes_of(tmp_path / "texture.ptx", TEXTURE)
    assert list(found) == ["parse"]
    assert (found["parse"].kind, found["parse"].cause) == (
        "refused", "'.texref' is not supported: textures and surfaces are not covered",
    )  # fmt: skip


def other_on_the_cpu(monkeypatch: pytest.MonkeyPatch, before: str, after: str) -> None:
    """Have the CPU device run another program than the interpreter."""
    right = drawloom.load

    def load(module: object, where: str, **options: object) -> object:
        text = str(module)
        assert before in text
        return right(text.replace(before, after) if where == "cpu" else module, where, **options)

    monkeypatch.setattr(ptx.drawloom, "load", load)


def test_other_bytes_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other_on_the_cpu(monkeypatch, "fma.rn.f32 %f3, %f0, %f1, %f2", "mul.f32 %f3, %f1, %f2")
    run = outcomes_of(tmp_path / "saxpy.ptx", programs.SAXPY)["run saxpy"]
    assert (run.kind, run.cause) == ("different", "other bytes in memory, -O0")


def test_other_bytes_that_the_order_of_threads_explains_are_not_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_on_the_cpu(monkeypatch, "%tid.x", "%ctaid.x")
    run = outcomes_of(tmp_path / "order.ptx", IN_ORDER)["run k"]
    assert (run.kind, run.cause) == ("refused", "not compared: the result depends on the order of the threads")

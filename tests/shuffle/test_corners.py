"""What was rewritten once comes out of a second run as it is: corner cases are no loads to be rewritten."""

from __future__ import annotations

import pytest

from drawloom.shuffle.pipeline import shuffle
from tools.programs.stencils import generate_stencil
from tools.shuffle_suite import COMPILERS, names, text_of

HEAD = """.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 a) {
.reg .b64 %l<9>; .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .pred %p<3>;
ld.param.u64 %l1, [a];
mov.u32 %r1, %laneid; mul.wide.u32 %l2, %r1, 4; add.s64 %l3, %l1, %l2;
setp.gt.u32 %p1, %r1, 3;
"""
TAIL = "st.global.f32 [%l3], %f2;\nret; }"
CORNER = "it is done for the lanes to which a shuffle or a copy gives nothing"


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("options", [("all", False), ("all", True), ("profitable", False)])
def test_the_kernels_of_the_suite_are_rewritten_once(compiler: str, options: tuple[str, bool]) -> None:
    apply, assume_no_wrap = options
    for name in names():
        once = shuffle(text_of(compiler, name), apply=apply, assume_no_wrap=assume_no_wrap, arch="sm_61")
        twice = shuffle(str(once), apply=apply, assume_no_wrap=assume_no_wrap, arch="sm_61")
        assert not twice.report.shuffles, name
        assert str(twice) == str(once)
        corners = [one for one in twice.report.functions[0].kept if one.reason == CORNER]
        is_tested = [r for r in once.report.functions[0].rewrites if r.delta or (r.assumptions and not assume_no_wrap)]
        assert len(corners) == len(is_tested)


def test_generated_programs_are_rewritten_once() -> None:
    shuffles = 0
    for seed in (2, 4, 9, 169):  # the last has more sources than are compared
        program = generate_stencil(seed)
        once = shuffle(program.text, apply="all", shared=seed % 3 == 0, distinct_parameters=seed % 2 == 0)
        twice = shuffle(str(once), apply="all", shared=seed % 3 == 0, distinct_parameters=seed % 2 == 0)
        assert not twice.report.shuffles, seed
        shuffles += once.report.shuffles
    assert shuffles > 15


@pytest.mark.parametrize(
    ("before", "shuffles"),
    [
        ("", 1),  # a guarded load is one like any other
        ("mov.f32 %f2, 0f00000000;", 1),
        ("mov.f32 %f2, %f1;", 1),  # a value by default, but of another address
        ("mov.b32 %f2, %f3;", 0),  # that of the same address
        ("shfl.sync.down.b32 %f2, %f1, 1, 31, -1;", 0),
        ("shfl.sync.down.b32 %r2, %f1, 1, 31, -1; mov.b32 %f2, %r2;", 0),
        ("shfl.sync.down.b32 %r2, %f1, 1, 31, -1; mov.b32 %f2, %r2; add.f32 %f2, %f2, %f2;", 1),
        ("shfl.sync.down.b32 %f2, %f1, 1, 31, -1; bra X;\nX:", 1),
    ],
)
def test_a_load_that_fills_in_what_a_shuffle_has_not_given_is_none(before: str, shuffles: int) -> None:
    loads = "ld.global.nc.f32 %f1, [%l3];\n"
    text = HEAD + loads + "ld.global.nc.f32 %f3, [%l3+4];\n" + before + "\n@%p1 ld.global.nc.f32 %f2, [%l3+4];\n" + TAIL
    made = shuffle(text, apply="all").report
    guarded = [r for r in made.functions[0].rewrites if r.load.startswith("@%p1")]
    assert len(guarded) == shuffles
    assert any(one.reason == CORNER for one in made.functions[0].kept) == (not shuffles)

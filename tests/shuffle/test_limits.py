"""What keeps the emulator's work in proportion to a kernel's size: of flows, sums, nested operations and reasons."""

from __future__ import annotations

import pytest

from drawloom.shuffle.expressions import DEEP, SUM
from drawloom.shuffle.state import _MOST_ENDINGS, WRITTEN, Ending, State
from tests.shuffle.test_emulator import TWO, emulate, pairs


@pytest.mark.parametrize("value", ["%r1", "%r3"])
def test_a_table_of_many_branches_is_followed(value: str) -> None:
    """Each of 80 ways adds another number to the address; lanes are on one of them if they share the index."""
    names = [f"case{k}" for k in range(80)]
    cases = " ".join(f"{name}: mov.u64 %rd10, {4 * k}; bra end;" for k, name in enumerate(names))
    text = f"table: .branchtargets {', '.join(names)}; brx.idx {value}, table; {cases} end: add.s64 %rd5, %rd5, %rd10;"
    report = emulate(text + TWO)
    assert pairs(report) == ([(1, 0, 1)] if value == "%r1" else [])
    assert report.merged == 79


def test_a_sum_of_many_terms_is_a_number_of_its_own() -> None:
    """Pointers to which ever more loaded numbers are added."""
    report = emulate("mov.u64 %rd20, %rd5;" + "".join(
        f"ld.global.u64 %rd21, [%rd6+{8 * k}]; add.s64 %rd20, %rd20, %rd21; ld.global.f32 %f1, [%rd20];"
        for k in range(100)
    ) + "ld.global.f32 %f2, [%rd20]; ld.global.f32 %f3, [%rd20+4];")  # fmt: skip
    x = report.expressions
    assert max(len(args) for name, args in zip(x.names, x.args, strict=True) if name == SUM) < 100
    assert DEEP in x.names
    assert (200, 199, 0) in pairs(report)


def test_what_lanes_share_of_a_sum_of_many_terms_is_one_of_them() -> None:
    """Ever more loaded numbers that are the same for the warp."""
    report = emulate("mov.u64 %rd20, %rd5;" + "".join(
        f"ld.global.u64 %rd21, [%rd3+{8 * k}]; add.s64 %rd20, %rd20, %rd21;" for k in range(200)
    ) + TWO.replace("%rd5", "%rd20"))  # fmt: skip
    x = report.expressions
    assert max(len(args) for name, args in zip(x.names, x.args, strict=True) if name == SUM) < 100
    assert pairs(report) == [(201, 200, 1)]


def test_operations_that_are_nested_deeply_are_followed_down_to_a_limit() -> None:
    """Pointers that are mixed with themselves; Python allows a thousand calls in each other."""
    report = emulate("mov.u64 %rd20, %rd1;" + "".join(
        f"shr.u64 %rd21, %rd20, {k % 7 + 1}; xor.b64 %rd20, %rd20, %rd21; st.global.f32 [%rd20], %f1;"
        for k in range(200)
    ) + TWO)  # fmt: skip
    assert pairs(report) == [(1, 0, 1)]
    assert DEEP in report.expressions.names


def test_the_last_reasons_are_kept() -> None:
    state = State([], {}, {}, 0, [])
    for number in range(1000):
        state.end(Ending(("global", 32, 0, 0), number, 0, WRITTEN))
    assert _MOST_ENDINGS <= len(state.endings) <= 2 * _MOST_ENDINGS
    assert state.endings[-1].number == 999
    assert [e.number for e in state.copy().endings] == list(range(1000 - _MOST_ENDINGS, 1000))

"""Why a load stays: what stands between it and what has loaded it before, by line."""

from __future__ import annotations

import pytest

from drawloom.shuffle.pipeline import shuffle

HEAD = """.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n) {
.reg .b64 %l<9>; .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .pred %p<3>;
ld.param.u64 %l1, [a]; ld.param.u64 %l4, [b]; ld.param.u32 %r2, [n];
mov.u32 %r1, %laneid; mul.wide.u32 %l2, %r1, 4; add.s64 %l3, %l1, %l2; add.s64 %l5, %l4, %l2;
setp.gt.u32 %p1, %r1, 3;
"""
#: A store whose distance from what is loaded differs in each lane, so that the entry cannot tell it.
MASKED = "and.b64 %l6, %l2, 52; add.s64 %l6, %l4, %l6; st.global.f32 [%l6], %f1;"
FIRST = "ld.global.f32 %f1, [%l3];"
SECOND = "ld.global.f32 %f2, [%l3+4];"
PROMISED = "with --distinct-parameters it has not"


def reasons(body: str, distinct_parameters: bool = False) -> dict[int, str]:
    """By line, from 9 on, why loads stay."""
    made = shuffle(
        HEAD + body + "\nst.global.f32 [%l5], %f2;\nret; }", apply="all", distinct_parameters=distinct_parameters
    )
    return {one.place[0]: one.reason for one in made.report.functions[0].kept}


@pytest.mark.parametrize(
    ("between", "reason"),
    [
        (
            MASKED,
            f"line 9:1 has loaded it, but line 10:46 may have written to it since ({PROMISED})",
        ),
        ("st.global.f32 [%l3], %f1;", "line 9:1 has loaded it, but line 10:1 may have written to it since"),
        ("bar.sync 0;", "line 9:1 has loaded it, but what others have written may be visible since line 10:1"),
        ("membar.gl;", "line 9:1 has loaded it, but what others have written may be visible since line 10:1"),
        ("red.global.add.u32 [%l5], 1;", "line 9:1 has loaded it, but line 10:1 may have written to it since"),
        ("new.op;", "line 9:1 has loaded it, but what others have written may be visible since line 10:1"),
    ],
)
def test_what_has_ended_a_value_is_named(between: str, reason: str) -> None:
    found = reasons(f"{FIRST}\n{between}\n{SECOND}")
    assert found[9] == "no other lane has loaded it"
    assert found[11].removesuffix(f" ({PROMISED})") == reason.removesuffix(f" ({PROMISED})")
    assert (PROMISED in found[11]) == (between == MASKED)


def test_a_promise_that_was_made_is_not_asked_for() -> None:
    assert reasons(f"{FIRST}\nst.global.f32 [%l5], %f1;\n{SECOND}", distinct_parameters=True).keys() == {9}


def test_a_guard_that_lanes_do_not_share_is_the_reason() -> None:
    assert reasons(f"@%p1 {FIRST}\n{SECOND}")[10] == "line 9:6 loads it under a guard that lanes do not share"


def test_a_load_on_some_ways_is_the_reason() -> None:
    found = reasons(f"@%p1 bra X;\n{FIRST}\nX:\n{SECOND}")
    assert found[12] == "line 10:1 has loaded it on some of the ways only that come here"


def test_loops_are_the_reason() -> None:
    loop = "X:\nadd.s32 %r2, %r2, -1;\n{0}\nsetp.ne.s32 %p2, %r2, 0;\n@%p2 bra X;"
    found = reasons(f"{FIRST}\n{loop.format(SECOND + ' st.global.f32 [%l5], %f2;')}")
    assert found[12] == "line 9:1 has loaded it before a loop that may write to it"
    found = reasons(f"{loop.format(FIRST)}\n{SECOND}")
    assert found[14] == "line 11:1 has loaded it in a loop that is over"


#: A cycle of X and Y that lanes enter at both, by a branch that they do not share.
ENTERED_TWICE = """@%p1 bra Y;
X:
add.s32 %r2, %r2, -1;
Y:
{inside}
setp.gt.s32 %p2, %r2, 0;
@%p2 bra X;
{behind}"""


def test_a_load_in_a_cycle_of_two_entries_is_refused_by_name() -> None:
    text = ENTERED_TWICE.format(inside=f"{FIRST} {SECOND} st.global.f32 [%l5], %f2;", behind="")
    found = reasons(text)
    assert set(found.values()) == {"it is in a cycle that can be entered at several places"}


def test_lanes_behind_a_cycle_of_two_entries_are_not_taken_to_be_in_one_iteration() -> None:
    """A regular loop around the cycle: no meeting can be counted there, so that its loads stay."""
    cycle = ENTERED_TWICE.format(inside="", behind=f"{FIRST} {SECOND} st.global.f32 [%l5], %f2;")
    text = f"mov.u32 %r3, 4;\nOUTER:\nld.global.u32 %r2, [%l5];\n{cycle}\nsub.u32 %r3, %r3, 1;"
    text += "\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 bra OUTER;"
    made = shuffle(HEAD + text + "\nst.global.f32 [%l5], %f2;\nret; }", apply="all")
    assert made.report.shuffles == 0
    assert "shfl" not in str(made) and "vote" not in str(made)


def test_a_load_whose_source_is_a_shuffle_itself_says_so() -> None:
    found = reasons(f"{FIRST}\n{SECOND}\nld.global.f32 %f3, [%l3+128];")
    assert found[11] == "line 10:1 has loaded it, which is a shuffle itself"

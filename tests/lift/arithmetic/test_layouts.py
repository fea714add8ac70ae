"""Indices of random chains of layout patterns: they stay in bounds, which is proved, and few divisions are left."""

from __future__ import annotations

from drawloom.lift.arithmetic import is_less, is_nonnegative
from tools.programs.layouts import Layout

CHAINS = 120


def test_chains_are_proved_to_be_in_bounds() -> None:
    proved = 0
    for seed in range(CHAINS):
        layout = Layout(seed, exact=True)
        index = layout.index()
        assert is_nonnegative(index)
        proved += is_less(index, layout.total)
    assert proved >= CHAINS - 2  # two assert by a split what the index no longer shows


def test_split_join_and_transposition_leave_no_divisions() -> None:
    with_divisions = 0
    for seed in range(CHAINS):
        text = str(Layout(seed, exact=True).index())
        with_divisions += "/" in text.replace("/^", "") or " mod " in text
    assert with_divisions <= 10  # strides and joins of lengths that do not divide each other


def test_padded_and_sliding_chains_are_proved_to_be_in_bounds() -> None:
    proved = 0
    for seed in range(CHAINS):
        layout = Layout(seed)
        proved += is_less(layout.index(), layout.total)
    assert proved >= CHAINS - 3  # of two the assertions cannot hold

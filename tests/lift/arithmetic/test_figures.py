"""Indices that the thesis prints: figure 4.6, listing 4.4, and section 2.4.2.1's transposition."""

from __future__ import annotations

from drawloom.lift.arithmetic import (
    Nat,
    c_text,
    evaluate,
    index,
    parse,
    simplify,
    substitute,
    unsimplified,
    variable,
)

N = variable("N")
M = variable("M")
WG = index("wg", M)
L = index("l", N)
NAMES = {"N": N, "M": M, "wg": WG, "l": L}

FIGURE_46 = "((((wg×N+l)/N + ((wg×N+l) mod N)×M)/M)×M + ((wg×N+l)/N + ((wg×N+l) mod N)×M) mod M)"  # line 1, closed


def test_figure_46_first_line_becomes_its_third() -> None:
    assert str(parse(FIGURE_46, NAMES)) == "l*M + wg"
    assert c_text(parse(FIGURE_46, NAMES)) == "l * M + wg"


def test_figure_46_second_line_becomes_its_third() -> None:
    assert parse("((wg + l×M)/M)×M + (wg + l×M) mod M", NAMES) is L * M + WG


def test_unsimplified_keeps_figure_46_first_line() -> None:
    with unsimplified():
        raw = parse(FIGURE_46, NAMES)
    assert str(raw).count("mod") == 3
    assert simplify(raw) is L * M + WG


def _gathered(row_length: int, rows: int, order: str) -> list[list[int]]:
    """Return the transposition of a matrix of consecutive numbers, by a gather that `order` gives."""
    n, m = variable("nrows"), variable("ncols")
    i = variable("i", 0, n * m)
    source = parse(order, {"nrows": n, "ncols": m, "i": i})
    flat = [evaluate(source, {n: rows, m: row_length, i: k}) for k in range(rows * row_length)]
    return [flat[k * rows : (k + 1) * rows] for k in range(row_length)]


def test_listing_44_gathers_a_transposition_of_any_shape() -> None:
    for rows, columns in ((2, 3), (3, 2), (4, 4), (1, 5)):
        expected = [[row * columns + column for row in range(rows)] for column in range(columns)]
        assert _gathered(columns, rows, "i / nrows + (i mod nrows) × ncols") == expected


def test_section_2421_formula_gathers_a_transposition_of_square_matrices_only() -> None:
    printed = "(i mod ncols) × nrows + i / ncols"
    assert _gathered(4, 4, printed) == [[row * 4 + column for row in range(4)] for column in range(4)]
    assert _gathered(3, 2, printed) != [[row * 3 + column for row in range(2)] for column in range(3)]


def test_known_lengths_fold_the_index() -> None:
    i = variable("i", 0, 12)
    source = i // 4 + (i % 4) * 3
    assert [evaluate(source, {i: k}) for k in range(4)] == [0, 3, 6, 9]
    assert substitute(source, {i: 11}) is parse("11", {})
    assert isinstance(source, Nat)

"""Equal expressions become one object."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from drawloom.lift.arithmetic import (
    Launch,
    c_condition,
    c_text,
    ceil_div,
    constant,
    divides,
    exact_div,
    index,
    is_less,
    is_provably_true,
    is_zero,
    less,
    less_equal,
    maximum,
    minimum,
    negation,
    parse,
    select,
    solve,
    substitute,
    upper_bound,
    variable,
)

N = variable("N")
M = variable("M")
K = variable("K")
X = index("x", N)
Y = index("y", M)


def test_sums_and_products_have_one_form() -> None:
    assert (N + M) * (N - M) is N * N - M * M
    assert (N + 1) ** 2 is N * N + 2 * N + 1
    assert str((N + 1) ** 2) == "N^2 + 2*N + 1"
    assert is_zero(N * M - M * N)


def test_exact_division_cancels() -> None:
    quarter = exact_div(N, 4)
    assert quarter * 4 is N
    assert quarter * 2 is exact_div(N, 2)
    assert exact_div(quarter, 2) is exact_div(N, 8)
    assert exact_div(N * M, M) is N
    assert exact_div(N, M) * M is N
    assert exact_div(N, M + 1) * (M + 1) is N
    assert exact_div(4 * N + M, 4) is N + exact_div(M, 4)


def test_split_of_an_exact_part_stays_in_bounds() -> None:
    i = index("i", exact_div(N, 4))
    j = index("j", 4)
    assert is_less(i * 4 + j, N)
    assert (i * 4 + j) % N is i * 4 + j
    assert (i * 4 + j) // 4 is i


def test_padded_rows_divide_by_their_sum() -> None:
    i = index("i", N)
    j = index("j", M + 2)
    assert (i * (M + 2) + j) // (M + 2) is i
    assert (i * (M + 2) + j) % (M + 2) is j


def test_windows_of_slide_stay_in_bounds() -> None:
    windows = (N - 3 + 2) // 2
    window, offset = index("w", windows), index("o", 3)
    assert is_less(2 * window + offset, N)
    assert (2 * window + offset) % N is 2 * window + offset


def test_rounded_up_quotients() -> None:
    assert ceil_div(4 * N, 4) is N
    assert ceil_div(N, 4) is (N - 1) // 4 + 1
    assert is_provably_true(less_equal(N, ceil_div(N, 4) * 4))


def test_steps_prove_divisibility() -> None:
    rows = variable("rows", 128, None, 128)
    assert divides(4, rows) and not divides(3, rows)
    assert rows % 128 is constant(0)
    assert rows // 4 is exact_div(rows, 4)
    i = variable("i", 0, rows, 4)
    assert is_less(i + 3, rows)
    vectors = exact_div(rows, 4)
    assert divides(32, vectors) and not divides(64, vectors)
    assert ceil_div(vectors, 16) * 16 is vectors


def test_minimum_and_maximum_use_ranges() -> None:
    assert minimum(X, N) is X
    assert maximum(X, N, 0) is N
    assert minimum(N, M) is minimum(M, N)
    assert is_provably_true(less(minimum(N - 1, M), N))


def test_clamped_indices_are_in_bounds() -> None:
    shifted = X - 1
    clamped = select(less(shifted, 0), 0, select(less_equal(N, shifted), N - 1, shifted))
    assert str(clamped) == "(x < 1 ? 0 : x - 1)"
    assert clamped % N is clamped


def test_conditions_have_one_form() -> None:
    assert less(X, N) is less_equal(X, N - 1)
    assert is_provably_true(less(X, N))
    assert str(less(X, M)) == "x < M"
    assert negation(negation(less(X, M))) is less(X, M)
    assert less(4 * X, 4 * M) is less(X, M)
    assert c_condition(less(X + Y * N, M)) == "y * N + x < M"


def test_wrapped_indices_print_without_negative_dividends() -> None:
    assert c_text((X - 1) % N) == "(x - 1 + N) % N"
    assert c_text((X - 1) // N) == "(x - 1 + N) / N - 1"
    assert c_text((X - 1) % 4) == "(x + 3) % 4"


def test_known_thread_counts_replace_calls() -> None:
    known = Launch(local_size=(64, 1, 1), num_groups=(16, 1, 1))
    assert known.local_size(0) is constant(64)
    assert known.global_size(0) is constant(1024)
    assert known.local_id(1) // 2 is constant(0)
    unknown = Launch()
    assert unknown.local_id(0) // unknown.local_size(0) is constant(0)
    assert c_text(unknown.local_id(0) + 64 * unknown.group_id(0)) == "64 * (int)get_group_id(0) + (int)get_local_id(0)"


def test_lengths_are_solved_for() -> None:
    unknown = variable("u")
    assert solve(unknown * 4, N * 4, unknown) is N
    assert solve(unknown * 4 + 2, N * 4 + 2, unknown) is N
    assert solve(exact_div(unknown, 4), M, unknown) is 4 * M
    assert solve(unknown, N // 4, unknown) is N // 4
    assert solve(unknown * 4, constant(6), unknown) is None
    assert solve(unknown * unknown, N, unknown) is None


def test_substitution_simplifies_again() -> None:
    assert substitute(N // 4 + N % 4, {N: 4 * M}) is M
    assert substitute((X * M + Y) // K, {K: M}) is X


def test_bounds_name_lengths_only() -> None:
    assert upper_bound(X * M + Y) is N * M - 1
    assert upper_bound(X // 4) is (N - 1) // 4


def test_what_prints_parses_to_the_same_object() -> None:
    names = {"N": N, "M": M, "K": K, "x": X, "y": Y}
    for expression in (
        (X * M + Y) // K % 3 - N,
        exact_div(N, 4) + 2**X - minimum(N, M * K),
        select(less(X, M), -X, maximum(Y, K) % 7),
        -((X - 3) % K),
    ):
        assert parse(str(expression), names) is expression


def test_threads_share_one_object_for_a_form() -> None:
    lengths = [variable(f"T{number}") for number in range(40)]

    def forms(_: int) -> list[int]:
        return [id((a * b + a + b) // (a + 1)) for a in lengths for b in lengths[:5]]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(forms, range(16)))
    assert all(ids == found[0] for ids in found)

"""Every pattern: the type of a program with it, and its value for small arrays, worked out by hand or by NumPy."""

from typing import Any

import numpy as np
import pytest

from drawloom import OutOfMemoryError
from drawloom.lift import SizeError, find_sizes, infer_types, interpret, parse_program

X = np.arange(1, 7, dtype=np.float32)  # of length 6
I6 = np.array([3, -1, 2, 5, 0, 4], np.int32)
M = np.arange(12, dtype=np.float32).reshape(3, 4)

#: program over `x`, its arguments, the printed type of the result, the result
CASES: list[tuple[str, list[Any], str, Any]] = [
    ("(x: [float]N) = id(x)", [X], "[float]N", X),
    ("(x: [float]N) = map(mult(2), x)", [X], "[float]N", 2 * X),
    ("(x: [[float]M]N) = map(map(neg), x)", [M], "[[float]M]N", -M),
    ("(x: [[float]M]N) = map(mapSeq(neg), x)", [M], "[[float]M]N", -M),
    ("(x: [[float]M]N) = mapWrg(1)(mapLcl(2)(neg), x)", [M], "[[float]M]N", -M),
    ("(x: [[float]M]N) = mapGlb(0)(neg) ∘ join(x)", [M], "[float](M*N)", -M.ravel()),
    ("(x: [[float]M]N) = mapWarp(0)(mapLane(0)(neg), x)", [M], "[[float]M]N", -M),
    ("(x: [float]N) = reduce(0, add, x)", [X], "[float]1", [21]),
    ("(x: [float]N) = reduce(10, +, x)", [X], "[float]1", [31]),
    ("(x: [float]N) = reduce(1, ×, x)", [X], "[float]1", [720]),
    ("(x: [float]N) = reduceSeq(0, λ (a, y) . a × 2 + y, x)", [X], "[float]1", [120]),
    ("(x: [int]N) = reduceSeq(0.0f, λ (a, y) . a, x)", [I6], "[float]1", [0]),
    ("(x: [[float]M]N) = map(reduceSeq(0, add), x)", [M], "[[float]1]N", M.sum(axis=1, keepdims=True)),
    (
        "(x: [[float]M]N) = reduceSeq(replicate(M, 0), λ (acc, row) ."
        "  map(λ p . get(0, p) + get(1, p), zip(acc, row)), x)",
        [M],
        "[[float]M]1",
        M.sum(axis=0, keepdims=True),
    ),
    (
        "(x: [[float]M]N) = reduce(replicate(M, 0), λ (acc, row) . map(λ p . get(0, p) + get(1, p), zip(acc, row)), x)",
        [M],
        "[[float]M]1",
        M.sum(axis=0, keepdims=True),
    ),
    ("(x: [float]N) = partialReduce(3, 0, add, x)", [X], "[float]3", [3, 7, 11]),
    ("(x: [float]N) = iterate(3, map(mult(2)), x)", [X], "[float]N", 8 * X),
    ("(x: [float]8) = iterate(2, join ∘ map(reduceSeq(0, add)) ∘ split(2), x)", [np.ones(8, "f")], "[float]2", [4, 4]),
    (
        "(x: [float]N) = iterate(2, join ∘ map(reduceSeq(0, add)) ∘ split(2), x)",
        [np.ones(8, "f")],
        "[float](N/^4)",
        [4, 4],
    ),
    ("(x: [int]N) = scan(0, add, x)", [I6], "[int]N", np.cumsum(I6)),
    ("(x: [int]N) = scanSeq(1, mult, x)", [I6], "[int]N", np.cumprod(I6)),
    ("(x: [int]N) = scanExclusive(0, add, x)", [I6], "[int]N", [0, 3, 2, 4, 9, 9]),
    ("(x: [int]N) = scanExclusiveSeq(7, add, x)", [I6], "[int]N", [7, 10, 9, 11, 16, 16]),
    (
        "(x: [int]N, y: [int]4) = mapAtomic(λ v . (minimum(maximum(v, 0), 3), 1), add, y, x)",
        [I6, np.zeros(4, np.int32)],
        "[int]4",
        [2, 0, 1, 3],
    ),
    ("(x: [float]N) = split(2, x)", [X], "[[float]2](N/^2)", X.reshape(3, 2)),
    ("(x: [float]12) = split(4, x)", [np.zeros(12, "f")], "[[float]4]3", np.zeros((3, 4))),
    ("(x: [float]N) = join ∘ split(2, x)", [X], "[float]N", X),
    ("(x: [float]N) = join ∘ map(map(neg)) ∘ splitGuarded(4, x)", [X], "[float]N", -X),
    ("(x: [float]N) = map(reduceSeq(0, add)) ∘ splitGuarded(4, x)", [X], "[[float]1]((N + 3)/4)", [[10], [11]]),
    ("(x: [float]N) = gather(reverse, x)", [X], "[float]N", X[::-1]),
    ("(x: [float]N) = gather(i → (i + 2) mod N, x)", [X], "[float]N", np.roll(X, -2)),
    ("(x: [float]N) = scatter((i, n) → (i + 2) mod n, x)", [X], "[float]N", np.roll(X, 2)),
    ("(x: [float]N, i: [int]M) = lookup(x, i)", [X, np.int32([5, 0, 0])], "[float]M", [6, 1, 1]),
    (
        "(x: [[float]M]N, i: [[int]K]N) = map(lookup, zip(x, i))",
        [M, np.int32([[0, 1], [3, 3], [2, 1]])],
        "[[float]K]N",
        [[0, 1], [7, 7], [10, 9]],
    ),
    ("(x: [[float]M]N) = transpose(x)", [M], "[[float]N]M", M.T),
    ("(x: [[float]M]N) = split(N) ∘ gather(i → i/N + (i mod N)*M) ∘ join(x)", [M], "[[float]N]M", M.T),
    ("(x: [float]N, y: [int]N) = zip(x, y)", [X, I6], "[(float, int)]N", (X, I6)),
    ("(x: [float]N, y: [int]N) = zip(x, y, x)", [X, I6], "[(float, int, float)]N", (X, I6, X)),
    ("(x: [(float, int)]N) = unzip(x)", [(X, I6)], "([float]N, [int]N)", (X, I6)),
    ("(x: [(float, int)]N) = map(get(1), x)", [(X, I6)], "[int]N", I6),
    ("(x: [float]N, y: [int]N) = (y, x)", [X, I6], "([int]N, [float]N)", (I6, X)),
    (
        "(x: [float]N) = slide(3, 1, x)",
        [X],
        "[[float]3](N - 2)",
        np.lib.stride_tricks.sliding_window_view(X, 3),
    ),
    ("(x: [float]6) = slide(2, 2, x)", [X], "[[float]2]3", X.reshape(3, 2)),
    ("(x: [float]N) = pad(2, 1, clamp, x)", [X], "[float](N + 3)", np.pad(X, (2, 1), "edge")),
    ("(x: [float]N) = pad(2, 1, mirror, x)", [X], "[float](N + 3)", np.pad(X, (2, 1), "symmetric")),
    ("(x: [float]N) = pad(2, 1, wrap, x)", [X], "[float](N + 3)", np.pad(X, (2, 1), "wrap")),
    (
        "(x: [float]N) = pad(2, 1, (i, n) → max(min(-i, n - 2), 0), x)",
        [X],
        "[float](N + 3)",
        np.concatenate([X[[2, 1]], X, X[:1]]),
    ),
    ("(x: [float]N) = pad(2, 0, i → -1 - i, x)", [X], "[float](N + 2)", np.pad(X, (2, 0), "symmetric")),
    ("(x: [float]N) = pad(2, 1, 0, x)", [X], "[float](N + 3)", np.pad(X, (2, 1))),
    ("(x: [[float]M]N) = padValue(1, 0, replicate(M, 5), x)", [M], "[[float]M](N + 1)", np.vstack([[5] * 4, M])),
    ("(x: [float]N) = head(x)", [X], "float", 1),
    ("(x: [[float]M]N) = map(head, x)", [M], "[float]N", M[:, 0]),
    ("(x: [float]N) = take(2, x)", [X], "[float]2", X[:2]),
    ("(x: [float]N) = drop(2, x)", [X], "[float](N - 2)", X[2:]),
    ("(x: [float]N) = concat(x, drop(4, x))", [X], "[float](2*N - 4)", np.concatenate([X, X[4:]])),
    ("(x: float) = replicate(2) ∘ replicate(3, x)", [np.float32(4)], "[[float]3]2", np.full((2, 3), 4)),
    ("(x: float) = make2DArray(2, 3, x)", [np.float32(4)], "[[float]3]2", np.full((2, 3), 4)),
    ("(x: float) = [x, 2, 3.5]", [np.float32(1)], "[float]3", [1, 2, 3.5]),
    ("(x: [int]N) = map(λ p . get(0, p) × get(1, p), zip(x, iota(N)))", [I6], "[int]N", I6 * np.arange(6)),
    ("(x: [float]N) = asVector(2, x)", [X], "[float2](N/^2)", X.reshape(3, 2)),
    ("(x: [float4]N) = asScalar(x)", [M], "[float](4*N)", M.ravel()),
    ("(x: [float4]N) = map(vectorize(4, mult(2)), x)", [M], "[float4]N", 2 * M),
    ("(x: [float4]N, a: float) = map(vectorize(4, mult)(a), x)", [M, 3.0], "[float4]N", 3 * M),
    ("(x: [float4]N) = map(λ v . dot(v, v), x)", [M], "[float]N", (M * M).sum(axis=1)),
    (
        "(x: [float4]N) = map(λ v . add(v, (float4)(1.0f, 2.0f, 3.0f, 4.0f)), x)",
        [M],
        "[float4]N",
        M + np.arange(1, 5),
    ),
    ("(x: [float4]N) = reduceSeq((float4)0.0f, add, x)", [M], "[float4]1", M.sum(axis=0, keepdims=True)),
    ("(x: [[float]M]N) = toGlobal(map(toLocal(map(toPrivate(id)))))(x)", [M], "[[float]M]N", M),
    ("(x: [float]N) = kernel(mapGlb(0)(neg)) ∘ kernel(mapGlb(neg), x)", [X], "[float]N", X),
    ("(x: [[float]M]N) = untile ∘ tile(3, 2, x)", [M], "[[float]M]N", M),
    (
        "(x: [[float]4]6) = tile(3, 2, x)",
        [np.arange(24, dtype="f").reshape(6, 4)],
        "[[[[float]2]3]2]2",
        np.arange(24).reshape(2, 3, 2, 2).swapaxes(1, 2),
    ),
    ("(x: [[float]M]N, a: float) = map(map(add(a)), x)", [M, 1.5], "[[float]M]N", M + 1.5),
    ("(x: [float]N, y: [float]M) = map(λ a . map(λ b . a × b, y), x)", [X, X[:2]], "[[float]M]N", np.outer(X, X[:2])),
    ("(x: [float]N) = (λ y . zip(y, y))(x)", [X], "[(float, float)]N", (X, X)),
    (
        "bool small(int x) { return x < 3; } f(x: [int]N) = filter(small, -7, x)",
        [I6],
        "([int]N, int)",
        ([-1, 2, 0, -7, -7, -7], 3),
    ),
    (
        "bool small(float x) { return x < 5.0f; } f(x: [[float]M]N) = map(filter(small, 0), x)",
        [M],
        "[([float]M, int)]N",
        ([[0, 1, 2, 3], [4, 0, 0, 0], [0, 0, 0, 0]], [4, 1, 0]),
    ),
]


def program_of(text: str) -> Any:
    return infer_types(parse_program(text if not text.startswith("(") else "f" + text))


def equal(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return all(equal(one, other) for one, other in zip(found, expected, strict=True))
    return bool(np.array_equal(found, np.asarray(expected, found.dtype))) and found.shape == np.shape(expected)


@pytest.mark.parametrize(("text", "arguments", "type", "expected"), CASES, ids=[case[0] for case in CASES])
def test_type_and_value(text: str, arguments: list[Any], type: str, expected: Any) -> None:
    program = program_of(text)
    assert str(program.body.type) == type
    assert equal(interpret(program, *arguments), expected)


def test_a_symbolic_number_of_iterations_changes_the_length_by_a_power() -> None:
    halving = program_of("(x: [float]N) = iterate(k, join ∘ map(reduceSeq(0, add)) ∘ split(2), x)")
    doubling = program_of("(x: [float]N) = iterate(k, λ y . concat(y, y), x)")
    assert str(halving.body.type) == "[float](N/^2^k)"
    assert str(doubling.body.type) == "[float](N*2^k)"
    for program, value in ((halving, [4, 4]), (doubling, [1] * 32)):
        times = find_sizes(program)["k"]
        assert interpret(program, np.ones(8, np.float32), sizes={times: 2}).tolist() == value


def test_an_array_larger_than_the_memory_is_refused() -> None:
    program = program_of("(x: float) = replicate(99999) ∘ replicate(99999) ∘ replicate(9999, x)")
    with pytest.raises(OutOfMemoryError, match="do not fit in memory"):
        interpret(program, 1.0)


@pytest.mark.parametrize("length", [1, 2, 5, 7, 8, 13])
def test_a_guarded_split_takes_any_length(length: int) -> None:
    x = np.arange(length, dtype=np.float32)
    mapped = program_of("(x: [float]N) = join ∘ mapWrg(0)(mapLcl(0)(add(1))) ∘ splitGuarded(4, x)")
    assert interpret(mapped, x).tolist() == (x + 1).tolist()
    reduced = program_of("(x: [float]N) = join ∘ mapWrg(0)(reduceSeq(0, add)) ∘ splitGuarded(4, x)")
    assert interpret(reduced, x).tolist() == [x[at : at + 4].sum() for at in range(0, length, 4)]


@pytest.mark.parametrize("length", [1, 5, 7, 12, 13])
def test_chunks_of_a_guarded_split_are_reduced_in_order(length: int) -> None:
    x = np.arange(length, dtype=np.float32)
    program = program_of(
        "(x: [float]N) = reduceSeq(0, λ (total, chunk) . total × 2 + (head ∘ reduceSeq(0, add, chunk))) ∘"
        "  splitGuarded(4, x)"
    )
    total = np.float32(0)
    for start in range(0, length, 4):
        total = total * 2 + x[start : start + 4].sum()
    assert interpret(program, x).tolist() == [total]


@pytest.mark.parametrize("length", [1, 5, 7, 13])
def test_two_guarded_splits_tile_a_matrix_of_any_size(length: int) -> None:
    x = np.arange(length * 11, dtype=np.float32).reshape(length, 11)
    program = program_of(
        "(x: [[float]M]N) = join ∘ mapWrg(0)("
        "  transpose ∘ join ∘ mapWrg(1)(mapLcl(0)(mapLcl(1)(neg))) ∘ splitGuarded(3) ∘ transpose) ∘ splitGuarded(2, x)"
    )
    assert str(program.body.type) == "[[float]M]N"
    assert interpret(program, x).tolist() == (-x).tolist()


@pytest.mark.parametrize(
    ("text", "length", "message"),
    [
        ("(x: [float]N) = split(4, x)", 6, "split: 6 elements cannot be split into chunks of 4"),
        ("(x: [float]N) = asVector(4, x)", 6, "asVector: 6 elements cannot be read as vectors of 4"),
        ("(x: [float]N) = partialReduce(4, 0, add, x)", 6, "partialReduce: 6 elements cannot be reduced to 4"),
        ("(x: [float]N) = gather(i → 5 * i mod N, x)", 10, "gather: its index function is not a permutation of 10"),
        ("(x: [float]N) = gather(i → i / 2 + (N/2) * (i mod 2), x)", 7, "indices 1 and 6 both become 3"),
        ("(x: [float]N) = slide(3, 2, x)", 6, "slide: windows of 3 elements every 2 do not fit 6 elements"),
        ("(x: [float]N) = take(7, x)", 6, "take: 7 elements cannot be taken of 6"),
        ("(x: [float]N) = pad(7, 0, wrap, x)", 6, "pad: wrap of 7 elements beside an array of 6"),
        ("(x: [float]N) = pad(1, 2, i → i, x)", 6, "padIndex: index -1 becomes -1, outside the array of 6 elements"),
        ("(x: [float]N) = pad(0, 1, i → i - 8, x)", 6, "padIndex: index 6 becomes -2, outside the array of 6"),
        ("(x: [float](4*N)) = x", 6, "axis 0 of argument x has length 6, which does not fit 4*N"),
        ("(x: [float]8) = x", 6, "axis 0 of argument x has length 6, expected 8"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(text: str, length: int, message: str) -> None:
    program = program_of(text)
    with pytest.raises(SizeError) as refusal:
        interpret(program, np.ones(length, np.float32))
    assert message in str(refusal.value)


def test_sizes_of_different_arguments_must_agree() -> None:
    program = program_of("(x: [float]N, y: [float]N) = zip(x, y)")
    with pytest.raises(SizeError, match="axis 0 of argument y has length 5, expected N = 6"):
        interpret(program, X, X[:5])


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (np.ones(4), "expected elements of float32, found float64"),
        (np.ones((4, 4), np.float32), "expected 1 axes for its type, found 2"),
        ([1.0, 2.0], "expected a NumPy array of float32, found a list of 2"),
        (None, "found NoneType"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(argument: Any, message: str) -> None:
    with pytest.raises(SizeError, match=message):
        interpret(program_of("(x: [float]N) = x"), argument)


def test_the_number_of_arguments_must_be_right() -> None:
    with pytest.raises(SizeError, match="the program takes 1 argument, found 2"):
        interpret(program_of("(x: [float]N) = x"), X, X)


def test_patterns_of_no_elements_have_results_of_no_elements() -> None:
    """A scan of nothing, and a map over the chunks of nothing, had no last element to take the shape from."""
    five = np.ones(5, np.float32)
    for text in (
        "scanSeq(0, add)",
        "scanExclusiveSeq(0, add)",
        "join ∘ map(reduceSeq(0, add)) ∘ splitGuarded(8)",
        "join ∘ map(map(neg)) ∘ splitGuarded(8)",
    ):
        found = interpret(program_of(f"(x: [float]N) = {text} ∘ drop(5, x)"), five)
        assert found.shape == (0,) and found.dtype == np.float32, text

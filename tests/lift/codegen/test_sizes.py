"""Sizes that do not fit a program or the device are refused with the pattern and the line; nothing is launched."""

from typing import Any

import numpy as np
import pytest

from drawloom import lift
from drawloom.lift import Lambda, SizeError, array, compile, float32, fun, id, interpret, map_glb, parse_program, size
from tests.lift.codegen.runners import check, integers

COPY = "f(x: [float]N) = mapGlb(0)(id, x)"
GROUPS = "f(x: [float]N) = join ∘ mapWrg(0)(mapLcl(0)(id)) ∘ split(16, x)"
STAGED = (
    "f(x: [float]N) = join ∘ mapWrg(0)(toGlobal(mapLcl(0)(id)) ∘ gather(reverse) ∘ toLocal(mapLcl(0)(id))) ∘ "
    "split({}, x)"
)

#: A program, the length of its argument, and the error.
UNFIT = [
    (GROUPS, 20, "split: 20 elements cannot be split into chunks of 16"),
    (
        "f(x: [float]N) = asScalar ∘ mapGlb(0)(id) ∘ asVector(4, x)",
        21,
        "asVector: 21 elements cannot be read as vectors",
    ),
    ("f(x: [float]N) = mapGlb(0)(id) ∘ take(4, x)", 3, "take: 4 elements cannot be taken of 3"),
    ("f(x: [float]N) = mapGlb(0)(id) ∘ drop(4, x)", 3, "drop: 4 elements cannot be dropped of 3"),
    (
        "f(x: [float]N) = mapGlb(0)(reduceSeq(0, add)) ∘ slide(3, 1, x)",
        2,
        "slide: windows of 3 elements every 1 do not",
    ),
    (
        "f(x: [float]N) = mapGlb(0)(reduceSeq(0, add)) ∘ slide(3, 2, x)",
        6,
        "slide: windows of 3 elements every 2 do not",
    ),
    ("f(x: [float]N) = mapGlb(0)(id ∘ head ∘ drop(3)) ∘ slide(N, 1, x)", 3, "head: an array of 0 elements has no"),
    ("f(x: [float]N) = mapGlb(0)(id)(concat(x, replicate(N - 4, 0.0)))", 3, "replicate: .*length N - 4 (=|is) -1"),
    ("f(x: [float]N) = mapGlb(0)(id) ∘ pad(4, 4, mirror, x)", 2, "pad: mirror of 4 elements beside an array of 2"),
    ("f(x: [float]N) = mapGlb(0)(id) ∘ pad(4, 4, wrap, x)", 2, "pad: wrap of 4 elements beside an array of 2"),
    (
        "f(x: [float]N) = mapGlb(0)(id) ∘ gather(i → 5 * i mod N, x)",
        10,
        "gather: its index function is not a permutation",
    ),
    (
        "f(x: [float]N) = mapGlb(0)(λ c . mapSeq(id) ∘ join ∘ split(2, c)) ∘ splitGuarded(4, x)",
        7,
        "split: 3 elements cannot be split into chunks of 2",
    ),
    (STAGED.format(20000), 20000, "mapLcl: kernel f needs 80000 bytes of local memory, most of them for tile"),
]


@pytest.mark.parametrize(("text", "length", "message"), UNFIT)
def test_arrays_that_do_not_fit_the_program(text: str, length: int, message: str) -> None:
    with pytest.raises(SizeError, match=message) as refusal:
        compile(parse_program(text))(integers(length))
    assert str(refusal.value).startswith("<text>:1: ")


@pytest.mark.parametrize(("text", "length", "message"), [case for case in UNFIT if case[0] != STAGED.format(20000)])
def test_known_sizes_that_do_not_fit_are_refused_when_the_program_is_compiled(
    text: str, length: int, message: str
) -> None:
    with pytest.raises(SizeError, match=message):
        compile(parse_program(text), {"N": length})


@pytest.mark.parametrize(("text", "length", "message"), [case for case in UNFIT if case[0] != STAGED.format(20000)])
def test_the_interpreter_refuses_the_same_sizes(text: str, length: int, message: str) -> None:
    with pytest.raises(SizeError, match=message):
        interpret(parse_program(text), integers(length))


def test_every_iteration_fits() -> None:
    halves = "join ∘ mapLcl(0)(toGlobal(mapSeq(id)) ∘ reduceSeq(0, add)) ∘ split(2)"
    program = parse_program(f"f(x: [[float]M]N) = mapWrg(0)(mapLcl(0)(id) ∘ iterate(2, {halves}), x)")
    check(program, compile(program), np.ones((3, 8), np.float32))
    with pytest.raises(SizeError, match="split: 3 elements cannot be split into chunks of 2"):
        compile(program)(np.ones((3, 6), np.float32))


@pytest.mark.parametrize(
    ("value", "message"),
    [(0, "size N is 0, expected 1 or more"), (-3, "size N is -3"), (2.5, "size N is 2.5, expected a whole number"),
     (True, "size N is True, expected a whole number"), ("8", "size N is '8', expected a whole number")],
)  # fmt: skip
def test_known_sizes_are_positive_whole_numbers(value: Any, message: str) -> None:
    with pytest.raises(SizeError, match=message):
        compile(parse_program(COPY), {"N": value})


def test_arrays_of_other_than_the_known_sizes() -> None:
    with pytest.raises(SizeError, match="axis 0 of argument x has length 7, expected N = 8"):
        compile(parse_program(COPY), {"N": 8})(integers(7))


@pytest.mark.parametrize("options", [{"local_size": 2048}, {"local_size": (64, 32)}])
def test_groups_that_no_device_has(options: dict[str, Any]) -> None:
    def body(x: Any) -> Any:
        return map_glb(map_glb(id, dim=0), x, dim=1)

    program: Lambda = fun(array(float32, size("N"), size("M")), body)
    if options["local_size"] == 2048:
        options = {"local_size": (2048, 1)}
    with pytest.raises(SizeError, match="work-groups of 2048 work-items, expected at most 1024") as refusal:
        compile(program, **options)(np.ones((2, 2), np.float32))
    assert __file__ in str(refusal.value)


def test_the_same_program_runs_at_the_sizes_that_fit() -> None:
    compiled = compile(parse_program(GROUPS))
    for length in (16, 20, 32, 17, 160):
        if length % 16:
            with pytest.raises(SizeError):
                compiled(integers(length))
        else:
            check(parse_program(GROUPS), compiled, integers(length))


def test_indices_of_long_arrays_are_proved_to_be_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    outside = parse_program("f(x: [float]N) = mapGlb(0)(id) ∘ gather(i → 5 * i mod (N + N mod 2), x)")
    with pytest.raises(SizeError, match="gather: its index function is not a permutation of 20003 indices"):
        compile(outside)(integers(20003))
    program = parse_program("f(x: [float]N) = mapGlb(0)(id) ∘ gather(i → i / 8 + i mod 8 * (N / 8), x)")
    monkeypatch.setattr("drawloom.lift.language.lengths.permute", lambda *_: pytest.fail("an index after the other"))
    x, at = np.arange(1 << 18, dtype=np.float32), np.arange(1 << 18)
    assert np.array_equal(compile(program)(x), x[at // 8 + at % 8 * (1 << 15)])


def test_any_function_reorders_an_array_of_no_elements() -> None:
    program = parse_program("f(x: [float]N) = mapGlb(0)(id) ∘ gather((i, n) → (i + 1) mod n) ∘ drop(3, x)")
    check(program, compile(program, {"N": 3}), integers(3))


def test_a_size_that_only_a_split_names_is_an_argument_of_the_kernel() -> None:
    """It was taken for the length that a map gives its function."""
    n, m = lift.size("N"), lift.size("M")
    chunks = lift.split(m) >> lift.map_glb(lift.map_seq(lift.id)) >> lift.join
    program = lift.fun(lift.array(lift.float32, n), lambda x: x >> chunks)
    data = np.arange(6, dtype=np.float32)
    compiled = lift.compile(program)
    assert "int M)" in compiled.opencl
    for sizes in ({m: 3}, {"M": 2}):
        np.testing.assert_array_equal(compiled(data, sizes=sizes), data)
    np.testing.assert_array_equal(lift.compile(program, {"M": 3})(data), data)


@pytest.mark.parametrize("pattern", ["gather(i → (i + shift) mod N)", "padIndex(0, 2, i → shift mod N)"])
def test_a_size_that_only_an_index_function_names_is_an_argument_of_the_kernel(pattern: str) -> None:
    """The kernel had no argument for the size, and was no OpenCL C."""
    program = parse_program(f"f(x: [float]N) = mapGlb(0)(id) ∘ {pattern}(x)")
    compiled, data = compile(program), np.arange(5, dtype=np.float32)
    assert "int shift)" in compiled.opencl
    for shift in (1, 3):
        expected = interpret(program, data, sizes={"shift": shift})
        np.testing.assert_array_equal(compiled(data, sizes={"shift": shift}), expected)
    with pytest.raises(SizeError, match="shift"):
        compiled(data)


def test_numbers_beyond_a_type_are_infinite() -> None:
    """1e40 was printed as inff, which is no number of C."""
    program = lift.fun(lift.array(lift.float32, lift.size("N")), lambda x: x >> lift.map_glb(lambda e: e + 1e40))
    assert "INFINITY" in lift.compile(program).opencl
    assert lift.compile(program)(np.ones(2, np.float32)).tolist() == [np.inf, np.inf]


# Lengths that ints of 32 bits cannot count on the way to an index

MOST = 1 << 30


def test_an_array_of_too_many_elements_is_refused_before_it_is_copied() -> None:
    elements = np.broadcast_to(np.float32(0), (MOST + 1,))
    with pytest.raises(SizeError, match=f"length N = {MOST + 1}, expected at most {MOST}"):
        compile(parse_program(COPY))(elements)


def test_an_array_in_between_of_too_many_elements_is_refused() -> None:
    program = parse_program(
        "f(x: [float]N) = join ∘ mapGlb(0)(λ r . reduceSeq(0, add) ∘ join ∘ replicate(N, r)) ∘ split(N, x)"
    )
    with pytest.raises(SizeError, match=r"join: its result has length N\^2 = 2147488281, expected at most"):
        compile(program)(np.zeros(46341, np.float32))


def test_groups_are_counted_for_sizes_by_name_and_only_for_known_ones() -> None:
    kernel = compile(parse_program(COPY), exact_groups=True).kernels[0]
    assert kernel.num_groups({"N": 1001}) == (8, 1, 1)
    with pytest.raises(SizeError, match="size N has no value"):
        kernel.num_groups({})

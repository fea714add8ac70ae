"""The thesis's programs, written in the embedding, printed, typed and run; and what it prints wrongly."""

from typing import Any

import numpy as np
import pytest

from drawloom import Error
from drawloom.lift import (
    Lambda,
    add,
    array,
    check_well_formed,
    find_sizes,
    float32,
    fun,
    id,
    infer_types,
    interpret,
    iterate,
    join,
    map_lcl,
    map_seq,
    map_wrg,
    mult_and_sum_up,
    parse_program,
    reduce_seq,
    size,
    split,
    to_global,
    to_local,
    zip,
)

LISTING_4_5 = """\
partialDotProduct(x: [float]N, y: [float]N) =
  join ∘
  mapWrg(0)(
    join ∘
    toGlobal(mapLcl(0)(mapSeq(id))) ∘
    split(1) ∘
    iterate(6, join ∘ mapLcl(0)(toLocal(mapSeq(id)) ∘ reduceSeq(0, add)) ∘ split(2)) ∘
    join ∘
    mapLcl(0)(toLocal(mapSeq(id)) ∘ reduceSeq(0, multAndSumUp)) ∘
    split(2)) ∘
  split(128, zip(x, y))"""


def partial_dot_product() -> Lambda:
    n = size("N")
    return fun(
        array(float32, n),
        array(float32, n),
        lambda x, y: (
            join
            << map_wrg(
                join
                << to_global(map_lcl(map_seq(id)))
                << split(1)
                << iterate(6, join << map_lcl(to_local(map_seq(id)) << reduce_seq(0, add)) << split(2))
                << join
                << map_lcl(to_local(map_seq(id)) << reduce_seq(0, mult_and_sum_up))
                << split(2)
            )
            << split(128)
        )(zip(x, y)),
        name="partialDotProduct",
    )


def test_listing_4_5_prints_as_the_thesis_does() -> None:
    assert str(partial_dot_product()) == LISTING_4_5


def test_listing_4_5_makes_one_number_of_every_128_elements() -> None:
    program = infer_types(partial_dot_product())
    assert str(program.body.type) == "[float](N/^128)"
    random = np.random.default_rng(1)
    x, y = random.integers(-8, 8, (2, 384)).astype(np.float32)
    assert interpret(program, x, y).tolist() == (x * y).reshape(3, 128).sum(axis=1).tolist()


# What the thesis prints wrongly. Each test shows that the printed form fails and that the repaired form is right.


def refusal_of(text: str) -> str:
    with pytest.raises(Error) as refusal:
        infer_types(parse_program(text))
    return str(refusal.value)


def random_array(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(np.float32)


def test_section_2_4_2_1s_transposition_is_right_for_scatter_but_not_for_gather() -> None:
    text = "f(x: [[float]c]r) = split(r) ∘ {}(i → (i mod c) * r + i / c) ∘ join(x)"
    x = random_array(2, 3)
    gathered = interpret(parse_program(text.format("gather")), x)
    scattered = interpret(parse_program(text.format("scatter")), x)
    assert scattered.tolist() == x.T.tolist()
    assert gathered.tolist() != x.T.tolist()


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 3), (7, 4), (11, 13)])
def test_listing_4_4s_transposition_is_right_for_any_shape(shape: tuple[int, int]) -> None:
    program = parse_program(
        "matrixTranspose(x: [[float]M]N) ="
        "  mapWrg(0)(mapLcl(0)(id)) ∘ split(N) ∘ gather(i → i/N + (i mod N) * M) ∘ join(x)"
    )
    x = random_array(*shape)
    assert interpret(program, x).tolist() == x.T.tolist()
    assert str(infer_types(program).body.type) == "[[float]N]M"


MULTIPLICATION = """
matrixMultiplication(A: {}, B: {}) =
  map(λ rowOfA .
    map(λ colOfB .
      ( reduce(0.0f, add) ∘ map(mult) ) ( zip(rowOfA, colOfB) )
    ) ( transpose(B) )
  ) (A)
"""


def test_listing_5_1_is_ill_typed_as_printed() -> None:
    text = MULTIPLICATION.format("[[float]M]K", "[[float]K]N")
    assert "zip: the lengths of arguments 1 and 2 of zip differ: M is not N" in refusal_of(text)


def test_listing_5_1_multiplies_when_a_has_rows_of_k_and_b_has_k_rows() -> None:
    program = parse_program(MULTIPLICATION.format("[[float]K]M", "[[float]N]K"))
    assert str(infer_types(program).body.type) == "[[[float]1]N]M"
    a, b = random_array(3, 5), random_array(5, 4)
    assert interpret(program, a, b)[:, :, 0].tolist() == (a @ b).tolist()


TILED = """
matrixMultiplication(A: {}, B: {}) =
  untile ∘ map(λ rowOfTilesA .
    map(λ colOfTilesB .
      {}({}, λ (tileAcc, (tileA, tileB)) .
        map(λ (accRow, row) . map(λ (acc, x) . acc + {}) ∘ zip(accRow, row)) ∘ zip(tileAcc) ∘
        map(λ as .
          map(λ bs .
            reduce(0, +) ∘ map(×) ∘ zip(as, bs)
          , tileB)
        , tileA),
      zip(rowOfTilesA, colOfTilesB))
    ) ∘ tile(m, k, transpose(B))
  ) ∘ tile(n, k, A)
"""


def test_figure_5_11_is_ill_typed_as_printed() -> None:
    """The types of A and B are listing 5.1's, and a sum of tiles that begins with 0 and 1-element rows is no reduce."""
    printed = ("[[float]M]K", "[[float]K]N")
    right = ("[[float]K]M", "[[float]N]K")
    zeros = "replicate(n) ∘ replicate(m, 0.0f)"
    assert "differ" in refusal_of(TILED.format(*printed, "reduceSeq", zeros, "head(x)"))
    assert "reduce: the initial value of reduce and the elements differ" in refusal_of(
        TILED.format(*right, "reduce", zeros, "head(x)")
    )
    assert "reduceSeq: its argument" not in refusal_of(TILED.format(*right, "reduceSeq", "0", "head(x)"))
    assert "function add: parameter y is given [float]1" in refusal_of(TILED.format(*right, "reduceSeq", zeros, "x"))


def test_figure_5_11_repaired_multiplies_by_tiles() -> None:
    text = TILED.format("[[float]K]M", "[[float]N]K", "reduceSeq", "replicate(n) ∘ replicate(m, 0.0f)", "head(x)")
    program = parse_program(text.replace("reduceSeq(", "head ∘ reduceSeq(", 1))
    a, b = random_array(6, 8), random_array(8, 9)
    sizes = find_sizes(program)
    found = interpret(program, a, b, sizes={sizes["n"]: 2, sizes["m"]: 3, sizes["k"]: 4})
    assert found.tolist() == (a @ b).tolist()


def test_figure_4_10a_has_a_bracket_too_many_and_shapes_that_do_not_multiply() -> None:
    text = "f(A: [[float]M]N, B: {}) = mapGlb(0)(λ a . mapGlb(1)(λ b . reduceSeq(0, multAndSumUp, zip(a, b)), B), A)"
    assert "found ']'" in refusal_of(text.format("[[float]K]N]"))
    assert "M is not K" in refusal_of(text.format("[[float]K]N"))
    assert str(infer_types(parse_program(text.format("[[float]M]K"))).body.type) == "[[[float]1]K]N"


def test_listing_4_9_and_4_10_copy_a_reused_value_to_private_memory() -> None:
    reuse = "f(x: float, y: [float]N) = mapGlb(0)(λ e . x × e, y)"
    rewritten = "f(x: float, y: [float]N) = mapGlb(0)(λ e . (λ p . p × e)(toPrivate(id)(x)), y)"
    y = random_array(5)
    for text in (reuse, rewritten):
        program = infer_types(parse_program(text))
        check_well_formed(program)
        assert interpret(program, 3.0, y).tolist() == (3 * y).tolist()


def test_listing_4_11_multiplies_a_matrix_by_a_vector() -> None:
    program = parse_program(
        "matrixVector(A: [[float]M]N, x: [float]M) = map(λ a . reduce(0.0f, add) ∘ map(mult) ∘ zip(a, x)) (A)"
    )
    a, x = random_array(4, 6), random_array(6)
    assert interpret(program, a, x)[:, 0].tolist() == (a @ x).tolist()
    assert str(program).endswith(" = map(λ a . reduce(0.0f, add) ∘ map(mult, zip(a, x)), A)")


def test_listings_4_12_and_4_13_reverse_an_array() -> None:
    plain = "reverseNotCoalesced(a: [float]N) = (mapGlb(id) ∘ gather(reverse))(a)"
    tiled = (
        "reverseCoalesced(a: [float]N) = (join ∘ mapWrg("
        "  mapLcl(toGlobal(id)) ∘ gather(reverse) ∘ mapLcl(toLocal(id))) ∘ gather(reverse) ∘ split(64))(a)"
    )
    a = random_array(256)
    for text in (plain, tiled):
        program = infer_types(parse_program(text))
        check_well_formed(program)
        assert interpret(program, a).tolist() == a[::-1].tolist()


def test_listing_4_2_is_not_a_kernel_without_a_copy_out_of_the_reduction() -> None:
    program = infer_types(
        parse_program(
            "partialDotProduct(x: [float]N, y: [float]N) = (join ∘ mapWrg(0)("
            "  join ∘ mapLcl(0)(reduceSeq(0, λ (a, (l, r)) . a + (l × r))) ∘ split(2)) ∘ split(128))(zip(x, y))"
        )
    )
    x, y = random_array(256), random_array(256)
    assert interpret(program, x, y).tolist() == (x * y).reshape(-1, 2).sum(axis=1).tolist()
    check_well_formed(program)


LISTING_5_3 = """
matrixMultiplication(A: [[float]K]M, B: [[float]K]N) =
  mapGlb(0)(λ twoRowsOfA .
    mapGlb(1)(λ twoColsOfB .
      toGlobal(mapSeq(id)) ∘ asVector(2) ∘ asScalar ∘ {head}
      reduceSeq({init}, λ (acc, (tileOfA, tileOfB)) .
        (λ dots . {add} ∘ {flatten}(dots)) ∘
        (λ (tileOfAp, tileOfBp) .
          mapSeq(λ rowOfTileOfA .
            mapSeq(λ colOfTileOfB .
              reduceSeq(0.0f, add) ∘ asScalar ∘ mapSeq(mult, zip(rowOfTileOfA, colOfTileOfB)),
              tileOfBp),
            tileOfAp))
        ({tileA}, {tileB}),
        zip({cut}(twoRowsOfA), {cut}(twoColsOfB))),
      split(2, B)),
    split(2, A))
"""

PRINTED = {
    "head": "",
    "init": "init = (float4)0.0f",
    "add": "mapSeq(add(acc))",
    "flatten": "join ∘ asVector(4)",
    "tileA": "mapSeq(toPrivate(id), asVector(4, tileOfA))",
    "tileB": "mapSeq(toPrivate(id), asVector(4, tileOfB))",
    "cut": "transpose ∘ split(4) ∘ transpose",
}
REPAIRED = {
    "head": "",
    "init": "init = (float4)0.0f",
    "add": "head ∘ mapSeq(add(acc))",
    "flatten": "asVector(4) ∘ join ∘ map(join)",
    "tileA": "mapSeq(toPrivate(mapSeq(id)), map(asVector(4), tileOfA))",
    "tileB": "mapSeq(toPrivate(mapSeq(id)), map(asVector(4), tileOfB))",
    "cut": "map(transpose) ∘ split(4) ∘ transpose",
}


def test_listing_5_3_is_ill_typed_in_four_places() -> None:
    """Tiles need map(transpose), asVector goes to each row, tuples are joined before asVector, and head is missing."""
    for place in ("cut", "tileA", "flatten", "add"):
        text = LISTING_5_3.format(**{**REPAIRED, place: PRINTED[place]})
        assert "<text>:" in refusal_of(text)


def test_listing_5_3_repaired_multiplies_by_vectors() -> None:
    program = infer_types(parse_program(LISTING_5_3.format(**REPAIRED)))
    assert str(program.body.type) == "[[[float2]2](N/^2)](M/^2)"
    check_well_formed(program)
    a, b = random_array(4, 8), random_array(6, 8)
    found = interpret(program, a, b)
    assert found.reshape(2, 3, 2, 2).swapaxes(1, 2).reshape(4, 6).tolist() == (a @ b.T).tolist()


def test_listing_5_8_fuses_two_maps_under_a_zip() -> None:
    left = parse_program("f(a: [float]N, b: [float]N) = zip(map(neg, a), map(add(1), b))")
    right = parse_program("f(a: [float]N, b: [float]N) = map(λ x . (neg(get(0, x)), add(1, get(1, x))), zip(a, b))")
    a, b = random_array(5), random_array(5)
    assert np.array_equal(interpret(left, a, b), interpret(right, a, b))


def test_listing_5_18_names_its_accumulator_twice_and_swaps_its_arguments() -> None:
    printed = (
        "f(A: [[float]M]N) = transpose ∘ reduceSeq(replicate(N, 0), λ (col, acc) ."
        "  map(λ elemAcc . add(get(0, elemAcc), get(1, elemAcc)), zip(col, {})), transpose(A))"
    )
    assert "accArr is not a parameter" in refusal_of(printed.format("accArr"))
    program = infer_types(parse_program(printed.format("acc")))
    assert str(program.body.type) == "[[float]1]N"  # not [[T]M]1 before the transposition
    a = random_array(3, 4)
    assert interpret(program, a)[:, 0].tolist() == a.sum(axis=1).tolist()


def test_listing_5_23_cuts_a_matrix_into_tiles() -> None:
    program = infer_types(parse_program("f(A: [[float]M]N) = tile(n, k, A)"))
    assert str(program.body.type) == "[[[[float]k]n](M/^k)](N/^n)"
    assert str(program).split("= ")[1] == "map(transpose) ∘ map(map(split(k))) ∘ split(n, A)"


def test_figure_4_12_adds_up_the_components_of_vectors() -> None:
    program = parse_program(
        "f(A: [float]N, B: [float]N) = reduceSeq(0.0f, add) ∘ asScalar ∘ mapSeq(vectorize(4, mult)) ∘"
        "  zip(asVector(4, A), asVector(4, B))"
    )
    a, b = random_array(8), random_array(8)
    assert interpret(program, a, b).tolist() == [(a * b).sum()]


def test_listing_5_13s_dot_is_the_same() -> None:
    program = parse_program("f(x: [float4]N, y: [float4]N) = reduceSeq(0.0f, add) ∘ mapSeq(dot, zip(x, y))")
    x, y = random_array(3, 4), random_array(3, 4)
    assert interpret(program, x, y).tolist() == [(x * y).sum()]


def test_figure_2_9s_iterations_can_be_divided() -> None:
    whole = parse_program("f(x: [float]64) = iterate(6, join ∘ map(reduceSeq(0, add)) ∘ split(2), x)")
    parts = parse_program(
        "f(x: [float]64) = iterate(4, join ∘ map(reduceSeq(0, add)) ∘ split(2)) ∘"
        "  iterate(2, join ∘ map(reduceSeq(0, add)) ∘ split(2), x)"
    )
    x = np.ones(64, np.float32)
    assert interpret(whole, x).tolist() == interpret(parts, x).tolist() == [64]

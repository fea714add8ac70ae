"""The thesis's programs, written in the embedding, printed, typed and run; and what it prints wrongly."""

import numpy as np

from drawloom.lift import (
    add,
    array,
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


def partial_dot_product():
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

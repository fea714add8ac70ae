"""The list of a program's types shows every call once, in the order in which the data flows."""

from drawloom.lift import parse_program, show_types
from tests.lift.language.test_listings import partial_dot_product

LISTING_4_5 = """\
x: [float]N
y: [float]N
zip: [(float, float)]N
split(128): [[(float, float)]128](N/^128)
mapWrg(0): [[float]1](N/^128)
  p: [(float, float)]128
  split(2): [[(float, float)]2]64
  mapLcl(0): [[float]1]64
    p: [(float, float)]2
    reduceSeq: [float]1
      p0: float
      p: (float, float)
      get(0): float
      get(1): float
      multAndSumUp: float
    toLocal: [float]1
      p: [float]1
      mapSeq: [float]1
        p: float
        id: float
  join: [float]64
  iterate(6): [float]1
    p: [float]size1
    split(2): [[float]2](size1/^2)
    mapLcl(0): [[float]1](size1/^2)
      p: [float]2
      reduceSeq: [float]1
        p0: float
        p1: float
        add: float
      toLocal: [float]1
        p: [float]1
        mapSeq: [float]1
          p: float
          id: float
    join: [float](size1/^2)
  split(1): [[float]1]1
  toGlobal: [[float]1]1
    p: [[float]1]1
    mapLcl(0): [[float]1]1
      p: [float]1
      mapSeq: [float]1
        p: float
        id: float
  join: [float]1
join: [float](N/^128)"""


def test_listing_4_5s_types() -> None:
    assert show_types(partial_dot_product()) == LISTING_4_5


def test_the_size_of_a_guarded_chunk_is_listed() -> None:
    program = parse_program("f(x: [float]N) = join ∘ mapWrg(0)(mapLcl(0)(neg)) ∘ splitGuarded(8, x)")
    assert show_types(program).splitlines() == [
        "x: [float]N",
        "splitGuarded(8): [[float]≤8]N",
        "mapWrg(0): [[float]≤8]N",
        "  p: [float]rest1",
        "  mapLcl(0): [float]rest1",
        "    p: float",
        "    neg: float",
        "join: [float]N",
    ]


def test_the_arguments_of_a_lambda_come_before_its_body() -> None:
    program = parse_program("f(x: [float]N) = (λ y . zip(y, y))(map(neg, x))")
    assert show_types(program).splitlines() == [
        "x: [float]N",
        "map: [float]N",
        "  p: float",
        "  neg: float",
        "λ: [(float, float)]N",
        "  y: [float]N",
        "  zip: [(float, float)]N",
    ]

"""What builtins mean: against exact Python arithmetic, and the corner cases by hand."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import drawloom
from drawloom.horse.evaluate import average, like_pattern
from drawloom.horse.infer import infer
from drawloom.horse.interpret import Interpreter
from drawloom.horse.library import FunctionValue, call
from drawloom.horse.parser import parse
from drawloom.horse.types import BOOL, DATE, F64, I32, I64, STR, SYM, DecimalType, VectorType
from drawloom.horse.values import Dictionary, ListValue, Ragged, Value, Vector, as_vector, from_values, vector_to_arrow

D15 = DecimalType(15, 2)
D16 = DecimalType(16, 2)


def vec(values: list[object], type: VectorType = I32) -> Vector:
    return from_values(values, type)


def plain(value: Value) -> list[object]:
    vector = as_vector(value)
    return vector_to_arrow(vector).to_pylist()


@given(st.lists(st.tuples(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(-(10**3), 10**3)), min_size=1))
def test_decimal_arithmetic_is_exact(pairs: list[tuple[int, int]]) -> None:
    a, b = vec([p[0] for p in pairs], D15), vec([p[1] for p in pairs], D16)
    for name, expected in (
        ("plus", [Decimal(x + y).scaleb(-2) for x, y in pairs]),
        ("minus", [Decimal(x - y).scaleb(-2) for x, y in pairs]),
    ):
        assert plain(call(name, [a, b])) == expected
    products = [x * y for x, y in pairs]
    if all(abs(p) < 10**18 for p in products):
        assert plain(call("mul", [a, b])) == [Decimal(p).scaleb(-4) for p in products]
    else:
        with pytest.raises(drawloom.DataError, match=r"overflow in @mul: -?\d+ does not fit decimal<18,4>"):
            call("mul", [a, b])


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1).filter(bool))
def test_remainders_have_the_sign_of_the_dividend(a: int, b: int) -> None:
    rest = abs(a) % abs(b)
    assert plain(call("mod", [vec([a], I64), vec([b], I64)])) == [rest if a >= 0 else -rest]


@given(st.lists(st.integers(-1000, 1000), max_size=40), st.sampled_from(["sum", "min", "max", "avg"]), st.data())
def test_slices_are_reduced_as_each_alone(values: list[int], name: str, data: st.DataObject) -> None:
    bounds = st.tuples(st.integers(0, len(values)), st.integers(0, len(values))).map(sorted)
    slices = data.draw(st.lists(bounds, max_size=10))
    low, high = [vec([s[side] for s in slices], I64) for side in (0, 1)]
    for type in (I64, F64):
        whole = vec([float(v) for v in values] if type == F64 else list(values), type)
        made = call("raze", [call("each_slice", [FunctionValue(name), whole, low, high])])
        for found, (a, b) in zip(plain(made), slices):
            if b > a:
                assert found == plain(call(name, [whole.take(np.arange(a, b))]))[0]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_sums_of_64_bits_are_exact(values: list[int]) -> None:
    assert plain(call("sum", [vec(values, I64)])) == [Decimal(sum(values))]


@given(st.integers(-(10**37), 10**37), st.integers(1, 10**7), st.integers(0, 9))
def test_averages_are_the_quotient_rounded_once(total: int, count: int, scale: int) -> None:
    assert average(total, count, scale) == float(Fraction(total, count * 10**scale))


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1), st.integers(0, 18))
def test_decimals_become_floats_rounded_once(values: list[int], scale: int) -> None:
    made = call("convert", [vec(values, DecimalType(18, scale)), vec(["f64"], SYM)])
    assert plain(made) == [float(Fraction(v, 10**scale)) for v in values]


def test_integers_overflow_where_their_type_does() -> None:
    assert plain(call("plus", [vec([2**31 - 2]), vec([1])])) == [2**31 - 1]
    with pytest.raises(drawloom.DataError, match="2147483648 does not fit i32"):
        call("plus", [vec([2**31 - 1]), vec([1])])
    with pytest.raises(drawloom.DataError, match="does not fit i64"):
        call("mul", [vec([2**62], I64), vec([2], I64)])


def test_scalars_spread_and_unlike_lengths_are_refused() -> None:
    assert plain(call("plus", [vec([1, 2, 3]), vec([10])])) == [11, 12, 13]
    with pytest.raises(drawloom.DataError, match="lengths 3 and 2"):
        call("plus", [vec([1, 2, 3]), vec([1, 2])])


def test_comparison_across_scales_and_kinds() -> None:
    assert plain(call("lt", [vec([149, 150, 151], D15), vec([15], DecimalType(9, 1))])) == [True, False, False]
    assert plain(call("eq", [vec([1, 2]), vec([200], D15)])) == [False, True]
    assert plain(call("gt", [vec([1, 2]), vec([1.5], F64)])) == [False, True]
    assert plain(call("lt", [vec(["a", "b", "é"], STR), vec(["b"], STR)])) == [True, False, False]


def test_nan_is_equal_to_itself_and_above_everything() -> None:
    values, nan = vec([1.0, math.inf, math.nan], F64), vec([math.nan], F64)
    assert plain(call("eq", [values, nan])) == [False, False, True]
    assert plain(call("lt", [values, nan])) == [True, True, False]
    assert plain(call("geq", [values, nan])) == [False, False, True]
    assert plain(call("min", [values])) == [1.0]
    assert math.isnan(float(str(plain(call("max", [values]))[0])))


def test_decimals_round_halves_away_from_zero() -> None:
    values = vec([149, 150, -150, -149, 250], D15)
    target = vec(["decimal<10,0>"], SYM)
    assert plain(call("convert", [values, target])) == [Decimal(v) for v in (1, 2, -2, -1, 3)]


@pytest.mark.parametrize("values", [[], [0.5, -0.0, 2.5, -1.5], [2.0**63 - 1024, -(2.0**63)], [2.0**53 + 2, 0.0]])
def test_doubles_become_the_nearest_integers_up_to_the_last(values: list[float]) -> None:
    assert plain(call("convert", [vec(list(values), F64), vec(["i64"], SYM)])) == [round(v) for v in values]
    with pytest.raises(drawloom.DataError, match="overflow in @convert: 9223372036854775808 does not fit i64"):
        call("convert", [vec([*values, 2.0**63], F64), vec(["i64"], SYM)])


def test_dates_come_apart() -> None:
    days = [-719468, -1, 0, 59, 8766, 11016, 10**6]
    expected = [np.datetime64(d, "D").astype(object) for d in days[1:-1]]
    dates = vec(list(days[1:-1]), DATE)
    assert plain(call("date_year", [dates])) == [d.year for d in expected]
    assert plain(call("date_month", [dates])) == [d.month for d in expected]
    assert plain(call("date_day", [dates])) == [d.day for d in expected]


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a%", ["a", "abc"], ["ba", ""]),
        ("_b", ["ab", "\nb"], ["b", "abb"]),
        ("100\\%", ["100%"], ["1000"]),
        ("%.x*", ["q.x*"], ["qax"]),
    ],
)
def test_like(pattern: str, yes: list[str], no: list[str]) -> None:
    compiled = like_pattern(pattern)
    assert all(compiled.fullmatch(w) for w in yes)
    assert not any(compiled.fullmatch(w) for w in no)


def test_group_is_sorted_by_key_and_keeps_row_order() -> None:
    keys = ListValue([vec(["b", "a", "b", "a"], STR), vec([1, 1, 1, 2])])
    groups = call("group", [keys])
    assert isinstance(groups, Dictionary)
    assert plain(groups.keys) == [1, 3, 0]
    assert [plain(c) for c in groups.values.cells()] == [[1], [3], [0, 2]]


def test_cells_reduce_and_raze() -> None:
    cells = Ragged(vec([5, 1, 7, 2]), np.array([0, 2, 2, 4]))
    for name, expected in (("sum", [6, 0, 9]), ("min", [1, 0, 2]), ("max", [5, 0, 7]), ("len", [2, 0, 2])):
        assert plain(call("raze", [call("each", [FunctionValue(name), cells])])) == expected


def test_order_puts_nulls_where_they_are_asked() -> None:
    valid = np.array([True, False, True])
    column = Vector(I64, np.array([5, 0, 3]), valid=valid)
    for up, first, expected in ((1, 0, [2, 0, 1]), (1, 1, [1, 2, 0]), (0, 0, [0, 2, 1]), (0, 1, [1, 0, 2])):
        assert plain(call("order", [ListValue([column]), vec([up], BOOL), vec([first], BOOL)])) == expected


def test_control_flow_runs() -> None:
    text = """module m { import Builtin.*;
    def main(n:i64) : i64 {
        var total:i64 = 0:i64;
        var i:i64 = 0:i64;
        var more:bool = 1:bool;
        while (more) {
            i = @plus(i, 1:i64);
            var stop:bool = @geq(i, n);
            if (stop) { break; }
            var three:bool = @eq(i, 3:i64);
            if (three) { continue; } else { total = @plus(total, i); }
            repeat (2:i64) { total = @plus(total, 100:i64); }
        }
        return total;
    } }"""
    module = infer(parse(text))
    (result,) = Interpreter(module, {}).function(module.functions[0], [vec([6], I64)])
    assert plain(result) == [1 + 2 + 4 + 5 + 4 * 200]


def test_sums_of_cells_with_wide_values_are_exact() -> None:
    values = [2**62, 2**62, 2**62, -5, -(2**63), -(2**63), 9]
    cells = Ragged(vec(list(values), I64), np.array([0, 3, 3, 6, 7]))
    expected = [Decimal(v) for v in (3 * 2**62, 0, -5 - 2**64, 9)]
    assert plain(call("raze", [call("each", [FunctionValue("sum"), cells])])) == expected
    wide = Ragged(Vector(DecimalType(38, 0), np.array(values, dtype=object)), np.array([0, 3, 3, 6, 7]))
    assert plain(call("raze", [call("each", [FunctionValue("sum"), wide])])) == expected


def test_sums_of_float_cells_are_rounded_once() -> None:
    cells = Ragged(vec([1e100, 1.0, -1e100, 2.5, math.inf, -math.inf], F64), np.array([0, 3, 4, 4, 6]))
    sums = plain(call("raze", [call("each", [FunctionValue("sum"), cells])]))
    assert sums[:3] == [1.0, 2.5, 0.0] and math.isnan(float(str(sums[3])))


def test_vectors_that_grow_share_memory_and_no_entries() -> None:
    """A loop that puts rows behind those so far copied all of them in each step."""
    begun = Vector(I64, np.array([1, 2], dtype=np.int8))
    grown = call("concat", [call("concat", [begun, begun]), begun])
    one, other = [call("concat", [grown, Vector(I64, np.array([n], dtype=np.int8))]) for n in (7, 8)]
    wide = call("concat", [one, Vector(I64, np.array([10**12]))])
    vectors = [as_vector(v) for v in (grown, one, other, wide)]
    assert [v.data.tolist() for v in vectors] == [
        [1, 2] * 3, [1, 2] * 3 + [7], [1, 2] * 3 + [8], [1, 2] * 3 + [7, 10**12],
    ]  # fmt: skip
    assert np.shares_memory(vectors[0].data, vectors[1].data)
    assert not np.shares_memory(vectors[1].data, vectors[2].data)

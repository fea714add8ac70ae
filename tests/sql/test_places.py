"""Wrong SQL is refused with the planner's message, the line and column that it is about, and that line."""

import pyarrow as pa
import pytest

import drawloom
from drawloom.sql import connect
from drawloom.sql.planner import SqlError
from drawloom.sql.text import read

T = pa.table({"a": pa.array([1], pa.int32()), "s": ["x"], "d": pa.array([0], pa.date32())})
U = pa.table({"b": pa.array([1], pa.int32()), "c": ["x"]})


def refusal(query: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        connect("cpu").register("t", T).register("u", U).sql(query).arrow()
    return caught.value


# The caret of the second line is under what the message of the third is about.
@pytest.mark.parametrize(
    "case",
    """
select b from t
       ^
No field named b
---
select a from t where s = 'b' and s <> "b"
                                       ^
No field named b
---
select t.a, t.b from t
            ^
No field named t.b
---
select nowhere from nowhere
                    ^
there is no table 'nowhere'
---
selec a from t
^
Expected: an SQL statement
---
select a, sum(a) + 1.5e3 from t where (a = 2
                                            ^
found: EOF
---
select 1.5e3 / 2, 'abc
                  ^
Unterminated string
---
select 1e2 / a, 3 / b from t
                    ^
No field named b
---
select sum(a), nofunction(s) from t
               ^
Invalid function 'nofunction'
---
select sum(a), sum(s) from t
               ^
name and argument types 'sum(Utf8)'
---
select 1 / 2, a + s from t
                  ^
Cannot coerce arithmetic expression Int32 + Utf8
---
select a from t where a = 'x' + 1
                          ^
Cannot coerce arithmetic expression Utf8
---
select a from t where a
                      ^
non-boolean predicate
---
select a, s from t group by a
          ^
must appear in the GROUP BY clause
---
select a from t, t as v
       ^
Ambiguous reference
---
select a from t where exists (select 1 from u where b = t.zz)
                                                        ^
No field named t.zz
---
select a from t where a in (select a from u where c > 1 and zz < 2)
                                                            ^
No field named zz
---
select date 'notadate' from t
            ^
Cannot cast string 'notadate'
---
select cast(a as nothing) from t
                 ^
Unsupported SQL type
---
select a from t where sum(a) > 1
                      ^
Aggregate functions are not allowed in the WHERE clause
---
select s, sum(count(*)) from t group by s
          ^
cannot be nested
---
select 1, 2 union select 1
            ^
UNION queries have different number of columns
---
select a from t union select a from t union select a, s from t
                                      ^
UNION queries have different number of columns
---
select a from t; select 2
                 ^
single SQL statement
---
create table x (a int)
^
DDL not supported
---
update t set a = 1
^
DML not supported
---
select a from t fetch first 2
                ^
FETCH clause
---
values (1, 2), (3, 4), (5)
                       ^
Inconsistent data length
---
with w(x, y) as (select a from t) select x from w
      ^
only 2 names given
---
select grouping(a) from t
                ^
not in grouping columns
---
select a from t where a in (select a, s from u)
                           ^
the subquery has 2 columns: 1 was expected
---
select a from t where a = any (select * from u)
                              ^
the subquery has 2 columns: 1 was expected
---
select a from t where (a, s) in (select a from u)
                                ^
the subquery has 1 column: 2 were expected
---
select s from t join t on true
                     ^
duplicate qualified field name t.a
---
select v.a from t v, (select 1 from t) w, t join t on true
                                                 ^
duplicate qualified field name t.a
---
select a, s ~ 'x', ~s from t
                   ^
unary operator BitwiseNot
---
insert into t values (1)
^
DML not supported: Insert Into
---
copy t to 'file'
^
DML not supported: COPY
---
select a from t where a > 1 and s > 3
                                ^
Cannot compare a text with a number
---
select a from t where a between 1 and 3 and 3 < s
                                                ^
Cannot compare a text with a number
---
select a from t where a = 3 and d = 3
                                ^
Cannot compare a date with a number
---
select a from t join u on a = b and s < b
                                    ^
Cannot compare a text with a number
---
select a from t natural join u
                ^
NATURAL JOIN of tables without a column of one name
---
select zz from t v join t using (a)
       ^
No field named zz
---
select a from t where row_number() over (order by a) = 1
                      ^
Window functions are not allowed in the WHERE clause
---
select a from t group by a having rank() over () = 1
                                  ^
Window functions are not allowed in the HAVING clause
""".strip("\n").split("\n---\n"),
)
def test_the_caret_is_under_what_is_wrong(case: str) -> None:
    query, caret, message = case.split("\n")
    error = refusal(query)
    first, line, shown, *_ = str(error).split("\n")
    assert message in error.message
    assert (error.line, error.column) == (1, len(caret))
    assert first.startswith(f"query:1:{len(caret)}: ")
    assert (line, shown) == ("  " + query, "  " + caret)


def test_texts_compare_with_numbers_by_a_cast_or_as_constants() -> None:
    con = connect("cpu").register("v", pa.table({"a": pa.array([3, 12], pa.int32()), "s": ["10", "9"]}))
    query = "select a from v where {} order by a"
    assert con.sql(query.format("s::int > 9")).fetchall() == [(3,)]
    assert con.sql(query.format("s > '8'")).fetchall() == [(12,)]
    assert con.sql(query.format("a > '8'")).fetchall() == [(12,)]
    assert con.sql(query.format("s = 9")).fetchall() == [(12,)]


def test_a_place_is_of_the_text_as_it_was_given() -> None:
    error = refusal("-- two lines\nexplain\tselect a,\n\t9 / zz\nfrom t")
    assert (error.line, error.column) == (3, 6)
    assert str(error).split("\n")[1:3] == ["      9 / zz", "          ^"]


def test_an_error_about_no_place_has_none() -> None:
    error = refusal("select 1 \ud800")
    assert (error.line, error.column) == (0, 0)
    assert str(error) == "the query has text that is not UTF-8"


def test_a_message_does_not_call_the_query_a_defect_of_the_planner() -> None:
    assert "bug" not in str(refusal("select sum(s) from t"))
    assert str(refusal("select coalesce(a, d) from t")).startswith("query:1:8: No function matches")


def test_offsets_of_the_text_that_is_planned() -> None:
    given = "select 12e1 / a / 2 from t"
    read_text = read(given)
    for word in ("select", "2 from", "from t"):
        assert read_text.offset(read_text.sql.rindex(word)) == given.rindex(word)
    assert read_text.offset(read_text.sql.index("drawloom_double('12e1'") + 17) == given.index("12e1")
    assert read_text.offset(len(read_text.sql)) == len(given)


@pytest.mark.parametrize(("expression", "shown", "message"), [
    ("b * 4", "b * 4", "overflow in b * 4: the result does not fit bigint"),
    ("7, (b+b)", "b+b", "overflow in b + b: the result does not fit bigint"),
    ("cast(b as int)", "cast(b", "overflow in cast(b as integer): the result does not fit integer"),
    ("cast(s as int)", "cast(s", "cannot convert the text 'x' to integer in cast(s as integer)"),
    ("case when b > 0 then b << 5 end", "b << 5", "overflow in b << 5: 147573952589676412928 does not fit bigint"),
    ("7 % (b - b)", "7 %", "division by zero in 7 % (b - b)"),
    ("b * 4 + 1, b * 4", "", "overflow in b * 4: the result does not fit bigint"),
    ("sum(b)::int", "sum(b)", "overflow in cast(sum(b) as integer): 4611686018427387904 does not fit integer"),
    ("d + interval '300000 years'", "", "overflow in d + interval '3600000 months': the result does not fit timestamp"),
    ("d + cast(b as int)", "cast(b", "overflow in cast(b as integer): the result does not fit integer"),
])  # fmt: skip
def test_errors_of_rows_name_the_expression_in_sql(expression: str, shown: str, message: str) -> None:
    table = pa.table({"b": [2**62], "s": ["x"], "d": pa.array([0], pa.date32())})
    query = f"select {expression} from t"
    with pytest.raises(drawloom.DataError) as caught:
        connect("cpu").register("t", table).sql(query).arrow()
    assert caught.value.message == message
    column = query.index(shown) + 1
    place = f"query:1:{column}: {message}\n  {query}\n  {' ' * (column - 1)}^"
    assert str(caught.value) == (place if shown else message)

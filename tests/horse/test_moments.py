"""Templates of the functions of dates, timestamps and doubles beside the interpreter, over all that the types hold."""

import calendar
import datetime
import math
import random
from typing import Any

import pyarrow as pa
import pytest

from drawloom.errors import DataError
from drawloom.horse.calendar import DAY, UNITS
from tests.horse.programs import columns, control, on_device, program, result

EPOCH = datetime.date(1970, 1, 1).toordinal()
#: The days about the ends of months, of years with and without a leap day, and of eras.
TURNS = [
    datetime.date(year, month, day).toordinal() - EPOCH + away
    for year in (1, 4, 100, 400, 1600, 1899, 1900, 1904, 1969, 1970, 1972, 1999, 2000, 2001, 2023, 2024, 2100, 9999)
    for month, day in ((1, 1), (1, 31), (2, 28), (3, 1), (6, 30), (12, 31))
    for away in (-1, 0, 1)
]
WIDEST = 5_800_000 * 365
#: Numbers of days: of our time, on both sides of 1970 and of year 0, and of every date.
DAYS = {
    "recent": range(0, 25_000, 7),
    "near": [*TURNS, *range(-1500, 1500)],
    "all": [*TURNS, *random.Random(1).sample(range(-WIDEST, WIDEST), 2000), -719468, -719469, -719529, WIDEST, -WIDEST],
}
PARTS = "date_year date_quarter date_month date_week date_day date_dow date_doy".split()


def checked(table: pa.Table, calls: list[str], device: str = "cpu") -> list[dict[str, Any]]:
    """The results of the calls, ``x0`` on, which one kernel computes."""
    body = "".join([f"var x{n}:? = {call};" for n, call in enumerate(calls)])
    made = program(table, body + result([f"x{n}" for n in range(len(calls))]))
    assert len(made.plans) == 1 and not control(made).count("@date_")
    ours, oracle = on_device(made, device), made.interpret().to_arrow()
    assert ours.schema == oracle.schema
    rows = whole_numbers(ours)
    assert repr(rows) == repr(whole_numbers(oracle))
    return rows


def whole_numbers(table: pa.Table) -> list[dict[str, Any]]:
    """Rows with days and microseconds as numbers: Python's dates end with the year 9999."""
    wide = {pa.date32(): pa.int32(), pa.timestamp("us"): pa.int64()}
    cells = [c.cast(wide.get(c.type, c.type)).to_pylist() for c in table.columns]
    return [dict(zip(table.column_names, row)) for row in zip(*cells)]


@pytest.mark.parametrize("days", DAYS)
def test_parts_of_dates(days: str) -> None:
    rows = checked(columns(d=(list(DAYS[days]), pa.date32())), [f"@{part}(d)" for part in PARTS])
    for number, row in zip(DAYS[days], rows):
        if 1 <= number + EPOCH <= datetime.date.max.toordinal():
            day = datetime.date.fromordinal(number + EPOCH)
            ours = [day.year, (day.month + 2) // 3, day.month, day.isocalendar()[1], day.day, day.isoweekday() % 7]
            assert list(row.values()) == [*ours, day.timetuple().tm_yday]


@pytest.mark.parametrize("days", DAYS)
def test_units_and_months_of_dates(days: str) -> None:
    rng = random.Random(2)
    table = columns(d=(list(DAYS[days]), pa.date32()), m=([rng.randint(-30, 30) for _ in DAYS[days]], pa.int64()))
    months = ["0:i64", "1:i64", "-1:i64", "1200:i64", "m"]
    calls = [f"@truncate(d, `{u}:sym)" for u in sorted(UNITS)] + [f"@add_months(d, {m})" for m in months]
    for number, row in zip(DAYS[days], checked(table, calls)):
        if days == "recent":
            day, later = [datetime.date.fromordinal(n + EPOCH) for n in (number, row[f"x{len(UNITS) + 1}"])]
            assert (later.year * 12 + later.month) - (day.year * 12 + day.month) == 1
            assert later.day == min(day.day, calendar.monthrange(later.year, later.month)[1])


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_timestamps(device: str) -> None:
    rng = random.Random(3)
    edges = [day * DAY + away for day in TURNS[::7] for away in (-1, 0, 1)]
    micros = [*edges, *[rng.randint(-(1 << 60), 1 << 60) for _ in range(300)]]
    table = columns(t1=(micros, pa.timestamp("us")), d=([n % 40_000 - 20_000 for n in micros], pa.date32()))
    calls = ["@time_hour(t1)", "@time_minute(t1)", "@time_second(t1)", "@date_of(t1)", "@timestamp_of(d)"]
    calls += [f"@truncate(t1, `{u}:sym)" for u in sorted(UNITS)]
    calls += [f"@add_months(t1, {m}:i64)" for m in (0, 1, -1, 25)]
    checked(table if device == "cpu" else table.slice(0, 97), calls, device)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_doubles(device: str) -> None:
    rng = random.Random(4)
    known = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, -0.3, 1e300, -1e300, 2.0**52 + 0.5, 2.0**53,
             math.inf, -math.inf, math.nan, -1.0, 5e-324]  # fmt: skip
    values = [*known, *[rng.uniform(-100, 100) for _ in range(200)], *[math.ldexp(1.5, n) for n in range(-60, 60)]]
    table = columns(
        f=(values, pa.float64()),
        g=([1.0 if abs(v) > 1e38 else v for v in values], pa.float32()),
        i=([n - 5 for n in range(len(values))], pa.int32()),
    )
    checked(table, [f"@{name}({c})" for name in ("sqrt", "floor", "ceil", "round") for c in "fgi"], device)


def test_what_a_type_does_not_hold_is_refused_as_the_interpreter_refuses_it() -> None:
    table = columns(d=([(1 << 31) - 40], pa.date32()))
    made = program(table, f"var x0:? = @add_months(d, 2:i64); {result(['x0'])}")
    assert made.plans
    with pytest.raises(DataError, match="overflow"):
        on_device(made, "cpu")
    with pytest.raises(DataError, match="overflow"):
        made.interpret()

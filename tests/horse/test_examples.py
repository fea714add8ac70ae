"""The HorseIR programs of the documentation and the examples run, and give what they say."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from drawloom.cli.run import command

ROOT = Path(__file__).resolve().parents[2]
MONEY = pa.decimal128(15, 2)


def run(file: Path, *words: str) -> str:
    done = CliRunner().invoke(command, [str(file), *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("mode", ["none", "full"])
def test_the_example_gives_what_duckdb_gives(tmp_path: Path, mode: str) -> None:
    rng = random.Random(1)
    orders = pa.table({
        "o_custkey": pa.array([rng.randint(1, 40) for _ in range(500)], pa.int64()),
        "o_totalprice": pa.array([Decimal(rng.randint(1, 10**7)).scaleb(-2) for _ in range(500)], MONEY),
        "o_orderdate": pa.array([rng.randint(8000, 10000) for _ in range(500)], pa.int32()).cast(pa.date32()),
    })  # fmt: skip
    pq.write_table(orders, tmp_path / "orders.parquet")
    text = """select o_custkey, sum(o_totalprice) total, max(o_orderdate) - min(o_orderdate)
        from orders group by 1 order by total desc limit 3"""
    expected = "".join([",".join([str(v) for v in row]) + "\n" for row in duckdb.sql(text).fetchall()])
    words = [f"--table=orders={tmp_path / 'orders.parquet'}", "--format=csv", f"--outline={mode}"]
    assert run(ROOT / "examples" / "top_customers.hir", *words) == "customer,total,days\n" + expected


def test_the_program_of_the_documentation_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "horse.md").read_text(encoding="utf-8")
    program = page.split("```\n")[1]
    assert program.startswith("module default {")
    (tmp_path / "page.hir").write_text(program, encoding="utf-8")
    sales = pa.table({"price": pa.array([Decimal("9.99"), Decimal("10.00"), Decimal("0.50"), Decimal("20.25")], MONEY)})
    pq.write_table(sales, tmp_path / "sales.parquet")
    assert run(tmp_path / "page.hir", f"--table=sales={tmp_path / 'sales.parquet'}", "--format=csv") == "total\n30.25\n"

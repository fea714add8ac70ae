"""SQL over files and tables from Python: what a person who analyses data writes, with the profile as a page.

    python examples/query.py [--device cuda:0] [--profile profile.html]

Makes its own data: 200,000 sales as Parquet files of a folder, shops as CSV, prices as an Arrow table.
"""

import argparse
import tempfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import drawloom

QUERY = """
    select city, count(*) as sales, sum(amount * price) as revenue, avg(amount) as mean,
           rank() over (order by sum(amount * price) desc) as place
    from sales
    join shops on sales.shop = shops.shop
    join prices on sales.article = prices.article
    where day >= date '2024-03-01' and city is not null
    group by city
    order by place
    limit 3
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="SQL over files and tables")
    parser.add_argument("--device", default=None, help="cpu (the default) or cuda:N")
    parser.add_argument("--profile", type=Path, default=None, help="where to write the profile, as HTML")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sales(folder / "sales")
        (folder / "shops.csv").write_text("shop;city\n1;Basel\n2;Graz\n3;\n4;Graz\n5;Bonn\n6;Kiel\n")
        con = drawloom.connect(arguments.device)
        con.register("sales", folder / "sales")  # a folder of Parquet files
        con.register("shops", folder / "shops.csv", delimiter=";")
        con.register("prices", prices())
        relation = con.sql(QUERY)
        for row in relation.fetchall():
            print(row)
        profile = relation.profile()
        print(f"\n{profile}")
        if arguments.profile is not None:
            arguments.profile.write_text(profile.html(), encoding="utf-8")
        refused(con)


def refused(con: drawloom.Connection) -> None:
    """What is wrong or not built is an error that says where, or what."""
    for text in ("select shop,\n  sum(prize) from sales group by shop", "select arrow_typeof(city) from shops"):
        try:
            con.sql(text).arrow()
        except drawloom.Error as problem:
            print(f"\n{problem}")


def write_sales(folder: Path) -> None:
    rng = np.random.default_rng(4)
    folder.mkdir()
    for month in range(1, 5):
        rows = 50_000
        days = np.datetime64(f"2024-{month:02d}-01") + rng.integers(0, 28, rows)
        table = pa.table(
            {
                "day": pa.array(days, pa.date32()),
                "shop": rng.integers(1, 7, rows),
                "article": rng.integers(0, 100, rows),
                "amount": pa.array(rng.integers(1, 20, rows), pa.int32()),
            }
        )
        pq.write_table(table, folder / f"2024-{month:02d}.parquet")


def prices() -> pa.Table:
    cents = [Decimal(100 + 7 * article) for article in range(100)]
    return pa.table({"article": range(100), "price": pa.array([c / 100 for c in cents], pa.decimal128(10, 2))})


if __name__ == "__main__":
    main()

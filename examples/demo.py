"""From SQL text over Parquet to printed answers, stage times and PTX; then one PTX file on NumPy arrays.

    python examples/demo.py [--data FOLDER] [--scale 0.1] [--device cpu]

makes TPC-H tables in FOLDER with tpchgen-cli, unless they are there, and runs queries 6 and 1 on them.
"""

import argparse
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

import drawloom

Q6 = """
select sum(l_extendedprice * l_discount) as revenue
from lineitem
where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'
  and l_discount between 0.05 and 0.07 and l_quantity < 24
"""

Q1 = """
select l_returnflag, l_linestatus,
       sum(l_quantity) as sum_qty,
       sum(l_extendedprice) as sum_base_price,
       sum(l_extendedprice * (1 - l_discount)) as sum_disc_price,
       sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge,
       avg(l_quantity) as avg_qty,
       avg(l_extendedprice) as avg_price,
       avg(l_discount) as avg_disc,
       count(*) as count_order
from lineitem
where l_shipdate <= date '1998-12-01' - interval '90' day
group by l_returnflag, l_linestatus
order by l_returnflag, l_linestatus
"""

SAXPY = Path(__file__).with_name("saxpy.ptx")


def main() -> None:
    parser = argparse.ArgumentParser(description="SQL and PTX on this machine")
    parser.add_argument("--data", type=Path, default=Path("build/data"), help="folder for the TPC-H tables")
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H scale factor")
    parser.add_argument("--device", default="cpu", help="cpu, reference, or cuda:0")
    options = parser.parse_args()

    lineitem = make_lineitem(options.data, options.scale)
    con = drawloom.connect(device=options.device)
    con.register("lineitem", str(lineitem))
    show_query(con, "TPC-H Q6", Q6)
    show_query(con, "TPC-H Q1", Q1)
    show_saxpy(options.device)


def make_lineitem(folder: Path, scale: float) -> Path:
    """The path of lineitem.parquet at `scale` below `folder`, generated where it is missing."""
    tables = folder / f"tpch-sf{scale:g}"
    path = tables / "lineitem.parquet"
    if path.exists():
        return path
    generator = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts")) or shutil.which("tpchgen-cli")
    if generator is None:
        sys.exit("tpchgen-cli is not installed: pip install 'drawloom[data]'")
    heading(f"Generating TPC-H tables at scale {scale:g} in {tables}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        subprocess.run(
            [generator, "parquet", "-s", f"{scale:g}", f"--output-dir={unfinished}/tables"], check=True
        )
        shutil.rmtree(tables, ignore_errors=True)
        Path(unfinished, "tables").rename(tables)
    return path


def show_query(con: "drawloom.Connection", title: str, text: str) -> None:
    heading(title)
    print(text.strip())
    relation = con.sql(text)
    table = relation.arrow()
    print("\nAnswer")
    for row in table.to_pylist():
        print("  " + ", ".join(f"{name} = {value}" for name, value in row.items()))
    print("\nStages")
    print(relation.profile())
    print("\nPlan and PTX")
    print(relation.explain())


def show_saxpy(device: str) -> None:
    heading(f"{SAXPY.name} on NumPy arrays")
    count, block = 1_000_000, 256
    x = np.arange(count, dtype=np.float32)
    y = np.ones(count, dtype=np.float32)
    expected = np.float32(2.0) * x + y
    kernel = drawloom.load(str(SAXPY), device=device)["saxpy"]
    kernel[-(-count // block), block](2.0, x, y, count)
    if not np.array_equal(y, expected):  # every value is an integer below 2**24: exact
        sys.exit("saxpy gave a wrong answer")
    print(f"y = 2 x + y over {count} elements: y[:5] = {y[:5]}, y[-1] = {y[-1]}, as NumPy says")


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


if __name__ == "__main__":
    main()

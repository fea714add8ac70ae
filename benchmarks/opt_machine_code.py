"""Whether a level of the optimiser pays after NVIDIA's assembler: machine instructions of PTX that was not seen before.

    python benchmarks/opt_machine_code.py FOLDER     # FOLDER holds .ptx files, e.g. of `nvcc --ptx`

A cell is the number of machine instructions for sm_90 over those of the file as it is, then the same for registers,
summed over kernels: after -O2, and after -O2 with each pass that no level has. Instructions are counted as they stand,
not as they run. The oldest ptxas at hand is taken; what it or the parser refuses is counted and left out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.common import vendor  # noqa: E402
from benchmarks.common.timing import geometric_mean, markdown_table  # noqa: E402
from benchmarks.opt import code_of  # noqa: E402
from drawloom.errors import Error  # noqa: E402
from drawloom.opt import LEVELS, optimize  # noqa: E402
from drawloom.ptx import Module, parse  # noqa: E402

#: Passes that no level runs, and the pass of -O2 that each stands before or behind.
ADDED = {"speculate": "narrow", "bypass": "strength"}


def variants(module: Module) -> dict[str, Module]:
    """The module as it is, after -O2, and after -O2 with each further pass and with all of them."""
    out = {"as it is": module, "-O2": optimize(module, 2)}
    everything = list(LEVELS[2])
    for name, following in ADDED.items():
        names = list(LEVELS[2])
        names.insert(names.index(following), name)
        everything.insert(everything.index(following), name)
        out[f"with {name}"] = optimize(module, passes=names)
    out["with both"] = optimize(module, passes=everything)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    program = vendor.programs()[0]
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {}
    refused = 0
    for path in sorted(given.folder.glob("**/*.ptx")):
        try:
            made = variants(parse(path.read_text(encoding="utf-8"), path.name))
        except Error as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            refused += 1
            continue
        found = {name: code_of(module, program) for name, module in made.items()}
        base = found["as it is"]
        if base is None or not base[1]:
            refused += 1
            continue
        row = [path.stem, str(base[0])]
        for name, code in found.items():
            if name != "as it is" and code is not None:
                row += [f"{code[0] / base[0]:.3f}", f"{sum(code[1]) / sum(base[1]):.3f}"]
                ratios.setdefault(name, []).append(code[0] / base[0])
                ratios.setdefault(f"{name}, registers", []).append(sum(code[1]) / sum(base[1]))
        rows.append(row)
    headers = ["file", "instructions"]
    for name in [n for n in ratios if not n.endswith("registers")]:
        headers += [name, "registers"]
    rows.append(["geometric mean", "", *[f"{geometric_mean(values):.3f}" for values in ratios.values()]])
    print(markdown_table(headers, rows))
    print(f"{len(rows) - 1} files, {refused} refused; {program.release}")


if __name__ == "__main__":
    main()

"""Derives and checks the instruction encodings under src/drawloom/sass/tables.

python -m tools.isa fetch            # download ptxas and nvdisasm into the vendor folder (DRAWLOOM_VENDOR)
python -m tools.isa derive 90 80 75  # derive these targets afresh; writes them into the family's table
python -m tools.isa extend 90        # derive what probes added since then bring
python -m tools.isa check [90 ...]   # encode every form and compare with nvdisasm; decode what ptxas emits
"""

from __future__ import annotations

import argparse
import sys
import time

from drawloom.errors import Error
from drawloom.sass.isa import TARGETS
from tools.isa import family, golden, vendor
from tools.isa.check import check


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.isa", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("fetch", "derive", "extend", "golden", "check"))
    parser.add_argument("targets", nargs="*", type=int, help="of " + ", ".join(map(str, TARGETS)))
    options = parser.parse_args()
    unknown = [target for target in options.targets if target not in TARGETS]
    if unknown:
        parser.error(f"no such target: {unknown[0]}")
    targets = options.targets or list(TARGETS)
    started = time.monotonic()

    def log(line: str) -> None:
        print(f"{time.monotonic() - started:6.0f} s  {line}", flush=True)

    try:
        if options.action == "fetch":
            vendor.fetch()
        elif options.action == "derive":
            family.derive_targets(targets, log)
        elif options.action == "extend":
            family.extend_targets(targets, log)
        elif options.action == "golden":
            for target in targets:
                golden.write_golden(target, log)
            golden.write_losses()
        else:
            good = [check(target, log) for target in targets]
            return 0 if all(good) else 1
    except Error as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What ptxas takes for a target and the assembler refuses: single instructions of tests/golden/corpus/legality.txt.

    python -m tools.refused 90 61           # counts by reason
    python -m tools.refused 90 --lines      # and every line; a target takes some minutes

Textures and tensor cores are left out. The instructions that we refuse are given to ptxas 12.9 (DRAWLOOM_VENDOR), each
in a kernel of its own.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict

from drawloom.errors import Error
from drawloom.sass.assemble import assemble
from tools import legality
from tools.isa import probes

OUTSIDE = re.compile(
    r"^(@\S+ )?(wmma|mma|wgmma|tex|tld4|txq|sust|suld|sured|suq|ldmatrix|stmatrix|movmatrix)\b"
)  # fmt: skip


def instructions() -> list[str]:
    """The legal ones."""
    lines = legality.OUT.read_text().splitlines()
    return [line[3:] for line in lines if line.startswith("ok\t") and not OUTSIDE.search(line[3:])]


def module(line: str, target: int) -> str:
    head = legality.MODULE_HEAD.replace(legality.ARCH, f"sm_{target}")
    head = head.replace(f".version {legality.VERSION}", f".version {probes.VERSION}")
    registers = legality.REGISTERS.replace(".reg .b128 %rq<4>;", "") if target < 70 else legality.REGISTERS
    return head + registers + line + "\n" + legality.MODULE_TAIL


def refused(target: int) -> dict[str, list[str]]:
    """The lines that ptxas takes and we do not, by our reason without names and numbers."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in instructions():
        text = module(line, target)
        try:
            assemble(text, f"sm_{target}")
        except Error as refusal:
            if probes.assemble(text, target, "0")[0]:
                message = re.sub(r"^\S+:\d+:\d+: |^<text>: ", "", str(refusal).splitlines()[0])
                found[re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'...'", message))].append(line)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="+", type=int)
    parser.add_argument("--lines", action="store_true", help="print every line")
    options = parser.parse_args()
    for target in options.targets:
        found = refused(target)
        print(f"sm_{target}: {sum(map(len, found.values()))} of {len(instructions())}")
        for reason, lines in sorted(found.items(), key=lambda item: -len(item[1])):
            print(f"{len(lines):6} {reason}")
            if options.lines:
                print("".join(f"         {line}\n" for line in lines), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

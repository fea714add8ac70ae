"""Makes the vendor-free test data under tests/golden/sass from ptxas and nvdisasm.

python -m tools.isa.schedules sections   # sections.zip: code of chosen programs, every target, as ptxas emitted it
python -m tools.isa.schedules ranges     # life_ranges.txt: what nvdisasm says each form reads and writes
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from drawloom.errors import Error
from drawloom.sass.isa import TARGETS
from drawloom.sass.syntax import scan
from tools.isa import vendor
from tools.isa.latencies import sections_of

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden/sass"
CORPUS = ROOT / "tests/golden/corpus"
# Program and the compiler's optimisation level: every unit, barrier and kind of control flow is in one of them.
CHOSEN = (
    ("nvcc/saxpy.sm_80.O3", 3),
    ("nvcc/reduce_shuffle.sm_80.O3", 3),
    ("nvcc/histogram_shared.sm_80.O3", 3),
    ("nvcc/double_math.sm_80.O3", 3),
    ("nvcc/half_math.sm_80.O3", 3),
    ("nvcc/wide_integers.sm_80.O3", 3),
    ("nvcc/warp_ops.sm_80.O3", 3),
    ("nvcc/atomics.sm_80.O3", 3),
    ("nvcc/control_flow.sm_80.O3", 3),
    ("nvcc/calls.sm_80.O3", 1),
    ("nvcc/switch_table.sm_80.O3", 3),
    ("nvcc/matmul_tiled.sm_80.O3", 3),
    ("nvcc/virtual_calls.sm_80.O3", 3),
    ("nvcc/local_arrays.sm_80.O3", 3),
    ("nvcc/spmv_csr.sm_80.O3", 1),
    ("nvcc/saxpy.sm_90.O0", 0),
    ("nvcc/vecadd.sm_90.O0", 0),
)
MARKS = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*)")
ANNOTATION = re.compile(r" *\(\*.*")
LABEL = re.compile(r"`\([^)]*\)|\d+@\w+\(+[^)]*\)+")
FILES = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}


def assemble(source: Path, target: int, level: int, output: Path) -> bool:
    """Assembles a PTX file for a target, whatever the target it names. Says whether ptxas took it."""
    text = re.sub(r"(?m)^\.version.*", ".version 8.8", source.read_text())
    debug = ", debug" if re.search(r"(?m)^\.target.*debug", text) else ""
    text = re.sub(r"(?m)^\.target.*", f".target sm_{target}{debug}", text)
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(text)
        file.flush()
        command = [vendor.tool("ptxas"), f"-arch=sm_{target}", f"-O{level}", file.name, "-o", str(output)]
        return subprocess.run(command, capture_output=True).returncode == 0


Marks = tuple[str, frozenset[str], frozenset[str]]


def life_ranges(cubin: Path) -> str:
    """nvdisasm's listing of a cubin with life ranges."""
    command = [vendor.tool("nvdisasm-12.4"), "-c", "-plr", "-lrm", "narrow", str(cubin)]
    return subprocess.run(command, capture_output=True, text=True).stdout


def marks(listing: str) -> Iterator[Marks]:
    """(text, registers read, registers written) of the instructions in a listing with life ranges. Pairs that sm_61
    issues together share their marks, and are left out."""
    columns: list[tuple[str, int, int]] = []
    names: list[str] = []
    for line in listing.splitlines():
        at = line.rfind("// ")
        cells = line[at + 3 :]
        if at < 0 or not cells.startswith("|"):
            continue
        if "GPR" in cells:
            names = [name.strip() for name in cells.split("|")[1:-1]]
        elif "#" in cells:
            columns, start = [], 1
            for name, part in zip(names, cells.split("|")[1:-1]):
                columns.append((FILES[name], start + part.index("#") + 2, start + len(part)))
                start += len(part) + 1
        found = MARKS.match(line[:at])
        if found is None or "{" in found[2].split(" ", 1)[0] or "}" in found[2]:
            continue
        read, written = set(), set()
        for file, start, end in columns:
            for number, mark in enumerate(cells[start:end]):
                if mark in "vx":
                    read.add(f"{file}{number}")
                if mark in "^x":
                    written.add(f"{file}{number}")
        text = LABEL.sub("0x0", ANNOTATION.sub("", found[2])).rstrip(" ;")
        yield text, frozenset(read), frozenset(written)


def sections() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(GOLDEN / "sections.zip", "w", zipfile.ZIP_LZMA) as archive, tempfile.TemporaryDirectory() as d:
        for target in TARGETS:
            for name, level in CHOSEN:
                cubin = Path(d) / "a.cubin"
                if not assemble(CORPUS / f"{name}.ptx", target, level, cubin):
                    continue  # half precision and matches are not for sm_61
                for number, code in enumerate(sections_of(cubin)):
                    entry = f"{target}/{Path(name).name}.{level}.{number}"
                    archive.writestr(zipfile.ZipInfo(entry), code, zipfile.ZIP_LZMA)


def ranges() -> None:
    """One line for every mnemonic and structure: targets, text, reads, writes. Calls are left out: nvdisasm gives them
    what their callees do."""
    jobs = [(path, target) for target in (61, 75, 80, 90) for path in sorted(CORPUS.glob("*/*.ptx"))]
    samples: dict[tuple[str, str, str], dict[str, set[int]]] = {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:

        def run(job: tuple[int, tuple[Path, int]]) -> list[Marks]:
            cubin = Path(folder) / f"{job[0]}.cubin"
            return list(marks(life_ranges(cubin))) if assemble(job[1][0], job[1][1], 3, cubin) else []

        for (_, target), found in zip(jobs, pool.map(run, enumerate(jobs))):
            note(samples, target, found)
    write_ranges(samples)


def note(
    samples: dict[tuple[str, str, str], dict[str, set[int]]],
    target: int,
    found: list[Marks],
) -> None:
    for text, read, written in found:
        try:
            parsed = scan(text := text.replace(".reuse", ""))
        except Error:
            continue
        base = parsed.base.split(".")[0]
        if base in ("CALL", "CAL", "JCAL"):
            continue
        key = base + "".join(parsed.gaps[0]), " ".join(parsed.structure), "".join(map("".join, parsed.gaps[1:]))
        line = f"{text} | {' '.join(sorted(read))} | {' '.join(sorted(written))}"
        kept = samples.setdefault(key, {})
        # One line for a target, the one that names most registers: RZ and PT hide what is read.
        old = next((old for old in kept if target in kept[old]), "")
        if (len(line), line) > (len(old), old):
            if old:
                kept[old].discard(target)
            kept.setdefault(line, set()).add(target)


def write_ranges(samples: dict[tuple[str, str, str], dict[str, set[int]]]) -> None:
    lines = [
        f"{','.join(map(str, sorted(targets)))} | {line}"
        for key in sorted(samples)
        for line, targets in sorted(samples[key].items())
        if targets
    ]
    GOLDEN.mkdir(parents=True, exist_ok=True)
    head = "# targets | instruction | registers read | registers written, as nvdisasm --print-life-ranges shows them\n"
    (GOLDEN / "life_ranges.txt").write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    {"sections": sections, "ranges": ranges}[sys.argv[1]]()

"""Makes tests/golden/sass/cubins/vendor.tar.xz: what ptxas 12.9 and 13 make of small PTX files, for every target.

    python -m tools.cubins        # needs ptxas 12.9 (see `python -m tools.isa fetch`) and ptxas 13, on PATH or named

An entry is called SOURCE@CUDA.TARGET.MODE.cubin, MODE being `exec`, `lines` (-lineinfo) or `rel` (-c); beside it
lies what `ptxas -v` printed, without the times.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.isa import vendor

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
FOLDER = GOLDEN / "sass" / "cubins"
ARCHIVE = FOLDER / "vendor.tar.xz"
CORPUS = [GOLDEN / "corpus" / "hand" / name for name in ("barriers.ptx", "calls.ptx", "control_flow.ptx")]
CORPUS += [GOLDEN / "corpus" / "hand" / "variables.ptx", GOLDEN / "corpus" / "clang" / "calls.sm_61.O1.ptx"]
CORPUS.append(GOLDEN / "corpus" / "clang" / "generic_addresses.sm_80.O3.ptx")
TARGETS = {12: (61, 75, 80, 86, 89, 90), 13: (75, 80, 90)}
#: Targets whose files differ from another's in nothing but numbers: executable files only.
ALIKE = (86, 89)
MODES = {"exec": [], "lines": ["-lineinfo"], "rel": ["-c"]}


def assemble(ptxas: str, source: Path, target: int, options: list[str]) -> tuple[bytes, str] | None:
    """The cubin and what was printed, without times; None where this ptxas refuses the file."""
    version = re.search(r"release (\d+)\.(\d+)", run(ptxas, "--version").stdout)
    text = source.read_text()
    if version is not None and int(version[1]) < 13:
        text = re.sub(r"(?m)^\.version 9\.\d+", ".version 8.8", text)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "in.ptx").write_text(text)
        done = run(ptxas, f"-arch=sm_{target}", "-v", *options, f"{folder}/in.ptx", "-o", f"{folder}/out.cubin")
        if done.returncode:
            return None
        printed = "".join(line for line in done.stderr.splitlines(True) if "Compile time" not in line)
        return (Path(folder) / "out.cubin").read_bytes(), printed


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True)


def jobs() -> Iterator[tuple[Path, int, int, str]]:
    for source in [*sorted(FOLDER.glob("*.ptx")), *CORPUS]:
        needs = re.search(r"\.target\s+sm_(\d+)", source.read_text())
        for cuda, targets in TARGETS.items():
            for target in targets:
                if needs is not None and target < int(needs[1]):
                    continue
                for mode in MODES:
                    if (mode == "lines") == (source.stem == "lines") and not (mode == "rel" and target in ALIKE):
                        yield source, cuda, target, mode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxas-12", default=vendor.tool("ptxas"))
    parser.add_argument("--ptxas-13", default="ptxas")
    options = parser.parse_args()
    tools = {12: options.ptxas_12, 13: options.ptxas_13}
    for cuda, tool in tools.items():
        if f"release {cuda}." not in run(tool, "--version").stdout:
            print(f"cubins: {tool} is not the ptxas of CUDA {cuda}", file=sys.stderr)
            return 1
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for source, cuda, target, mode in jobs():
            made = assemble(tools[cuda], source, target, MODES[mode])
            name = f"{source.stem}@{cuda}.{target}.{mode}"
            for suffix, data in ((".cubin", made[0]), (".txt", made[1].encode())) if made else ():
                entry = tarfile.TarInfo(name + suffix)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    print(f"{ARCHIVE.stat().st_size} bytes in {ARCHIVE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

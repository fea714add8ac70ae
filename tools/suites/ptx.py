"""A folder of PTX files that others made, through each stage: parse, round trip, optimise, assemble, run.

    python -m tools.suites.ptx PATH [--filter TEXT] [--timeout S] [--jobs N] [--report FILE] [--stages parse,run]

Each file is parsed and verified; printed and parsed again; optimised at each level; assembled for its target, or the
next that there is code for; and each of its kernels is run on guessed arguments, by the interpreter and by the CPU
device without and with the optimiser. An outcome is

- same: the stage did what it should; the run left the interpreter's bytes in memory; PTX that we refuse is refused by
  ptxas, too, where that is installed;
- refused: by an error of ours, or the arguments that were guessed do not fit the kernel, so nothing can be compared;
- different: another module after the round trip, or other bytes in memory;
- crashed, hung: as in `tools.suites.report`.

PTX to try is what nvcc, clang, Triton and Numba leave of any program: `nvcc --ptx file.cu`.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import drawloom
from drawloom import reference
from drawloom.errors import Error, KernelFault, LaunchError, RaceError
from drawloom.ptx.ir import Function, Module
from drawloom.ptx.launch_bounds import LaunchBounds
from drawloom.ptx.layout import GlobalsLayout
from drawloom.ptx.types import Type
from drawloom.runtime import device
from drawloom.runtime.arguments import Parameter, prepare
from drawloom.runtime.element_types import accessed_types
from drawloom.runtime.memory import aligned_bytes
from drawloom.sass.assemble import SELECTED
from tools.suites.report import Outcome, argument_parser, report, run_in_processes

STAGES: Final = ("parse", "round trip", "optimise", "assemble", "run")
#: Elements of each array, and the scalar that counts them: small enough for products of two to stay inside.
ELEMENTS: Final = 1 << 14
COUNT: Final = 64
GRID: Final = 2
BLOCK: Final = 64
#: Instructions that the interpreter does of a kernel before it counts as too long.
MAX_STEPS: Final = 1_000_000
#: What a byte of shared memory may be, too, before it is written.
_OTHER_FILL: Final = 0xA5
#: Instructions whose results differ between devices within bounds, and so the bytes that they lead to.
_APPROXIMATE: Final = re.compile(
    r"\.approx|\.full|(?:atom|red)\.\S*add\S*\.(?:f16|f32|f64|bf16)|\bex2|\blg2|%clock|%globaltimer"
)


def check(item: str) -> Iterator[Outcome | str]:
    """The outcomes of one file; `item` is its path, and the stages after a tab."""
    path, _, stages = item.partition("\t")
    wanted = stages.split(",") if stages else list(STAGES)
    text = Path(path).read_text(encoding="utf-8", errors="surrogateescape")
    yield f"{path}: parse"
    try:
        module = drawloom.ptx.parse(text, path)
        drawloom.ptx.verify(module)
    except Error as refusal:
        both = refused_by_ptxas(path, text)
        yield Outcome(f"{path}: parse", "same" if both else "refused", both or cause(refusal))
        return
    yield Outcome(f"{path}: parse", "same")
    if "round trip" in wanted:
        yield f"{path}: round trip"
        again = drawloom.ptx.parse(str(module), path)
        kept = again.key() == module.key()
        yield Outcome(f"{path}: round trip", "same" if kept else "different", "" if kept else "another module")
    if "optimise" in wanted:
        for level in (1, 2, 3):
            yield f"{path}: optimise -O{level}"
            yield attempt(f"{path}: optimise -O{level}", partial(drawloom.optimize, module, level))
    if "assemble" in wanted:
        arch = architecture(module)
        yield f"{path}: assemble {arch}"
        yield attempt(f"{path}: assemble {arch}", partial(drawloom.assemble, module, arch))
    if "run" in wanted:
        for kernel in module.kernels:
            yield f"{path}: run {kernel.name}"
            yield run(f"{path}: run {kernel.name}", module, kernel)


def attempt(name: str, work: Any) -> Outcome:
    try:
        work()
    except Error as refusal:
        return Outcome(name, "refused", cause(refusal))
    return Outcome(name, "same")


def cause(refusal: Error) -> str:
    """The refusal's first line without names and numbers, then all of it."""
    general = re.sub(r"0x[0-9a-f]+|\b\d+\b", "N", refusal.message)
    return f"{re.sub(r'[%$]?_Z[A-Za-z0-9_$]+', 'NAME', general)}\n{refusal}"


def refused_by_ptxas(path: str, text: str) -> str:
    """What ptxas says of a file that it refuses; "" if it takes the file, or is not installed."""
    ptxas = shutil.which("ptxas")
    target = re.search(r"^\s*\.target\s+(sm_\w+)", text, re.M)
    if ptxas is None or target is None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        command = [ptxas, "-arch", target[1], path, "-o", f"{folder}/out.cubin"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return f"ptxas refuses it, too\n{done.stderr}" if done.returncode else ""


def architecture(module: Module) -> str:
    """The module's target, or the next one that the assembler makes code for."""
    number = int(re.sub(r"\D", "", module.arch))
    return f"sm_{min((known for known in SELECTED if known >= number), default=max(SELECTED))}"


def run(name: str, module: Module, kernel: Function) -> Outcome:
    """Run a kernel by the interpreter and by the CPU device, and compare what it left in its arrays."""
    bounds = LaunchBounds(kernel)
    block = bounds.required or (min(BLOCK, bounds.threads), 1, 1)
    try:
        expected = interpreted(module, kernel, block)
    except (KernelFault, LaunchError) as refusal:
        return Outcome(name, "refused", f"guessed arguments: {re.sub('[0-9]+', 'N', refusal.message)}")
    except Error as refusal:
        return Outcome(name, "refused", cause(refusal))
    for level in (0, 2):
        arrays = guessed(module, kernel)
        try:
            drawloom.load(module, "cpu", level=level)[kernel.name][GRID, block](*arrays)
        except Error as refusal:
            return Outcome(name, "refused", cause(refusal))
        if not agree(arrays, expected):
            if _APPROXIMATE.search(str(module)):
                return Outcome(name, "refused", "not compared: approximate instructions, or sums in any order")
            if not agree(expected, interpreted(module, kernel, block, reverse=True)):
                return Outcome(name, "refused", "not compared: the result depends on the order of the threads")
            if not agree(expected, interpreted(module, kernel, block, shared_fill=_OTHER_FILL)):
                return Outcome(name, "refused", "not compared: the kernel reads shared memory that nobody wrote")
            if races(module, kernel, block):
                return Outcome(name, "refused", "not compared: threads race for memory")
            return Outcome(name, "different", f"other bytes in memory, -O{level}")
    return Outcome(name, "same")


def races(module: Module, kernel: Function, block: tuple[int, int, int]) -> bool:
    """Return whether the CPU device finds threads that access the same memory unordered, one of them writing."""
    try:
        drawloom.load(module, "cpu", check="race")[kernel.name][GRID, block](*guessed(module, kernel))
    except RaceError:
        return True
    return False


def interpreted(
    module: Module, kernel: Function, block: tuple[int, int, int], reverse: bool = False, shared_fill: int = 0
) -> list[Any]:
    """The arguments after a run by the interpreter, whose threads take turns in one order or another, and whose shared
    memory is filled with a byte. Raises the errors of `reference.run`."""
    arrays = guessed(module, kernel)
    prepared = prepare(drawloom.load(module, "reference")[kernel.name].signature, tuple(arrays), device("reference"))
    layout = GlobalsLayout(module)
    image = aligned_bytes(layout.size, layout.align)
    base = int(image.ctypes.data)
    image[:] = np.frombuffer(layout.build(base), np.uint8)
    buffers = [*prepared.host_ranges(), *([(base, layout.size)] if layout.size else [])]
    reference.run(
        module, kernel.name, (GRID, 1, 1), block, bytes(prepared.block), image_base=base, buffers=buffers,
        stdout=io.StringIO(), max_steps=MAX_STEPS, reverse=reverse, shared_fill=shared_fill,
    )  # fmt: skip
    return arrays


def guessed(module: Module, kernel: Function) -> list[Any]:
    """The same arguments each time: arrays of what is accessed through each pointer, small numbers elsewhere."""
    random = np.random.default_rng(7)
    parameters = drawloom.load(module, "reference")[kernel.name].parameters
    types = accessed_types(kernel)
    return [argument(p, t, random) for p, t in zip(parameters, types)]


def argument(parameter: Parameter, accessed: frozenset[Type] | None, random: np.random.Generator) -> Any:
    if parameter.by_value:
        return bytes(parameter.size)
    is_memory = parameter.takes_memory and (accessed is None or bool(accessed) or parameter.is_pointer)
    if is_memory:
        return filled(sorted(accessed or (), key=lambda t: t.name), random)
    return 0.5 if parameter.type.is_float else COUNT


def filled(types: list[Type], random: np.random.Generator) -> npt.NDArray[Any]:
    """Numbers that serve as indices, too: floats from [0, 1), integers below COUNT."""
    floats = [t for t in types if t.is_float and t.bits in (32, 64) and t.lanes == 1]
    if floats:
        return random.random(ELEMENTS).astype(f"f{floats[0].bits // 8}")
    bits = min((t.bits // t.lanes for t in types), default=32)
    return random.integers(0, COUNT, ELEMENTS).astype(f"i{min(bits, 64) // 8}")


def agree(mine: list[Any], theirs: list[Any]) -> bool:
    """Return whether arrays have the same bytes; every NaN is one."""
    pairs = [(m, t) for m, t in zip(mine, theirs) if isinstance(m, np.ndarray)]
    return all(np.array_equal(m, t, equal_nan=m.dtype.kind == "f") for m, t in pairs)


def main() -> int:
    parser = argument_parser(__doc__, timeout=180.0)
    parser.add_argument("--stages", default="", metavar="NAMES", help=f"some of {', '.join(STAGES)}")
    given = parser.parse_args()
    paths = [given.path] if given.path.is_file() else sorted(given.path.rglob("*.ptx"))
    items = [f"{path}\t{given.stages}" if given.stages else str(path) for path in paths if given.filter in str(path)]
    if not items:
        parser.error(f"{given.path}: no .ptx file")
    return report(run_in_processes(items, "tools.suites.ptx:check", given.timeout, given.jobs), given.report)


if __name__ == "__main__":
    sys.exit(main())

"""Whether each pass pays after NVIDIA's assembler: what PTX that was not seen before executes in machine code.

    python benchmarks/opt_machine_code.py FOLDER              # FOLDER holds .ptx files, e.g. of `nvcc --ptx`
    python benchmarks/opt_machine_code.py FOLDER --passes     # and -O2 without each pass, and with each further one

Each kernel of each file is assembled by ptxas for sm_90 as it is and after -O2. Our interpreter of machine code then
runs both on the same guessed arguments (`tools/suites/ptx.py`), and counts the instructions that warps execute. So
loops count by their rounds, and unrolling is no longer code but shorter execution. Kernels that do not end on guessed
arguments are left out. Registers and spilled bytes are summed over kernels. The oldest ptxas at hand is taken.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import drawloom  # noqa: E402
from benchmarks.common import vendor  # noqa: E402
from benchmarks.common.peers import Missing  # noqa: E402
from benchmarks.common.timing import geometric_mean, markdown_table  # noqa: E402
from drawloom.errors import Error, KernelFault, LaunchError, UnsupportedError  # noqa: E402
from drawloom.opt import LEVELS, optimize  # noqa: E402
from drawloom.ptx import Module, parse  # noqa: E402
from drawloom.ptx.launch_bounds import LaunchBounds  # noqa: E402
from drawloom.runtime import device  # noqa: E402
from drawloom.runtime.arguments import prepare  # noqa: E402
from drawloom.sass.cubin import Cubin, read_cubin  # noqa: E402
from drawloom.sass.interpreter.launch import Launch, Machine  # noqa: E402
from tools.suites.ptx import GRID, guessed  # noqa: E402

Shape = tuple[int, int, int]
#: Passes that no level runs, and the pass of -O2 that each stands before.
ADDED: Final = {"speculate": "narrow", "bypass": "strength"}
#: Instructions that the warps of a launch may execute.
MAX_STEPS: Final = 60_000
#: Blocks that a kernel is tried with, until one does not fault.
BLOCKS: Final[list[Shape]] = [(64, 1, 1), (16, 16, 1), (16, 1, 1)]
#: Arrays of the same numbers that stand before each array, and after it: guessed sizes fit no kernel.
COPIES: Final = 16
BASE: Final = "as it is"


class Code:
    """What ptxas makes of a module: executed instructions by kernel, the block that each ran with, registers and
    spilled bytes of all kernels."""

    def __init__(self, executed: dict[str, int], registers: int, spilled: int) -> None:
        self.executed = executed
        self.blocks: dict[str, Shape] = {}
        self.registers = registers
        self.spilled = spilled


def lists_of_passes(module: Module, every: bool) -> dict[str, list[str] | None]:
    """What runs in each variant: None is the level -O2 as it is."""
    out: dict[str, list[str] | None] = {"-O2": None}
    if every:
        for name in dict.fromkeys(LEVELS[2]):
            out[f"without {name}"] = [other for other in LEVELS[2] if other != name]
        for name, following in ADDED.items():
            names = list(LEVELS[2])
            names.insert(names.index(following), name)
            out[f"with {name}"] = names
    return out


def measured(every: bool, path: Path) -> tuple[Path, dict[str, Code], str]:
    """Each variant's code, and why there is none."""
    program = vendor.programs()[0]
    known: dict[str, Code] = {}
    try:
        module = parse(path.read_text(encoding="utf-8"), path.name)
        made = {BASE: module}
        for name, names in lists_of_passes(module, every).items():
            made[name] = optimize(module, 2, passes=names)
        out: dict[str, Code] = {}
        for name, variant in made.items():
            text = str(variant)
            if text not in known:
                known[text] = code_of(variant, text, program, out.get(BASE))
            out[name] = known[text]
    except (Error, Missing) as refusal:
        return path, {}, str(refusal).partition("\n")[0]
    return path, out, "" if out[BASE].executed else "no kernel ends on guessed arguments"


def code_of(module: Module, text: str, program: vendor.Ptxas, base: Code | None) -> Code:
    """Assemble a module, and run the kernels that end as it is."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "module.ptx"
        source.write_text(text)
        data, spilled = program.cubin(source, "sm_90")
    cubin = read_cubin(data)
    found = Code({}, sum(k.registers for k in cubin.kernels.values()), spilled)
    if base is not None:
        found.blocks = base.blocks
        found.executed = {kernel: steps_of(module, cubin, kernel, block) for kernel, block in base.blocks.items()}
        return found
    for kernel in cubin.kernels:
        bounds = LaunchBounds(module.functions[kernel])
        for block in [bounds.required] if bounds.required else BLOCKS:
            try:
                found.executed[kernel] = steps_of(module, cubin, kernel, block)
            except (KernelFault, LaunchError, UnsupportedError):
                continue
            found.blocks[kernel] = block
            break
    return found


def steps_of(module: Module, cubin: Cubin, kernel: str, block: Shape) -> int:
    """Instructions that warps execute on guessed arguments. Raises the errors of the interpreter."""
    function = module.functions[kernel]
    arguments = guessed(module, function)
    buffers: list[tuple[int, int]] = []
    for n, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            whole = np.tile(argument, 2 * COPIES + 1)
            buffers.append((whole.ctypes.data, whole.nbytes))
            arguments[n] = whole[COPIES * argument.size : (COPIES + 1) * argument.size]
    signature = drawloom.load(module, "reference")[kernel].signature
    prepared = prepare(signature, tuple(arguments), device("reference"))
    grid = (GRID, 1, 1)
    launch = Launch(cubin, cubin.functions[kernel], grid, block, bytes(prepared.block), 0, buffers)
    machine = Machine(launch, MAX_STEPS, False)
    try:
        machine.run()
    finally:
        machine.steps.clear()
    return MAX_STEPS - machine.left


def ratio(of: Code, base: Code) -> float:
    """Executed instructions over those of the base, the geometric mean over kernels."""
    return geometric_mean([of.executed[kernel] / count for kernel, count in base.executed.items()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passes", action="store_true", help="-O2 without each pass, and with each that it lacks")
    parser.add_argument("--largest", type=int, default=30_000, metavar="BYTES", help="leave out larger files")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    paths = sorted(p for p in given.folder.glob("**/*.ptx") if p.stat().st_size <= given.largest)
    found: list[tuple[Path, dict[str, Code]]] = []
    refused = 0
    with multiprocessing.Pool(given.jobs) as pool:
        for path, codes, why in pool.imap(partial(measured, given.passes), paths):
            if why:
                print(f"{path.name}: {why}", file=sys.stderr, flush=True)
                refused += 1
            else:
                print(f"{path.name}: {ratio(codes['-O2'], codes[BASE]):.3f}", file=sys.stderr, flush=True)
                found.append((path, codes))
    rows = []
    for path, codes in found:
        base, after = codes[BASE], codes["-O2"]
        spilled = f"{base.spilled}, {after.spilled}" if base.spilled or after.spilled else ""
        worst = max(after.executed[k] / n for k, n in base.executed.items())
        cells = [str(len(base.executed)), str(sum(base.executed.values())), f"{ratio(after, base):.3f}", f"{worst:.3f}"]
        rows.append([path.stem, *cells, f"{after.registers / base.registers:.3f}", spilled])
    mean = geometric_mean([ratio(codes["-O2"], codes[BASE]) for _, codes in found])
    registers = geometric_mean([codes["-O2"].registers / codes[BASE].registers for _, codes in found])
    rows.append(["geometric mean", "", "", f"{mean:.3f}", "", f"{registers:.3f}", ""])
    print(markdown_table(["file", "kernels", "executed", "-O2", "worst kernel", "registers", "spilled"], rows))
    if given.passes:
        print()
        print(passes_table(found))
    print(f"{len(found)} files, {refused} refused; ptxas {vendor.programs()[0].release}")


def passes_table(found: list[tuple[Path, dict[str, Code]]]) -> str:
    """Each variant's executed instructions over those of -O2, and where it differs most."""
    rows = []
    for name in list(found[0][1])[2:]:
        ratios = {path.stem: ratio(codes[name], codes["-O2"]) for path, codes in found}
        low, high = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
        changed = sum(value != 1 for value in ratios.values())
        registers = geometric_mean([codes[name].registers / codes["-O2"].registers for _, codes in found])
        ends = [f"{ratios[low]:.3f} ({low})", f"{ratios[high]:.3f} ({high})"]
        rows.append([name, str(changed), f"{geometric_mean(list(ratios.values())):.3f}", *ends, f"{registers:.3f}"])
    return markdown_table(["-O2", "files changed", "executed", "least", "most", "registers"], rows)


if __name__ == "__main__":
    main()

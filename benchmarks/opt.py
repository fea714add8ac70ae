"""What each pass of the optimiser does to the corpus and to the example of the paper, and how long -O2 takes.

    python benchmarks/opt.py                  # every second file of the corpus
    python benchmarks/opt.py --every 1 --markdown
    python benchmarks/opt.py --executed       # what runs, beside LLVM's passes for GPUs and nvcc

Passes are added one by one, as in figure 10 of Wu and others, "gpucc" (CGO 2016): each column has those before it, too.
A cell is the number of PTX instructions after over those before, all files of a group together; in the second table,
generic loads, stores and atomics are counted, and in the third machine instructions and registers for sm_90, by our
assembler and by the oldest ptxas at hand. Times are processor time without parsing, best of the rounds; SSA form and
back is a part of them. The goal is 15 microseconds an instruction with the compiled build.

With --executed the sources are compiled anew: by clang without and with LLVM's passes for GPUs, and by nvcc where it is
on PATH. The reference runs what comes out and counts instructions as they are executed, but for `cvta`; every result is
compared. Ratios are geometric means over launches. We are told, as clang is, that pointers of kernels are global. The
goals: no more than with LLVM's own passes, and at most 1.02 of nvcc's. A last table has machine instructions.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.assembler import machine_instructions  # noqa: E402
from benchmarks.common import vendor  # noqa: E402
from benchmarks.common.compilations import clang, clang_without_gpu_passes, nvcc  # noqa: E402
from benchmarks.common.executed import Subject, Tally, subjects  # noqa: E402
from benchmarks.common.timing import geometric_mean, markdown_table  # noqa: E402
from drawloom.build_info import build_kind  # noqa: E402
from drawloom.errors import Error  # noqa: E402
from drawloom.opt import LEVELS, Report, optimize  # noqa: E402
from drawloom.ptx import Module, parse  # noqa: E402
from drawloom.ptx.isa import ATOMIC, LOAD, STORE  # noqa: E402
from drawloom.ptx.ssa import construct, destruct  # noqa: E402
from drawloom.sass.assemble import assemble  # noqa: E402
from drawloom.sass.cubin import read_cubin  # noqa: E402

CORPUS = ROOT / "tests" / "golden" / "corpus"
FIGURE = ROOT / "tests" / "golden" / "opt" / "strength-figure6.txt"
Change = Callable[[Module], Module]
Table = tuple[list[str], list[list[str]]]
#: Group: which files are in it. The rest are other variants of the same sources.
GROUPS = {
    "nvcc -O3": "nvcc/*.O3.ptx", "nvcc -O0": "nvcc/*.O0.ptx", "clang -O3": "clang/*.O3.ptx",
    "clang -O0": "clang/*.O0.ptx", "triton": "triton/*.ptx",
}  # fmt: skip
INTEGERS = "copies fold flow spaces number invariant narrow strength addresses"
#: A column: what is added, and all that runs then, in its order.
STEPS = (
    ("copies, dead", "copies dead"),
    ("fold, flow", "copies fold flow dead"),
    ("spaces", "copies fold flow spaces dead"),
    ("number", "copies fold flow spaces number fold flow dead"),
    ("invariant", "copies fold flow spaces number invariant fold flow dead"),
    ("addresses", "copies fold flow spaces number invariant addresses fold flow dead"),
    ("strength", "copies fold flow spaces number invariant strength addresses fold flow dead"),
    ("narrow", f"{INTEGERS} fold flow dead"),
    ("loads, stores", f"{INTEGERS} loads stores spaces fold flow dead"),
    ("select", f"{INTEGERS} loads stores spaces fold select flow dead"),
    ("unroll, vectors: -O2", " ".join(LEVELS[2])),
)


def instructions(module: Module) -> int:
    return sum([len(f.instructions()) for f in module.functions.values() if f.has_body])


def generic(module: Module) -> int:
    """Accesses without a space."""
    found = [i for f in module.functions.values() for i in f.instructions()]
    return len([i for i in found if i.opcode.effect in (LOAD, STORE, ATOMIC) and not i.opcode.space])


def groups(every: int) -> dict[str, list[Module]]:
    paths = {group: sorted(CORPUS.glob(pattern))[::every] for group, pattern in GROUPS.items()}
    out = {
        group: [parse(path.read_text(encoding="utf-8"), path.name) for path in files] for group, files in paths.items()
    }
    text = FIGURE.read_text(encoding="utf-8").partition("\n// after ")[0]
    return {"figure 6 of the paper": [parse(text)], **out}


def quality(modules: dict[str, list[Module]]) -> list[list[str]]:
    rows = []
    for group, members in modules.items():
        before = sum([instructions(m) for m in members])
        row = [group, str(before)]
        for _, names in STEPS:
            after = sum([instructions(optimize(m, 3, passes=names.split())) for m in members])
            row.append(f"{after / before:.3f}")
        rows.append(row)
    return rows


def accesses(modules: dict[str, list[Module]]) -> list[list[str]]:
    rows = []
    for group, members in modules.items():
        before, after = sum(map(generic, members)), sum([generic(optimize(m, 2)) for m in members])
        if before:
            promised = sum([generic(optimize(m, 2, promises=("global-parameters",))) for m in members])
            rows.append([group, str(before), str(after), str(promised)])
    return rows


def machine(modules: dict[str, list[Module]]) -> list[list[str]]:
    """Machine instructions after -O2 over those before, and registers of a kernel in the geometric mean."""
    programs = vendor.programs()[:1]
    rows = []
    for group, members in modules.items():
        for name in ["drawloom", *[f"ptxas {program.release}" for program in programs]]:
            found = [sized(m, programs[0] if name != "drawloom" else None) for m in members]
            taken = [both for both in found if both]
            if not taken:
                continue
            row = [group, name, str(len(taken))]
            row.append(f"{sum(after[0] for _, after in taken) / sum(before[0] for before, _ in taken):.3f}")
            pairs = [zip(after[1], before[1], strict=True) for before, after in taken]
            row.append(f"{geometric_mean([a / b for pair in pairs for a, b in pair]):.3f}")
            rows.append(row)
    return rows


def sized(module: Module, program: vendor.Ptxas | None) -> list[tuple[int, list[int]]]:
    """Instructions, and registers by kernel: of a module as it is, and after -O2; empty where it is refused."""
    out: list[tuple[int, list[int]]] = []
    for given in (module, optimize(module, 2)):
        found = code_of(given, program)
        if found is None:
            return []
        out.append(found)
    return out


def code_of(module: Module, program: vendor.Ptxas | None) -> tuple[int, list[int]] | None:
    """Machine instructions of a module for sm_90, and registers by kernel; None where it is refused."""
    try:
        if program is None:
            data = bytes(assemble(module, "sm_90"))
        else:
            with tempfile.TemporaryDirectory() as folder:
                source = Path(folder) / "module.ptx"
                source.write_text(str(module))
                data = program.cubin(source, "sm_90")[0]
    except (vendor.Missing, Error):
        return None
    return machine_instructions(data)[0], [k.registers for k in read_cubin(data).kernels.values()]


def times(modules: dict[str, list[Module]], rounds: int) -> list[list[str]]:
    """Microseconds an instruction of -O2, and of SSA form and back alone."""
    rows = []
    for group, members in modules.items():
        count = sum(map(instructions, members))
        best = [1e9, 1e9]
        for _ in range(rounds):
            start = time.process_time()
            for module in members:
                optimize(module, 2, report=Report())
            middle = time.process_time()
            for module in members:
                for function in module.functions.values():
                    if function.has_body:
                        destruct(construct(function, module))
            best = [min(best[0], middle - start), min(best[1], time.process_time() - middle)]
        rows.append([group, *[f"{seconds / count * 1e6:.1f}" for seconds in best]])
    return rows


def as_it_is(module: Module) -> Module:
    return module


def optimised(*names: str) -> Change:
    """Optimisation by passes, with what clang takes for granted of CUDA."""
    return lambda module: optimize(module, 3, passes=list(names), promises=("global-parameters",))


#: A row of the tables of what runs: the compiler, and what is done to its PTX.
VARIANTS: tuple[tuple[str, str, Change], ...] = (
    ("clang -O3, LLVM's GPU passes off", "off", as_it_is),
    *[(f"... {name}", "off", optimised(*names.split())) for name, names in STEPS],
    ("clang -O3, LLVM's GPU passes on", "on", as_it_is),
    ("... -O2", "on", optimised(*LEVELS[2])),
    ("nvcc -O3", "nvcc", as_it_is),
    ("... -O2", "nvcc", optimised(*LEVELS[2])),
)


def compiled(groups: dict[str, list[Subject]], folder: Path) -> dict[tuple[Path, str], Path]:
    """The PTX of every source by every compiler that is there."""
    made: dict[tuple[Path, str], Path] = {}
    for source in {subject.source: None for members in groups.values() for subject in members}:
        for kind, compiler in (("off", clang_without_gpu_passes), ("on", clang), ("nvcc", nvcc)):
            text = compiler(source)
            if text is not None:
                made[source, kind] = folder / f"{source.stem}.{kind}.ptx"
                made[source, kind].write_text(text, encoding="utf-8")
    return made


def executed(groups: dict[str, list[Subject]], texts: dict[tuple[Path, str], Path]) -> list[list[str]]:
    """Executed instructions over those of the first variant, and executed accesses without a space, all together."""
    tally, rows, first = Tally(), [], {}
    for name, kind, change in VARIANTS:
        row, generic = [name], 0
        for group, members in groups.items():
            taken = [(s, texts[s.source, kind]) for s in members if (s.source, kind) in texts]
            counts = []
            for subject, text in taken:
                count, accesses = tally.take(subject.run(text, change))
                counts.append(count / first.setdefault((group, subject.name), count))
                generic += accesses
            row.append(f"{geometric_mean(counts):.3f}" if counts else "")
        rows.append([*row, str(generic)])
        print(f"{name}: {', '.join(row[1:])}", file=sys.stderr, flush=True)
    return rows


def machine_code(texts: dict[tuple[Path, str], Path]) -> list[list[str]]:
    """Machine instructions and registers of a kernel over those of the first variant, geometric means over sources."""
    programs = [None, *vendor.programs()[:1]]
    first: dict[tuple[Path, int], tuple[int, list[int]]] = {}
    rows = []
    for name, kind, change in VARIANTS:
        row = [name]
        for number, program in enumerate(programs):
            sizes, registers = [], []
            for (source, by), text in texts.items():
                found = code_of(change(parse(text.read_text(encoding="utf-8"))), program) if by == kind else None
                if found is None or not found[0]:
                    continue
                base = first.setdefault((source, number), found)
                sizes.append(found[0] / base[0])
                registers.append(geometric_mean(found[1]) / geometric_mean(base[1]))
            row += [f"{geometric_mean(sizes):.3f}", f"{geometric_mean(registers):.3f}"] if sizes else ["", ""]
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=2, help="take every n-th file of a group")
    parser.add_argument("--rounds", type=int, default=3, help="of which the best counts")
    parser.add_argument("--markdown", action="store_true", help="print for docs/benchmarks.md")
    parser.add_argument("--executed", action="store_true", help="run what comes out, beside other compilers")
    given = parser.parse_args()
    for head, rows in ran() if given.executed else written(given.every, given.rounds):
        if given.markdown:
            print(markdown_table(head, rows), end="\n\n")
            continue
        widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
        for row in [head, *rows]:
            print("  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=True)]).rstrip())
        print()


def ran() -> list[Table]:
    """The tables of --executed."""
    every = subjects()
    heads = [f"{group}, {len(members)}" if len(members) > 1 else group for group, members in every.items()]
    both = [f"{what}, {by}" for by in ("ours", "ptxas") for what in ("instructions", "registers")]
    with tempfile.TemporaryDirectory() as folder:
        texts = compiled(every, Path(folder))
        return [
            (["executed instructions", *heads, "generic accesses"], executed(every, texts)),
            (["machine code for sm_90", *both[: 2 * len([None, *vendor.programs()[:1]])]], machine_code(texts)),
        ]


def written(every: int, rounds: int) -> list[Table]:
    """The tables of what the text of the corpus becomes."""
    modules = groups(every)
    return [
        (["PTX", "before", *[name for name, _ in STEPS]], quality(modules)),
        (["generic accesses", "before", "-O2", "promised"], accesses(modules)),
        (["machine code for sm_90", "by", "files", "-O2", "registers"], machine(modules)),
        ([f"us an instruction, {build_kind()}", "-O2", "SSA form and back"], times(modules, rounds)),
    ]


if __name__ == "__main__":
    main()

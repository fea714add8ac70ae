"""PTX to a cubin: drawloom's assembler against the vendor's, how long it takes and what comes out.

    python benchmarks/assembler.py                     # sm_90
    python benchmarks/assembler.py --arch sm_80 --every 4 --rounds 2
    python benchmarks/assembler.py --every 0 --rounds 3  # how time grows with the size
    python benchmarks/assembler.py --quality-only --arch sm_80 --arch sm_61  # what comes out, of everything, untimed
    python benchmarks/assembler.py --arch sm_80 --max-registers 32 a.ptx b.ptx  # texts of one's own, few registers

Both sides get the same text in one run: ours in this process with its tables loaded (their load is shown apart),
`ptxas` as a process and its compiler as a library in this process (what each takes for an empty module is shown apart
and taken off). Times are processor time, medians of the rounds; both sides have one thread. In each round the sides
take turns, and each runs twice, of which the second counts: it finds its own code and data in the caches, not those of
the side before. The goals: 5.5 times as fast as `ptxas -O3` without its start by geometric mean, faster than -O0, time
linear in the size; registers at most 1.25 times those of -O3 by geometric mean and never over 2 times, instructions at
most 1.3 times. Stalls are the sum of the stall counts in the code, each instruction counted once.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.common.peers import Missing  # noqa: E402
from benchmarks.common.timing import geometric_mean, machine, markdown_table  # noqa: E402
from benchmarks.common.vendor import EMPTY, Library, Ptxas, programs  # noqa: E402

CORPUS = ROOT / "tests" / "golden" / "corpus"
LEVELS = ("-O3", "-O0")
LARGE = {"5,000 instructions": 5_000, "50,000 instructions": 50_000}
#: Instructions from which on one run is enough.
LONG = 20_000
STARTS = 11
#: The newest PTX that ptxas 12.9 takes: texts of a newer version get this one, which all of the corpus is fit for.
_NEWEST = "8.8"
#: The bit of a 128-bit word that its control begins with.
_CONTROL_AT: Final = 105
#: Of how many kernels the registers are told, those with most for theirs first.
_WORST: Final = 5
#: What shows that a line of an error names a place in a text.
_PLACE = re.compile(r"^\S*:\d+:\d+: (error: )?|^\S+:\d+: ")


class Input:
    """One PTX text: the group that it is counted in, and the instructions of its functions."""

    def __init__(self, group: str, name: str, text: str) -> None:
        self.group = group
        self.name = name
        self.text = re.sub(r"^\.version 9\.\d+", ".version " + _NEWEST, text, flags=re.MULTILINE)
        self.instructions = 0
        self.refusal = ""
        #: Median seconds by side: "drawloom", "library -O3", "ptxas 12.9 -O3" ...
        self.seconds: dict[str, float] = {}


def generated(wanted: int) -> str:
    """One kernel of about so many instructions: the steps of benchmarks/frontend.py."""
    from benchmarks.frontend import STEP

    chance = random.Random(7)
    parts = [
        ".version 8.0\n.target sm_60\n.address_size 64\n.visible .entry generated(.param .u64 p, .param .u32 n)\n{\n"
        "\t.reg .pred %p<9>;\n\t.reg .f32 %f<65>;\n\t.reg .b32 %r<65>;\n\t.reg .b64 %rd<33>;\n"
        "\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [n];\n"
    ]
    parts += [f"\tmov.u32 %r{k}, {k};\n" for k in range(2, 65)]
    parts += [f"\tmov.f32 %f{k}, 0f3F800000;\n" for k in range(1, 65)]
    for step in range((wanted - 130) // 12):
        numbers = {name: chance.randrange(2, 65) for name in ("a", "b", "c", "d", "b2", "c2")}
        floats = {name: chance.randrange(1, 65) for name in "efgh"}
        places = {"x": chance.randrange(2, 17), "y": chance.randrange(17, 33), "p": chance.randrange(1, 9)}
        constants = {"k": chance.randrange(1, 500), "offset": 4 * chance.randrange(64), "label": step}
        parts.append(STEP.format(**numbers, **floats, **places, **constants))
    parts.append("\tret;\n}\n")
    return "".join(parts)


def inputs(every: int, most: int, data: Path | None, files: list[Path]) -> list[Input]:
    """The corpus (of its files every n-th), the benchmark kernels, two large ones, and the kernels of two queries
    whose tables are kept in `data`; ``files`` instead, where there are any."""
    found = [Input(path.stem, path.name, path.read_text()) for path in files]
    if found:
        return found

    def add(group: str, folder: Path, pattern: str) -> None:
        paths = sorted(folder.glob(pattern))[::every] if every else []
        found.extend(Input(group, path.name, path.read_text()) for path in paths)

    for variant in ("O3", "O0", "fast", "lineinfo", "debug"):
        add("nvcc " + {"O3": "-O3", "O0": "-O0", "debug": "-G", "fast": "-use_fast_math"}.get(variant, "-lineinfo"),
            CORPUS / "nvcc", f"*.{variant}.ptx")  # fmt: skip
    add("clang", CORPUS / "clang", "*.ptx")
    add("benchmark kernels", ROOT / "benchmarks" / "kernels", "*.ptx")
    found += queries(data) if every and data is not None else []
    found += [Input(name, name, generated(wanted)) for name, wanted in LARGE.items() if wanted <= most]
    return found


def queries(data: Path) -> list[Input]:
    """The kernels of TPC-H Q6 and Q1, as drawloom.sql makes them."""
    from drawloom.sql import connect, tpch

    connection = connect("cpu")
    connection.register("lineitem", str(tpch.generate(data, 0.01)["lineitem"]))
    found = []
    for query in (6, 1):
        modules = connection.sql(tpch.text(query)).explain("ptx").split("\n.version ")
        for number, module in enumerate(modules):
            text = module if not number else ".version " + module
            found.append(Input("TPC-H Q6 and Q1", f"Q{query} kernel {number}", text))
    return found


def load_seconds(arch: str) -> tuple[float, float]:
    """Median seconds of the import of the assembler, and of what its first use of an empty kernel takes, in
    processes of their own."""
    program = (
        "import time; a = time.process_time()\n"
        "from drawloom.sass.assemble import assemble\n"
        "b = time.process_time()\n"
        f"assemble('.version 7.8\\n.target sm_60\\n.address_size 64\\n.entry k() {{ ret; }}', '{arch}')\n"
        "print(b - a, time.process_time() - b)"
    )
    found: list[list[float]] = []
    for _ in range(STARTS):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        found.append([float(word) for word in done.stdout.split()])
    return statistics.median(f[0] for f in found), statistics.median(f[1] for f in found)


def timed(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


class Sides:
    """Everything that assembles one input: `run[side](input)` gives seconds."""

    def __init__(self, arch: str, scratch: Path) -> None:
        from drawloom.sass.assemble import assemble

        self.arch = arch
        self.scratch = scratch / "input.ptx"
        self.run: dict[str, Callable[[Input], float]] = {"drawloom": lambda i: timed(lambda: assemble(i.text, arch))}
        self.starts: dict[str, float] = {}
        #: How far apart the quarters of the starts are: shorter times than this are noise.
        self.spread: dict[str, float] = {}
        self.notes: list[str] = []
        self.refused: Counter[str] = Counter()
        self.programs: list[Ptxas] = []
        try:
            library = Library()
            for level in LEVELS:
                self.run[f"library {level}"] = self.of_library(library, level)
        except Missing as reason:
            self.notes.append(f"without the vendor's library: {reason}")
        for program in programs():
            try:
                self.add_program(program)
            except Missing as reason:
                self.notes.append(f"without ptxas {program.release}: {reason}")
        if not self.programs:
            self.notes.append("without a ptxas: none for this architecture in DRAWLOOM_VENDOR or on PATH")

    def of_library(self, library: Library, level: str) -> Callable[[Input], float]:
        start = self.start(f"library {level}", lambda: timed(lambda: library.compile(EMPTY.encode(), self.arch, level)))
        return lambda i: timed(lambda: library.compile(i.text.encode(), self.arch, level)) - start

    def add_program(self, program: Ptxas) -> None:
        self.scratch.write_text(EMPTY)
        for level in LEVELS:
            self.add_level(program, level)
        self.programs.append(program)

    def add_level(self, program: Ptxas, level: str) -> None:
        name = f"ptxas {program.release} {level}"
        start = self.start(name, lambda: program.seconds(self.scratch, self.arch, level))
        self.run[name] = lambda i: program.seconds(self.scratch, self.arch, level) - start

    def start(self, name: str, run: Callable[[], float]) -> float:
        """Median seconds for an empty module, noted under the side's name."""
        run()
        starts = sorted(run() for _ in range(STARTS))
        self.starts[name] = statistics.median(starts)
        self.spread[name] = starts[3 * STARTS // 4] - starts[STARTS // 4]
        return self.starts[name]

    def measure(self, given: Input, rounds: int) -> None:
        """Fills in the seconds of one input, all sides in turn, each warmed up by a run that does not count; a side
        that refuses it is left out. What takes the vendor's minutes runs once and warms itself up."""
        is_long = given.instructions > LONG
        self.scratch.write_text(given.text)
        sides = dict(self.run)
        found: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(1 if is_long else rounds):
            for name in list(sides):
                try:
                    if not is_long:
                        sides[name](given)
                    found[name].append(sides[name](given))
                except Missing:
                    self.refused[name] += 1
                    del sides[name], found[name]
        given.seconds = {name: statistics.median(seconds) for name, seconds in found.items()}


def prepare(given: Input, arch: str) -> None:
    """Counts an input's instructions and warms the caches of the assembler, or notes why it refuses."""
    from drawloom import Error, ptx
    from drawloom.sass.assemble import assemble

    try:
        module = ptx.parse(given.text)
        given.instructions = sum(len(f.instructions()) for f in module.functions.values())
        assemble(given.text, arch)
    except Error as refusal:
        given.refusal = _PLACE.sub("", str(refusal).splitlines()[0])


def time_table(found: list[Input], sides: Sides) -> str:
    """A row a group: microseconds an instruction of every side, and how many times as long it takes as ours."""
    others = [name for name in sides.run if name != "drawloom"]
    header = ["input", "texts", "PTX instructions", "drawloom (µs each)", *[f"{n} (µs each, ×)" for n in others]]
    rows = []
    for group in dict.fromkeys(i.group for i in found):
        rows.append(time_row(group, [i for i in found if i.group == group], others, sides))
    rows.append(time_row("all", found, others, sides))
    return markdown_table(header, rows)


def time_row(group: str, members: list[Input], others: list[str], sides: Sides) -> list[str]:
    count = sum(i.instructions for i in members)
    ours = statistics.median(i.seconds["drawloom"] / i.instructions for i in members)
    cells = [group, str(len(members)), f"{count:,}", f"{ours * 1e6:.1f}"]
    for name in others:
        least = sides.spread.get(name, 0.0)
        taken = [i for i in members if i.seconds.get(name, 0.0) > least]
        if not taken:
            cells.append("–")
            continue
        each = statistics.median(i.seconds[name] / i.instructions for i in taken)
        ratio = geometric_mean([i.seconds[name] / i.seconds["drawloom"] for i in taken])
        few = f", of {len(taken)}" if len(taken) < len(members) else ""
        cells.append(f"{each * 1e6:.1f}, {ratio:.2f}{few}")
    return cells


class Quality:
    """What one input became on both sides: registers by kernel; instructions, stalls and spilled bytes of the file."""

    def __init__(self, given: Input, arch: str, program: Ptxas, scratch: Path, registers: int) -> None:
        from drawloom.sass.assemble import assemble
        from drawloom.sass.cubin import read_cubin

        self.group = given.group
        self.name = given.name
        ours = assemble(given.text, arch, max_registers=registers)
        scratch.write_text(given.text)
        data, self.their_spills = program.cubin(scratch, arch, registers)
        theirs = read_cubin(data)
        kernels = [name for name in ours.kernels if name in theirs.kernels]
        self.registers = [(ours.kernels[k].registers, theirs.kernels[k].registers) for k in kernels]
        counts = [machine_instructions(cubin) for cubin in (bytes(ours), data)]
        self.instructions = (counts[0][0], counts[1][0])
        self.stalls = (counts[0][1], counts[1][1])
        self.our_spills = sum((k.spill_stores or 0) + (k.spill_loads or 0) for k in ours.kernels.values())


def qualities(taken: list[Input], arch: str, program: Ptxas, scratch: Path, registers: int) -> list[Quality]:
    """What became of every input that ``program`` takes, too."""
    found: list[Quality] = []
    for given in taken:
        try:
            found.append(Quality(given, arch, program, scratch, registers))
        except Missing:
            continue
    return found


def machine_instructions(data: bytes) -> tuple[int, int]:
    """Instructions of all functions of a cubin, NOPs left out, and the sum of their stall counts."""
    from drawloom.sass.control import stall
    from drawloom.sass.cubin import read_cubin
    from drawloom.sass.encoding import CONTROL_WIDTH, GROUP

    cubin = read_cubin(data)
    count = stalls = 0
    for function in cubin.assembly.functions:
        code = function.code
        size = 16 if cubin.target >= 75 else 8
        words = [int.from_bytes(code[at : at + size], "little") for at in range(0, len(code), size)]
        for at, word in enumerate(words):
            if size == 16:
                is_nop, control = word & 0xFFF == 0x918, word >> _CONTROL_AT
            else:
                place = at % (GROUP + 1)
                is_nop = not place or word >> 48 == 0x50B0
                control = words[at - place] >> CONTROL_WIDTH * (place - 1) if place else 0
            if not is_nop:
                count += 1
                stalls += stall(control)
    return count, stalls


def quality_table(found: list[Quality], release: str) -> str:
    """A row a group: registers, instructions and stalls as multiples of those of ptxas -O3, and spilled bytes."""
    header = ["input", "kernels", "registers", "worst", "instructions", "worst", "stalls", "worst"]
    header += ["spills (bytes)", f"{release} -O3's"]
    rows = []
    for group in [*dict.fromkeys(q.group for q in found), "all"]:
        members = [q for q in found if group in (q.group, "all")]
        registers = [(ours / theirs, q.name) for q in members for ours, theirs in q.registers]
        counts = [(q.instructions[0] / q.instructions[1], q.name) for q in members]
        stalls = [(q.stalls[0] / q.stalls[1], q.name) for q in members]
        spills = [f"{sum(q.our_spills for q in members):,}", f"{sum(q.their_spills for q in members):,}"]
        cells = [group, str(len(registers))]
        for ratios in (registers, counts, stalls):
            cells += [f"{geometric_mean([r for r, _ in ratios]):.2f}", f"{max(ratios)[0]:.2f} {max(ratios)[1]}"]
        rows.append([*cells, *spills])
    return markdown_table(header, rows)


def worst_registers(found: list[Quality]) -> list[str]:
    """The kernels with most registers for theirs."""
    all_of_them = [(ours / theirs, ours, theirs, q.name) for q in found for ours, theirs in q.registers]
    return [
        f"- {ratio:.2f}: {ours} for {theirs}, {name}"
        for ratio, ours, theirs, name in sorted(all_of_them)[-_WORST:][::-1]
    ]


def print_quality(arch: str, found: list[Input], registers: int) -> None:
    """What comes out of the corpus and the benchmark kernels for one architecture, beside the oldest ptxas at hand.
    Texts for other targets are taken as if they were for this one."""
    from drawloom.sass.assemble import target_number
    from tools.isa.probes import retargeted

    for given in found:
        given.text = retargeted(given.text, target_number(arch))
        prepare(given, arch)
    taken = [i for i in found if not i.refusal]
    with tempfile.TemporaryDirectory() as folder:
        quality = qualities(taken, arch, programs()[0], Path(folder) / "input.ptx", registers)
    print(f"{arch}, {len(quality)} of {len(found)} texts, as multiples of ptxas {programs()[0].release} -O3's:\n")
    print(quality_table(quality, programs()[0].release))
    print("\nMost registers for theirs:\n")
    print("\n".join(worst_registers(quality)), end="\n\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", action="append", help="default sm_90; several times only for --quality-only")
    parser.add_argument("files", nargs="*", type=Path, metavar="PTX", help="texts to take in place of all others")
    parser.add_argument(
        "--max-registers", type=int, default=255, metavar="N", help="registers of a thread, of what comes out"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="only every N-th file of a folder; 0: only large ones"
    )
    parser.add_argument(
        "--most", type=int, default=50_000, metavar="N", help="no generated kernel of more instructions"
    )
    parser.add_argument("--markdown", action="store_true", help="print the tables and nothing else")
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "data", help="folder of the TPC-H tables")
    parser.add_argument(
        "--quality-only", action="store_true", help="registers, instructions and stalls of the whole corpus, no times"
    )
    options = parser.parse_args()
    from drawloom.build_info import build_kind

    archs = options.arch or ["sm_90"]
    if options.quality_only:
        if not programs():
            print("no ptxas in DRAWLOOM_VENDOR or on PATH", file=sys.stderr)
            return 1
        for arch in archs:
            print_quality(arch, inputs(options.every, options.most, None, options.files), options.max_registers)
        return 0
    if len(archs) > 1:
        parser.error("several architectures only with --quality-only")
    arch = archs[0]
    found = inputs(options.every, options.most, options.data, options.files)
    for given in found:
        prepare(given, arch)
    refused = Counter(i.refusal for i in found if i.refusal)
    taken = [i for i in found if not i.refusal]
    with tempfile.TemporaryDirectory() as folder:
        sides = Sides(arch, Path(folder))
        for given in taken:
            sides.measure(given, options.rounds)
        program = sides.programs[0] if sides.programs else None
        quality = qualities(taken, arch, program, sides.scratch, options.max_registers) if program else []
    imported, loaded = load_seconds(arch)
    print(f"{arch}, the {build_kind()} build; ×: how many times as long as drawloom takes, geometric mean.\n")
    print(time_table(taken, sides))
    print(
        f"\nImport of the assembler {imported * 1e3:.0f} ms, tables and the first empty kernel {loaded * 1e3:.0f} ms."
    )
    for name, start in sides.starts.items():
        print(f"An empty module by {name}: {start * 1e3:.1f} ms ± {sides.spread[name] * 5e2:.1f} ms, taken off above.")
    if program is not None:
        print(f"\nRegisters of a kernel and instructions of a text as multiples of ptxas {program.release} -O3's:\n")
        print(quality_table(quality, program.release))
    print(f"\nRefused by us: {sum(refused.values())} of {len(found)} texts.")
    for reason, count in refused.most_common():
        print(f"- {count}: {reason}")
    for name, count in sides.refused.items():
        print(f"Refused by {name}: {count}.")
    for note in sides.notes:
        print(note[0].upper() + note[1:] + ".")
    if not options.markdown:
        print(f"\n{machine()}; processor time of one thread, median of {options.rounds} rounds a text")
    return 0


if __name__ == "__main__":
    sys.exit(main())

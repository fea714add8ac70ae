"""Generated PTX programs on the reference interpreter and, as machine code, on the interpreter of machine code.

    python -m tools.fuzz_sass --count 20000 --seed 0 --jobs 2 --target 80 86 89
    python -m tools.fuzz_sass --count 5000 --resume --target 90

Programs for several targets keep to what the oldest has, and the reference runs once for all. By ourselves they are
assembled in several ways (`VARIANTS`, chosen by the seed); `--with ptxas` (at `--level` 0 to 3) validates the
interpreter itself. What the assembler refuses as unsupported counts apart, by its message; it is no success. A failing
program is made smaller as tools/fuzz.py does it and written to `<out>/<seed>.ptx`. Counts are kept in
`<out>/record.json`, from which `--resume` goes on. The exit status is 1 when any failed.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from drawloom.errors import Error, UnsupportedError
from drawloom.ptx import Module, parse, verify
from drawloom.sass.assemble import assemble
from drawloom.sass.cubin import Cubin, read_cubin
from drawloom.sass.interpreter import run
from tools.fuzz import Outcome, difference, minimise, run_on_reference, save
from tools.isa import vendor
from tools.programs import Program, generate

#: Instructions that warps may execute before a program counts as endless.
MAX_STEPS: Final = 400_000
UNSUPPORTED: Final = "not supported: "
#: Programs between two lines of progress, and between two collections of a worker's garbage.
PROGRESS: Final = 200
COLLECT: Final = 100

#: Where ptxas 12.9 does something else than the manual says (seen in its code, at every level). Lines with these are
#: left out of programs that it assembles; the interpreter of machine code has no part in them.
DEVIATIONS: Final[dict[str, str]] = {
    "the guard of testp is lost": r"@\S+ testp\.",
    "64-bit fields use more than 8 bits of their position and length": r"\bbf[ei]\.[bsu]64",
    "the ftz of conversions to halves is lost (sm_61)": r"\bcvt\.\S*ftz\.(sat\.)?f16\.f32",
    "fns does not find what is 2**31 places before": r"\bfns\.b32",
    "the guard of set to halves is lost": r"@\S+ set\.\S*f16",
    "video: upper halves merged, 33-bit sums compared, unsigned products signed": r"\bv(?!ote)[a-z]+[24]?\.\S* %r",
}


#: Ways of assembling: `seed % len(VARIANTS)` chooses. Where few registers do not suffice there is no limit.
VARIANTS: Final = ("", "24 registers", "functions", "serial", "", "32 registers", "", "reverse")
#: Targets with the same instructions: equal words, but for control bits, do the same.
ALIKE: Final = (80, 86, 89)
_CONTROL: Final = ((1 << 21) - 1) << 105


class Settings:
    """How programs become machine code: `by` is "ours" or "ptxas", with `level` its -O; `variant` is one of VARIANTS.
    `reverse` is the interpreter's other schedule of warps and lanes."""

    def __init__(self, target: int, by: str, level: int, reverse: bool, variant: str = "") -> None:
        self.target = target
        self.by = by
        self.level = level
        self.reverse = reverse or variant == "reverse"
        self.variant = variant


class Known:
    """What the checks of one program for several targets share."""

    def __init__(self) -> None:
        self.expected: Outcome | None = None
        self.outcomes: dict[bytes, Outcome] = {}


def assembled(text: str, settings: Settings, module: Module) -> Cubin:
    """The cubin of a PTX text and what it says. Raises UnsupportedError for what our assembler does not have yet."""
    if settings.by == "ours":
        return assemble_variant(module, f"sm_{settings.target}", settings.variant)
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "in.ptx", Path(folder) / "out.cubin"
        source.write_text(text)
        command = [vendor.tool("ptxas"), f"-arch=sm_{settings.target}", f"-O{settings.level}", str(source)]
        done = subprocess.run([*command, "-o", str(out)], capture_output=True, text=True)
        if done.returncode:
            raise UnsupportedError("ptxas: " + done.stderr.strip().partition("error")[2][:100])
        return read_cubin(out.read_bytes())


def assemble_variant(module: Module, arch: str, variant: str) -> Cubin:
    """Assembled in the way that one of VARIANTS says."""
    if variant.endswith("registers"):
        try:
            return assemble(module, arch, max_registers=int(variant.partition(" ")[0]))
        except Error:
            return assemble(module, arch)
    if variant == "functions":
        return assemble(module, arch, most_copied=0)
    return assemble(module, arch, serial=variant == "serial")


def program_of(seed: int, target: int) -> Program:
    """The seed's program for a target; it keeps to what the target has."""
    return generate(seed, target)


def for_target(program: Program, target: int) -> Program:
    """The program with its `.target` lowered; one that needs something newer is refused by verification."""
    return program.with_text(re.sub(r"(?m)^\.target sm_\d+", f".target sm_{target}", program.text))


def without_deviations(program: Program) -> Program:
    """The program without the lines that ptxas reads otherwise."""
    pattern = re.compile("|".join(DEVIATIONS.values()))
    kept = [line for line in program.text.splitlines() if not pattern.search(line)]
    return program.with_text("\n".join(kept) + "\n")


def parameters(size: int, addresses: list[int], n: int) -> bytes:
    """The parameter block: three pointers and a number."""
    data = b"".join([address.to_bytes(8, "little") for address in addresses]) + n.to_bytes(4, "little")
    return data[:size].ljust(size, b"\0")


def run_machine_code(program: Program, cubin: Cubin, reverse: bool = False) -> Outcome:
    """Run on the interpreter of machine code; errors are part of the outcome."""
    arrays = [program.input.copy(), program.output.copy(), program.accumulators.copy()]
    addresses = [int(a.ctypes.data) for a in arrays]
    params = parameters(cubin.functions["k"].parameter_bytes, addresses, program.n)
    buffers = [(address, a.nbytes) for address, a in zip(addresses, arrays)]
    try:
        run(
            cubin, "k", program.grid, program.block, params, shared_bytes=program.shared_bytes, buffers=buffers,
            max_steps=MAX_STEPS, reverse=reverse,
        )  # fmt: skip
    except Error as error:
        return Outcome(arrays[1], arrays[2], f"{type(error).__name__}: {error}")
    return Outcome(arrays[1], arrays[2])


def check_program(program: Program, settings: Settings, known: Known | None = None) -> str:
    """The difference, "" for none, or a message that begins with UNSUPPORTED."""
    known = known or Known()
    program = for_target(program, settings.target)
    if settings.by == "ptxas":
        program = without_deviations(program)
    try:
        module = parse(program.text)
        verify(module)
    except Error as error:
        return UNSUPPORTED + "newer target: " + str(error).splitlines()[0].partition(": ")[2]
    try:
        cubin = assembled(program.text, settings, module)
    except UnsupportedError as error:
        return UNSUPPORTED + str(error)
    except Exception as error:  # a traceback of the assembler is a failure of its own
        return f"the assembler fails: {type(error).__name__}: {error}"
    if known.expected is None:
        known.expected = run_on_reference(program)
    if known.expected.error:
        return f"the reference refuses the program: {known.expected.error}"
    code = meaning(cubin)
    got = known.outcomes.get(code)
    if got is None:
        got = known.outcomes[code] = run_machine_code(program, cubin, settings.reverse)
    if settings.by == "ptxas" and got.error.startswith("UnsupportedError: "):
        return UNSUPPORTED + got.error.partition(": ")[2]  # a gap of the tables or of the interpreter, not of ptxas
    return difference(program, known.expected, got)


def meaning(cubin: Cubin) -> bytes:
    """What cubins of equal meaning have in common: target or group of targets, and code without control bits."""
    functions = b"".join([cubin.functions[name].code for name in cubin.functions])
    if cubin.target not in ALIKE:
        return bytes([cubin.target]) + functions
    words = np.frombuffer(functions, np.uint64).copy()
    words[1::2] &= np.uint64(~(_CONTROL >> 64) & 0xFFFFFFFFFFFFFFFF)
    return bytes([ALIKE[0]]) + words.tobytes()


def disagrees(program: Program, settings: Settings) -> bool:
    """Whether a shortened program is still right on the reference and different as machine code."""
    try:
        expected = run_on_reference(program)
        if expected.error or difference(program, expected, run_on_reference(program, reverse=True)):
            return False
    except Exception:  # lines are missing: whatever the reference makes of that
        return False
    message = check_program(program, settings)
    return message != "" and not message.startswith(UNSUPPORTED)


_settings: list[Settings]


def _begin(settings: list[Settings]) -> None:
    """A worker has little garbage in circles and much that lives on, which looking for it need not walk through."""
    global _settings
    _settings = settings
    gc.disable()


def settings_of(seed: int, settings: Settings) -> Settings:
    """The settings with the seed's variant."""
    variant = VARIANTS[seed % len(VARIANTS)] if settings.by == "ours" else ""
    return Settings(settings.target, settings.by, settings.level, settings.reverse, variant)


def _check_seed(seed: int) -> tuple[int, list[str]]:
    """The message for every target."""
    if seed % COLLECT == 0:
        gc.collect()
        gc.freeze()
    known = Known()
    try:
        program = program_of(seed, min([s.target for s in _settings]))
        return seed, [check_program(program, settings_of(seed, s), known) for s in _settings]
    except Error as error:
        return seed, [f"{type(error).__name__}: {error}"] * len(_settings)


def reason(message: str) -> str:
    """What an unsupported program needs, without its place."""
    message = re.sub(r"0x[0-9a-f]{16,}", lambda word: f"0x..{word[0][-4:]}", message)
    quoted = re.search(r"'([^']+)'", message)
    if quoted is not None:
        return quoted[1]
    return message.removeprefix(UNSUPPORTED).splitlines()[0][:100]


class Record:
    """What has been counted for one target, kept between runs."""

    def __init__(self, path: Path, settings: Settings, first: int, resume: bool) -> None:
        self.path = path
        level = f" -O{settings.level}" if settings.by == "ptxas" else ""
        self.name = f"sm_{settings.target} {settings.by}{level}"
        kept = _records(path).get(self.name) if resume else None
        self.first: int = kept["first"] if kept else first
        self.following: int = kept["next"] if kept else first
        self.ran: int = kept["ran"] if kept else 0
        self.different: list[int] = kept["different"] if kept else []
        self.refused: Counter[str] = Counter(kept["refused"] if kept else {})

    def count(self, seed: int, message: str) -> None:
        if seed < self.following:  # of a record that is behind another's
            return
        self.following = seed + 1
        if message.startswith(UNSUPPORTED):
            self.refused[reason(message)] += 1
            return
        self.ran += 1
        if message:
            self.different.append(seed)

    def keep(self) -> None:
        kept = _records(self.path)
        kept[self.name] = {
            "first": self.first, "next": self.following, "ran": self.ran, "different": self.different,
            "refused": dict(self.refused.most_common()), "date": time.strftime("%Y-%m-%d"),
        }  # fmt: skip
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".part")
        unfinished.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
        unfinished.replace(self.path)

    def report(self) -> str:
        lines = [f"{self.name}: {self.ran} programs from seed {self.first} to {self.following - 1} ran, "]
        lines[0] += f"{len(self.different)} differ; {sum(self.refused.values())} not supported"
        lines += [f"  {count:6d} {name}" for name, count in self.refused.most_common(20)]
        return "\n".join(lines)


def _records(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="programs to run")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--resume", action="store_true", help="go on behind the last recorded seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--target", type=int, nargs="+", default=[90], help="61, 75, 80, 86, 89, 90; several share")
    parser.add_argument("--with", dest="by", choices=["ours", "ptxas"], default="ours", help="the assembler")
    parser.add_argument("--level", type=int, default=3, help="of ptxas: 0 to 3")
    parser.add_argument("--reverse", action="store_true", help="the other schedule of warps and lanes")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz_sass"), help="folder for failing programs")
    parser.add_argument("--no-minimise", action="store_true", help="save failing programs as they are")
    arguments = parser.parse_args()
    settings = [Settings(t, arguments.by, arguments.level, arguments.reverse) for t in arguments.target]
    record_path = arguments.out / "record.json"
    records = [Record(record_path, s, arguments.seed, arguments.resume) for s in settings]
    first = min([record.following for record in records])
    seeds = range(first, first + arguments.count)
    start = time.monotonic()
    failed = 0
    with multiprocessing.Pool(arguments.jobs, _begin, (settings,)) as pool:
        for done, (seed, messages) in enumerate(pool.imap(_check_seed, seeds), 1):
            for record, setting, message in zip(records, settings, messages, strict=True):
                record.count(seed, message)
                if message and not message.startswith(UNSUPPORTED):
                    failed += 1
                    _save_failure(seed, message, settings_of(seed, setting), min(arguments.target), arguments)
            if done % PROGRESS == 0 or done == len(seeds):
                for record in records:
                    record.keep()
                rate = done / (time.monotonic() - start)
                print(f"{done}/{len(seeds)}, {failed} failed, {rate:.1f}/s", file=sys.stderr, flush=True)
    for record in records:
        print(record.report())
    return 1 if failed else 0


def _save_failure(seed: int, message: str, settings: Settings, oldest: int, arguments: argparse.Namespace) -> None:
    program = for_target(program_of(seed, oldest), settings.target)
    program = without_deviations(program) if settings.by == "ptxas" else program
    if not arguments.no_minimise and not message.startswith("the reference refuses"):
        program = minimise(program, lambda p: disagrees(p, settings))
    how = f"sm_{settings.target} {settings.by} {settings.variant}".strip()
    path = save(program, f"{how}\n{message}", arguments.out)
    print(f"\nseed {seed}, {how}: {message}\n  saved as {path}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

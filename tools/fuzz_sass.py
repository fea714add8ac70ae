"""Generated PTX programs on the reference interpreter and, as machine code, on the interpreter of machine code.

    python -m tools.fuzz_sass --count 20000 --seed 0 --jobs 2 --target 90 --with ours

`--with ours` assembles by ourselves; `--with ptxas` (at `--level` 0 to 3) validates the interpreter itself. What the
assembler refuses as unsupported counts apart, by its message; it is no success. A failing program is made smaller as
tools/fuzz.py does it and written to `<out>/<seed>.ptx`. The exit status is 1 when any failed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from drawloom.errors import Error, UnsupportedError
from drawloom.ptx import parse, verify
from drawloom.sass.assemble import assemble
from drawloom.sass.cubin import Cubin, read_cubin
from drawloom.sass.interpreter import run
from tools.fuzz import Outcome, difference, minimise, run_on_reference, save
from tools.isa import vendor
from tools.programs import Program, generate

#: Instructions that warps may execute before a program counts as endless.
MAX_STEPS: Final = 400_000
UNSUPPORTED: Final = "not supported: "

#: Where ptxas 12.9 does something else than the manual says (seen in its code, at every level). Lines with these are
#: left out of programs that it assembles; the interpreter of machine code has no part in them.
DEVIATIONS: Final[dict[str, str]] = {
    "the guard of testp is lost": r"@\S+ testp\.",
    "64-bit fields use more than 8 bits of their position and length": r"\bbf[ei]\.[bsu]64",
    "fns does not find what is 2**31 places before": r"\bfns\.b32",
    "the guard of set to halves is lost": r"@\S+ set\.\S*f16",
    "video: upper halves merged, 33-bit sums compared, unsigned products signed": r"\bv(?!ote)[a-z]+[24]?\.\S* %r",
}


class Settings:
    """How programs become machine code: `by` is "ours" or "ptxas", with `level` its -O."""

    def __init__(self, target: int, by: str, level: int, reverse: bool) -> None:
        self.target = target
        self.by = by
        self.level = level
        self.reverse = reverse


def assembled(text: str, settings: Settings) -> Cubin:
    """The cubin of a PTX text. Raises UnsupportedError for what our assembler does not have yet."""
    if settings.by == "ours":
        return assemble(text, f"sm_{settings.target}")
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "in.ptx", Path(folder) / "out.cubin"
        source.write_text(text)
        command = [vendor.tool("ptxas"), f"-arch=sm_{settings.target}", f"-O{settings.level}", str(source)]
        done = subprocess.run([*command, "-o", str(out)], capture_output=True, text=True)
        if done.returncode:
            raise UnsupportedError("ptxas: " + done.stderr.strip().partition("error")[2][:100])
        return read_cubin(out.read_bytes())


def program_of(seed: int, target: int) -> Program:
    """The seed's program for a target; before sm_90 it keeps to what the target has."""
    return generate(seed, target if target < 90 else 0)


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


def check_program(program: Program, settings: Settings) -> str:
    """The difference, "" for none, or a message that begins with UNSUPPORTED."""
    program = for_target(program, settings.target)
    if settings.by == "ptxas":
        program = without_deviations(program)
    try:
        verify(parse(program.text))
    except Error as error:
        return UNSUPPORTED + "newer target: " + str(error).splitlines()[0].partition(": ")[2]
    try:
        cubin = assembled(program.text, settings)
    except UnsupportedError as error:
        return UNSUPPORTED + str(error)
    except Exception as error:  # a traceback of the assembler is a failure of its own
        return f"the assembler fails: {type(error).__name__}: {error}"
    expected = run_on_reference(program)
    if expected.error:
        return f"the reference refuses the program: {expected.error}"
    got = run_machine_code(program, cubin, settings.reverse)
    if settings.by == "ptxas" and got.error.startswith("UnsupportedError: "):
        return UNSUPPORTED + got.error.partition(": ")[2]  # a gap of the tables or of the interpreter, not of ptxas
    return difference(program, expected, got)


def disagrees(program: Program, settings: Settings) -> bool:
    """Whether a shortened program is still right on the reference and different as machine code."""
    try:
        expected = run_on_reference(program)
        if expected.error or difference(program, expected, run_on_reference(program, reverse=True)):
            return False
    except Error:
        return False
    message = check_program(program, settings)
    return message != "" and not message.startswith(UNSUPPORTED)


_settings: Settings


def _begin(settings: Settings) -> None:
    global _settings
    _settings = settings


def _check_seed(seed: int) -> tuple[int, str]:
    try:
        return seed, check_program(program_of(seed, _settings.target), _settings)
    except Error as error:
        return seed, f"{type(error).__name__}: {error}"


def reason(message: str) -> str:
    """What an unsupported program needs, without its place."""
    message = re.sub(r"0x[0-9a-f]{16,}", lambda word: f"0x..{word[0][-4:]}", message)
    quoted = re.search(r"'([^']+)'", message)
    if quoted is not None:
        return quoted[1]
    return message.removeprefix(UNSUPPORTED).splitlines()[0][:100]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="programs to run")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--target", type=int, default=90, help="75, 80, 86, 89 or 90")
    parser.add_argument("--with", dest="by", choices=["ours", "ptxas"], default="ours", help="the assembler")
    parser.add_argument("--level", type=int, default=3, help="of ptxas: 0 to 3")
    parser.add_argument("--reverse", action="store_true", help="the other schedule of warps and lanes")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz_sass"), help="folder for failing programs")
    parser.add_argument("--no-minimise", action="store_true", help="save failing programs as they are")
    arguments = parser.parse_args()
    settings = Settings(arguments.target, arguments.by, arguments.level, arguments.reverse)
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    failures = 0
    refused: Counter[str] = Counter()
    start = time.monotonic()
    with multiprocessing.Pool(arguments.jobs, _begin, (settings,)) as pool:
        for done, (seed, message) in enumerate(pool.imap_unordered(_check_seed, seeds), 1):
            if message.startswith(UNSUPPORTED):
                refused[reason(message)] += 1
            elif message:
                failures += 1
                program = for_target(program_of(seed, settings.target), settings.target)
                program = without_deviations(program) if settings.by == "ptxas" else program
                if not arguments.no_minimise and not message.startswith("the reference refuses"):
                    program = minimise(program, lambda p: disagrees(p, settings))
                path = save(program, message, arguments.out)
                print(f"\nseed {seed}: {message}\n  saved as {path}", flush=True)
            if done % 200 == 0:
                rate = done / (time.monotonic() - start)
                print(f"{done}/{len(seeds)}, {failures} failed, {rate:.1f}/s", file=sys.stderr, flush=True)
    unsupported = sum(refused.values())
    ran = len(seeds) - unsupported
    print(
        f"sm_{settings.target}, {settings.by}: {ran} programs from seed {arguments.seed} ran, {failures} differ; ",
        end="",
    )
    print(f"{unsupported} not supported")
    for name, count in refused.most_common(40):
        print(f"  {count:6d} {name}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

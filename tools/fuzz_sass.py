"""Generated PTX programs on the reference interpreter and, as machine code, on the interpreter of machine code.

    python -m tools.fuzz_sass --count 20000 --seed 0 --jobs 2 --target 80 86 89
    python -m tools.fuzz_sass --count 5000 --resume --target 90

Programs for several targets keep to what the oldest has, and the reference runs once for all. By ourselves they are
assembled in several ways (`VARIANTS`, chosen by the seed); `--with ptxas` (at `--level` 0 to 3) validates the
interpreter itself. What the assembler refuses as unsupported counts apart, by its message; it is no success. A failing
program is made smaller as tools/fuzz.py does it and written to `<out>/<seed>.ptx`. The exit status is 1 when any
failed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from drawloom.errors import Error, UnsupportedError
from drawloom.ptx import Module, parse, verify
from drawloom.sass.assemble import assemble
from drawloom.sass.cubin import Cubin, read_cubin
from drawloom.sass.interpreter import run
from tools import driver
from tools.driver import Verdict
from tools.fuzz import Outcome, difference, minimise, run_on_reference, save_and_say
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


def settings_of(seed: int, settings: Settings) -> Settings:
    """The settings with the seed's variant."""
    variant = VARIANTS[seed % len(VARIANTS)] if settings.by == "ours" else ""
    return Settings(settings.target, settings.by, settings.level, settings.reverse, variant)


def check_seed(seed: int, settings: list[Settings]) -> list[Verdict]:
    """The verdict for every target."""
    known = Known()
    program = program_of(seed, min([s.target for s in settings]))
    messages = [check_program(program, settings_of(seed, s), known) for s in settings]
    return [Verdict(refused=reason(m)) if m.startswith(UNSUPPORTED) else Verdict(m) for m in messages]


def reason(message: str) -> str:
    """What an unsupported program needs, without its place."""
    message = re.sub(r"0x[0-9a-f]{16,}", lambda word: f"0x..{word[0][-4:]}", message)
    quoted = re.search(r"'([^']+)'", message)
    if quoted is not None:
        return quoted[1]
    return message.removeprefix(UNSUPPORTED).splitlines()[0][:100]


def main() -> int:
    parser = driver.arguments(__doc__, "fuzz_sass")
    parser.add_argument("--target", type=int, nargs="+", default=[90], help="61, 75, 80, 86, 89, 90; several share")
    parser.add_argument("--with", dest="by", choices=["ours", "ptxas"], default="ours", help="the assembler")
    parser.add_argument("--level", type=int, default=3, help="of ptxas: 0 to 3")
    parser.add_argument("--reverse", action="store_true", help="the other schedule of warps and lanes")
    parser.add_argument("--no-minimise", action="store_true", help="save failing programs as they are")
    given = parser.parse_args()
    settings = [Settings(t, given.by, given.level, given.reverse) for t in given.target]
    level = f" -O{given.level}" if given.by == "ptxas" else ""

    def report(seed: int, part: int, message: str) -> None:
        chosen = settings_of(seed, settings[part])
        program = for_target(program_of(seed, min(given.target)), chosen.target)
        program = without_deviations(program) if chosen.by == "ptxas" else program
        if not given.no_minimise and not message.startswith((*driver.CRASHED, "the reference refuses")):
            program = minimise(program, lambda p: disagrees(p, chosen))
        how = f"sm_{chosen.target} {chosen.by} {chosen.variant}".strip()
        save_and_say(program, f"{how}\n{message}", given.out)

    names = [f"sm_{target} {given.by}{level}" for target in given.target]
    return driver.run(given, names, partial(check_seed, settings=settings), report)


if __name__ == "__main__":
    sys.exit(main())

"""Generated PTX programs on the reference interpreter and on a device: finds, shrinks and saves disagreements.

    python -m tools.fuzz --count 20000 --seed 0 --jobs 2 --device cpu

A failing program is made smaller by deleting lines as long as the two still disagree, then written to
``<out>/<seed>.ptx`` with its launch and the difference as comments. The exit status is 1 when any failed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from drawloom.cpu.engine import FEATURE_SETS
from drawloom.errors import DeadlockError, Error
from drawloom.ptx import parse, verify
from drawloom.ptx.layout import GlobalsLayout
from tools import driver
from tools.driver import Verdict
from tools.programs import Program, generate

Words = npt.NDArray[np.uint32]
#: Instructions that a program may execute before it counts as endless.
MAX_STEPS: Final = 3_000_000


class Outcome:
    """What a run left behind: the output and the accumulators, or the error that it ended with."""

    def __init__(self, output: Words, accumulators: Words, error: str = "") -> None:
        self.output = output
        self.accumulators = accumulators
        self.error = error


def run_on_reference(program: Program, reverse: bool = False) -> Outcome:
    """Run on the interpreter; errors of the program are part of the outcome. ``reverse`` takes the other schedule."""
    from drawloom import reference

    module = parse(program.text, f"seed {program.seed}")
    verify(module)
    arrays = [program.input.copy(), program.output.copy(), program.accumulators.copy()]
    params = b"".join([int(a.ctypes.data).to_bytes(8, "little") for a in arrays]) + program.n.to_bytes(4, "little")
    if program.shift is not None:
        params += bytes(4) + program.shift.to_bytes(8, "little")
    buffers = [(int(a.ctypes.data), a.nbytes) for a in arrays]
    layout = GlobalsLayout(module)
    image = np.zeros(layout.size + 2 * layout.align, np.uint8)
    base = (int(image.ctypes.data) + layout.align - 1) // layout.align * layout.align
    start = base - int(image.ctypes.data)
    image[start : start + layout.size] = np.frombuffer(layout.build(base), np.uint8)
    if layout.size:
        buffers.append((base, layout.size))
    try:
        reference.run(
            module, "k", program.grid, program.block, params, shared_bytes=program.shared_bytes, image_base=base,
            buffers=buffers, max_steps=MAX_STEPS, reverse=reverse,
        )  # fmt: skip
    except Error as error:
        return Outcome(arrays[1], arrays[2], f"{type(error).__name__}: {error}")
    return Outcome(arrays[1], arrays[2])


def run_on_device(program: Program, device: str, check: str | None = None) -> Outcome:
    """Run through the runtime."""
    import drawloom

    arrays = [program.input.copy(), program.output.copy(), program.accumulators.copy()]
    try:
        kernel = drawloom.load(program.text, device=device, check=check, reinterpret=True)["k"]
        kernel[program.grid, program.block, program.shared_bytes](
            *arrays, program.n, *([] if program.shift is None else [program.shift])
        )
    except DeadlockError as error:
        return Outcome(arrays[1], arrays[2], f"DeadlockError: {error}")
    except Exception as error:  # a traceback is as much a failure as a wrong answer
        return Outcome(arrays[1], arrays[2], f"{type(error).__name__}: {error}")
    return Outcome(arrays[1], arrays[2])


def difference(program: Program, expected: Outcome, got: Outcome) -> str:
    """What is different, in one or a few lines; "" when nothing is."""
    if expected.error or got.error:
        same = expected.error == got.error
        return "" if same else f"reference: {expected.error or 'ran'}\ndevice: {got.error or 'ran'}"
    for name, a, b in (
        ("output", expected.output, got.output), ("accumulators", expected.accumulators, got.accumulators)
    ):  # fmt: skip
        places = np.flatnonzero(a != b)
        if places.size:
            first = int(places[0])
            words = f"{name}[{first}]: reference 0x{int(a[first]):08x}, device 0x{int(b[first]):08x}"
            per_thread = program.output.size // (program.grid[0] * program.grid[1] * _threads(program))
            where = f", thread {first // per_thread} offset {first % per_thread * 4}" if name == "output" else ""
            return f"{words}{where}; {places.size} words differ"
    return ""


def _threads(program: Program) -> int:
    return program.block[0] * program.block[1] * program.block[2]


def check_program(program: Program, device: str, check: str | None = None) -> str:
    """The difference between the reference and ``device``. A program that the reference refuses is a failure too:
    the generator made something that it must not make."""
    expected = run_on_reference(program)
    if expected.error:
        return f"the reference refuses the program: {expected.error}"
    return difference(program, expected, run_on_device(program, device, check))


# Making failures smaller.


def minimise(program: Program, still_fails: Callable[[Program], bool], seconds: float = 60.0) -> Program:
    """Delete runs of lines, long ones first, while ``still_fails``."""
    lines = program.text.splitlines()
    deadline = time.monotonic() + seconds
    size = max(1, len(lines) // 4)
    while size:
        at = 0
        removed = False
        while at < len(lines) and time.monotonic() < deadline:
            candidate = lines[:at] + lines[at + size :]
            if still_fails(program.with_text("\n".join(candidate) + "\n")):
                lines = candidate
                removed = True
            else:
                at += size
        if not removed or size > 1:
            size //= 2
        if time.monotonic() >= deadline:
            break
    return program.with_text("\n".join(lines) + "\n")


def disagrees(program: Program, device: str, check: str | None) -> bool:
    """Whether a shortened program is still right on the reference and different on ``device``. It is not right when
    it has come to depend on the order of its threads."""
    try:
        expected = run_on_reference(program)
        if expected.error or difference(program, expected, run_on_reference(program, reverse=True)):
            return False
    except Error:
        return False
    return difference(program, expected, run_on_device(program, device, check)) != ""


def save(program: Program, message: str, folder: Path) -> Path:
    """Write a failing program with what is needed to run it again."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{program.seed}.ptx"
    launch = f"grid {program.grid}, block {program.block}, shared {program.shared_bytes} bytes, n {program.n}"
    head = [f"// seed {program.seed}, {launch}", *[f"// {line}" for line in message.splitlines()]]
    path.write_text("\n".join(head) + "\n" + program.text)
    return path


def save_and_say(program: Program, message: str, folder: Path) -> None:
    """Write a failing program, and say so."""
    path = save(program, message, folder)
    print(f"\nseed {program.seed}: {message}\n  saved as {path}", flush=True)


def check_seed(seed: int, device: str, check: str | None) -> list[Verdict]:
    return [Verdict(check_program(generate(seed), device, check))]


def main() -> int:
    parser = driver.arguments(__doc__, "fuzz")
    parser.add_argument("--device", default="cpu", help="cpu, cuda:0, ...")
    parser.add_argument("--check", choices=["memory"], help="run the device with bounds checks")
    parser.add_argument("--no-minimise", action="store_true", help="save failing programs as they are")
    parser.add_argument("--features", choices=FEATURE_SETS, help="the CPU features that kernels are compiled for")
    given = parser.parse_args()
    if given.features:
        os.environ["DRAWLOOM_CPU_FEATURES"] = given.features

    def report(seed: int, part: int, message: str) -> None:
        program = generate(seed)
        if not given.no_minimise and not message.startswith((*driver.CRASHED, "the reference refuses")):
            program = minimise(program, lambda p: disagrees(p, given.device, given.check))
        save_and_say(program, message, given.out)

    name = f"{given.device}{' with checks' if given.check else ''}"
    if given.features:
        name += f" as {given.features}"
    return driver.run(given, [name], partial(check_seed, device=given.device, check=given.check), report)


if __name__ == "__main__":
    sys.exit(main())

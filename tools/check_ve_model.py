"""Holds the model of SX-Aurora's intrinsics against the reference functions of NEC's test suite for LLVM.

    git clone https://github.com/sx-aurora-dev/llvm-ve-intrinsic-test /tmp/reference
    python -m tools.check_ve_model /tmp/reference

The suite's programs (gen/tests, tests) are compiled with tests/batch/backends/model/velintrin.h in place of clang's
header, and compared with the suite's functions on random numbers, for full and for short vectors. Printed are the
intrinsics that are covered, those that are not, and those that differ; then the exit status is 1.
"""

import argparse
import ctypes
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MODEL = Path(__file__).parents[1] / "tests/batch/backends/model"
EXTRA = Path(__file__).parent / "ve_reference.h"
OPTIONS = ("-O1", "-w", "-fPIC", "-ffp-contract=off", "-fno-builtin", "-include", str(EXTRA))
#: Programs of the suite that were written by hand, with the functions that they are compared with.
PROGRAMS = (
    "vel_vmv.cc", "vel_vgt.cc", "vel_vsc.cc", "vel_vst.cc", "vel_vfmk.cc", "vel_vmr.cc", "vel_insert_vm512.cc",
    "vel_lvs.c",
)  # fmt: skip
TRIALS = 200
TYPES = {
    "double": np.float64, "float": np.float32, "long int": np.int64, "unsigned long int": np.uint64, "int": np.int32,
    "unsigned int": np.uint32,
}  # fmt: skip
SCALARS: dict[str, Any] = {
    "double": ctypes.c_double, "float": ctypes.c_float, "long int": ctypes.c_int64,
    "unsigned long int": ctypes.c_uint64, "int": ctypes.c_int32, "unsigned int": ctypes.c_uint32,
}  # fmt: skip
#: Comparisons, whose results have a meaning by their sign only; the suite's are differences, which must not wrap.
COMPARES = re.compile(r"cmp")
#: The suite rounds products; products of numbers with half a significand are exact.
FUSED = re.compile(r"fmad|fmadd|fmads")


class Prototype(NamedTuple):
    name: str
    parameters: list[tuple[str, bool, str]]  # type, whether it is a pointer, name


def find_prototypes(text: str) -> dict[str, Prototype]:
    """Return the functions of a C++ file that write to their first parameter."""
    found = {}
    for name, parameters in re.findall(r"^void (\w+)\(([^)]*)\)", text, re.M):
        parts = [re.fullmatch(r"\s*(.*?)( const)?(\*?) ?(\w+)\s*", part) for part in parameters.split(",")]
        rows = [(part[1].strip(), bool(part[3]), part[4]) for part in parts if part is not None]
        found[name] = Prototype(name, rows)
    return found


class Report(NamedTuple):
    """Which intrinsics of the model were compared, and what differs."""

    used: set[str]
    covered: set[str]
    by_reference: int
    faults: list[str]


def model_intrinsics(model: Path) -> set[str]:
    """Return the names of the model's intrinsics, without `_vel_`."""
    command = ["gcc", "-E", f"-I{model}", "-"]
    done = subprocess.run(command, input="#include <velintrin.h>", capture_output=True, text=True, check=True)
    return set(re.findall(r"\b_vel_(\w+)\(", done.stdout))


def build(folder: Path, reference: Path, model: Path, prototypes: list[Prototype]) -> ctypes.CDLL:
    """Compile the suite's functions as `ref_NAME`, and its programs on the model as NAME."""
    mains = (reference / "main.cc").read_text()
    merges = re.findall(r"^void vmrg\w+\([^;]*?\)\n\{.*?^\}", mains, re.M | re.S)
    shuffle = re.search(r"^static void vshf_ref.*?^\}$", mains, re.M | re.S)
    assert merges and shuffle is not None, "main.cc has no vmrg or no vshf_ref"
    lines = [f'#include "{reference / "gen/ref.cc"}"', "namespace ref {", *merges, "}", shuffle[0]]
    lines.append("namespace ref { void vshf_vvvsl(unsigned long int* x, unsigned long int* y, unsigned long int* z, "
                 "unsigned long int s, int n) { ::vshf_ref(x, y, z, s, n); } }")  # fmt: skip
    for prototype in prototypes:
        typed = ", ".join(f"{type}{'*' * pointer} {name}" for type, pointer, name in prototype.parameters)
        names = ", ".join(name for _, _, name in prototype.parameters)
        lines.append(f'extern "C" void ref_{prototype.name}({typed}) {{ ref::{prototype.name}({names}); }}')
    (folder / "reference.cc").write_text("\n".join(lines))
    programs = [(reference / "gen/tests" / f"{prototype.name}.c") for prototype in prototypes]
    merge = (reference / "tests/vel_vmrg.c").read_text()
    texts = [path.read_text() for path in programs if path.exists()] + [of_clang(merge)]
    (folder / "programs.c").write_text("\n".join(texts))
    objects = []
    for source, compiler in (("reference.cc", "g++"), ("programs.c", "gcc")):
        target = folder / (source + ".o")
        subprocess.run([compiler, *OPTIONS, f"-I{model}", "-c", folder / source, "-o", target], check=True)
        objects.append(target)
    subprocess.run(["g++", "-shared", *objects, "-lm", "-o", folder / "both.so"], check=True)
    return ctypes.CDLL(str(folder / "both.so"))


def of_clang(text: str) -> str:
    """Return a program with what it has for clang only, and as gcc takes it."""
    return text.replace("#ifdef __clang__", "#if 1").replace("cc##<T>", "cc<T>")


def draw(rng: np.random.Generator, name: str, dtype: Any, count: int) -> NDArray[Any]:
    """Return random operands of an intrinsic."""
    if np.dtype(dtype).kind == "f":
        numbers = rng.standard_normal(count) * 2.0 ** rng.integers(-20, 20, count)
        if FUSED.search(name):
            bits = 11 if dtype == np.float32 else 26
            fraction, exponent = np.frexp(numbers)
            numbers = np.ldexp(np.round(fraction * 2**bits), exponent - bits)
        numbers = numbers.astype(dtype)
        if "sqrt" in name:
            numbers = abs(numbers)
        elif rng.random() < 0.5:
            numbers[rng.random(count) < 0.1] = rng.choice(np.array([0.0, -0.0, np.nan, 1.0], dtype))
        return numbers
    info = np.iinfo(dtype)
    if COMPARES.search(name):
        return rng.integers(0, 5, count).astype(dtype)
    numbers = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    if rng.random() < 0.5:
        numbers = (numbers % 100).astype(dtype)
    if "div" in name:
        numbers[numbers == 0] = 7
    return numbers


def compare(library: ctypes.CDLL, prototype: Prototype, seed: int) -> str:
    """Return how the model differs from the reference on random operands, or nothing."""
    rng = np.random.default_rng(seed)
    name = prototype.name
    is_packed = name.startswith(("pv", "vmrgw"))
    count = 512 if is_packed else 256
    length = count if seed % 2 else int(rng.integers(1, count // 2 + 1)) * (1 + is_packed)
    operands: list[Any] = []
    for type, is_pointer, parameter in prototype.parameters:
        dtype = TYPES[type]
        if parameter == "n":
            operands.append(ctypes.c_int(length))
        elif not is_pointer:
            operands.append(SCALARS[type](draw(rng, name, dtype, 1)[0].item()))
        elif parameter == "pvm":
            operands.append(rng.integers(0, 2, count).astype(dtype))
        else:
            operands.append(draw(rng, name, dtype, count))
    results = []
    for prefix in ("ref_", ""):
        copies = [operand.copy() if isinstance(operand, np.ndarray) else operand for operand in operands]
        if "ppt" in [parameter for _, _, parameter in prototype.parameters]:
            # The reference keeps what its result held, the intrinsic its operand that passes through.
            place = [parameter for _, _, parameter in prototype.parameters].index("ppt")
            copies[0][:] = copies[place]
        passed = [c.ctypes.data_as(ctypes.c_void_p) if isinstance(c, np.ndarray) else c for c in copies]
        library[prefix + name](*passed)
        results.append(copies[0])
    expected, found = results
    if COMPARES.search(name):
        expected, found = (np.sign(result.view(f"i{result.itemsize}") if result.dtype.kind == "u" else result)
                           for result in results)  # fmt: skip
    if np.array_equal(expected, found, equal_nan=expected.dtype.kind == "f"):
        return ""
    place = int(np.flatnonzero(~((expected == found) | ((expected != expected) & (found != found))))[0])
    return f"element {place} of {length} is {found[place]}, expected {expected[place]}"


def run_program(folder: Path, reference: Path, model: Path, name: str) -> tuple[set[str], str]:
    """Run one of the programs that were written by hand. Return the intrinsics in it and what failed."""
    source = folder / name
    source.write_text(of_clang((reference / "tests" / name).read_text()))
    compiler = "g++" if name.endswith(".cc") else "gcc"
    options = [compiler, *OPTIONS, f"-I{model}", f"-I{reference / 'tests'}", "-DTEST", "-DHAVE_REGISTER_TEST"]
    shown = subprocess.run([*options, "-E", source], capture_output=True, text=True, check=True).stdout
    end = shown.index("ve_reference_end")
    calls = dict(re.findall(r"static inline \w+ _vel_(\w+)\([^)]*\)\s*\{(.*?)\}", shown[:end], re.S))
    runner = folder / "runner.c"
    runner.write_text("""#include <stdio.h>
static int failed, passed;
void register_test(char const *name, int (*test)(void)) { if (test()) ++passed; else { ++failed; puts(name); } }
int main(void) { if (!passed) puts("no test passed"); return failed || !passed; }
""")
    subprocess.run([*options, "-c", source, "-o", folder / "program.o"], check=True)
    subprocess.run(["gcc", "-c", runner, "-o", folder / "runner.o"], check=True)
    program = folder / "program"
    subprocess.run(["g++", folder / "program.o", folder / "runner.o", "-lm", "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    return called_in(shown[end:], calls), "" if done.returncode == 0 else done.stdout or "it stopped"


def called_in(text: str, bodies: dict[str, str]) -> set[str]:
    """Return the intrinsics that a text calls, also within those that are made of others."""
    found: set[str] = set()
    pending = [text]
    while pending:
        new = set(re.findall(r"\b_vel_(\w+)\(", pending.pop())) - found
        found |= new
        pending += [bodies[name] for name in new if name in bodies]
    return found


def check_model(reference: Path, trials: int = TRIALS, model: Path = MODEL) -> Report:
    """Compare a model with a checkout of the suite.

    Args:
        reference: The checkout.
        trials: How many random vectors each reference function takes.
        model: The folder of the model's velintrin.h.
    """
    known = find_prototypes((reference / "gen/ref.cc").read_text())
    known |= find_prototypes((reference / "main.cc").read_text())
    word = "unsigned long int"
    known["vshf_vvvsl"] = Prototype("vshf_vvvsl", [
        (word, True, "pvx"), (word, True, "pvy"), (word, True, "pvz"), (word, False, "sy"), ("int", False, "n"),
    ])  # fmt: skip
    used = model_intrinsics(model)
    prototypes = [known[name] for name in sorted(used & known.keys())]
    covered = {prototype.name for prototype in prototypes}
    faults = []
    with tempfile.TemporaryDirectory(prefix="drawloom-ve-") as made:
        folder = Path(made)
        library = build(folder, reference, model, prototypes)
        for prototype in prototypes:
            fault = next(filter(None, (compare(library, prototype, seed) for seed in range(trials))), "")
            faults += [f"{prototype.name}: {fault}"] * bool(fault)
        for name in PROGRAMS:
            found, fault = run_program(folder, reference, model, name)
            covered |= found & used
            faults += [f"{name}: {fault}"] * bool(fault)
    return Report(used, covered, len(prototypes), faults)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path, help="a checkout of sx-aurora-dev/llvm-ve-intrinsic-test")
    parser.add_argument("--trials", type=int, default=TRIALS, help=f"random vectors for each (default: {TRIALS})")
    options = parser.parse_args()
    report = check_model(options.reference.resolve(), options.trials)
    print(*report.faults, sep="\n", end="\n" if report.faults else "")
    print(f"{report.by_reference} intrinsics by reference functions, {options.trials} random vectors each")
    counts = f"{len(report.covered)} of {len(report.used)} intrinsics of the model are covered"
    print(f"{counts}, {len(report.faults)} differ")
    print("not covered:", ", ".join(sorted(report.used - report.covered)))
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""Run each function of the model of AVX2 and AVX-512 intrinsics (model/immintrin.h) on rows of random bytes.

A case is an intrinsic with its immediates. Compiled with another header, the same cases give what that header's
functions or the CPU's instructions do.
"""

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.backends.simd.compiler import find_c_compiler, load_c
from drawloom.batch.backends.simd.isa import AVX512, Isa

MODEL = Path(__file__).parent / "model"
#: Bytes of one input: three registers, a mask and scalars.
ROW = 256
MEMORY = 1024
SIZES = {"__m128": 16, "__m256": 32, "__m512": 64, "__mmask": 8, "int": 4, "float": 4, "double": 8, "long long": 8}
#: Immediates that are tried.
IMMEDIATES = (0x00, 0x01, 0x02, 0x0A, 0x13, 0x1B, 0x21, 0x44, 0x4E, 0x55, 0x88, 0xA5, 0xB1, 0xCC, 0xD8, 0xEE, 0xFF)
PREDICATES = {"ps": (0x00, 0x03, 0x04, 0x11, 0x12, 0x1D, 0x1E), "epi": (0, 1, 2, 4, 5, 6)}
#: What rounds, and so may give another NaN of the operands.
ROUNDS = re.compile(r"_(add|sub|mul|div|sqrt|fmadd|cvt\w+)_p[sd]$")


class Intrinsic(NamedTuple):
    result: str
    name: str
    parameters: list[tuple[str, str]]  # type and name


class Case(NamedTuple):
    """An intrinsic with its immediates, and its place among the `shares` cases of the intrinsic."""

    intrinsic: Intrinsic
    constants: dict[str, int]
    place: int
    shares: int


def find_intrinsics(model: Path = MODEL) -> list[Intrinsic]:
    """Return the functions of the model, as the preprocessor shows them."""
    command = [*find_c_compiler(), "-E", f"-I{model}", "-"]
    done = subprocess.run(command, input="#include <immintrin.h>", capture_output=True, text=True, check=True)
    found = []
    for result, name, parameters in re.findall(r"static inline (\w+) (_mm\w+)\(([^)]*)\)", done.stdout):
        pairs = [re.fullmatch(r"\s*(.*?[ *])(\w+)\s*", part) for part in parameters.split(",")]
        found.append(Intrinsic(result, name, [(pair[1].strip(), pair[2]) for pair in pairs if pair is not None]))
    return found


def instances(intrinsic: Intrinsic) -> list[dict[str, int]]:
    """Return the constants that an intrinsic is called with."""
    name = intrinsic.name
    names = {parameter for _, parameter in intrinsic.parameters}
    if "predicate" in names:
        return [{"predicate": value} for value in PREDICATES["ps" if "_cmp_p" in name else "epi"]]
    if "half" in names:
        return [{"half": 0}, {"half": 1}]
    if "scale" in names:
        return [{"scale": 4 if name.endswith(("ps", "epi32")) else 8}]
    if "imm" not in names:
        return [{}]
    if re.search(r"s[lr][la]i_", name):
        return [{"imm": count} for count in (0, 1, 7, 24, 31, 32, 63, 64)]
    largest = 15 if name in ("_mm256_blend_pd", "_mm256_permute_pd", "_mm256_shuffle_pd") else 255
    return [{"imm": value} for value in IMMEDIATES if value <= largest]


def list_cases(intrinsics: list[Intrinsic]) -> list[Case]:
    return [
        Case(intrinsic, constants, place, len(instances(intrinsic)))
        for intrinsic in intrinsics
        for place, constants in enumerate(instances(intrinsic))
    ]


def load_cases(cases: list[Case], isa: Isa, *options: str) -> ctypes.CDLL:
    """Compile cases for an instruction set, with the header that the options lead to, and load them."""
    includes = "".join(f"#include <{name}.h>\n" for name in ("immintrin", "stdint", "string"))
    functions = [harness(case.intrinsic, case.constants, f"case{number}") for number, case in enumerate(cases)]
    return load_c(includes + "".join(functions), isa, *options)


def run_case(library: ctypes.CDLL, number: int, case: Case, rows: NDArray[np.uint8]) -> NDArray[Any]:
    """Return a case's results for its share of the rows: the cases of an intrinsic share all rows out."""
    share = rows[case.place :: case.shares]
    share = np.ascontiguousarray(share[::8] if case.intrinsic.result == "void" else share)
    filled = np.random.default_rng(1).integers(0, 256, MEMORY, np.uint8)
    results = np.empty((len(share), result_bytes(case.intrinsic)), np.uint8)
    library[f"case{number}"](*map(pointer, (share, results, filled)), ctypes.c_long(len(share)))
    return canonical(results, case.intrinsic)


def harness(intrinsic: Intrinsic, constants: dict[str, int], name: str) -> str:
    """Return a C function that applies an intrinsic to rows of bytes: results, then memory after them."""
    lines, arguments, offset = [], [], 0
    for type, parameter in intrinsic.parameters:
        if parameter in constants:
            arguments.append(str(constants[parameter]))
            continue
        arguments.append(parameter)
        if type.endswith("*"):
            arguments[-1] = f"({type})(memory + 256)"
            continue
        lines.append(f"{type} {parameter}; memcpy(&{parameter}, row + {offset}, sizeof {parameter});")
        if parameter == "index" and "64" in intrinsic.name:
            # Offsets of -8 to 7 elements: the high half of each index is its sign.
            lines.append(f"int64_t places[sizeof index / 8]; memcpy(places, row + {offset}, sizeof places);")
            lines.append("for (unsigned i = 0; i < sizeof index / 8; ++i) places[i] = (places[i] & 15) - 8;")
            lines.append("memcpy(&index, places, sizeof index);")
        offset += 64 if type.startswith("__m") and not type.startswith("__mmask") else 8
    call = f"{intrinsic.name}({', '.join(arguments)})"
    if intrinsic.result == "void":
        lines.append(f"{call}; memcpy(results, memory, {MEMORY // 2});")
    else:
        lines.append(f"{intrinsic.result} result = {call}; memcpy(results, &result, sizeof result);")
    body = "\n        ".join(lines)
    return f"""void {name}(const unsigned char *rows, unsigned char *results, const unsigned char *filled, long count)
{{
    _Alignas(64) unsigned char memory[{MEMORY}];
    memcpy(memory, filled, sizeof memory);
    for (long n = 0; n < count; ++n) {{
        const unsigned char *row = rows + {ROW} * n;
        {body}
        results += {result_bytes(intrinsic)};
    }}
}}
"""


def result_bytes(intrinsic: Intrinsic) -> int:
    if intrinsic.result == "void":
        return MEMORY // 2
    if intrinsic.result.startswith("__mmask"):
        return int(intrinsic.result[7:]) // 8
    return next(size for type, size in SIZES.items() if intrinsic.result.startswith(type))


def draw_rows(count: int) -> NDArray[np.uint8]:
    """Return rows whose registers are random bits, numbers of one size with special ones among them, or integers.

    Half of the integers are small: shift counts within a lane, and lanes that are equal.
    """
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 256, (count, ROW), np.uint8)
    tame = rng.standard_normal((count // 4, ROW // 4)).astype(np.float32)
    tame[rng.random(tame.shape) < 0.1] = rng.choice(np.array([0, -0.0, 1, np.inf, -np.inf, np.nan, 1e-40], np.float32))
    rows[: count // 4] = tame.view(np.uint8)
    wide = rng.standard_normal((count // 4, ROW // 8))
    wide[rng.random(wide.shape) < 0.1] = rng.choice(np.array([0, -0.0, 1, np.inf, -np.inf, np.nan, 1e-310]))
    rows[count // 4 : count // 2] = wide.view(np.uint8)
    for start, dtype in ((count // 2, np.int32), (count // 2 + count // 8, np.int64)):
        lanes = rows[start : start + count // 8].view(dtype)
        small = rng.integers(-2, 67, lanes.shape, dtype)
        lanes[:] = np.where(rng.random(lanes.shape) < 0.5, small, lanes)
    return rows


def belongs_to(intrinsic: Intrinsic, isa: Isa) -> bool:
    """Return whether an intrinsic can be run on a CPU with an instruction set, and is not of a lesser one."""
    is_wide = "_mm512" in intrinsic.name or "_maskz_" in intrinsic.name or "_m512" in str(intrinsic.parameters)
    return is_wide == (isa is AVX512)


def defined_bytes(intrinsic: Intrinsic) -> int:
    """Return how much of a result is defined: casts to wider registers leave the rest open."""
    if re.fullmatch(r"_mm(256_cast[a-z]+128_[a-z]+256|512_cast[a-z]+256_[a-z]+512)", intrinsic.name):
        return result_bytes(intrinsic) // 2
    return result_bytes(intrinsic)


def equal(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Return whether results are the same, bit for bit or, where they are numbers, but for the payloads of NaN."""
    return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")


def canonical(results: NDArray[np.uint8], intrinsic: Intrinsic) -> NDArray[Any]:
    """Return results in which every NaN of a rounded operation is the same."""
    defined = np.ascontiguousarray(results[:, : defined_bytes(intrinsic)])
    if not ROUNDS.search(intrinsic.name):
        return defined
    numbers = defined.view(np.float32 if intrinsic.name.endswith("ps") else np.float64)
    return np.where(np.isnan(numbers), np.nan, numbers)


def pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)

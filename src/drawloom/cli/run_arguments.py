"""From the words of `--arg`, `--save` and `--print` to NumPy arrays, scalars and files.

    NAME   ::= a name of a parameter (runtime/parameter_names.py), or its position
    ARG    ::= NAME ":" TYPE "[" EXTENT ("," EXTENT)* "]" ("=" FILL)?    an array made here, zeros unless filled
             | NAME ":" TYPE "=" NUMBER                                  a scalar of that type
             | NAME "=" NUMBER                                           a scalar of the parameter's type
             | NAME "=" PATH ".npy"                                      the array in a NumPy file
             | NAME "=" PATH ":" TYPE                                    the numbers in a raw file
    FILL   ::= NUMBER | "arange" | "random" | "random(" SEED ")"
    TYPE   ::= f16 f32 f64, u8 u16 u32 u64, s8 s16 s32 s64 (or i8 ...), b8 b16 b32 b64

`random` draws floats from [0, 1) and integers from the type's whole range; without a seed it is seed 0.
"""

import math
import os
import re
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from drawloom.cli import fence
from drawloom.errors import DataError, LaunchError
from drawloom.files import whole_file
from drawloom.runtime.parameter_names import ParameterNames

Array = npt.NDArray[Any]

TYPES: Final[dict[str, str]] = {
    **{f"f{bits}": f"<f{bits // 8}" for bits in (16, 32, 64)},
    **{f"{kind}{bits}": f"<u{bits // 8}" for kind in "ub" for bits in (8, 16, 32, 64)},
    **{f"{kind}{bits}": f"<i{bits // 8}" for kind in "si" for bits in (8, 16, 32, 64)},
}
MAX_BYTES: Final = 2**47  # what an address space holds
_NAME: Final = re.compile(r"[A-Za-z_$%][A-Za-z0-9_$]*|[0-9]+")
_RANDOM: Final = re.compile(r"random(?:\((\d+)\))?")
_HEX: Final = re.compile(r"[+-]?0[xX][0-9a-fA-F_]+")


class Malformed(Exception):
    """An option's text that is not in the grammar above; becomes a usage error."""


class Given:
    """One `--arg`: its name, the value for the launch, and the text it came from."""

    def __init__(self, name: str, value: object, text: str) -> None:
        self.name = name
        self.value = value
        self.text = text


def parse_argument(text: str) -> Given:
    """The argument that `text` describes. Raises Malformed, or DataError for a file or size that fails."""
    head, equals, value = text.partition("=")
    name, colon, type_text = head.partition(":")
    if not _NAME.fullmatch(name):
        raise Malformed(f"'{text}': expected NAME:TYPE[SHAPE], NAME=VALUE or NAME=FILE")
    if not colon:
        if not equals or not value:
            raise Malformed(f"'{text}': expected a value after {name}=, or {name}:TYPE[SHAPE]")
        return Given(name, value_or_file(value, text), text)
    type_name, bracket, shape_text = type_text.partition("[")
    dtype = type_of(type_name, text)
    if not bracket:
        if not value:
            raise Malformed(f"'{text}': expected {name}:{type_name}[SHAPE], or a number after '='")
        return Given(name, typed_scalar(value, dtype, text), text)
    if not shape_text.endswith("]"):
        raise Malformed(f"'{text}': expected ']' at the end of the shape")
    if equals and not value:
        raise Malformed(f"'{text}': expected a number, arange or random after '='")
    return Given(name, made_array(shape_of(shape_text[:-1], text), dtype, value, text), text)


def type_of(name: str, text: str) -> np.dtype[Any]:
    if name not in TYPES:
        raise Malformed(f"'{text}': unknown type '{name}', expected one of {' '.join(TYPES)}")
    return np.dtype(TYPES[name])


def shape_of(text: str, argument: str) -> tuple[int, ...]:
    try:
        extents = tuple(int(extent) for extent in text.split(","))
    except ValueError:
        raise Malformed(f"'{argument}': the shape [{text}] is not numbers with commas between") from None
    if any(extent < 0 for extent in extents):
        raise Malformed(f"'{argument}': the shape [{text}] has a negative extent")
    return extents


def parse_number(text: str) -> int | float | None:
    """An integer (decimal, hexadecimal, underscores) or a float (also inf, nan); None when it is neither."""
    try:
        return int(text, 16) if _HEX.fullmatch(text) else int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def typed_scalar(text: str, dtype: np.dtype[Any], argument: str) -> np.generic:
    number = parse_number(text)
    if number is None:
        raise Malformed(f"'{argument}': '{text}' is not a number")
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return dtype.type(number)  # type: ignore[no-any-return]
    if isinstance(number, float) or not fits(number, dtype):
        raise Malformed(f"'{argument}': {text} is not a {dtype.name}")
    return dtype.type(number)  # type: ignore[no-any-return]


def fits(number: int, dtype: np.dtype[Any]) -> bool:
    bounds = np.iinfo(dtype)
    return int(bounds.min) <= number <= int(bounds.max)


def made_array(shape: tuple[int, ...], dtype: np.dtype[Any], fill: str, argument: str) -> Array:
    """An array of zeros, or filled as `fill` says."""
    if math.prod(shape) * dtype.itemsize > MAX_BYTES:
        raise DataError(f"'{argument}': no memory for {dtype.name}{list(shape)}")
    try:
        if not fill:
            return fence.zeros(shape, dtype)
        return fence.copy(filled_array(shape, dtype, fill, argument))
    except (MemoryError, ValueError, OverflowError) as refusal:  # an extent may be more than NumPy takes
        raise DataError(f"'{argument}': no memory for {dtype.name}{list(shape)}") from refusal


def filled_array(shape: tuple[int, ...], dtype: np.dtype[Any], fill: str, argument: str) -> Array:
    count = math.prod(shape)
    if fill == "arange":
        return np.arange(count).astype(dtype).reshape(shape)
    random = _RANDOM.fullmatch(fill)
    if random is not None:
        draw = np.random.default_rng(int(random[1] or 0))
        if dtype.kind == "f":
            return draw.random(shape).astype(dtype)
        bounds = np.iinfo(dtype)
        return draw.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    if parse_number(fill) is None:
        raise Malformed(f"'{argument}': '{fill}' is neither a number nor arange, random or random(SEED)")
    return np.full(shape, typed_scalar(fill, dtype, argument), dtype)


def value_or_file(value: str, argument: str) -> object:
    number = parse_number(value)
    if number is not None:
        return number
    if value.endswith(".npy"):
        return load_npy(value)
    path, colon, type_name = value.rpartition(":")
    if colon and type_name in TYPES:
        return load_raw(path, np.dtype(TYPES[type_name]))
    raise Malformed(f"'{argument}': '{value}' is no number, no .npy file and no FILE:TYPE")


def argument_files(arguments: tuple[str, ...]) -> list[str]:
    """The paths that the texts of `--arg` read; texts that are malformed have none."""
    values = [text.partition("=")[2] for text in arguments]
    return [value if value.endswith(".npy") else value.rpartition(":")[0] for value in values]


def load_npy(path: str) -> Array:
    """The array in a `.npy` file, in C order. Raises DataError."""
    try:
        with open(path, "rb") as file:
            loaded = np.lib.format.read_array(file, allow_pickle=False)
            if file.read(1):
                raise DataError(f"{path}: bytes after the end of the array")
    except OSError as refusal:
        raise DataError(f"cannot read {path}: {refusal.strerror or refusal}; expected a .npy file") from refusal
    except (ValueError, EOFError, MemoryError, SyntaxError, TypeError) as refusal:
        raise DataError(f"{path}: not a .npy file of numbers: {refusal}") from refusal
    if loaded.dtype.kind not in "fiubcV" or loaded.dtype.hasobject:
        raise DataError(f"{path}: its elements are {loaded.dtype}, expected numbers")
    return fence.copy(loaded)


def load_raw(path: str, dtype: np.dtype[Any]) -> Array:
    """All bytes of a file as numbers of `dtype`. Raises DataError."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, MemoryError) as refusal:
        reason = refusal.strerror if isinstance(refusal, OSError) else "it does not fit in memory"
        raise DataError(f"cannot read {path}: {reason}") from refusal
    if len(data) % dtype.itemsize:
        raise DataError(f"{path}: {len(data)} bytes are no whole number of {dtype.name}")
    return fence.copy(np.frombuffer(data, dtype=dtype))


def in_order(given: list[Given], names: ParameterNames) -> list[Given]:
    """The arguments in the order of the parameters that they name. Raises Malformed for a name that is no parameter's,
    for a parameter that is named twice, and for one that is not named."""
    try:
        positions = names.positions([argument.name for argument in given])
    except LaunchError as refusal:
        raise Malformed(f"--arg: {refusal}") from refusal
    missing = [name for index, name in enumerate(names.shown()) if index not in positions]
    if missing:
        raise Malformed(f"kernel {names.kernel}: no --arg for {', '.join(missing)}")
    by_position = dict(zip(positions, given))
    return [by_position[index] for index in sorted(by_position)]


class Save:
    """One `--save NAME=FILE`."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path


def parse_save(text: str) -> Save:
    name, equals, path = text.partition("=")
    if not equals or not path or not _NAME.fullmatch(name):
        raise Malformed(f"'{text}': expected NAME=FILE")
    if os.path.splitext(path)[1] not in (".npy", ".raw", ".bin"):
        raise Malformed(f"'{text}': expected a file name that ends in .npy, .raw or .bin")
    return Save(name, path)


def check_writable(path: str) -> None:
    """Refuses before the run what could not be saved after it. Raises DataError."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise DataError(f"cannot save {path}: no folder {folder}")
    if os.path.isdir(path):
        raise DataError(f"cannot save {path}: it is a folder")
    if not os.access(folder, os.W_OK):
        raise DataError(f"cannot save {path}: the folder {folder} is not writable")


def save_array(array: Array, path: str) -> None:
    """Writes a .npy file, or the raw bytes; the file is whole or not there. What is no plain file (/dev/null, a pipe)
    is written to. Raises DataError."""
    try:
        whole = np.ascontiguousarray(array)
        with whole_file(path) as file:
            if path.endswith(".npy"):  # NumPy's own way to write the elements does not tell why a disk refuses them
                np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(whole))
            file.write(whole.data)
    except OSError as failure:
        raise DataError(f"cannot save {path}: {failure.strerror or failure}") from failure

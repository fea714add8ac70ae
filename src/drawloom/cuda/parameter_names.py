"""From a CUDA C++ or OpenCL C source to the names of its functions' parameters, of which PTX keeps only the numbers.

Clang writes the names into its LLVM IR; nothing is optimised for it.
"""

from typing import Final

from drawloom.cuda.clang import find_clang
from drawloom.cuda.compiler import (
    Options,
    cuda_arguments,
    is_source_file,
    opencl_arguments,
    read_source,
    translate,
    words_of,
)

_IR_WITH_NAMES: Final = ("-emit-llvm", "-disable-llvm-passes")
_OPENING: Final = "([{<"
_CLOSING: Final = ")]}>"
#: What clang appends to the name of a structure that it passes as a number.
_COERCED: Final = ".coerce"


def parameter_names(path: str, arch: str, options: Options) -> dict[str, list[str]]:
    """The parameters' names of every function of a source, by symbol. Raises as `compile_cuda`."""
    is_opencl = path.endswith(".cl")
    clang = find_clang()
    text, name = read_source(path, path, ".cl" if is_opencl else ".cu")
    is_file = is_source_file(path)
    own = [*_IR_WITH_NAMES, *words_of(options)]
    arguments = opencl_arguments(arch, options) if is_opencl else cuda_arguments(clang, arch, options)
    made = translate(clang, text, name, arguments, own, not is_opencl, is_file)
    definitions = [line for line in made.ptx.splitlines() if line.startswith("define ")]
    return dict(names_in_definition(line) for line in definitions)


def names_in_definition(line: str) -> tuple[str, list[str]]:
    """The symbol and the parameters' names of a line of LLVM IR: `define void @f(ptr noundef %x, i32 %n) #0 {`."""
    symbol, _, rest = line.partition("@")[2].partition("(")
    return symbol.strip('"'), [name_of(parameter) for parameter in split_list(rest)]


def split_list(text: str) -> list[str]:
    """The parts of a list between commas, up to the bracket that closes the list."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        if depth == 0 and letter in ",)":
            parts.append(text[start:place].strip())
            start = place + 1
            if letter == ")":
                break
        depth += (letter in _OPENING) - (letter in _CLOSING)
    return [part for part in parts if part]


def name_of(parameter: str) -> str:
    return parameter.rpartition("%")[2].strip('"').removesuffix(_COERCED)

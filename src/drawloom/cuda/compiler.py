"""From CUDA C++ or OpenCL C to PTX, by `clang -cc1` with the headers of `include/` (seed 004, sections 2.2 and 2.3).

No CUDA toolkit and no vendor header takes part: the keywords, types and functions of the language are ours.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from drawloom.cuda.clang import (
    EXPECTED_TARGET,
    HEADERS,
    HOST_TRIPLE,
    OLDEST_COMPUTE,
    Clang,
    CompileError,
    cccl_folders,
    find_clang,
    host_headers,
)
from drawloom.cuda.opencl_kernels import with_group_sizes, with_kernels_inlined
from drawloom.cuda.prelude import OPENCL, cc1, read_once
from drawloom.errors import DataError, UnsupportedError
from drawloom.ptx.ir import Module

Source = str | os.PathLike[str]

#: Inlining pays more on GPUs, where a call spills registers to local memory (seed 004, section 3): LLVM's -O3 has 250.
INLINE_THRESHOLD: Final = 1100
#: A loop of known length is unrolled up to this size, in LLVM's instructions, also without `#pragma unroll`.
UNROLL_THRESHOLD: Final = 600
CUDA_STANDARDS: Final = tuple(prefix + year for prefix in ("c++", "gnu++") for year in ("11", "14", "17", "20", "23"))
OPENCL_STANDARDS: Final = ("CL1.2", "CL2.0", "CL3.0")
#: Extensions, and features of OpenCL C 3.0, that clang does not take for granted on this target.
OPENCL_EXTENSIONS: Final = (
    "cl_khr_fp64", "cl_khr_fp16", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics", "cl_khr_subgroups",
    "__opencl_c_atomic_order_acq_rel", "__opencl_c_atomic_order_seq_cst", "__opencl_c_atomic_scope_device",
    "__opencl_c_fp64", "__opencl_c_generic_address_space", "__opencl_c_program_scope_global_variables",
    "__opencl_c_subgroups",
)  # fmt: skip
DEFAULT_ARCH: Final = "sm_80"
#: The macro that tells the headers that there will be host code, too.
PROGRAM: Final = "__DRAWLOOM_PROGRAM__"
#: Defined where the host's headers are found; sources then have those that nvcc gives them unasked.
HOST_HEADERS: Final = "__DRAWLOOM_HOST_HEADERS__"
#: The PTX version of targets that it is enough for; later ones take the first that knows them, as clang does.
PTX_VERSION: Final = 78
PTX_VERSION_UP_TO: Final = 90
#: Lines of files by whole paths: ptxas and the driver take one string after `.file N`, clang writes folder and name.
LINE_INFO: Final = ("-debug-info-kind=line-directives-only", "-dwarf-version=2", "-fno-dwarf-directory-asm")

_INCLUDE: Final = re.compile(r"^[ \t]*#[ \t]*(?:include|import)\b", re.M)


@dataclass(frozen=True)
class Options:
    """How a source is compiled. `defines` are NAME or NAME=VALUE, `includes` folders; `line_info` keeps source lines
    in the PTX; `fast_math` is nvcc's -use_fast_math; `standard` is "" for the language's default."""

    standard: str = ""
    optimise: int = 3
    defines: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    line_info: bool = False
    fast_math: bool = False
    preprocessor: tuple[str, ...] = ()  # further words for the preprocessor, as clang takes them
    extra: tuple[str, ...] = ()  # further -cc1 options of the device's side
    program: bool = False  # a whole program, whose host code is compiled, too


@dataclass(frozen=True)
class Translated:
    """The PTX text of a source, and clang's warnings, "" without any; `filename` is what errors call the PTX."""

    ptx: str
    warnings: str
    filename: str


def compile_cuda(
    source: Source,
    arch: str = DEFAULT_ARCH,
    *,
    standard: str = "c++17",
    optimise: int = 3,
    defines: Sequence[str] = (),
    includes: Sequence[str] = (),
    line_info: bool = False,
    fast_math: bool = False,
    filename: str = "",
) -> Module:
    """The PTX module of the device code of a CUDA C++ program.

    `source` is the path of a file, or text (anything with a line break), whose diagnostics then name `filename`.
    `arch` is the `sm_NN` that the PTX asks for at least. Host code is parsed and checked, and left out.

    Raises CompileError with clang's diagnostics, DataError (unreadable file), UnsupportedError (no clang, an unknown
    option), VerifyError (inline PTX that breaks a rule).
    """
    options = Options(standard, optimise, tuple(defines), tuple(includes), line_info, fast_math)
    return verified(translate_cuda(source, arch, options, filename))


def compile_opencl(
    source: Source,
    arch: str = DEFAULT_ARCH,
    *,
    standard: str = "CL1.2",
    optimise: int = 3,
    defines: Sequence[str] = (),
    includes: Sequence[str] = (),
    line_info: bool = False,
    fast_math: bool = False,
    filename: str = "",
) -> Module:
    """The PTX module of an OpenCL C program; arguments and errors as of `compile_cuda`. `local` arguments of kernels
    become addresses in dynamic shared memory."""
    options = Options(standard, optimise, tuple(defines), tuple(includes), line_info, fast_math)
    return verified(translate_opencl(source, arch, options, filename))


def verified(translated: Translated) -> Module:
    from drawloom.ptx.parser import parse
    from drawloom.ptx.verifier import verify

    module = parse(translated.ptx, translated.filename)
    verify(module)
    return module


def translate_cuda(source: Source, arch: str, options: Options, filename: str = "") -> Translated:
    """The PTX text of a CUDA program's device code, with clang's warnings. Raises as `compile_cuda`."""
    clang = find_clang()
    text, name = read_source(source, filename or "<text>", ".cu")
    host = options.program or bool(_INCLUDE.search(text))
    own = ["-S", *words_of(options)]
    return translate(clang, text, name, cuda_arguments(clang, arch, options, host), own, True, is_source_file(source))


def translate_opencl(source: Source, arch: str, options: Options, filename: str = "") -> Translated:
    """The PTX text of an OpenCL program, with clang's warnings. Raises as `compile_opencl`."""
    clang = find_clang()
    text, name = read_source(source, filename or "<text>", ".cl")
    own = ["-emit-llvm", "-disable-llvm-passes", *words_of(options)]
    made = translate(clang, text, name, opencl_arguments(arch, options), own, False, is_source_file(source))
    backend = ["-S", *device_target(arch, options), "-x", "ir", "-o", "-", "-"]
    # At -O0 nothing is inlined, and clang's marks for that belong together.
    llvm = with_kernels_inlined(made.ptx) if options.optimise else made.ptx
    out, _ = clang.cc1(backend, with_group_sizes(llvm))
    return Translated(out.decode("utf-8"), made.warnings, made.filename)


def translate(
    clang: Clang, text: str, name: str, arguments: list[str], own: list[str], is_cuda: bool, is_file: bool
) -> Translated:
    """What clang's front end makes of a source, behind the headers of its language."""
    own = [*own, "-main-file-name", os.path.basename(name), "-o", "-"]
    given: str | None = None
    if is_file:
        # As text it would be in the current folder for clang, whose headers come before those beside the source.
        own.append(name)
    else:
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        folder = os.path.dirname(os.path.abspath(name)) if os.path.isfile(name) else ""
        own += [*(["-iquote", folder] if folder else []), "-"]  # for `#include "x.h"` beside the file of that name
        given = f'#line 1 "{quoted}"\n{text}'
    read = cc1(clang, arguments, own, given) if is_cuda else read_once(clang, arguments, own, given, OPENCL)
    out, warnings = read
    return Translated(out.decode("utf-8"), warnings, f"PTX of {name}")


def is_source_file(source: Source) -> bool:
    """Return whether a source is a file that can be read twice."""
    return not (isinstance(source, str) and "\n" in source) and os.path.isfile(source)


def read_source(source: Source, filename: str, kind: str) -> tuple[str, str]:
    """(text, file name) of a path or of text. Raises DataError."""
    if isinstance(source, str) and "\n" in source:
        return source, filename
    path = os.fspath(source)
    try:
        with open(path, "rb") as file:
            # Comments may be in any encoding, and editors put a mark before the first line.
            return file.read().removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape"), path
    except (OSError, ValueError) as refusal:
        reason = refusal.strerror if isinstance(refusal, OSError) else str(refusal)
        raise DataError(f"cannot read {path!r}: {reason}; expected a {kind} file") from refusal


def cuda_arguments(clang: Clang, arch: str, options: Options, has_includes: bool = True) -> list[str]:
    """The -cc1 arguments that make PTX of a CUDA program's device side. The host's headers are looked for only where
    a source includes some."""
    standard = chosen(options.standard or "c++17", CUDA_STANDARDS, "a C++ standard")
    return [
        *device_target(arch, options),
        *cuda_language(standard),
        "-fcuda-is-device",
        *(("-D", PROGRAM) if options.program else ()),
        *(("-D", HOST_HEADERS, *host_headers(clang)) if has_includes else ()),
    ]  # fmt: skip


def words_of(options: Options) -> list[str]:
    """What a user tells the preprocessor."""
    return [
        *(word for name in options.defines for word in ("-D", name)),
        *(word for folder in options.includes for word in ("-I", folder)),
        *options.preprocessor,
    ]  # fmt: skip


def cuda_language(standard: str) -> list[str]:
    """What both sides of a program are parsed with."""
    return [
        "-x", "cuda", f"-std={standard}", "-fdeclspec", "-fcuda-allow-variadic-functions", "-fno-autolink",
        "-fcxx-exceptions", "-fexceptions", "-Wno-error=register", "-target-sdk-version=12.8",
        "-ferror-limit", "20", "-fgnuc-version=4.2.1",
        "-internal-isystem", str(HEADERS),
        *(word for folder in cccl_folders() for word in ("-internal-isystem", folder)),
    ]  # fmt: skip


def opencl_arguments(arch: str, options: Options) -> list[str]:
    """The -cc1 arguments that make PTX of an OpenCL program."""
    standard = chosen(options.standard or "CL1.2", OPENCL_STANDARDS, "an OpenCL C standard")
    return [
        *device_target(arch, options),
        "-x", "cl", f"-cl-std={standard}", f"-cl-ext={','.join(['+' + name for name in OPENCL_EXTENSIONS])}",
        "-ferror-limit", "20", "-fgnuc-version=4.2.1", "-internal-isystem", str(HEADERS),
    ]  # fmt: skip


def compute_of(arch: str) -> int:
    """80 of "sm_80". Raises UnsupportedError for what is no architecture."""
    number = re.fullmatch(r"sm_(\d{2,3})[af]?", arch)
    if number is None or int(number[1]) < OLDEST_COMPUTE:
        raise UnsupportedError(f"target {arch!r}: {EXPECTED_TARGET}")
    return int(number[1])


def device_target(arch: str, options: Options) -> list[str]:
    number = compute_of(arch)
    if options.optimise not in range(4):
        raise UnsupportedError(f"optimisation level {options.optimise}: expected 0 to 3")
    version = ["-target-feature", f"+ptx{PTX_VERSION}"] if number <= PTX_VERSION_UP_TO else []
    inline = ["-mllvm", f"-inline-threshold={INLINE_THRESHOLD}", "-mllvm", f"-unroll-threshold={UNROLL_THRESHOLD}"]
    # nvcc's: subnormals are zero, short divisions, roots and functions; no leave to reorder or to forget NaN.
    fast = [
        "-fdenormal-fp-math-f32=preserve-sign,preserve-sign", "-mllvm", "-nvptx-prec-divf32=0",
        "-mllvm", "-nvptx-prec-sqrtf32=0", "-D__DRAWLOOM_FAST_MATH__",
    ]  # fmt: skip
    # Lanes hand variables to shuffles that only one of them has set; as an argument clang would take that for undefined
    # behaviour, and the lanes' condition for true.
    unset = ["-no-enable-noundef-analysis"]
    return [
        "-triple", "nvptx64-nvidia-cuda", "-aux-triple", HOST_TRIPLE, "-target-cpu", arch, *version, *unset,
        f"-O{options.optimise}", *(inline if options.optimise > 1 else []), "-ffp-contract=fast-honor-pragmas",
        "-mconstructor-aliases", "-Wno-unknown-cuda-version", "-Wno-pass-failed",
        "-nostdsysteminc",
        *(LINE_INFO if options.line_info else ()),
        *(fast if options.fast_math else []), *options.extra,
    ]  # fmt: skip


def chosen(text: str, among: tuple[str, ...], what: str) -> str:
    if text not in among:
        raise UnsupportedError(f"{text!r} is not {what} that is taken; there are: {', '.join(among)}")
    return text


__all__ = [
    "CompileError",
    "Options",
    "Translated",
    "compile_cuda",
    "compile_opencl",
    "translate_cuda",
    "translate_opencl",
]

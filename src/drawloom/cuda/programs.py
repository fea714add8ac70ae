"""Whole CUDA programs: from sources with code of both sides to executables that run on a GPU, or on this CPU without
one (dual-mode compilation, seed 004, section 2).

A `.cu` file is compiled twice. Its device side becomes PTX, and from it machine code for GPUs and an object file for
the CPU; the host side embeds the former and is linked with the latter. `library.py` has what both call at run time.
"""

import hashlib
import os
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from drawloom.cuda.clang import HEADERS, HOST_TRIPLE, Clang, find_clang, host_headers, run
from drawloom.cuda.compiler import (
    CUDA_STANDARDS,
    HOST_HEADERS,
    PROGRAM,
    Options,
    Translated,
    chosen,
    compute_of,
    cuda_language,
    translate_cuda,
    words_of,
)
from drawloom.cuda.objects import defines
from drawloom.cuda.openmp import VERSION_MACRO, adapter_object, find_openmp
from drawloom.cuda.prelude import cc1
from drawloom.errors import DataError, UnsupportedError
from drawloom.files import find_overwritten, whole_file
from drawloom.ptx.demangle import source_name
from drawloom.ptx.ir import Directive, Module
from drawloom.runtime.ahead import LEVEL, NO_CODE, cpu_objects, cubin, optimised

#: What the embedded device code begins with: these 8 bytes, 64 of the key, the number of images; then for each image
#: its kind (0: PTX, 1: not code but the command that compiles the PTX again, else the architecture), its size, and its
#: bytes up to a multiple of 8.
MAGIC: Final = b"DRAWLOOM"
PTX_IMAGE: Final = 0
COMMAND_IMAGE: Final = 1

#: Functions of CUDA's device runtime, which need no body.
RUNTIME_FUNCTIONS: Final = ("vprintf", "__assertfail", "malloc", "free")
#: Directives of a kernel that bound its registers already.
BOUNDING: Final = frozenset((".maxnreg", ".maxntid", ".reqntid", ".minnctapersm"))
CXX_STANDARD: Final = "c++17"
ELSEWHERE: Final = "is defined in another file: device code is not linked over files"

HOST_DEBUG: Final = ("-debug-info-kind=constructor", "-dwarf-version=5", "-debugger-tuning=gdb")

CUDA_SOURCES: Final = (".cu",)
HOST_SOURCES: Final = (".cpp", ".cc", ".cxx", ".c")
LINKED: Final = (".o", ".a", ".so")
#: What programs are linked with in NVIDIA's toolkit; here they have Drawloom's runtime library.
OF_RUNTIME: Final = ("cudart", "cudart_static", "cudadevrt", "cuda")
#: NVIDIA's libraries, by the beginnings of their names: no program here is linked with one.
OF_VENDOR: Final = (
    "cublas", "cudnn", "cufft", "curand", "cusolver", "cusparse", "cutensor", "nccl", "npp", "nvidia-ml", "nvjpeg",
    "nvrtc", "nvToolsExt", "cupti",
)  # fmt: skip
#: Old C, which gcc takes with a warning and clang otherwise refuses.
OLD_C: Final = (
    "-std=gnu17", "-Wno-unknown-warning-option", "-Wno-error=implicit-function-declaration", "-Wno-error=implicit-int",
    "-Wno-error=int-conversion", "-Wno-error=incompatible-pointer-types",
    "-Wno-error=incompatible-function-pointer-types", "-Wno-error=return-mismatch", "-Wno-error=return-type",
)  # fmt: skip
REGISTER: Final = "-Wno-error=register"
#: Programs count on sums and products of the host that overflow to wrap around, as nvcc's host code by default is not
#: optimised, and g++ seldom makes use of the overflow where clang does.
WRAPPING: Final = "-fwrapv"


@dataclass(frozen=True)
class Dependencies:
    """A make rule for each source: its file and what it makes, "" for those that follow from the output; whether
    headers of the system count, and whether each header gets an empty rule."""

    file: str = ""
    target: str = ""
    system: bool = False
    phony: bool = False

    def words(self, source: str, place: Path, request: "Request") -> list[str]:
        """The preprocessor's options that write the rule of a source to `place`."""
        target = self.target or request.output or (Path(source).stem + ".o" if request.compile_only else "a.out")
        return [str(place), "-MT", target, *(["-MP"] if self.phony else [])]

    def path(self, source: str, request: "Request") -> str:
        """Return where the rule of a source goes."""
        return self.file or str(Path(request.output or Path(source).name).with_suffix(".d"))


@dataclass(frozen=True)
class Request:
    """What `drawloom cc` is asked to make. `inputs` are sources, object files and libraries in the order of the link;
    `options` those of the compiler, `archs` the GPUs that get machine code, `level` that of x86-64 for CPU code, or
    NO_CODE; `checked` adds what DRAWLOOM_CHECK runs, `debug` what debuggers read of the host code. Device code is
    compiled for `target`, without one for the first of `archs`. `language` is "cuda", "c++" or "c" where sources are
    in it whatever their names are. Kernels without bounds have at most `registers`, unless that is 0; `usage` says
    among the warnings what they take."""

    inputs: tuple[str, ...]
    output: str = ""
    options: Options = field(default_factory=Options)
    archs: tuple[str, ...] = ("sm_80",)
    level: str = LEVEL
    compile_only: bool = False
    shared: bool = False
    libraries: tuple[str, ...] = ()
    library_folders: tuple[str, ...] = ()
    host_options: tuple[str, ...] = ()
    linker_options: tuple[str, ...] = ()
    checked: bool = False
    debug: bool = False
    target: str = ""
    language: str = ""
    dependencies: Dependencies | None = None
    openmp: bool = False
    registers: int = 0
    usage: bool = False

    @property
    def compiled_for(self) -> str:
        """The architecture whose PTX is made."""
        return self.target or self.archs[0]


def build(request: Request) -> list[str]:
    """Compiles and links; returns clang's warnings. Sources that each have a `main` become, unless `output` is given, a
    program each, named after its source.

    Raises CompileError with the diagnostics of the compiler or the linker, DataError (unreadable or unknown files, two
    that define `main`), UnsupportedError (what device code may not have, or no clang).
    """
    clang = find_clang()
    kinds = [kind_of(name, request.language) for name in request.inputs]
    if not request.inputs:
        raise DataError("no input files")
    if request.compile_only and request.output and len(request.inputs) > 1:
        raise DataError("-o takes one input file with -c")
    for output in outputs_of(request, kinds):
        overwritten = find_overwritten(output, request.inputs)
        if overwritten:
            raise DataError(
                f"{output}: the output would overwrite the input {overwritten}\n  expected another name after -o"
            )
    if request.dependencies and request.dependencies.file and len(kinds) - kinds.count("link") > 1:
        raise DataError("-MF takes one source")
    if request.checked and request.level == NO_CODE:
        raise UnsupportedError(f"-checked is code for CPUs, of which -march={NO_CODE} makes none")
    refuse_vendor_libraries(request)
    for arch in (request.compiled_for, *request.archs):
        compute_of(arch)
    openmp = find_openmp() if request.openmp else None
    warnings: list[str] = []
    with TemporaryDirectory(prefix="drawloom-") as temporary:
        folder = Path(temporary)
        compiled: dict[str, list[str]] = {}
        for number, (name, kind) in enumerate(zip(request.inputs, kinds, strict=True)):
            if kind == "link":
                continue
            place = folder / str(number)
            place.mkdir()
            made = compile_cu(clang, name, request, place, warnings) if kind == "cuda" else [
                compile_host(clang, name, request, place, warnings)
            ]  # fmt: skip
            if request.compile_only:
                finish(joined(clang, made, place), request.output or Path(name).stem + ".o")
            compiled[name] = [str(path) for path in made]
        if request.compile_only:
            return warnings
        from drawloom.cuda.library import library_objects

        library = folder / "library"
        library.mkdir()
        objects = [str(path) for path in library_objects(clang, request.level, library)]
        if openmp is not None:
            objects += [str(path) for path in (adapter_object(clang, folder) if openmp.is_gcc else [])]
            objects += openmp.words
        for target, sources in programs_of(request, compiled).items():
            parts = [part for name in request.inputs for part in compiled.get(name, [name]) if name in sources]
            link(clang, [*parts, *objects], request, folder)
            finish(folder / "linked", target)
    return warnings


def outputs_of(request: Request, kinds: list[str]) -> list[str]:
    """Every path that a request may write; which of the programs are made is known once the sources are compiled."""
    sources = [name for name, kind in zip(request.inputs, kinds, strict=True) if kind != "link"]
    if request.output:
        outputs = [request.output]
    elif request.compile_only:
        outputs = [Path(name).stem + ".o" for name in sources]
    else:
        outputs = ["a.out", *(Path(name).stem for name in sources)]
    rules = request.dependencies
    return outputs + ([rules.path(name, request) for name in sources] if rules is not None else [])


def refuse_vendor_libraries(request: Request) -> None:
    """Raise UnsupportedError for a library of NVIDIA's that the program is to be linked with."""
    for name in request.libraries:
        if name.startswith(OF_VENDOR):
            raise UnsupportedError(f"-l{name}: the vendor's libraries are not supported")


def programs_of(request: Request, compiled: dict[str, list[str]]) -> dict[str, list[str]]:
    """The inputs of each program or library that is linked, by its name."""
    whole = {request.output or "a.out": list(request.inputs)}
    with_main = [name for name, objects in compiled.items() if defines(Path(objects[0]).read_bytes(), "main")]
    if len(with_main) < 2 or request.shared:
        return whole
    if request.output or len(with_main) < len(compiled):
        raise DataError(
            f"{' and '.join(with_main)} each define 'main', and a program has one; "
            "without -o, sources that all define it become a program each"
        )
    shared = [name for name in request.inputs if name not in compiled]
    out = {Path(name).stem: [name, *shared] for name in with_main}
    if len(out) < len(with_main):
        raise DataError("programs are named after their sources, and two of these have one name")
    return out


def kind_of(name: str, language: str = "") -> str:
    """ "cuda", "host" or "link". Raises DataError for what is no file, or none that a program is made of."""
    suffix = Path(name).suffix
    if not os.path.isfile(name):
        raise DataError(f"cannot read {name!r}: no such file")
    if suffix in LINKED or ".so." in Path(name).name:
        return "link"
    if language:
        return "cuda" if language == "cuda" else "host"
    if suffix in CUDA_SOURCES:
        return "cuda"
    if suffix in HOST_SOURCES:
        return "host"
    known = ", ".join([*CUDA_SOURCES, *HOST_SOURCES, *LINKED])
    raise DataError(f"{name!r} is no source or object file: expected one that ends in {known}")


def compile_cu(clang: Clang, name: str, request: Request, folder: Path, warnings: list[str]) -> list[Path]:
    """The object files of both sides of a CUDA source."""
    options = replace(request.options, program=True)
    if request.openmp:
        options = replace(options, defines=(*options.defines, VERSION_MACRO))
    translated = translate_cuda(name, request.compiled_for, options)
    if translated.warnings:
        warnings.append(translated.warnings)
    key = hashlib.sha256("\0".join([os.path.abspath(name), request.level, translated.ptx]).encode()).hexdigest()
    module, ptx = whole_module(name, translated), translated.ptx
    if request.registers:
        bound_registers(module, request.registers)
        ptx = str(module)
    checked = module if request.checked else None
    if options.optimise:
        module = optimised(module)
    embedded, host, objects = folder / "device.bin", folder / "host.o", [folder / "host.o"]
    images = machine_code(module, request.archs, warnings, request.usage)
    images += [(PTX_IMAGE, ptx.encode() + b"\0"), (COMMAND_IMAGE, own_command())]
    embedded.write_bytes(packed(key, images))
    own = ["-emit-obj", *words_of(request.options), "-fcuda-include-gpubinary", str(embedded), "-o", str(host)]
    rules, rule = request.dependencies, folder / "rule.d"
    if rules is not None:
        own += ["-dependency-file", *rules.words(name, rule, request), *(["-sys-header-deps"] if rules.system else [])]
    own.append(name)
    with ThreadPoolExecutor(1) as beside:
        compiling = beside.submit(cc1, clang, host_arguments(clang, request), own)
        for number, code in enumerate(cpu_objects(module, key, request.level, checked, str(HEADERS))):
            objects.append(folder / f"device{number}.o")
            objects[-1].write_bytes(code)
        compiling.result()
    if rules is not None:
        finish(rule, rules.path(name, request))
    return objects


def bound_registers(module: Module, registers: int) -> None:
    """Give each kernel that says nothing of its launches a bound of its registers."""
    for kernel in module.kernels:
        names = {directive.name for directive in kernel.directives}
        if names.isdisjoint(BOUNDING):
            kernel.directives = [*kernel.directives, Directive(".maxnreg", str(registers))]


def whole_module(name: str, translated: Translated) -> Module:
    """The module of a file's device code. Raises UnsupportedError where it needs that of another file."""
    from drawloom.ptx.parser import parse
    from drawloom.ptx.verifier import verify

    module = parse(translated.ptx, translated.filename)
    for variable in module.variables.values():
        if variable.linkage == ".extern" and variable.space in ("global", "const"):
            raise UnsupportedError(f"{name}: variable '{source_name(variable.name)}' {ELSEWHERE}")
    for function in module.functions.values():
        if not function.has_body and function.name not in RUNTIME_FUNCTIONS:
            raise UnsupportedError(f"{name}: function '{source_name(function.name)}' {ELSEWHERE}")
    verify(module)
    return module


def machine_code(
    module: Module, archs: tuple[str, ...], warnings: list[str], usage: bool = False
) -> list[tuple[int, bytes]]:
    """(The number of an architecture, a cubin for it). What our assembler does not take is a warning: GPUs get the PTX,
    which the driver compiles. With `usage` what the code takes is another."""
    images = []
    for arch in archs:
        try:
            code, report = cubin(module, arch)
            images.append((compute_of(arch), code))
            if usage:
                warnings.append(report)
        except UnsupportedError as refusal:
            warnings.append(f"no machine code for {arch}, the driver will compile the PTX: {refusal}")
    return images


def own_command() -> bytes:
    """What a program that is run with DRAWLOOM_CHECK calls: this interpreter, and the folder of this package."""
    folder = Path(__file__).parents[2]
    return os.fsencode(f"{sys.executable}\n{folder}") + b"\0"


def packed(key: str, images: list[tuple[int, bytes]]) -> bytes:
    """What the host's object file embeds: device code by kind."""
    out = bytearray(MAGIC + key.encode().ljust(64, b"\0") + struct.pack("<Q", len(images)))
    for kind, data in images:
        out += struct.pack("<QQ", kind, len(data)) + data.ljust(-(-len(data) // 8) * 8, b"\0")
    return bytes(out)


def host_arguments(clang: Clang, request: Request) -> list[str]:
    """The -cc1 arguments of the host side."""
    options = request.options
    standard = chosen(options.standard or "c++17", CUDA_STANDARDS, "a C++ standard")
    return [
        "-triple", HOST_TRIPLE, "-aux-triple", "nvptx64-nvidia-cuda", "-target-cpu", "x86-64",
        f"-O{options.optimise}", WRAPPING, "-w", *(HOST_DEBUG if request.debug else ()),
        "-D", PROGRAM, "-D", HOST_HEADERS, "-mrelocation-model", "pic", "-pic-level", "2", "-funwind-tables=2",
        *(("-fopenmp",) if request.openmp else ()),
        "-mconstructor-aliases", "-nostdsysteminc", *cuda_language(standard), *host_headers(clang),
    ]  # fmt: skip


def compile_host(clang: Clang, name: str, request: Request, folder: Path, warnings: list[str]) -> Path:
    """The object file of a source without device code."""
    out = folder / "host.o"
    options = request.options
    plain_c = request.language == "c" if request.language else Path(name).suffix == ".c"
    words = [*words_of(options), f"-I{HEADERS}", *(["-fopenmp"] if request.openmp else [])]
    standard = OLD_C if plain_c else (f"-std={options.standard or CXX_STANDARD}", REGISTER)
    command = [*(clang.c if plain_c else clang.cxx), f"-O{options.optimise}", WRAPPING, *standard, *words, "-fPIC"]
    rules, rule = request.dependencies, folder / "rule.d"
    if rules is not None:
        command += ["-MD" if rules.system else "-MMD", "-MF", *rules.words(name, rule, request)]
    language = ["-x", request.language] if request.language else []
    command += ["-g"] if request.debug else []
    run([*command, *request.host_options, "-c", *language, name, "-o", str(out)], warnings)
    if rules is not None:
        finish(rule, rules.path(name, request))
    return out


def joined(clang: Clang, objects: list[Path], folder: Path) -> Path:
    """One object file with all that is in several."""
    if len(objects) == 1:
        return objects[0]
    out = folder / "joined.o"
    run([*clang.c, "-r", "-nostdlib", *(str(path) for path in objects), "-o", str(out)], [])
    return out


def link(clang: Clang, objects: list[str], request: Request, folder: Path) -> None:
    """Makes `linked` in a folder. Shared libraries stay loaded, as what they register is used until the process ends,
    and programs show them the place of what a process has once."""
    from drawloom.cuda.library import LIBRARIES, PROCESS_SYMBOLS

    kind = ["-shared", "-Wl,-z,nodelete"] if request.shared else []
    if not request.shared and not clang.zig_links:
        shown = folder / "shown"
        shown.write_text(PROCESS_SYMBOLS)
        kind = [f"-Wl,--dynamic-list={shown}"]
    words = [word for option in request.linker_options for word in ("-Xlinker", option)]
    words += [f"-L{folder}" for folder in request.library_folders]
    words += [f"-l{name}" for name in request.libraries if name not in OF_RUNTIME]
    out = str(folder / "linked")
    run([*clang.cxx, *kind, *request.host_options, *objects, *words, *LIBRARIES, "-o", out], [])


def finish(made: Path, target: str) -> None:
    """Puts a finished file to its place, whole or not at all; what is no plain file (/dev/null, a pipe) is written to.
    Raises DataError."""
    try:
        with whole_file(target) as out:
            out.write(made.read_bytes())
            if os.path.isfile(out.fileno()):
                os.fchmod(out.fileno(), os.stat(made).st_mode & 0o777)
    except OSError as failure:
        raise DataError(f"cannot write {target}: {failure.strerror}") from failure

"""The options of `drawloom cc`, which are nvcc's: a table of what each does here, and from words to their values.

Words are short with one dash (`-O3`, `-Iinclude`) or long with one or two (`-arch=sm_80`, `--gpu-architecture sm_80`).
A value follows a sign of equality, or is the next word, or follows a short option directly.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import click

from drawloom.errors import UnsupportedError

#: What becomes of an option. IGNORED ones lose nothing here; NOTED ones are ignored, and the user is told.
TAKEN: Final = "taken"
IGNORED: Final = "ignored"
NOTED: Final = "ignored with a note"
REFUSED: Final = "refused"


class Option(NamedTuple):
    """One option: its spellings without dashes, what its value is ("" without one), what becomes of it, and what it
    does here or why it does nothing."""

    names: tuple[str, ...]
    value: str
    fate: str
    text: str

    @property
    def spelled(self) -> str:
        """The spellings as help shows them."""
        words = [("-" if len(name) < 2 or k == 0 else "--") + name for k, name in enumerate(self.names)]
        return ", ".join(words) + (f" {self.value}" if self.value else "")


#: By the name that `CommandLine` calls it.
OPTIONS: Final[dict[str, Option]] = {
    "help": Option(("h", "help"), "", TAKEN, "Show this."),
    "output": Option(("o", "output-file"), "FILE", TAKEN,
        "What to write; a.out, or with -c the source's name with .o. Without it, sources that each have a main become "
        "a program each, by their names."),
    "compile": Option(("c", "compile", "dc", "device-c", "dw"), "", TAKEN,
        "Compile each source to an object file, and do not link."),
    "toolkit": Option(("toolkit",), "DIR", TAKEN,
        "Write a folder that Makefiles take for a CUDA toolkit (CUDA_DIR=DIR): bin/nvcc, include, and libcudart for "
        "links by gcc. Takes no files."),
    "shared": Option(("shared",), "", TAKEN, "Make a shared library."),
    "language": Option(("x",), "LANGUAGE", TAKEN, "Take all sources for cu, c++ or c, whatever their names are."),
    "include": Option(("I", "include-path"), "DIR", TAKEN, "Look for headers in DIR."),
    "define": Option(("D", "define-macro"), "NAME[=VALUE]", TAKEN, "Define a macro."),
    "undefine": Option(("U", "undefine-macro"), "NAME", TAKEN, "Undefine a macro."),
    "system": Option(("isystem", "system-include"), "DIR", TAKEN, "Look for headers in DIR, and do not warn there."),
    "preinclude": Option(("include", "pre-include"), "FILE", TAKEN, "Include a file before each source."),
    "level": Option(("O", "optimize"), "0..4", TAKEN, "How much to optimise; 3, and more than 3 is 3."),
    "standard": Option(("std",), "STANDARD", TAKEN, "c++11 to c++23; c++17."),
    "arch": Option(("arch", "gpu-architecture", "gpu-name"), "SM,...", TAKEN,
        "GPUs that get machine code, sm_80; device code is compiled for the first. compute_NN makes PTX alone; native, "
        "all and all-major are the GPU of this machine and those that Drawloom's assembler knows. What is before sm_50 "
        "is compiled for compute_50, with a note."),
    "code": Option(("code", "gpu-code"), "SM,...", TAKEN, "GPUs that get machine code of the code that -arch names."),
    "gencode": Option(("gencode", "generate-code"), "arch=SM,code=SM", TAKEN,
        "As -arch and -code; given several times, device code is compiled for the least of them."),
    "cpu": Option(("march",), "LEVEL", TAKEN,
        "CPUs that kernels run on without a GPU: x86-64-v2, x86-64-v3 (which is meant without it), x86-64-v4, native. "
        "none makes code for GPUs alone, as nvcc does, in less time."),
    "folder": Option(("L", "library-path"), "DIR", TAKEN, "Look for libraries in DIR."),
    "library": Option(("l", "library"), "NAME", TAKEN,
        "Link with a library; those of the CUDA runtime and driver (cudart, cudadevrt, cuda) are in every program."),
    "host": Option(("Xcompiler", "compiler-options"), "OPTION,...", TAKEN,
        "Give options to the compiler of .cpp and .c files, and to the linker; -D, -U, -I and -fopenmp are for .cu "
        "files, too."),
    "linker": Option(("Xlinker", "linker-options"), "OPTION,...", TAKEN, "Give options to the linker."),
    "openmp": Option(("fopenmp",), "", TAKEN, "Compile OpenMP in host code, as -Xcompiler -fopenmp."),
    "fast": Option(("use_fast_math",), "", TAKEN, "Faster, less accurate functions."),
    "contract": Option(("fmad",), "BOOL", TAKEN, "false keeps products and sums of device code apart."),
    "flush": Option(("ftz",), "BOOL", TAKEN, "true takes subnormal floats of device code for zero."),
    "division": Option(("prec-div",), "BOOL", TAKEN, "false makes divisions of floats short."),
    "root": Option(("prec-sqrt",), "BOOL", TAKEN, "false makes square roots of floats short."),
    "registers": Option(("maxrregcount",), "N", TAKEN, "The most registers of a kernel without __launch_bounds__."),
    "usage": Option(("res-usage", "resource-usage"), "", TAKEN,
        "Print what registers and memory the machine code of each kernel uses."),
    "depend": Option(("MD", "generate-dependencies-with-compile"), "", TAKEN,
        "Write a make rule with what each source includes, beside the output with .d."),
    "depend_user": Option(("MMD", "generate-nonsystem-dependencies-with-compile"), "", TAKEN,
        "As -MD, without the headers of the system."),
    "depend_file": Option(("MF", "dependency-output"), "FILE", TAKEN, "Where -MD and -MMD write."),
    "depend_target": Option(("MT", "MQ", "dependency-target-name"), "NAME", TAKEN, "What the rule makes; the output."),
    "depend_phony": Option(("MP", "generate-dependency-targets"), "", TAKEN, "Add an empty rule for each header."),
    "checked": Option(("checked",), "", TAKEN,
        "Put in the code that DRAWLOOM_CHECK runs, for machines without Drawloom. Otherwise Drawloom compiles it "
        "when a program is first run with DRAWLOOM_CHECK."),
    "debug": Option(("g", "debug"), "", TAKEN, "Keep what debuggers read of the host code."),
    "silent": Option(("w", "disable-warnings"), "", TAKEN, "Show no warnings and notes."),
    "forward": Option(("forward-unknown-to-host-compiler", "forward-unknown-opts"), "", TAKEN,
        "Give options that are unknown to the host's compiler, as -Xcompiler."),
    "options_file": Option(("optf", "options-file"), "FILE,...", TAKEN, "Read options from files."),

    "lines": Option(("lineinfo", "generate-line-info"), "", IGNORED, "lines are always kept"),
    "lambda": Option(("extended-lambda", "expt-extended-lambda"), "", IGNORED, "there always"),
    "constexpr": Option(("expt-relaxed-constexpr",), "", IGNORED, "there always"),
    "m64": Option(("m64",), "", IGNORED, "the only model"),
    "pthread": Option(("pthread",), "", IGNORED, "programs are always linked with threads"),
    "threads": Option(("t", "threads"), "N", IGNORED, "sides of a program are compiled at the same time anyway"),
    "split": Option(("split-compile",), "N", IGNORED, "it only says how nvcc works"),
    "deprecated": Option(("Wno-deprecated-gpu-targets",), "", IGNORED, "no target that there is is deprecated"),
    "unsupported": Option(("allow-unsupported-compiler",), "", IGNORED, "no compiler is refused"),
    "runtime": Option(("cudart",), "none|shared|static", IGNORED, "programs have Drawloom's runtime library inside"),
    "relocatable": Option(("rdc", "relocatable-device-code"), "BOOL", IGNORED,
        "device code is complete in each file; code that needs another file's is refused where it does"),
    "restrict": Option(("restrict",), "", IGNORED, "it only allows optimisations"),
    "vectorise": Option(("extra-device-vectorization",), "", IGNORED, "it only allows optimisations"),
    "verbose": Option(("v", "verbose"), "", IGNORED, "no other programs are called that could be shown"),
    "numbers": Option(("display-error-number", "err-no", "no-display-error-number"), "", IGNORED,
        "clang's messages have no numbers"),

    "host_compiler": Option(("ccbin", "compiler-bindir"), "PATH", NOTED,
        "DRAWLOOM_CLANG names the compiler of both sides"),
    "assembler": Option(("Xptxas", "ptxas-options"), "OPTION,...", NOTED,
        "machine code is made by Drawloom's assembler; -v is taken, as -res-usage"),
    "device_debug": Option(("G", "device-debug"), "", NOTED,
        "device code is always optimised and has its lines; it defines __CUDACC_DEBUG__"),
    "suppress": Option(("diag-suppress",), "N,...", NOTED, "the numbers are of nvcc's messages; -w shows none"),
    "diag_error": Option(("diag-error",), "N,...", NOTED, "the numbers are of nvcc's messages"),
    "diag_warn": Option(("diag-warn",), "N,...", NOTED, "the numbers are of nvcc's messages"),
    "errors": Option(("Werror",), "KIND,...", NOTED, "the kinds are of nvcc's messages"),
    "front": Option(("Xcudafe",), "OPTION,...", NOTED, "the front end is clang"),
    "device_linker": Option(("Xnvlink", "nvlink-options"), "OPTION,...", NOTED, "device code is not linked over files"),
    "keep": Option(("keep", "save-temps"), "", NOTED, "`drawloom build --emit` writes PTX and machine code"),
    "keep_folder": Option(("keep-dir",), "DIR", NOTED, "nothing is kept"),
    "unchecked": Option(("unchecked",), "", NOTED, "only -checked puts in the code that DRAWLOOM_CHECK runs"),
    "time": Option(("time",), "FILE", NOTED, "there is no profile of compiling"),

    "device_link": Option(("dlink", "device-link"), "", REFUSED, "device code is not linked over files"),
    "archive": Option(("lib",), "", REFUSED, "-c compiles to object files, and ar makes libraries of them"),
    "ptx": Option(("ptx",), "", REFUSED, "`drawloom build --emit ptx` writes PTX"),
    "cubin": Option(("cubin",), "", REFUSED, "`drawloom build --emit cubin` writes machine code"),
    "fatbin": Option(("fatbin",), "", REFUSED, "`drawloom build --emit cubin` writes machine code"),
    "translate": Option(("cuda",), "", REFUSED, "sources are compiled, not written as C++"),
    "preprocess": Option(("E", "preprocess"), "", REFUSED, "sources are compiled, not written"),
    "rule": Option(("M", "MM", "generate-dependencies", "generate-nonsystem-dependencies"), "", REFUSED,
        "-MD and -MMD write the rule beside the output"),
    "m32": Option(("m32",), "", REFUSED, "programs have 64 bits"),
    "dry": Option(("dryrun",), "", REFUSED, "no other programs are called that could be shown"),
    "stream": Option(("default-stream",), "KIND", REFUSED, "cudaStreamPerThread names a thread's stream"),
}  # fmt: skip

#: Short options whose value may follow directly, and words that begin with them and are others.
ATTACHED: Final = "IDULlOotx"
#: Values of -default-stream and other options that ask for what there is.
HARMLESS: Final[dict[str, str]] = {"stream": "legacy"}
_NAMES: Final[dict[str, str]] = {name: key for key, option in OPTIONS.items() for name in option.names}
MOST_DEEP: Final = 10  # files of options that name each other


@dataclass
class CommandLine:
    """A command line taken apart: the input files, the values of each option in their order, words that are for the
    host's compiler, and what the user is told."""

    files: list[str] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def has(self, name: str) -> bool:
        return name in self.values

    def last(self, name: str, default: str = "") -> str:
        """The value that counts of an option that has one."""
        return self.values.get(name, [default])[-1]

    def all(self, name: str) -> tuple[str, ...]:
        return tuple(self.values.get(name, ()))

    def listed(self, name: str) -> tuple[str, ...]:
        """The values of an option that takes several with commas between."""
        return tuple(word for words in self.all(name) for word in words.split(",") if word)

    def truth(self, name: str) -> bool | None:
        """The value of an option that is true or false, None where it is not given. Raises UsageError."""
        if not self.has(name):
            return None
        if self.last(name) not in ("true", "false"):
            raise click.UsageError(f"-{OPTIONS[name].names[0]}={self.last(name)}: expected true or false")
        return self.last(name) == "true"


def read_command_line(words: list[str]) -> CommandLine:
    """Take a command line apart.

    Raises:
        UsageError: an unknown option, or one without its value.
        UnsupportedError: an option that is refused, with what to do instead.
    """
    out = CommandLine()
    unknown = take(words, out, 0)
    if unknown and not out.has("forward"):
        raise click.NoSuchOption(unknown[0].partition("=")[0])
    out.foreign = unknown
    return out


def take(words: list[str], out: CommandLine, depth: int) -> list[str]:
    """Add words to a command line; the unknown ones."""
    unknown: list[str] = []
    rest = iter(words)
    for word in rest:
        if word[:1] != "-" or word == "-":
            out.files.append(word)
            continue
        key, value = spelled_option(word)
        if not key:
            unknown.append(word)
            continue
        option = OPTIONS[key]
        if option.value and value is None:
            value = value_after(word, rest)
        elif not option.value and value is not None:
            raise click.UsageError(f"Option '{word.partition('=')[0]}' does not take a value.")
        if key == "options_file":
            for name in (value or "").split(","):
                unknown += take(words_of_file(name, depth), out, depth + 1)
            continue
        out.values.setdefault(key, []).append(value or "")
        judge(key, option, word, value or "", out)
    return unknown


def spelled_option(word: str) -> tuple[str, str | None]:
    """The name of the option that a word is, "" for none; and its value, None where the word has none."""
    name, equals, value = word.lstrip("-").partition("=")
    if name in _NAMES and (len(name) == 1) <= (word[:2] != "--"):
        return _NAMES[name], value if equals else None
    if word[:2] != "--" and word[1] in ATTACHED and len(word) > 2:
        return _NAMES[word[1]], word[2:]
    return "", None


def value_after(word: str, rest: Iterator[str]) -> str:
    value = next(rest, None)
    if value is None:
        raise click.UsageError(f"Option '{word}' requires an argument.")
    return value


def words_of_file(name: str, depth: int) -> list[str]:
    """The words of a file of options. Raises UsageError."""
    if depth == MOST_DEEP:
        raise click.UsageError(f"-optf {name}: files of options name each other {depth} times")
    try:
        return shlex.split(Path(name).read_text(encoding="utf-8", errors="surrogateescape"), comments=True)
    except (OSError, ValueError) as failure:
        raise click.UsageError(f"-optf {name}: cannot be read: {failure}") from failure


def judge(key: str, option: Option, word: str, value: str, out: CommandLine) -> None:
    """Tell the user of an option that does nothing here. Raises UnsupportedError for one that is refused."""
    spelled = word.partition("=")[0]
    if option.fate == REFUSED and HARMLESS.get(key) != value:
        raise UnsupportedError(f"{spelled} is not supported: {option.text}")
    if option.fate == NOTED:
        if key == "assembler" and all(part in ("-v", "--verbose") for part in value.split(",")):
            out.values.setdefault("usage", [""])
            return
        out.notes.append(f"note: {spelled}{f' {value}' if value else ''} is ignored: {option.text}")


def help_text() -> str:
    """What --help prints."""
    lines = [
        "Usage: drawloom cc [OPTIONS] FILE...", "",
        "  Compile and link CUDA programs: .cu, .cpp and .c sources, object files and libraries.", "",
        "  The program runs its kernels on an NVIDIA GPU where a driver answers, else on the cores of this machine;",
        "  DRAWLOOM_DEVICE=cpu, cuda or cuda:N chooses when it runs. The options are nvcc's.",
    ]  # fmt: skip
    headings = {
        TAKEN: "Options", NOTED: "Ignored, with a note", IGNORED: "Ignored, as nothing is lost", REFUSED: "Refused",
    }  # fmt: skip
    for fate, heading in headings.items():
        rows = [(option.spelled, option.text) for option in OPTIONS.values() if option.fate == fate]
        formatter = click.HelpFormatter(width=110)
        formatter.write_dl(rows, col_max=36)
        lines += ["", heading + ":", *(f"  {line}".rstrip() for line in formatter.getvalue().splitlines())]
    return "\n".join(lines) + "\n"

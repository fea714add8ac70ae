"""`drawloom cc`: CUDA programs to executables, shared libraries and object files, with nvcc's options."""

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from drawloom.cli.nvcc_options import CommandLine, help_text, read_command_line

if TYPE_CHECKING:
    from drawloom.cuda.programs import Dependencies

#: The architectures that kernels get machine code for unless told otherwise; other GPUs take the PTX.
DEFAULT_ARCHS: Final = ("sm_80",)
DEFAULT_CPU: Final = "x86-64-v3"
HIGHEST_LEVEL: Final = 3
LANGUAGES: Final[dict[str, str]] = {"": "", "cu": "cuda", "c++": "c++", "c": "c"}
#: Options of the host's compiler that sources with device code take, too, and their values.
SHARED_HOST_OPTIONS: Final = ("-D", "-U", "-I")
VIRTUAL: Final = "compute_"
OPENMP: Final = "-fopenmp"
#: Keeps our headers from allowing contraction again after their own code, which is never contracted.
UNFUSED: Final = "-D__DRAWLOOM_UNFUSED__"


# The words are taken apart by a table of nvcc's options, which are long words behind one dash.
@click.command(
    name="cc", options_metavar="[OPTIONS]", add_help_option=False, context_settings={"ignore_unknown_options": True}
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="FILE...")
def command(words: tuple[str, ...]) -> None:
    """Compile and link CUDA programs."""
    given = read_command_line(list(words))
    if given.has("help"):
        click.echo(help_text(), nl=False)
        return
    if given.has("toolkit") and not given.files:
        from drawloom.cuda.toolkit import write_toolkit

        write_toolkit(Path(given.last("toolkit")), given.last("cpu", DEFAULT_CPU))
        return
    if given.has("toolkit"):
        raise click.UsageError(f"-toolkit takes no files: found {given.files[0]}")
    if not given.files:
        raise click.UsageError("Missing argument 'FILE...'.")
    from drawloom.cuda.compiler import Options
    from drawloom.cuda.programs import Request, build
    from drawloom.ptx.collecting import uncollected

    host = [*given.listed("host"), *given.foreign]
    openmp = given.has("openmp") or OPENMP in host
    archs, target = architectures(given)
    debug = ("__CUDACC_DEBUG__",) if given.has("device_debug") else ()
    options = Options(
        given.last("standard"), level(given), (*given.all("define"), *debug), given.all("include"), True,
        given.has("fast"), preprocessor_words(given, host), device_arithmetic(given),
    )  # fmt: skip
    request = Request(
        tuple(given.files), given.last("output"), options, archs, given.last("cpu", DEFAULT_CPU), given.has("compile"),
        given.has("shared"), given.all("library"), given.all("folder"),
        tuple(word for word in host if word != OPENMP), given.listed("linker"), given.has("checked"),
        given.has("debug"), target, language(given), dependencies(given), openmp, registers(given),
        given.has("usage"),
    )  # fmt: skip
    for warning in [*given.notes, *uncollected(partial(build, request))]:
        if not given.has("silent"):
            click.echo(warning.rstrip("\n"), err=True)


def level(given: CommandLine) -> int:
    """How much to optimise, 0 to 3. Raises UsageError."""
    text = given.last("level", str(HIGHEST_LEVEL))
    if not text.isdigit():
        raise click.UsageError(f"-O{text}: expected -O0 to -O4")
    return min(int(text), HIGHEST_LEVEL)


def language(given: CommandLine) -> str:
    """What all sources are in, "" where their names say it. Raises UsageError."""
    if given.last("language") not in LANGUAGES:
        raise click.UsageError(f"-x {given.last('language')}: expected cu, c++ or c")
    return LANGUAGES[given.last("language")]


def registers(given: CommandLine) -> int:
    """The most registers of a kernel, 0 for no bound. Raises UsageError."""
    text = given.last("registers", "0")
    if not text.isdigit():
        raise click.UsageError(f"-maxrregcount={text}: expected a number")
    return int(text)


def preprocessor_words(given: CommandLine, host: list[str]) -> tuple[str, ...]:
    """What else the preprocessor is told: those of nvcc's options, and of the host's compiler."""
    named = (("-U", "undefine"), ("-isystem", "system"), ("-include", "preinclude"))
    words = [word for flag, name in named for value in given.all(name) for word in (flag, value)]
    for option in host:
        if option[:2] in SHARED_HOST_OPTIONS and len(option) > 2:
            words += [option[:2], option[2:]]
    return tuple(words)


def device_arithmetic(given: CommandLine) -> tuple[str, ...]:
    """The -cc1 options of -fmad, -ftz, -prec-div and -prec-sqrt."""
    words: list[str] = []
    if given.truth("contract") is not None:
        words += ["-ffp-contract=fast-honor-pragmas"] if given.truth("contract") else ["-ffp-contract=off", UNFUSED]
    if given.truth("flush") is not None:
        kind = "preserve-sign,preserve-sign" if given.truth("flush") else "ieee,ieee"
        words.append(f"-fdenormal-fp-math-f32={kind}")
    if not given.has("fast"):  # which has these
        for name, option in (("division", "-nvptx-prec-divf32"), ("root", "-nvptx-prec-sqrtf32")):
            if given.truth(name) is False:
                words += ["-mllvm", f"{option}=0"]
    return tuple(words)


def architectures(given: CommandLine) -> tuple[tuple[str, ...], str]:
    """The GPUs that get machine code, and the architecture that device code is compiled for.

    What is older than all that code is made for gets the PTX of the oldest, with a note. Raises UsageError for a
    -gencode that is not `arch=...,code=...`.
    """
    from drawloom.cuda.clang import OLDEST_COMPUTE

    oldest = f"{VIRTUAL}{OLDEST_COMPUTE}"
    real: list[str] = []
    targets: list[str] = []
    for text in given.all("gencode"):
        arch, code = generated(text)
        targets.append(arch)
        real += [name for name in code if not name.startswith(VIRTUAL)]
    named = [name for text in given.listed("arch") for name in expanded(text, given)]
    code = [name for text in given.listed("code") for name in expanded(text, given)]
    if named:
        targets.append(named[0])
        real += [name for name in code or named if not name.startswith(VIRTUAL)]
    elif code:
        raise click.UsageError("-code needs -arch, the architecture that device code is compiled for")
    if not targets:
        return DEFAULT_ARCHS, DEFAULT_ARCHS[0]
    outdated = [name for name in dict.fromkeys([*targets, *real]) if 0 < number_of(name) < OLDEST_COMPUTE]
    if outdated:
        given.notes.append(f"note: {', '.join(outdated)} is older than {oldest}, which is taken in its place")
    real = [name for name in real if name not in outdated]
    target = min([oldest if name in outdated else name for name in targets], key=number_of)
    return tuple(dict.fromkeys(real)), target.replace(VIRTUAL, "sm_")


def number_of(arch: str) -> int:
    """80 of "sm_80"; what is no architecture is refused when it is compiled for."""
    digits = "".join(c for c in arch if c.isdigit())
    return int(digits) if digits else 0


def generated(text: str) -> tuple[str, list[str]]:
    """The parts of `arch=compute_80,code=[sm_80,compute_80]`. Raises UsageError."""
    found = re.fullmatch(r"arch=(\w+)(?:,code=([\w,\[\]\\\"]+))?", text.strip("\"'"))
    if found is None:
        raise click.UsageError(f"-gencode {text}: expected arch=compute_NN,code=sm_NN")
    return found[1], (found[2] or found[1]).strip('[]\\"').split(",")


def expanded(name: str, given: CommandLine) -> list[str]:
    """The architectures that a word after -arch stands for."""
    from drawloom.sass.assemble import SELECTED

    if name == "native":
        from drawloom.runtime import devices

        found = [device.compute for device in devices() if device.name.startswith("cuda")]
        if not found:
            given.notes.append(f"note: -arch=native: this machine has no GPU that answers, {DEFAULT_ARCHS[0]} is taken")
        return [f"sm_{major}{minor}" for major, minor in dict.fromkeys(found)] or list(DEFAULT_ARCHS)
    if name in ("all", "all-major"):
        majors = {number // 10: number for number in reversed(SELECTED)}
        return [f"sm_{number}" for number in (SELECTED if name == "all" else sorted(majors.values()))]
    return [name]


def dependencies(given: CommandLine) -> "Dependencies | None":
    """What -MD and its kin ask for."""
    from drawloom.cuda.programs import Dependencies

    if not given.has("depend") and not given.has("depend_user"):
        return None
    return Dependencies(
        given.last("depend_file"), given.last("depend_target"), given.has("depend"), given.has("depend_phony")
    )

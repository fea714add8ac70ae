"""`drawloom as`: PTX to a cubin, with ptxas's options, so that it can stand in its place in a build."""

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from drawloom.build_info import VERSION
from drawloom.cli.outputs import refuse_to_overwrite
from drawloom.cli.ptxas_options import CommandLine, help_text, read_command_line
from drawloom.errors import DataError, Error, UnsupportedError

if TYPE_CHECKING:
    from drawloom.ptx.ir import Function, Module
    from drawloom.sass.cubin import Cubin

STANDARD_INPUT: Final = "-"
#: The release of ptxas whose place we take, by the layout of the file: what callers go by to choose a PTX version.
RELEASES: Final[dict[str, str]] = {"12": "12.9", "13": "13.0"}
#: What begins files that are something else.
NO_PTX: Final = (
    (b"\x7fELF", "a cubin already"), (b"\x50\xed\x55\xba", "a fatbin"), (b"BC\xc0\xde", "LLVM bitcode"),
    (b"\xff\xfe", "UTF-16 text"), (b"\xfe\xff", "UTF-16 text"),
)  # fmt: skip
#: What some editors begin text with.
UTF_8_MARK: Final = b"\xef\xbb\xbf"
NEWLINE: Final = b"\n"
#: What ptxas takes `archmin` and `archmax` for.
REGISTER_WORDS: Final[dict[str, int]] = {"archmin": 32, "archmax": 255}
#: What begins the name of an architecture that PTX is checked for and no code is made for, as ptxas has it.
VIRTUAL: Final = "compute_"


# The options are taken apart by their own table: ptxas spells some in ways that click does not know.
@click.command(
    name="as", options_metavar="[OPTIONS]", add_help_option=False, context_settings={"ignore_unknown_options": True}
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="FILES...")
def command(words: tuple[str, ...]) -> None:
    """Assemble PTX files to cubins."""
    given = read_command_line(list(words))
    cuda = given.choice("cuda", ("12", "13"))
    if given.has("help"):
        from drawloom.sass.assemble import SELECTED

        click.echo(help_text([f"sm_{number}" for number in SELECTED]), nl=False)
        return
    if given.has("version"):
        release = RELEASES[cuda]
        click.echo(f"drawloom as {VERSION}: PTX assembler, in the place of ptxas\nrelease {release}, V{release}.0")
        return
    if not given.files:
        raise click.UsageError("no input file; - is standard input")
    check_options(given)
    for warning in given.warnings:
        click.echo(f"warning: {warning}", err=True)
    if given.values.get("gpu-name", "").startswith(VIRTUAL):
        for source in given.files:
            check(source, given)
        return
    for source, to in outputs(given.files, given.values.get("output-file")):
        cubin, notes = assembled(source, given, cuda)
        warnings = [] if given.has("disable-warnings") else [*cubin.warnings]
        for warning in warnings:
            click.echo(f"{'error' if given.has('warning-as-error') else 'warning'}: {source}: {warning}", err=True)
        if warnings and given.has("warning-as-error"):
            raise Error(f"{source}: warnings are errors (-Werror)")
        cubin.save(to)
        if given.has("verbose"):
            said = "".join([f"ptxas info    : {note}\n" for note in notes])
            click.echo(said + cubin.report(), nl=False, err=True)


def check_options(given: CommandLine) -> None:
    """Raise UsageError for options that ptxas refuses together."""
    if given.has("device-debug") and given.number("opt-level"):
        raise click.UsageError(
            f"--device-debug is not for optimised code: expected -O0, found -O{given.values['opt-level']}"
        )


def check(source: str, given: CommandLine) -> None:
    """Parse and verify a file for a virtual architecture."""
    from drawloom.ptx.declarations import is_architecture
    from drawloom.ptx.parser import parse
    from drawloom.ptx.verifier import verify
    from drawloom.sass.bounds import check_target

    arch = given.values["gpu-name"]
    if not is_architecture(arch.replace(VIRTUAL, "sm_")):
        raise UnsupportedError(f"there is no architecture '{arch}'")
    module = parse(*read(source))
    keep_entries(module, given.names("entry"))
    verify(module)
    check_target(module, arch)


def outputs(files: list[str], output: str | None) -> list[tuple[str, Path]]:
    """Each input file with the file that its cubin goes to. Raises UsageError where two would go to one."""
    folder = Path(output) if output is not None and (len(files) > 1 or os.path.isdir(output)) else None
    if folder is not None and not folder.is_dir():
        raise click.UsageError(f"-o {output}: of several input files it must be a folder that exists")
    pairs = []
    for file in files:
        name = Path("elf.cubin") if file == STANDARD_INPUT else Path(file).with_suffix(".cubin")
        to = folder / name.name if folder is not None else Path(output) if output is not None else name
        pairs.append((file, to))
    read = [file for file in files if file != STANDARD_INPUT]
    for _, to in pairs:
        refuse_to_overwrite(to, read)
    taken: dict[Path, str] = {}
    for file, to in pairs:
        if taken.setdefault(to, file) != file:
            raise click.UsageError(f"{taken[to]} and {file} would both be written to {to}")
    return pairs


def assembled(source: str, given: CommandLine, cuda: str) -> tuple["Cubin", list[str]]:
    """The cubin of a file, with what the options warn of, and what -v says before its report."""
    from drawloom.ptx.parser import parse
    from drawloom.sass.assemble import assemble, target_number
    from drawloom.sass.bounds import MOST_REGISTERS, at_least, overriding

    arch = given.values.get("gpu-name", "sm_90")
    debug = given.has("device-debug")
    serial = given.choice("schedule", ("list", "serial")) == "serial" or debug or given.number("opt-level") == 0
    line_info = (debug or given.has("generate-line-info")) and not given.has("suppress-debug-info")
    target = target_number(arch)
    text, filename = read(source)
    module = parse(text, filename)
    keep_entries(module, given.names("entry"))
    warnings = ignored_options(given)
    registers = given.number("maxrregcount", REGISTER_WORDS)
    if registers is not None and registers > MOST_REGISTERS:
        warnings.append(f"--maxrregcount {registers} is more than there are, it is ignored")
        registers = None
    if registers is not None:
        registers = at_least(registers, target, "--maxrregcount", warnings)
    option = registers if registers is not None or not given.has("maxrregcount") else MOST_REGISTERS
    override = given.has("override-directive-values")
    notes = overriding(module.kernels, target, option, override) if option is not None else []
    put_directives(module, given, registers, warnings)
    cubin = assemble(
        module, arch, max_registers=registers or MOST_REGISTERS, serial=serial, cuda=int(cuda), line_info=line_info,
        relocatable=given.has("compile-only"),
    )  # fmt: skip
    cubin.warnings = [*warnings, *cubin.warnings, *wanted_warnings(given, module, cubin)]
    return cubin, notes


def ignored_options(given: CommandLine) -> list[str]:
    """What ptxas warns of, too."""
    debug, lines = given.has("device-debug"), given.has("generate-line-info")
    if debug and lines:
        return ["--generate-line-info is ignored beside --device-debug"]
    if given.has("suppress-debug-info") and not debug and not lines:
        return ["--suppress-debug-info is ignored without --device-debug or --generate-line-info"]
    return []


def keep_entries(module: "Module", names: list[str]) -> None:
    """Leave only these kernels in a module; all of them if none is named. Raises Error for one that is not there."""
    if not names:
        return
    kernels = [function.name for function in module.kernels]
    for name in names:
        if name not in kernels:
            raise Error(f"no kernel '{name}' in {module.filename}; there are: {', '.join(kernels) or 'none'}")
    dropped = {name for name in kernels if name not in names}
    module.items = [item for item in module.items if getattr(item, "name", "") not in dropped]
    for name in dropped:
        del module.functions[name]


def put_directives(module: "Module", given: CommandLine, registers: int | None, warnings: list[str]) -> None:
    """Options that stand for directives of every kernel."""
    override = given.has("override-directive-values")
    options: dict[str, str] = {}
    for name in ("maxntid", "minnctapersm"):
        if given.has(name) and registers is not None:
            warnings.append(f"--{name} is ignored beside --maxrregcount")
        elif given.has(name):
            options["." + name] = extents(name, given.values[name], 3 if name == "maxntid" else 1)
    if override and registers is not None:
        options[".maxnreg"] = str(registers)
    for kernel in module.kernels:
        for name, text in options.items():
            put_directive(kernel, name, text, override)


def extents(name: str, text: str, most: int) -> str:
    words = text.split(",")
    if len(words) > most or not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise click.UsageError(
            f"--{name} {text}: expected {'one to three numbers' if most > 1 else 'a number'} above 0"
        )
    return ", ".join(words)


def put_directive(kernel: "Function", name: str, text: str, override: bool) -> None:
    """Give a kernel a directive that it does not have; in place of its own where ``override`` says so."""
    from drawloom.ptx.ir import Directive

    rivals = (".maxntid", ".reqntid") if name == ".maxntid" else (name,)
    present = [directive for directive in kernel.directives if directive.name in rivals]
    if present and not override:
        return
    kept = [directive for directive in kernel.directives if directive.name not in rivals]
    kernel.directives = [*kept, Directive(name, text)]


def wanted_warnings(given: CommandLine, module: "Module", cubin: "Cubin") -> list[str]:
    """What the options --warn-on-... ask for."""
    found = []
    for name, kernel in cubin.kernels.items():
        if given.has("warn-on-spills") and (kernel.spill_stores or kernel.spill_loads):
            spilled = f"{kernel.spill_stores} bytes stored, {kernel.spill_loads} loaded"
            found.append(f"'{name}': registers are kept in local memory ({spilled})")
        if given.has("warn-on-local-memory-usage") and kernel.stack:
            found.append(f"'{name}': {kernel.stack} bytes of local memory are used")
    if given.has("warn-on-double-precision-use"):
        for function in module.functions.values():
            used = [i for i in function.instructions() if any(t.name == "f64" for t in i.opcode.types)]
            if used:
                found.append(f"'{function.name}': doubles are used, first in line {module.line(used[0])}")
    return found


def read(file: str) -> tuple[str, str]:
    """The text of a file and the name that errors call it."""
    name = "<stdin>" if file == STANDARD_INPUT else file
    try:
        data = sys.stdin.buffer.read() if file == STANDARD_INPUT else Path(file).read_bytes()
    except OSError as failure:
        raise DataError(f"cannot read {name}: {failure.strerror}") from failure
    for magic, what in NO_PTX:
        if data.startswith(magic):
            raise DataError(f"{name} is {what}, expected PTX")
    data = data.rstrip(b"\0").removeprefix(UTF_8_MARK)  # drivers and cuobjdump end PTX with a NUL
    strange = re.search(rb"[\x00-\x08\x0e-\x1f\x7f]", data)
    if strange is not None:
        at = strange.start()
        place = f"{name}:{data.count(NEWLINE, 0, at) + 1}:{at - data.rfind(NEWLINE, 0, at)}"
        raise DataError(f"{place}: found the byte 0x{data[at]:02x}, expected PTX, which is text")
    return data.decode("utf-8", "surrogateescape"), name

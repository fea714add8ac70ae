"""`drawloom run`: one kernel of a PTX, CUDA C++ or OpenCL C file, arguments from the command line, results to files or
the terminal; or a HorseIR program over Parquet files."""

from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from drawloom.cli import tables as tables_option
from drawloom.cli.sources import is_source, read_source

if TYPE_CHECKING:
    from drawloom.cli.run_arguments import Given, Save
    from drawloom.ptx.ir import Module as PtxModule
    from drawloom.runtime import Kernel, Launch, Module

#: The options of one kind of file, by parameter.
PTX_OPTIONS: Final[dict[str, str]] = {
    "kernel": "--kernel", "grid": "--grid", "block": "--block", "arguments": "--arg", "saves": "--save",
    "in_place": "--in-place", "prints": "--print", "check": "--check", "shared": "--shared", "repeat": "--repeat",
    "assembler": "--assembler", "shuffle": "--shuffle", "level": "--opt-level", "reinterpret": "--reinterpret",
}  # fmt: skip
HORSE_OPTIONS: Final[dict[str, str]] = {"tables": "--table", "outline": "--outline", "style": "--format"}

EXAMPLES = """
\b
One argument for each parameter, in any order. NAME is the parameter's, with or without the
kernel's name before it, as in the source of a .cu or .cl file, or its position from 0 on:
  --arg out:f32[1000000]          an array of zeros
  --arg out:f32[512,512]=1.5      an array filled with a number
  --arg x:u32[4096]=arange        0, 1, 2, ...
  --arg x:f32[4096]=random(7)     random numbers, from seed 7
  --arg in=data.npy               the array in a NumPy file
  --arg in=data.raw:f32           the numbers in a raw file
  --arg n=1000000                 a scalar of the parameter's type
  --arg a:f32=2.0                 a scalar of the type given

\b
Examples:
  drawloom run saxpy.ptx --kernel saxpy --grid 3907 --block 256 \\
      --arg y:f32[1000000]=1 --arg x=x.npy --arg a=2.0 --arg n=1000000 --save y=y.npy
  drawloom run warp_sum.ptx --grid 1 --block 32 --arg total:f32[32] --arg x:f32[32]=arange --print total
  drawloom run saxpy.ptx --block 128 --emit llvm
  drawloom run hello.cu --kernel hello --grid 2 --block 4 --arg count=6
  drawloom run top_customers.hir --table orders=orders.parquet
"""


def extents(text: str | tuple[int, ...]) -> tuple[int, ...]:
    """`64`, `64,2` or `64x2x1` as one to three integers."""
    if isinstance(text, tuple):
        return text
    try:
        found = tuple(int(word) for word in text.replace("x", ",").split(","))
    except ValueError:
        found = ()
    if not 1 <= len(found) <= 3:
        raise click.BadParameter(f"'{text}': expected one to three integers, such as 64 or 64,2")
    return found


@click.command(epilog=EXAMPLES)
@click.argument("file", type=click.Path(path_type=str))
@click.option("--kernel", "-k", help="Which kernel; may be left out when the file has one.")
@click.option("--grid", "-g", type=extents, default="1", metavar="X[,Y[,Z]]", show_default=True, help="Blocks.")
@click.option(
    "--block", "-b", type=extents, default="32", metavar="X[,Y[,Z]]", show_default=True, help="Threads of a block."
)
@click.option("--arg", "-a", "arguments", multiple=True, metavar="ARG", help="One argument; see below.")
@click.option("--save", "-s", "saves", multiple=True, metavar="NAME=FILE", help="Save an array (.npy, .raw).")
@click.option("--in-place", is_flag=True, help="Let --save write over a file that --arg reads.")
@click.option("--print", "-p", "prints", multiple=True, metavar="NAME", help="Print an array.")
@click.option("--device", "-d", metavar="NAME", help="cpu (the default), reference or cuda:N.")
@click.option(
    "--check",
    type=click.Choice(["memory", "race", "off"]),
    help="memory: bounds-check every access; race: and look for data races.",
)
@click.option("--reinterpret", is_flag=True,
              help="Take the bytes of arrays as they are, whatever the types of their elements.")  # fmt: skip
@click.option("--shared", type=click.IntRange(min=0), default=0, metavar="BYTES", help="Dynamic shared memory.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, metavar="N", help="Run N times.")
@click.option("--assembler", type=click.Choice(["drawloom", "driver"]), help="Who makes a GPU's machine code.")
@click.option("--opt-level", "level", type=click.IntRange(0, 3), metavar="N",
              help="How much the PTX is optimised: 2 unless DRAWLOOM_OPT says otherwise; 0 on reference.")  # fmt: skip
@click.option("--shuffle", type=click.Choice(["none", "profitable", "all"]), default="none",
              help="Make loads warp shuffles: those that pay on the device, or all.")  # fmt: skip
@click.option("--emit", type=click.Choice(["ptx", "llvm", "horse", "outline"]),
              help="Print this stage's result; run nothing.")  # fmt: skip
@tables_option.OPTION
@click.option("--outline", type=tables_option.MODE, default="full",
              help="How much of a HorseIR program goes into one kernel.")  # fmt: skip
@click.option("--format", "style", type=click.Choice(["table", "csv", "json"]), default="table",
              help="How a HorseIR program's table is printed.")  # fmt: skip
def command(
    file: str,
    kernel: str | None,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    arguments: tuple[str, ...],
    saves: tuple[str, ...],
    prints: tuple[str, ...],
    device: str | None,
    check: str | None,
    shared: int,
    repeat: int,
    emit: str | None,
    assembler: str | None,
    level: int | None,
    shuffle: str,
    tables: tuple[str, ...],
    outline: str,
    style: str,
    in_place: bool,
    reinterpret: bool,
) -> None:
    """Run a kernel of a PTX FILE, or of CUDA C++ (.cu) or OpenCL C (.cl), and say how long compiling and running took;
    or run a HorseIR program, in a FILE that ends in .hir, over Parquet files.

    Arrays that are named by --save or --print may also be module-level variables of the file.
    """
    from drawloom.cli.run_arguments import Malformed

    refuse_options(click.get_current_context(), file.endswith(".hir"))
    if file.endswith(".hir"):
        from drawloom.cli import run_horse

        run_horse.run(file, tables, device, emit, style, outline)
        return
    try:
        if emit is not None:
            emit_stage(file, kernel, block, emit, device, check, level, shuffle)
            return
        run_kernel(
            file, kernel, grid, block, arguments, saves, prints, device, check, shared, repeat, assembler, level,
            shuffle, in_place, reinterpret,
        )  # fmt: skip
    except Malformed as refusal:
        raise click.UsageError(str(refusal)) from refusal


def refuse_options(context: click.Context, is_horse: bool) -> None:
    """Raises UsageError for an option that is given and is not for this kind of file."""
    kind = "PTX files" if is_horse else "HorseIR programs"
    for name, flag in (PTX_OPTIONS if is_horse else HORSE_OPTIONS).items():
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{flag} is for {kind}")


def emit_stage(
    file: str,
    kernel: str | None,
    block: tuple[int, ...],
    stage: str,
    device: str | None,
    check: str | None,
    level: int | None,
    shuffle: str,
) -> None:
    from drawloom.runtime.geometry import dimensions
    from drawloom.runtime.machine import device as find_device
    from drawloom.runtime.module import chosen_check, level_on, read_module, shuffled
    from drawloom.runtime.optimiser import Optimiser

    if stage in ("horse", "outline"):
        raise click.UsageError(f"--emit {stage} is for HorseIR programs")
    module = read_source(file, device) if is_source(file) else read_path(file, read_module)
    where, checked = find_device(device), chosen_check(check)
    module, left = shuffled(module, shuffle, where, level_on(where, level), bool(checked))
    warn_of_shuffles(module, shuffle)
    if stage == "ptx":
        click.echo(str(module), nl=False)
        return
    from drawloom.cpu import Program

    name = chosen_kernel(kernel, [entry.name for entry in module.kernels], file)
    program = Program(module, check=bool(checked), passes=Optimiser(module, 0 if checked else left))
    click.echo(program.llvm(name, dimensions(block, "block", name)), nl=False)


def warn_of_shuffles(module: "PtxModule", shuffle: str) -> None:
    """Say why loads that were to be shuffles are none."""
    if shuffle == "none":
        return
    from drawloom.shuffle.pipeline import Shuffled

    assert isinstance(module, Shuffled)
    for note in module.report.notes:
        click.echo(f"warning: --shuffle {shuffle}: {note}", err=True)


def read_path(file: str, read: Any) -> Any:
    """`file` is always a path here, whatever it looks like."""
    from pathlib import Path

    return read(Path(file))


def chosen_kernel(name: str | None, names: list[str], file: str) -> str:
    """The symbol of the kernel that was named, or the only one there is."""
    if name is not None:
        from drawloom.runtime.kernel_names import symbol_of

        return symbol_of(name, names) if is_source(file) else name
    if len(names) != 1:
        raise click.UsageError(f"{file} has {len(names)} kernels; name one with --kernel: {', '.join(names)}")
    return names[0]


def run_kernel(
    file: str,
    kernel_name: str | None,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    arguments: tuple[str, ...],
    saves: tuple[str, ...],
    prints: tuple[str, ...],
    device: str | None,
    check: str | None,
    shared: int,
    repeat: int,
    assembler: str | None,
    level: int | None,
    shuffle: str,
    in_place: bool,
    reinterpret: bool,
) -> None:
    from pathlib import Path

    from drawloom.cli.outputs import refuse_to_overwrite
    from drawloom.cli.run_arguments import (
        argument_files,
        check_writable,
        in_order,
        parse_argument,
        parse_save,
        save_array,
    )
    from drawloom.cuda.loading import source_names
    from drawloom.runtime import device as find_device
    from drawloom.runtime import load

    wanted = [parse_save(text) for text in saves]
    for save in wanted:
        check_writable(save.path)
        refuse_to_overwrite(save.path, [file])
        if not in_place:
            refuse_to_overwrite(save.path, argument_files(arguments), "--in-place")
    source = read_source(file, device) if is_source(file) else Path(file)
    module: Module = load(source, device, check, assembler, level, shuffle, reinterpret)
    if is_source(file):
        module.source_names = lambda: source_names(file, find_device(device))
    warn_of_shuffles(module.ptx, shuffle)
    kernel = module[chosen_kernel(kernel_name, [function.name for function in module.ptx.kernels], file)]
    given = in_order([parse_argument(text) for text in arguments], kernel.names)
    check_names(kernel, given, wanted, prints)
    launches = launch_repeatedly(kernel, grid, block, shared, given, repeat)
    report(kernel, grid, block, given, launches)
    for save in wanted:
        save_array(named_array(kernel, given, save.name), save.path)
        click.echo(f"saved {save.name} to {save.path}")
    for shown in prints:
        click.echo(f"{shown} = {named_array(kernel, given, shown)}")


def check_names(kernel: "Kernel", given: list["Given"], saves: list["Save"], prints: tuple[str, ...]) -> None:
    """Raises UsageError, before the run, for a name to be saved or printed that is not of an array."""
    import numpy as np

    there = [argument.name for argument in given if isinstance(argument.value, np.ndarray)]
    there += kernel.module.globals.keys()
    for name in [*[save.name for save in saves], *prints]:
        if not isinstance(named_array(kernel, given, name), np.ndarray):
            raise click.UsageError(f"no array or variable '{name}'; there are: {', '.join(there) or 'none'}")


def named_array(kernel: "Kernel", given: list["Given"], name: str) -> Any:
    """The argument of that name, or by any name of its parameter, or the variable; None where there is none."""
    position = next((i for i, argument in enumerate(given) if argument.name == name), kernel.names.find(name))
    if position is not None:
        return given[position].value
    variables = kernel.module.globals
    if name not in variables:
        return None
    return variables[name]


def mapping(kernel: "Kernel", given: list["Given"]) -> str:
    """Which argument went to which parameter: `a (saxpy_a), n`."""
    pairs = zip([argument.name for argument in given], kernel.signature.names())
    return ", ".join(name if name == parameter else f"{name} ({parameter})" for name, parameter in pairs)


def launch_repeatedly(
    kernel: "Kernel",
    grid: tuple[int, ...],
    block: tuple[int, ...],
    shared: int,
    given: list["Given"],
    repeat: int,
) -> list["Launch"]:
    """Every run starts from the same arrays; what is left in them is the last run's."""
    import numpy as np

    arrays = [argument.value for argument in given if isinstance(argument.value, np.ndarray)]
    originals = [array.copy() for array in arrays] if repeat > 1 else []
    configured = kernel[grid, block, shared]
    launches: list[Launch] = []
    for _ in range(repeat):
        for array, original in zip(arrays, originals):
            array[...] = original
        launches.append(configured(*[argument.value for argument in given]))
    return launches


def report(
    kernel: "Kernel",
    grid: tuple[int, ...],
    block: tuple[int, ...],
    given: list["Given"],
    launches: list["Launch"],
) -> None:
    import math
    import statistics

    import numpy as np

    seconds = [launch.run_seconds for launch in launches]
    moved = sum(argument.value.nbytes for argument in given if isinstance(argument.value, np.ndarray))
    threads = math.prod(grid) * math.prod(block)
    click.echo(
        f"{kernel.name} on {kernel.module.device.name}: grid {times(grid)}, block {times(block)}, {threads:,} threads"
    )
    if given:
        click.echo(f"arguments {mapping(kernel, given)}")
    first = launches[0]
    source = " (from the cache)" if first.cached else ""
    click.echo(f"compile {milliseconds(sum(x.compile_seconds for x in launches))}{source}")
    runs = f"run {milliseconds(min(seconds))}"
    if len(seconds) > 1:
        runs += f" (best of {len(seconds)}; median {milliseconds(statistics.median(seconds))})"
    if moved and min(seconds) > 0:
        runs += f", {moved / min(seconds) / 1e9:.3g} GB/s over {moved / 1e6:,.6g} MB of arrays"
    click.echo(runs)


def times(counts: tuple[int, ...]) -> str:
    return " x ".join(str(extent) for extent in counts)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms"

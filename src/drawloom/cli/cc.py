"""`drawloom cc`: CUDA programs to executables, shared libraries and object files."""

from typing import Final

import click

from drawloom.errors import UnsupportedError

#: Options of other CUDA compilers that ask for something there is not, and what to do instead.
REFUSED: Final[dict[str, str]] = {
    "-rdc": "device code is not linked over files; put what calls each other into one file",
    "-dc": "device code is not linked over files; -c compiles a file whose device code is complete",
    "-dlink": "device code is not linked over files",
    "-cudart": "programs are linked with Drawloom's runtime library",
    "-ptx": "`drawloom build --emit ptx` writes PTX",
    "-cubin": "`drawloom build --emit cubin` writes machine code",
    "-ccbin": "DRAWLOOM_CLANG names the compiler",
    "-gencode": "-arch=sm_80,sm_90 lists the GPUs that get machine code",
    "-Xptxas": "machine code is made by Drawloom's assembler; `drawloom build --emit cubin` shows what it uses",
    "-maxrregcount": "__launch_bounds__ bounds the registers of a kernel",
    "-fmad": "`#pragma clang fp contract(off)` keeps products and sums apart",
    "-default-stream": "cudaStreamPerThread names a thread's stream",
    "-G": "device code is always optimised; -g is for host code",
}
#: The architectures that kernels get machine code for unless told otherwise; other GPUs take the PTX.
DEFAULT_ARCHS: Final = "sm_80"


def refuse(context: click.Context, parameter: click.Parameter, value: object) -> None:
    name = parameter.opts[0]
    if value and (name, value) != ("-rdc", "false"):  # that asks for what there is
        raise UnsupportedError(f"{name} is not supported: {REFUSED[name]}")


class CompilerCommand(click.Command):
    """Options are long words behind one dash, so an unknown one is told whole: click takes `-bogus` for `-b ...`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as unknown:
            words = [word.partition("=")[0] for word in given if word.startswith(unknown.option_name)]
            raise click.NoSuchOption(words[0] if words else unknown.option_name, ctx=ctx) from None


@click.command(cls=CompilerCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("inputs", metavar="FILE...", nargs=-1, required=True)
@click.option("-o", "output", metavar="FILE",
              help="What to write; a.out, or with -c the source's name with .o. Without it, sources that each have a "
              "main become a program each, by their names.")  # fmt: skip
@click.option("-c", "compile_only", is_flag=True, help="Compile each source to an object file, and do not link.")
@click.option("-shared", is_flag=True, help="Make a shared library.")
@click.option("-I", "includes", metavar="DIR", multiple=True, help="Look for headers in DIR.")
@click.option("-D", "defines", metavar="NAME[=VALUE]", multiple=True, help="Define a macro.")
@click.option("-U", "undefines", metavar="NAME", multiple=True, help="Undefine a macro.")
@click.option("-isystem", "system_includes", metavar="DIR", multiple=True, help="Look there, too, and do not warn.")
@click.option("-include", "preincludes", metavar="FILE", multiple=True, help="Include a file before each source.")
@click.option("-O", "level", type=click.IntRange(0, 3), default=3, show_default=True, help="How much to optimise.")
@click.option("-std", "--std", "standard", metavar="STANDARD", default="c++17", show_default=True,
              help="c++11 to c++23.")  # fmt: skip
@click.option("-arch", "archs", metavar="SM,...", default=DEFAULT_ARCHS, show_default=True,
              help="GPUs that get machine code; the first is what device code is compiled for.")  # fmt: skip
@click.option("-march", "cpu", metavar="LEVEL", default="x86-64-v3", show_default=True,
              help="CPUs that kernels run on without a GPU: x86-64-v3, x86-64-v4, native.")  # fmt: skip
@click.option("-L", "folders", metavar="DIR", multiple=True, help="Look for libraries in DIR.")
@click.option("-l", "libraries", metavar="NAME", multiple=True, help="Link with a library.")
@click.option("-Xcompiler", "--compiler-options", "host_options", metavar="OPTION,...", multiple=True,
              help="Give options to the compiler of .cpp and .c files, and to the linker.")  # fmt: skip
@click.option("-Xlinker", "--linker-options", "linker_options", metavar="OPTION,...", multiple=True,
              help="Give options to the linker.")  # fmt: skip
@click.option("-use_fast_math", "--use_fast_math", "fast_math", is_flag=True, help="Faster, less accurate functions.")
@click.option("-unchecked", "--unchecked", is_flag=True,
              help="Leave out the code that DRAWLOOM_CHECK=memory runs: a smaller file, sooner made.")  # fmt: skip
@click.option("-g", "debug", is_flag=True, help="Keep what debuggers read of the host code.")
@click.option("-w", "silent", is_flag=True, help="Show no warnings.")
@click.option("-lineinfo", "--generate-line-info", is_flag=True, hidden=True, expose_value=False)  # always kept
@click.option("-extended-lambda", "--extended-lambda", "--expt-extended-lambda", is_flag=True, hidden=True,
              expose_value=False)  # fmt: skip
@click.option("--expt-relaxed-constexpr", is_flag=True, hidden=True, expose_value=False)
@click.option("-m64", "--m64", is_flag=True, hidden=True, expose_value=False)
@click.option("-Xptxas", "--ptxas-options", hidden=True, multiple=True, callback=refuse, expose_value=False)
@click.option("-maxrregcount", "--maxrregcount", hidden=True, callback=refuse, expose_value=False)
@click.option("-fmad", "--fmad", hidden=True, callback=refuse, expose_value=False)
@click.option("-default-stream", "--default-stream", hidden=True, callback=refuse, expose_value=False)
@click.option("-rdc", hidden=True, callback=refuse, expose_value=False)
@click.option("-dc", is_flag=True, hidden=True, callback=refuse, expose_value=False)
@click.option("-dlink", is_flag=True, hidden=True, callback=refuse, expose_value=False)
@click.option("-cudart", "--cudart", hidden=True, callback=refuse, expose_value=False)
@click.option("-ptx", is_flag=True, hidden=True, callback=refuse, expose_value=False)
@click.option("-cubin", is_flag=True, hidden=True, callback=refuse, expose_value=False)
@click.option("-gencode", "--gencode", hidden=True, callback=refuse, expose_value=False)
@click.option("-G", is_flag=True, hidden=True, callback=refuse, expose_value=False)
@click.option("-ccbin", hidden=True, callback=refuse, expose_value=False)
def command(
    inputs: tuple[str, ...], output: str | None, compile_only: bool, shared: bool, includes: tuple[str, ...],
    defines: tuple[str, ...], level: int, standard: str, archs: str, cpu: str, folders: tuple[str, ...],
    libraries: tuple[str, ...], host_options: tuple[str, ...], fast_math: bool, unchecked: bool, debug: bool,
    silent: bool, undefines: tuple[str, ...], system_includes: tuple[str, ...], preincludes: tuple[str, ...],
    linker_options: tuple[str, ...],
) -> None:  # fmt: skip
    """Compile and link CUDA programs: .cu, .cpp and .c sources, object files and libraries.

    The program runs its kernels on an NVIDIA GPU where a driver answers, and on this machine's cores otherwise;
    DRAWLOOM_DEVICE=cpu, cuda or cuda:N chooses when it runs.
    """
    from drawloom.cuda.compiler import Options
    from drawloom.cuda.programs import Request, build

    named = (("-U", undefines), ("-isystem", system_includes), ("-include", preincludes))
    words = tuple(word for option, values in named for value in values for word in (option, value))
    options = Options(standard, level, defines, includes, True, fast_math, words)
    request = Request(
        inputs, output or "", options, tuple(archs.split(",")), cpu, compile_only, shared, libraries, folders,
        split(host_options), split(linker_options), not unchecked, debug,
    )  # fmt: skip
    for warning in build(request):
        if not silent:
            click.echo(warning.rstrip("\n"), err=True)


def split(options: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for words in options for word in words.split(","))

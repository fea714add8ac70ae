"""The CUDA C++ and OpenCL C files of a command line: from a path and options to a PTX module."""

from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from drawloom.cuda.compiler import Options, Translated
    from drawloom.ptx.ir import Module


def is_source(file: str) -> bool:
    """Whether a file is to be compiled by clang."""
    return file.endswith((".cu", ".cl"))


def translate(file: str, arch: str, options: "Options") -> "Translated":
    """The PTX of a source; clang's warnings go to standard error."""
    from drawloom.cuda.compiler import translate_cuda, translate_opencl

    return warned((translate_opencl if file.endswith(".cl") else translate_cuda)(file, arch, options))


def warned(made: "Translated") -> "Translated":
    if made.warnings:
        click.echo(made.warnings, nl=False, err=True)
    return made


def read_source(file: str, device: str | None) -> "Module":
    """The PTX module of a source for a device; clang's warnings go to standard error."""
    from drawloom.cuda.compiler import verified
    from drawloom.cuda.loading import translate_for
    from drawloom.runtime import device as find_device

    return verified(warned(translate_for(file, find_device(device))))


def options_of(command: Any) -> Any:
    """Adds to a command the options that clang is called with."""
    for option in reversed(COMPILE_OPTIONS):
        command = option(command)
    return command


COMPILE_OPTIONS: Final = (
    click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Define a macro."),
    click.option("-I", "includes", multiple=True, metavar="FOLDER", help="Look for headers there, too."),
    click.option("-std", "standard", default="", metavar="NAME", help="c++11 to c++23, CL1.2 to CL3.0."),
    click.option("-O", "level", type=click.IntRange(0, 3), default=3, show_default=True, help="How much to optimise."),
    click.option("--line-info", is_flag=True, help="Keep the lines of the source."),
    click.option("--fast-math", is_flag=True, help="Fast and less exact arithmetic, as nvcc's -use_fast_math."),
)

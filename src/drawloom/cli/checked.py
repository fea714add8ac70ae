"""`drawloom checked`: what programs of `drawloom cc` call where they are run with DRAWLOOM_CHECK, from PTX on standard
input to a shared library on standard output."""

import sys

import click


@click.command(name="checked")
@click.argument("level")
@click.argument("interface")
def command(level: str, interface: str) -> None:
    """Compile the code of a program's kernels that checks accesses, for CPUs of LEVEL.

    Standard input is the program's PTX, standard output the shared library. INTERFACE names what the program's runtime
    library expects of it.
    """
    from drawloom.cuda.checked import checked_library

    ptx = sys.stdin.buffer.read().decode("utf-8")
    sys.stdout.buffer.write(checked_library(ptx, level, interface))


__all__ = ["command"]

"""`drawloom batch`: a kernel for batches of small problems, after a stage of its way to vectors of this CPU."""

import click

STAGES = ("infreg", "llvm")
STANDARD_STREAM = "-"


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--wg-size", type=click.IntRange(1), required=True, help="The work-items of a group.")
@click.option("--emit", "stage", type=click.Choice(STAGES), default="llvm", show_default=True, help="What to print.")
@click.option("--kernel", "name", metavar="NAME", help="The kernel to take where FILE has several.")
@click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Define a macro.")
@click.option("--pack", type=click.IntRange(1), help="How many groups share vectors; chosen otherwise.")
@click.option("--order", metavar="ORDER", help="How lanes lie in vectors: rows, columns or interleaved.")
@click.option("--no-contract", is_flag=True, help="Round a product before it is added.")
@click.option(
    "-o", "output", metavar="FILE", default=STANDARD_STREAM, help="Where to write; standard output otherwise."
)
def command(
    file: str, wg_size: int, stage: str, name: str | None, defines: tuple[str, ...], pack: int | None,
    order: str | None, no_contract: bool, output: str,
) -> None:  # fmt: skip
    """Compile the kernel in FILE, OpenCL C in the collective register cache idiom.

    infreg is InfReg-IR, registers of unbounded width as LLVM IR with metadata; llvm is what runs on this CPU.
    """
    from pathlib import Path

    from drawloom.batch import kernel
    from drawloom.batch.ir.printer import show_kernel
    from drawloom.cli.outputs import refuse_to_overwrite
    from drawloom.files import whole_file

    refuse_to_overwrite(output, [file])
    macros = {}
    for define in defines:
        macro, equals, value = define.partition("=")
        macros[macro] = value if equals else "1"
    compiled = kernel(
        Path(file), wg_size=wg_size, name=name, defines=macros, pack=pack, order=order, contract=not no_contract
    )
    if stage == "infreg":
        text = show_kernel(compiled.lowered, compiled.pack)
    else:
        text = compiled.native(compiled.pack).text
    if output == STANDARD_STREAM:
        click.echo(text, nl=False)
        return
    with whole_file(output) as there:
        there.write(text.encode("utf-8"))

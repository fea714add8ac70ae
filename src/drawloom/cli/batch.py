"""`drawloom batch`: a kernel for batches of small problems, after a stage of its way to this CPU or a GPU."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

STAGES = ("infreg", "llvm", "c", "cuda", "ptx")
CUDA_STAGES = ("cuda", "ptx")
TARGETS = ("avx512", "avx2", "ve")
STANDARD_STREAM = "-"


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--wg-size", type=click.IntRange(1), required=True, help="The work-items of a group.")
@click.option("--target", type=click.Choice(TARGETS), help="The instruction set to print C for.")
@click.option("--emit", "stage", type=click.Choice(STAGES), help="What to print; c with a target, llvm otherwise.")
@click.option("--kernel", "name", metavar="NAME", help="The kernel to take where FILE has several.")
@click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Define a macro.")
@click.option("--pack", type=click.IntRange(1), help="How many groups share vectors; chosen otherwise.")
@click.option("--order", metavar="ORDER", help="How lanes lie in vectors: rows, columns or interleaved.")
@click.option("--streaming", is_flag=True, help="With a target, store around the caches what is not read.")
@click.option("--no-contract", is_flag=True, help="Round a product before it is added.")
@click.option(
    "-o", "output", metavar="FILE", default=STANDARD_STREAM, help="Where to write; standard output otherwise."
)
def command(
    file: str, wg_size: int, target: str | None, stage: str | None, name: str | None, defines: tuple[str, ...],
    pack: int | None, order: str | None, streaming: bool, no_contract: bool, output: str,
) -> None:  # fmt: skip
    """Compile the kernel in FILE, OpenCL C in the collective register cache idiom.

    infreg is InfReg-IR, registers of unbounded width as LLVM IR with metadata; llvm is what runs on this CPU; c is C
    with a target's intrinsics, for any C compiler, or for clang if the target is ve, NEC SX-Aurora; cuda is CUDA C++
    for GPUs with a thread for each work-item, and ptx what clang makes of that.
    """
    from pathlib import Path

    from drawloom.cli.outputs import refuse_to_overwrite
    from drawloom.files import whole_file

    stage = stage or ("llvm" if target is None else "c")
    if stage == "c" and target is None:
        raise click.UsageError("--emit c needs --target avx512, --target avx2 or --target ve.")
    if stage not in ("c", "infreg") and target is not None:
        raise click.UsageError(f"--emit {stage} takes no --target.")
    refuse_to_overwrite(output, [file])
    macros = {}
    for define in defines:
        macro, equals, value = define.partition("=")
        macros[macro] = value if equals else "1"
    text = compile_to(stage, Path(file), wg_size, name, macros, pack, order, not no_contract, target, streaming)
    if output == STANDARD_STREAM:
        click.echo(text, nl=False)
        return
    with whole_file(output) as there:
        there.write(text.encode("utf-8"))


def compile_to(
    stage: str, file: "Path", wg_size: int, name: str | None, defines: dict[str, str], pack: int | None,
    order: str | None, contract: bool, target: str | None, streaming: bool,
) -> str:  # fmt: skip
    """Return a kernel's text after a stage."""
    from drawloom.batch import kernel
    from drawloom.batch.ir.printer import show_kernel

    if stage in CUDA_STAGES:
        # Neither text depends on where the kernel is to run.
        on_device = kernel(
            file, wg_size=wg_size, name=name, defines=defines, pack=pack, order=order, contract=contract, device="cpu"
        )
        return on_device.text if stage == "cuda" else on_device.ptx
    compiled = kernel(
        file, wg_size=wg_size, name=name, defines=defines, pack=pack, order=order, contract=contract, target=target,
        streaming=streaming or None,
    )  # fmt: skip
    if stage == "infreg":
        return show_kernel(compiled.lowered, compiled.pack)
    if target == "ve":
        return compiled.show_ve()
    if compiled.isa is not None:
        return compiled.show_c(compiled.isa)
    return compiled.show_llvm()

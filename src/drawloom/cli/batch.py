"""`drawloom batch`: a kernel for batches of small problems, after a stage of its way to this CPU or a GPU."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

#: Target -> what can be printed for it, the usual first. Without --target, the first one that prints a stage is meant.
STAGES = {
    "llvm": ("llvm", "infreg"), "avx512": ("c", "infreg"), "avx2": ("c", "infreg"), "ve": ("c", "infreg"),
    "cuda": ("cuda", "ptx"),
}  # fmt: skip
#: The value of --emit without one.
USUAL = "usual"
STANDARD_STREAM = "-"


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--wg-size", type=click.IntRange(1), required=True, help="The work-items of a group.")
@click.option("--target", type=click.Choice(tuple(STAGES)), help="What to compile for; llvm, this CPU, otherwise.")
@click.option(
    "--emit", "stage", is_flag=False, flag_value=USUAL, default=USUAL, metavar="[infreg|llvm|c|cuda|ptx]",
    type=click.Choice(("infreg", "llvm", "c", "cuda", "ptx", USUAL)),
    help="What to print; without a value, the code for the target.",
)
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
    file: str, wg_size: int, target: str | None, stage: str, name: str | None, defines: tuple[str, ...],
    pack: int | None, order: str | None, streaming: bool, no_contract: bool, output: str,
) -> None:  # fmt: skip
    """Compile the kernel in FILE, OpenCL C in the collective register cache idiom.

    For a target, --emit prints:

    \b
    llvm          LLVM IR (llvm), as it runs on this CPU
    avx512, avx2  C with intrinsics (c), for any C compiler
    ve            C with intrinsics (c) for NEC SX-Aurora, for clang
    cuda          CUDA C++ for GPUs (cuda), a thread for each work-item, or what clang makes of it (ptx)
    all but cuda  InfReg-IR (infreg), registers of unbounded width as LLVM IR with metadata
    """
    from pathlib import Path

    from drawloom.cli.outputs import refuse_to_overwrite, write_file

    target, stage = choose_stage(target, stage)
    refuse_to_overwrite(output, [file])
    macros = {}
    for define in defines:
        macro, equals, value = define.partition("=")
        macros[macro] = value if equals else "1"
    text = compile_to(stage, Path(file), wg_size, name, macros, pack, order, not no_contract, target, streaming)
    if output == STANDARD_STREAM:
        click.echo(text, nl=False)
        return
    write_file(output, text.encode("utf-8"))


def choose_stage(target: str | None, stage: str) -> tuple[str, str]:
    """Return the target and what to print for it."""
    if target is None and stage == "c":
        raise click.UsageError("--emit c needs --target avx512, --target avx2 or --target ve.")
    target = target or next((target for target, stages in STAGES.items() if stage in stages), "llvm")
    if stage == USUAL:
        stage = STAGES[target][0]
    if stage not in STAGES[target]:
        stages = ", ".join(STAGES[target])
        raise click.UsageError(f"--emit {stage} is not for --target {target}, which prints {stages}.")
    return target, stage


def compile_to(
    stage: str, file: "Path", wg_size: int, name: str | None, defines: dict[str, str], pack: int | None,
    order: str | None, contract: bool, target: str, streaming: bool,
) -> str:  # fmt: skip
    """Return a kernel's text after a stage."""
    from drawloom.batch import kernel
    from drawloom.batch.ir.printer import show_kernel

    if target == "cuda":
        # Neither text depends on where the kernel is to run.
        on_device = kernel(
            file, wg_size=wg_size, name=name, defines=defines, pack=pack, order=order, contract=contract, device="cpu"
        )
        return on_device.text if stage == "cuda" else on_device.ptx
    compiled = kernel(
        file, wg_size=wg_size, name=name, defines=defines, pack=pack, order=order, contract=contract,
        target=None if target == "llvm" else target, streaming=streaming or None,
    )  # fmt: skip
    if stage == "infreg":
        return show_kernel(compiled.lowered, compiled.pack)
    if target == "ve":
        return compiled.show_ve()
    if compiled.isa is not None:
        return compiled.show_c(compiled.isa)
    return compiled.show_llvm()

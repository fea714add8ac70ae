"""`drawloom run query.hir --table t=t.parquet`: a HorseIR program on a device, its results on the terminal."""

from __future__ import annotations

import os

import click

from drawloom.cli import tables as tables_option


def run(file: str, tables: tuple[str, ...], device: str | None, emit: str | None, style: str, outline: str) -> None:
    """Prints what ``main`` returns, each value as a table, or with ``emit`` ("horse", "outline", "ptx") a stage.

    Raises DataError for a file or table that cannot be read and for what goes wrong in the run, VerifyError for the
    program.
    """
    from drawloom.cli.sql import render
    from drawloom.errors import DataError
    from drawloom.horse.launch import Resident
    from drawloom.horse.program import LoadedProgram, Program
    from drawloom.horse.results import to_arrow
    from drawloom.runtime.machine import device as find_device

    module = tables_option.read_hir(file)
    main = module.function("main")
    if main is None or main.params:
        raise DataError(f"{file}: a function 'main' without parameters was expected")
    where = find_device(device or os.environ.get("DRAWLOOM_DEVICE") or "cpu")
    program = Program(module, tables_option.sources(tables), where.kind != "cpu", outline)
    if emit is not None:
        stages = {"horse": str(program.module), "outline": str(program.outlined.module), "ptx": program.ptx()}
        if emit not in stages:
            raise click.UsageError(f"--emit {emit} is for PTX files: expected one of {', '.join(stages)}")
        click.echo(stages[emit], nl=False)
        return
    for value in LoadedProgram(program, where, Resident(where)).values():
        click.echo(render(to_arrow(value), style), nl=False)

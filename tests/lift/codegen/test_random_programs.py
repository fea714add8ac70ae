"""Random programs: the compiled code on the CPU device agrees with the interpreter."""

import numpy as np
import pytest

from drawloom.lift import LiftCompileError, WellFormednessError, compile, interpret
from tests.lift.codegen.group_programs import GroupGenerator
from tests.lift.codegen.runners import check_races, integers, same
from tests.lift.codegen.sequential_programs import RowGenerator
from tests.lift.random_programs import Generator


@pytest.mark.parametrize("seed", range(40))
def test_random_rows_in_private_memory(seed: int) -> None:
    program, arguments = RowGenerator(seed).rows()
    try:
        compiled = compile(program)
    except (LiftCompileError, WellFormednessError) as refusal:
        pytest.skip(str(refusal).splitlines()[0])
    with np.errstate(all="ignore"):
        expected = interpret(program, *arguments)
    assert same(expected, compiled(*arguments)), compiled.opencl


@pytest.mark.parametrize("local_size", [None, 2])
@pytest.mark.parametrize("seed", range(20))
def test_random_low_level_programs(seed: int, local_size: int | None) -> None:
    generator = Generator(seed)
    program, arguments = generator.low_level_program()
    try:
        compiled = compile(program, local_size=local_size)
    except LiftCompileError as refusal:
        pytest.skip(str(refusal).splitlines()[0])
    expected = interpret(program, *arguments, sizes=dict(generator.values))
    assert same(expected, compiled(*arguments, sizes=generator.values)), compiled.opencl


@pytest.mark.parametrize("seed", range(45))
def test_random_phases_of_work_groups_have_no_races(seed: int) -> None:
    generator = GroupGenerator(seed)
    program = generator.program()
    switches = {name: seed % 5 != at for at, name in enumerate(("array_access", "barriers", "control_flow"))}
    try:
        compiled = compile(program, **generator.options, **switches)  # type: ignore[arg-type]
    except LiftCompileError as refusal:
        pytest.skip(str(refusal).splitlines()[0])
    check_races(program, compiled, integers(3 * generator.chunk))

"""Random programs: the compiled code on the CPU device agrees with the interpreter."""

import numpy as np
import pytest

from drawloom.lift import LiftCompileError, WellFormednessError, compile, interpret
from tests.lift.codegen.runners import same
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

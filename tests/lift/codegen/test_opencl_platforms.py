"""The text of kernels, used without Drawloom on an OpenCL platform for CPUs."""

import pytest

from drawloom.lift import compile, interpret
from tests.lift.codegen.opencl_platforms import run
from tests.lift.codegen.runners import same
from tests.lift.codegen.test_golden import PROGRAMS, arguments_of
from tests.opencl_platforms import usable_cpu


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_opencl_of_a_program_runs_by_itself(name: str) -> None:
    device = usable_cpu()
    make, sizes = PROGRAMS[name]
    program = make()
    arguments = arguments_of(sizes[1 if len(sizes) > 1 else 0])
    assert same(run(compile(program), device, *arguments), interpret(program, *arguments))

"""The text of kernels, used without Drawloom: on PoCL, and under Oclgrind, which reports races and bad accesses."""

import pytest

from drawloom.lift import compile, interpret
from tests.lift.codegen.opencl_platforms import find_device, run
from tests.lift.codegen.runners import same
from tests.lift.codegen.test_golden import PROGRAMS, arguments_of


@pytest.mark.parametrize("platform", ["Portable Computing Language", "Oclgrind"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_opencl_of_a_program_runs_by_itself(name: str, platform: str) -> None:
    device = find_device(platform)
    if device is None:
        pytest.skip(f"pyopencl has no platform {platform}")
    make, sizes = PROGRAMS[name]
    program = make()
    arguments = arguments_of(sizes[1 if len(sizes) > 1 else 0])
    assert same(run(compile(program), device, *arguments), interpret(program, *arguments))

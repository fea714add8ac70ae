"""Random phases of work-groups, and atomic updates of every type, under Oclgrind: no race and no bad access."""

from typing import Any

import numpy as np
import pytest

from drawloom.lift import LiftCompileError, compile, interpret, parse_program
from tests.lift.codegen.group_programs import GroupGenerator
from tests.lift.codegen.oclgrind import run_checked
from tests.lift.codegen.runners import integers, same
from tests.lift.codegen.test_atomics import PLACES, TYPES
from tests.opencl_platforms import OCLGRIND, usable_device


@pytest.fixture(scope="module")
def oclgrind() -> Any:
    """Oclgrind's device; skips without one."""
    return usable_device(OCLGRIND)


@pytest.mark.parametrize("seed", range(30, 60))
def test_random_phases_have_no_faults(seed: int, oclgrind: Any) -> None:
    generator = GroupGenerator(seed)
    program = generator.program()
    try:
        compiled = compile(program, local_size=generator.options["local_size"])
    except LiftCompileError as refusal:
        pytest.skip(str(refusal).splitlines()[0])
    arguments = integers(2 * generator.chunk)
    result, faults = run_checked(compiled, oclgrind, arguments)
    assert not faults, compiled.opencl
    assert same(result, interpret(program, arguments))


@pytest.mark.parametrize("operator", ["add", "mult", "maximum"])
@pytest.mark.parametrize("type", TYPES)
def test_atomic_updates_have_no_faults(type: str, operator: str, oclgrind: Any) -> None:
    updates = f"mapAtomicLcl(0)(λ v . (v, ({type})2), {operator}, replicate(4, ({type})1))"
    local = parse_program(f"f(x: [[int]9]N) = mapWrg(0)(toGlobal(mapLcl(0)(id)) ∘ {updates}, x)")
    update = f"λ v . (v, ({type})2)"
    everywhere = parse_program(f"f(x: [int]N, y: [{type}]4) = mapAtomicGlb(0)({update}, {operator}, y, x)")
    start = np.array([1, 2, 3, 4], TYPES[type])
    for program, arguments in ((local, (PLACES[:36].reshape(4, 9),)), (everywhere, (PLACES[:36], start))):
        result, faults = run_checked(compile(program), oclgrind, *arguments)
        assert not faults
        assert same(result, interpret(program, *arguments))

"""Generated programs mean the same after -O3 and after each pass alone; `python -m tools.fuzz_opt` runs many more."""

import pytest

from drawloom.opt import PASSES
from tools.fuzz_opt import check_seed, fails
from tools.programs import generate

#: Programs in the suite; their seeds are fixed, so that a red run repeats.
PROGRAMS = 5


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_generated_programs_mean_the_same(seed: int) -> None:
    message, passes = check_seed(seed)
    assert message == "", passes


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_programs_of_index_arithmetic_mean_the_same(seed: int) -> None:
    message, passes = check_seed(seed, None, True)
    assert message == "", passes


def test_a_pass_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that turns every `xor` into `or`: the fuzzer notices."""
    from drawloom.opt.work import Work
    from drawloom.ptx.ir import Instruction
    from drawloom.ptx.isa import decode

    def broken(work: Work) -> None:
        for block in work.ssa.blocks:
            for statement in block.statements:
                if isinstance(statement, Instruction) and statement.opcode.text == "xor.b32":
                    statement.opcode = decode("or.b32")

    monkeypatch.setitem(PASSES, "broken", broken)
    candidates = [p for p in map(generate, range(60)) if "xor.b32" in p.text]
    assert any(fails(program, ["broken"]) for program in candidates)
    assert not fails(candidates[0], [])

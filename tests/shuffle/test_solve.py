"""Each solver on what the normal form cannot decide: both must prove the same, and refute the same."""

from __future__ import annotations

import gc
import random
from pathlib import Path

import pytest

from drawloom.ptx.isa import decode
from drawloom.shuffle.evaluate import evaluate
from drawloom.shuffle.expressions import Expressions
from drawloom.shuffle.pipeline import shuffle
from drawloom.shuffle.semantics import computed
from drawloom.shuffle.solve import BACKENDS, Prover


@pytest.fixture(params=sorted(BACKENDS))
def solver(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(request.param)
    return str(request.param)


def prover(x: Expressions, solver: str, steps: int = 1_000_000) -> Prover:
    made = Prover(x, steps)
    made.backend = BACKENDS[solver]()
    return made


def test_what_is_equal_for_all_numbers_is_proved(solver: str) -> None:
    x = Expressions()
    a, b = x.leaf("param", 32, "a"), x.leaf("param", 32, "b")
    total = x.add(x.logic("or", a, b), x.logic("and", a, b))
    ask = prover(x, solver)
    assert ask.equal(total, x.add(a, b), 0)
    assert not ask.equal(total, x.add(a, x.scale(b, 1, 1)), 0)
    assert ask.equal(x.logic("xor", a, b), x.sub(x.logic("or", a, b), x.logic("and", a, b)), 0)


def test_the_lane_is_one_that_has_the_other(solver: str) -> None:
    """lane | 32 is lane + 32; for a lane from 8 to 31, as with a distance of -8, lane ^ 7 is not below 8."""
    x = Expressions()
    seven = x.constant(7, 32)
    below = x.less(x.logic("xor", x.lane, seven), x.constant(8, 32), False)
    ask = prover(x, solver)
    assert ask.equal(below, x.false, -8)
    assert not ask.equal(below, x.false, 0)


def test_no_answer_within_the_steps_is_no_proof(solver: str) -> None:
    """A product by its parts, true and hard; the steps are the kernel's, and the same each time."""
    x = Expressions()
    a, b = x.leaf("param", 64, "a"), x.leaf("param", 64, "b")
    both, either = x.logic("and", a, b), x.logic("or", a, b)
    parts = x.add(x.mul(both, either), x.mul(x.sub(a, both), x.sub(b, both)))
    left = []
    for _ in range(2):
        ask = prover(x, solver, 20)
        assert not ask.equal(x.mul(a, b), parts, 0)
        assert not ask.equal(both, x.sub(x.add(a, b), either), 0)  # which it would prove, but nothing is left
        left.append(ask.steps)
    assert left[0] == left[1] <= 0
    assert not Prover(x, 0).equal(a, a, 0)


TEXTS = """add.s32 sub.s32 mul.lo.s32 mul.hi.s32 and.b32 or.b32 xor.b32 shl.b32 shr.s32 shr.u32 min.s32 max.u32 div.u32
rem.s32 slct.s32.s32 sad.u32 cvt.s32.s16 shf.l.wrap.b32 bfe.s32 cnot.b32"""


@pytest.mark.parametrize("text", TEXTS.split())
def test_terms_mean_what_expressions_do(solver: str, text: str) -> None:
    """For given leaves the solver agrees that an expression has the value that ``evaluate`` finds, and no other."""
    chance = random.Random(text)
    opcode = decode(text)
    x = Expressions()
    ask = prover(x, solver)
    wide = 32 if opcode.name not in ("mul", "div", "rem") else 12  # where z3 takes seconds
    for _ in range(2):
        count = max(len(form.operands) for form in opcode.forms) - 1
        numbers = [chance.choice((chance.getrandbits(wide), chance.randrange(1, 40))) for _ in range(count)]
        # Leaves of known value, so that nothing is folded before the solver sees it.
        leaves = [x.leaf("param", 32, f"{k}={n}", n, n) for k, n in enumerate(numbers)]
        made = computed(x, opcode, leaves, 32)
        value = evaluate(x, made, dict(zip(leaves, numbers, strict=True)))
        if x.names[made] == "f":
            continue
        assert ask.equal(made, x.constant(value, 32), 0)
        assert not ask.equal(made, x.constant(value + 1, 32), 0)


def test_the_solvers_terms_are_in_no_cycle() -> None:
    """The collector would free them in any order, and bitwuzla's terms must not be freed after their manager."""
    pytest.importorskip("bitwuzla")
    text = (Path(__file__).parents[1] / "golden" / "corpus" / "nvcc" / "sobel.sm_80.O3.ptx").read_text()
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        assert shuffle(text, apply="all", shared=True).report.loads
        gc.collect()
        assert not [o for o in gc.garbage if type(o).__module__ == "bitwuzla"]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()

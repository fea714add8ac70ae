"""A short run of the fuzzer, and that it finds rules which are wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from drawloom.lift.arithmetic import Nat, divisions, expression
from tools.fuzz_lift_arithmetic import Case, check_c, check_seed

SHORT_RUN = 200
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("first", range(0, SHORT_RUN, 50))
def test_random_expressions_keep_their_values(first: int) -> None:
    assert [message for seed in range(first, first + 50) if (message := check_seed(seed))] == []


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on PATH")
def test_c_text_has_the_values_of_random_expressions(tmp_path: Path) -> None:
    assert check_c(range(150), tmp_path) == []


_PRINT = """
from tools.fuzz_lift_arithmetic import Case
from drawloom.lift.arithmetic import ArithmeticRefusal
for seed in range(60):
    try:
        case = Case(seed)
    except ArithmeticRefusal:
        continue
    print(case.simplified, case.condition)
"""


def test_texts_do_not_depend_on_hash_seeds() -> None:
    texts = set()
    for hash_seed in ("1", "2"):
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, "-c", _PRINT], env=environment, capture_output=True, text=True, check=True
        )
        texts.add(done.stdout)
    assert len(texts) == 1


def _found(seeds: range) -> bool:
    return any(check_seed(seed) for seed in seeds)


IS_COMPILED = not str(divisions.__file__).endswith(".py")
replaces_functions = pytest.mark.skipif(IS_COMPILED, reason="functions of compiled modules cannot be replaced")


@replaces_functions
def test_fuzzer_finds_a_place_without_its_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def place(dividend: Nat, divisor: Nat) -> int | None:
        return 0 if divisions.is_less(dividend, divisor) else None

    monkeypatch.setattr(divisions, "_place", place)
    assert _found(range(400))


@replaces_functions
def test_fuzzer_finds_a_split_without_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    always: Callable[[Nat, Nat], bool] = lambda left, right: True  # noqa: E731
    monkeypatch.setattr(divisions, "is_less", always)
    assert _found(range(100))


@replaces_functions
def test_fuzzer_finds_an_inclusive_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    from drawloom.lift.arithmetic import bounds

    monkeypatch.setattr(bounds, "last_step", lambda variable: expression.constant(2))
    assert _found(range(400))


def test_case_of_a_seed_is_always_the_same() -> None:
    assert str(Case(7).written) == str(Case(7).written)


def test_proofs_over_conditions_inside_conditions_end() -> None:
    """The proof that this expression, with conditions as facts for each other, is at least zero took no end."""
    assert check_seed(1815) == ""


def test_a_condition_that_guards_another_may_stand_after_it() -> None:
    """Conditions are sorted, so the logarithm of 0 was taken before the condition that it is not 0."""
    assert check_seed(42080) == ""


def test_divisors_split_only_where_they_are_positive() -> None:
    """(64 + 3)/(4*(-16)) is -2, and became 16/(-16)."""
    assert check_seed(74380) == ""

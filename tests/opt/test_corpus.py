"""What compilers emit goes through -O3: SSA form and PTX are verified after every pass, and nothing is longer. Then the
tests of the corpus run over what comes out of every level; `benchmarks/opt.py` runs all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from drawloom.opt import optimize
from drawloom.ptx import Function, parse
from tests.reference.rerun import Case, cases

CORPUS = Path(__file__).resolve().parents[1] / "golden" / "corpus"
#: A file of each kind, of moderate length; `benchmarks/opt.py` takes them all.
FILES = (
    "clang/calls.sm_61.O1", "clang/generic_addresses.sm_61.O1", "clang/kernel_params.sm_90.O0", "hand/control_flow",
    "nvcc/barriers.sm_75.lineinfo", "nvcc/local_arrays.sm_90.O0", "nvcc/virtual_calls.sm_90.O0",
    "nvcc/wide_integers.sm_80.O3",
)  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_the_corpus_comes_out_whole(name: str) -> None:
    module = parse((CORPUS / f"{name}.ptx").read_text(encoding="utf-8"), name)
    after = optimize(module, 3, check=True)
    assert str(optimize(module, 3)) == str(after)
    for function in module.functions.values():
        assert computing(after.functions[function.name]) <= computing(function)


#: One of each compiler without optimisation, where loads and stores that go leave the most to the passes before.
UNOPTIMISED = (
    "clang/kernel_params.sm_90.O0", "clang/barriers.sm_90.O0", "clang/crc32.sm_90.O0", "nvcc/local_arrays.sm_90.O0",
    "nvcc/matmul_tiled.sm_90.O0", "nvcc/reduce_shuffle.sm_90.O0", "nvcc/wide_integers.sm_80.O3",
)  # fmt: skip


def test_a_second_run_finds_next_to_nothing() -> None:
    """One half of a hundredth of the instructions at most: values that leave memory go through all passes at once."""
    first = second = 0
    for name in UNOPTIMISED:
        module = parse((CORPUS / f"{name}.ptx").read_text(encoding="utf-8"), name)
        once = optimize(module, 2)
        twice = optimize(once, 2)
        first += sum([len(f.instructions()) for f in once.functions.values()])
        second += sum([len(f.instructions()) for f in twice.functions.values()])
    assert first - second <= 0.005 * first


def computing(function: Function) -> int:
    """How many instructions a function has, without those that name an address's space."""
    return len([i for i in function.instructions() if i.opcode.name != "cvta"])


def some() -> list[tuple[Case, Path, int]]:
    """Every sixth compilation of every test with a level; what `vote` had wrong once is among them."""
    pairs = [(case, path) for case in cases() for path in case.paths]
    chosen = [(case, path, 3 - n % 3) for n, (case, path) in enumerate(pairs[::6])]
    return [*chosen, *[(c, p, 2) for c, p in pairs if c.name == "votes" and p.name == "warp_ops.sm_80.O3.ptx"]]


@pytest.mark.parametrize("case, path, level", [pytest.param(*s, id=f"{s[0].name}-{s[1].stem}-O{s[2]}") for s in some()])
def test_the_corpus_means_the_same(case: Case, path: Path, level: int) -> None:
    assert case.run(path, lambda module: optimize(module, level)) > 0

"""What compilers emit goes through -O3: SSA form and PTX are verified after every pass, and nothing is longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from drawloom.opt import optimize
from drawloom.ptx import parse

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
        made = after.functions[function.name]
        assert len(made.instructions()) <= len(function.instructions())

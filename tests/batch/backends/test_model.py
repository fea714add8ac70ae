"""The portable model of AVX2 and AVX-512 intrinsics (model/immintrin.h) against the instructions of this CPU."""

import numpy as np
import pytest

from drawloom.batch.backends.simd.isa import AVX2, ISAS
from drawloom.cpu.vector.machine import host
from tests.batch.backends.intrinsics import (
    MODEL,
    belongs_to,
    draw_rows,
    equal,
    find_intrinsics,
    list_cases,
    load_cases,
    run_case,
)

if not host().is_x86:
    pytest.skip("the C compiler is for another kind of CPU", allow_module_level=True)

INPUTS = 100_000


def test_rows_hold_every_shift_count_within_a_lane() -> None:
    second_register = draw_rows(INPUTS)[:, 64:128]
    for dtype, bits in ((np.int32, 32), (np.int64, 64)):
        assert np.isin(np.arange(bits + 1), np.ascontiguousarray(second_register).view(dtype)).all()


@pytest.mark.parametrize("target", ISAS)
def test_the_model_equals_the_instructions(target: str) -> None:
    isa = ISAS[target]
    if isa.features - host().features:
        pytest.skip(f"this CPU lacks {target}")
    intrinsics = [i for i in find_intrinsics() if belongs_to(i, isa) and i.parameters]
    assert len(intrinsics) > 90
    cases = list_cases(intrinsics)
    real, model = load_cases(cases, isa, "-O1"), load_cases(cases, AVX2, "-O1", f"-I{MODEL}")
    rows = draw_rows(INPUTS)
    for number, case in enumerate(cases):
        found = [run_case(library, number, case, rows) for library in (real, model)]
        assert equal(*found), (case.intrinsic.name, case.constants)

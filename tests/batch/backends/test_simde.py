"""tools/check_simde.py: the model of AVX2 and AVX-512 intrinsics against SIMDe, where DRAWLOOM_SIMDE is its folder."""

import os
from pathlib import Path

import pytest

from drawloom.cpu.vector.machine import host
from tests.batch.backends.intrinsics import MODEL
from tools.check_simde import check_intrinsics, check_kernels

pytest.importorskip("pycparser")
CHECKOUT = os.environ.get("DRAWLOOM_SIMDE", "")
if not host().is_x86 or not CHECKOUT:
    pytest.skip("DRAWLOOM_SIMDE names no checkout of SIMDe for this CPU", allow_module_level=True)


def test_the_model_equals_simde() -> None:
    report = check_intrinsics(Path(CHECKOUT), 2000)
    assert not report.faults
    assert len(report.used - report.missing) > 250


def test_a_wrong_model_differs_from_simde(tmp_path: Path) -> None:
    text = (MODEL / "immintrin.h").read_text()
    wrong = {
        "_mm512_srlv_epi64": ("y < B ? x >> y : 0", "y <= B ? x >> y % B : 0"),
        "_mm512_shuffle_f32x4": ("(imm >> 2 * (i / block) & 3) * block", "(imm >> 2 * (i / block) & 1) * block"),
        "_mm512_permutex2var_pd": ("ns[i] & COUNT(V, T) ? ys : xs", "ns[i] & COUNT(V, T) ? xs : ys"),
    }
    for right, replacement in wrong.values():
        assert right in text
        text = text.replace(right, replacement)
    (tmp_path / "immintrin.h").write_text(text)
    faults = check_intrinsics(Path(CHECKOUT), 2000, tmp_path).faults
    assert wrong.keys() <= faults
    assert "_mm512_add_ps" not in faults


def test_a_ready_kernel_on_simde_equals_the_model() -> None:
    faults = list(check_kernels(Path(CHECKOUT), "ldus", 4))
    assert len(faults) >= 36
    assert not any(faults)

"""The programs of examples/lift run, and print what their first lines promise."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "lift"


def output_of(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_the_dot_product_is_the_same_at_both_levels(capsys: pytest.CaptureFixture[str]) -> None:
    shown = output_of("dot_product.py", capsys)
    assert shown.startswith("dot(x: [float]N, y: [float]N) = reduce(0, add) ∘ map(mult, zip(x, y))\n")
    assert "mapWrg(0): [[float]1](N/^128)" in shown
    numbers = [float(line.rsplit(" ", 1)[1]) for line in shown.splitlines() if "level" in line or "NumPy" in line]
    assert numbers == pytest.approx([numbers[-1]] * 3, rel=1024 * 2**-24)


def test_the_blur_is_numpys(capsys: pytest.CaptureFixture[str]) -> None:
    shown = output_of("blur.py", capsys)
    assert "[[float]columns]rows" in shown
    assert float(shown.rsplit(" ", 1)[1]) < 10 * 2**-24


def test_the_tiled_product_is_numpys(capsys: pytest.CaptureFixture[str]) -> None:
    shown = output_of("matrix_multiplication.py", capsys)
    assert "barrier(CLK_LOCAL_MEM_FENCE);" in shown
    assert float(shown.rsplit(" ", 1)[1]) < 2 * 29 * 29 * 2**-24


def test_every_example_has_a_test() -> None:
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == [
        "blur.py",
        "dot_product.py",
        "matrix_multiplication.py",
    ]

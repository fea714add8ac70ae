"""Mandelbrot: a loop whose length depends on the data, over an array that exists only as indices."""

from typing import Any

import numpy as np

from drawloom.lift import Lambda, array, float32, fun, int32, iota, map, map_glb, size, user_function
from tests.lift.programs.benchmark import Benchmark, Reference

MOST = 64
ESCAPE = user_function(
    f"""
    int escape(int column, int row, float left, float top, float step) {{
      float cx = left + (float)column * step, cy = top + (float)row * step;
      float x = 0.0f, y = 0.0f;
      int count = 0;
      while (count < {MOST} && x * x + y * y <= 4.0f) {{
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        count++;
      }}
      return count;
    }}
    """
)


def mandelbrot_with(outer: Any, inner: Any, name: str) -> Lambda:
    n, m = size("N"), size("M")
    return fun(
        array(int32, n, m),
        float32,
        float32,
        float32,
        lambda image, left, top, step: outer(
            lambda row: inner(lambda column: ESCAPE(column, row, left, top, step), iota(m)), iota(n)
        ),
        name=name,
    )


def mandelbrot() -> Lambda:
    return mandelbrot_with(map, map, "mandelbrot")


def mandelbrot_global() -> Lambda:
    return mandelbrot_with(
        lambda *arguments: map_glb(*arguments, dim=1), lambda *arguments: map_glb(*arguments, dim=0), "mandelbrotGlobal"
    )


def arguments(random: np.random.Generator, sizes: tuple[int, ...]) -> list[Any]:
    """The step is a power of two and the corner a multiple of it, so that the first iterations are exact."""
    return [np.zeros(sizes, np.int32), -2.0, -1.25, 0.125]


def reference(image: Any, left: float, top: float, step: float) -> Reference:
    """Iterate in single precision, operation for operation: counts at the border depend on the rounding."""
    rows, columns = image.shape
    cx = (np.float32(left) + np.arange(columns, dtype=np.float32) * np.float32(step))[np.newaxis, :]
    cy = (np.float32(top) + np.arange(rows, dtype=np.float32) * np.float32(step))[:, np.newaxis]
    x, y = np.zeros((2, rows, columns), np.float32)
    counts = np.zeros((rows, columns), np.int64)
    for _ in range(MOST):
        inside = x * x + y * y <= 4
        counts += inside
        x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2 * x * y + cy, y)
    return Reference(counts, np.zeros(counts.shape))


BENCHMARKS = [
    Benchmark(
        "Mandelbrot",
        mandelbrot,
        {"global": mandelbrot_global},
        arguments,
        reference,
        [(1, 1), (5, 7), (16, 24), (21, 23)],
    )
]

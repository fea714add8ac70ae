"""Triton kernels and, run as a script where Triton is installed (no GPU is needed), their PTX in ../triton.

    pip install triton==3.9.0 && python tests/golden/corpus/src/triton_kernels.py
"""

import os
from pathlib import Path

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(out, x, row, n, WIDTH: tl.constexpr):
    start = tl.program_id(0) * row
    column = tl.arange(0, WIDTH)
    value = tl.load(x + start + column, mask=column < n, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + start + column, power / tl.sum(power, axis=0), mask=column < n)


@triton.jit
def layer_norm(x, out, weight, bias, row, n, epsilon, WIDTH: tl.constexpr):
    start = tl.program_id(0) * row
    column = tl.arange(0, WIDTH)
    inside = column < n
    value = tl.load(x + start + column, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, value - tl.sum(value, axis=0) / n, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + epsilon)
    scaled = centred * scale * tl.load(weight + column, mask=inside) + tl.load(bias + column, mask=inside)
    tl.store(out + start + column, scaled, mask=inside)


@triton.jit
def running_sum(x, out, WIDTH: tl.constexpr):
    column = tl.arange(0, WIDTH)
    tl.store(out + column, tl.cumsum(tl.load(x + column), 0))


@triton.jit
def sort_row(x, out, WIDTH: tl.constexpr):
    column = tl.arange(0, WIDTH)
    tl.store(out + column, tl.sort(tl.load(x + column)))


@triton.jit
def histogram(x, counts, n, WIDTH: tl.constexpr):
    place = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.atomic_add(counts + tl.load(x + place, mask=place < n, other=0), 1, mask=place < n)


@triton.jit
def random(out, seed, WIDTH: tl.constexpr):
    column = tl.arange(0, WIDTH)
    tl.store(out + column, tl.rand(seed, column))
    tl.store(out + WIDTH + column, tl.randn(seed, column))


@triton.jit
def total(x, out, n, WIDTH: tl.constexpr):
    part = tl.zeros((WIDTH,), tl.float32)
    column = tl.arange(0, WIDTH)
    for first in range(0, n, WIDTH):
        part += tl.load(x + first + column, mask=first + column < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(part, axis=0))


F, H, I = "*fp32", "*fp16", "*i32"
KERNELS = {
    softmax: ((F, F, "i32", "i32"), 256),
    layer_norm: ((H, H, F, F, "i32", "i32", "fp32"), 256),
    running_sum: ((F, F), 256),
    sort_row: ((I, I), 128),
    histogram: ((I, I, "i32"), 128),
    random: ((F, "i32"), 128),
    total: ((F, F, "i32"), 128),
}


def main():
    out = Path(__file__).resolve().parents[1] / "triton"
    out.mkdir(exist_ok=True)
    for kernel, (types, width) in KERNELS.items():
        names = kernel.arg_names
        signature = {**dict(zip(names, types)), "WIDTH": "constexpr"}
        made = triton.compile(ASTSource(kernel, signature, {"WIDTH": width}), target=GPUTarget("cuda", 80, 32))
        (out / f"{kernel.__name__}.sm_80.triton.ptx").write_text(made.asm["ptx"])


if __name__ == "__main__":
    main()

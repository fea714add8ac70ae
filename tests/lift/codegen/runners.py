"""Runs compiled programs and compares them with the interpreter."""

from typing import Any

import numpy as np
import pytest

from drawloom.lift import Compiled, LiftCompileError, compile, infer_types, interpret
from drawloom.lift.language.arguments import bind_arguments
from drawloom.lift.language.ir import Lambda


def same(left: Any, right: Any) -> bool:
    if isinstance(left, tuple):
        return isinstance(right, tuple) and all(same(one, other) for one, other in zip(left, right, strict=True))
    return left.dtype == right.dtype and left.shape == right.shape and np.array_equal(left, right, equal_nan=True)


def check(program: Lambda, compiled: Compiled, *arguments: Any) -> None:
    """Fail unless a compiled program gives what the interpreter does."""
    expected, found = interpret(program, *arguments, sizes=compiled.sizes or None), compiled(*arguments)
    assert same(expected, found), (expected, found, compiled.opencl)


def check_races(program: Lambda, compiled: Compiled, *arguments: Any) -> None:
    """Fail unless a compiled program gives what the interpreter does, without data races and bad accesses."""
    fresh = compile_again(compiled)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAWLOOM_CHECK", "race")
        check(program, fresh, *arguments)


def compile_again(compiled: Compiled) -> Compiled:
    """Return a compiled program without what has been loaded of it."""
    return Compiled(compiled.program, compiled.kernels, compiled.calls, compiled.sizes, compiled.functions)


def integers(*shape: int, seed: int = 1) -> Any:
    """Return small whole numbers as float32, whose sums and products are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def report(compiled: Compiled) -> str:
    """Return a golden file: the code, the divisions that are left in indices, and the bytes of each address space."""
    divisions = sum(kernel.count_divisions() for kernel in compiled.kernels)
    lines = [f"// divisions and remainders in indices: {divisions}"]
    for space in ("global", "local", "private"):
        lines.append(f"// bytes in {space} memory: {', '.join(map(str, compiled.bytes_in(space)))}")
    return "\n".join(lines) + "\n" + compiled.opencl


def compile_for(program: Lambda, *arguments: Any) -> Compiled:
    """Compile a program, with the sizes of some arguments where local memory needs to know them."""
    try:
        return compile(program)
    except LiftCompileError as refusal:
        if "known sizes" not in refusal.expected:
            raise
    _, sizes = bind_arguments(infer_types(program), arguments, {})
    return compile(program, sizes)

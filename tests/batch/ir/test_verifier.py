"""Each rule of InfReg-IR refuses a kernel that breaks it."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from drawloom.batch import lower, parse_file
from drawloom.batch.ir.ir import Format, Kernel, Value
from drawloom.batch.ir.verifier import verify
from drawloom.errors import VerifyError

pytest.importorskip("pycparser")

TEXT = """
__kernel void k(double *p, int n) {
    double a[2];
    for (int ix = 0; ix < 2; ++ix) a[ix] = p[get_global_id() * 2 + ix];
    int left = n;
    while (left > 0) { a[0] += a[1]; left -= 1; }
    p[get_global_id() * 2] = shuffle(a[0], 1);
}
"""


def find(kernel: Kernel, op: str) -> Value:
    return next(value for block in kernel.blocks() for value in block.values if value.op == op)


def set_type(op: str, type: str) -> Callable[[Kernel], None]:
    return lambda kernel: setattr(find(kernel, op), "type", type)


def set_lanes(lanes: NDArray[np.int32]) -> Callable[[Kernel], None]:
    return lambda kernel: setattr(find(kernel, "permute"), "detail", lanes)


def rename_pointer(kernel: Kernel) -> None:
    find(kernel, "load").detail.pointer = "q"


def forbid_writing(kernel: Kernel) -> None:
    kernel.parameters[0] = kernel.parameters[0]._replace(is_written=False)


BREAKS: dict[str, tuple[Callable[[Kernel], None], str]] = {
    "type": (set_type("fadd", "float"), "the result is float\n  expected double"),
    "format": (lambda kernel: setattr(find(kernel, "fadd"), "format", Format(2, 3)), "has another format"),
    "lane": (set_lanes(np.full((2, 1), 9, np.int32)), "lane 9 is out of range"),
    "shape": (set_lanes(np.zeros((1, 1), np.int32)), "do not have the format"),
    "pointer": (rename_pointer, "q is not a pointer of the kernel"),
    "unknown": (lambda kernel: setattr(find(kernel, "fadd"), "op", "fodd"), "the operation is unknown"),
    "carried": (lambda kernel: find(kernel, "loop").detail.next_values.pop(), "differ in number"),
    "parameter": (forbid_writing, "p is not written"),
    "twice": (lambda kernel: kernel.body.values.insert(1, kernel.body.values[0]), "the number is defined twice"),
    "early": (lambda kernel: kernel.body.values.reverse(), "is used before it is defined"),
}  # fmt: skip


def lowered() -> Kernel:
    return lower(parse_file(TEXT, wg_size=2)["k"], contract=False)


def test_what_the_front_end_makes_is_well_formed() -> None:
    verify(lowered())


@pytest.mark.parametrize("rule", BREAKS)
def test_a_broken_rule_is_refused(rule: str) -> None:
    kernel = lowered()
    damage, message = BREAKS[rule]
    damage(kernel)
    with pytest.raises(VerifyError) as refused:
        verify(kernel)
    assert message in str(refused.value)
    assert str(refused.value).startswith("k: %")

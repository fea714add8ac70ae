"""Recognise kernels in which no element depends on its place, such as C = A + B: any thread may have any element.

    t[ix] = a[group * 64 + wi * 8 + ix]     ->     t[j] = a[first * 64 + lane + j * live]

Every access of such a kernel lays the elements of a group into the lanes in the same dense way, and groups follow each
other without gaps. Nothing else depends on items, elements or groups. No shared memory is needed then.
"""

from __future__ import annotations

import numpy as np

from drawloom.batch.backends.cuda.tiles import group_stride, is_coalesced
from drawloom.batch.backends.demand import Demand
from drawloom.batch.ir.ir import Access, Kernel, Value
from drawloom.batch.ir.operations import CONVERSIONS, OPERATIONS


def is_stream(kernel: Kernel, demand: Demand) -> bool:
    """Return whether the threads of a warp may share the elements of its groups as they like."""
    accesses: list[Access] = []
    for value in kernel.body.values:
        if value.op in ("load", "store") and len(value.operands) == (value.op == "store"):
            if value.op == "load" and not demand.of(value).all():
                return False
            accesses.append(value.detail)
        elif value.op not in OPERATIONS and value.op not in CONVERSIONS and value.op != "argument":
            return False
        if not all(is_same_everywhere(operand) for operand in value.operands if operand.is_constant):
            return False
    return bool(accesses) and have_one_layout(accesses) and not is_coalesced(accesses[0].offsets, accesses[0].active)


def is_same_everywhere(constant: Value) -> bool:
    numbers = constant.detail.reshape(-1)
    return all(number.tobytes() == numbers[0].tobytes() for number in numbers)


def have_one_layout(accesses: list[Access]) -> bool:
    """Return whether all accesses lay all elements of a group, which are dense, into lanes in the same way."""
    layout = accesses[0].offsets - accesses[0].offsets.min()
    if len(np.unique(layout)) != layout.max() + 1 or layout.size != layout.max() + 1:
        return False
    return all(
        access.active.all()
        and access.offsets.shape == layout.shape
        and (access.offsets - access.offsets.min() == layout).all()
        and group_stride(access) == layout.size
        and all((term.coefficients == term.coefficients.flat[0]).all() for term in access.terms)
        for access in accesses
    )

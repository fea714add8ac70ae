"""Integers of 8 and 16 bits in lanes of 32 bits: every operation wraps as the narrow one does."""

import re
from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch import interpret_ir
from drawloom.batch.backends.native import NativeCode, NativeKernel
from drawloom.batch.ir.ir import DTYPES, Kernel

pytest.importorskip("pycparser")

ITEMS, GROUPS = 4, 64
OPERATIONS = {
    "add": "int: a + b", "sub": "int: a - b", "mul": "int: a * b", "sdiv": "int: a / b", "srem": "int: a % b",
    "udiv": "uint: a / b", "urem": "uint: a % b", "shl": "int: a << (b & 7)", "ashr": "int: a >> (b & 7)",
    "lshr": "uint: a >> (b & 7)", "icmp slt": "int: a < b ? a : b", "icmp ult": "uint: a < b ? a : b",
    "icmp uge": "uint: a >= b ? a : b", "icmp eq": "int: a == b ? 5 : a", "xor": "int: a ^ b",
}  # fmt: skip


def lower(operation: str) -> Kernel:
    type, _, expression = operation.partition(": ")
    text = f"""__kernel void k(const {type} *x, const {type} *y, {type} *z) {{
        {type} a = x[get_global_id()], b = y[get_global_id()];
        z[get_global_id()] = {expression};
    }}"""
    return batch.lower(batch.parse_file(text, wg_size=ITEMS)["k"])


def narrow(kernel: Kernel, type: str) -> Kernel:
    """Make a kernel's integers of 32 bits narrower: the kernel language promotes operands, as C does."""
    values = {operand.number: operand for value in kernel.body.values for operand in (value, *value.operands)}
    for value in values.values():
        if value.type == "i32":
            value.type = type
            if value.is_constant:
                value.detail = value.detail.astype(DTYPES[type])
    kernel.parameters = [parameter._replace(type=type) for parameter in kernel.parameters]
    return kernel


def draw(type: str) -> dict[str, Any]:
    limits = np.iinfo(DTYPES[type])
    rng = np.random.default_rng(0)
    special = [limits.min, limits.min + 1, -1, 0, 1, 2, limits.max - 1, limits.max]
    count = ITEMS * GROUPS
    pairs = [(a, b) for a in special for b in special]
    pairs += rng.integers(limits.min, limits.max, (count - len(pairs), 2)).tolist()
    numbers = np.array(pairs, DTYPES[type])
    return {"x": numbers[:, 0].copy(), "y": numbers[:, 1].copy(), "z": np.zeros(count, DTYPES[type])}


@pytest.mark.parametrize("type", ["i8", "i16"])
@pytest.mark.parametrize("op", OPERATIONS)
def test_narrow_operations_wrap(op: str, type: str) -> None:
    kernel = narrow(lower(OPERATIONS[op]), type)
    assert any(value.op == op and value.operands[0].type == type for value in kernel.body.values)
    expected, found = draw(type), draw(type)
    interpret_ir(kernel, GROUPS, expected)
    NativeKernel(kernel, "rows", 4, 16).run([array.ctypes.data for array in found.values()], 0, GROUPS)
    np.testing.assert_array_equal(found["z"], expected["z"])


@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("source", ["char", "uchar", "short", "ushort", "int", "ulong", "float"])
def test_narrow_integers_convert_as_the_interpreter_does(source: str, width: int) -> None:
    """Loads of runs, of parts and of scattered elements, shuffles, and conversions to and from every type."""
    names = ["char", "uchar", "short", "ushort", "uint", "long", "float", "double"]
    stores = "\n".join(f"z{n}[get_global_id() * 2 + 1] = ({name})shuffle(b, 1);" for n, name in enumerate(names))
    narrowed = "\n".join(
        f"{{ {name} s = a; z{n}[get_global_id() * 2] = s >= 3 ? s : -s / 3; }}" for n, name in enumerate(names)
    )
    parameters = ", ".join(f"{name} *z{n}" for n, name in enumerate(names))
    text = f"""__kernel void k(const {source} *x, {parameters}) {{
        {source} a = x[get_global_id()], b = x[get_global_id() * 2];
        {stores}
        {narrowed}
    }}"""
    parsed = batch.parse_file(text, wg_size=3)["k"]
    kernel = batch.lower(parsed)
    for order, pack in (("rows", 1), ("columns", 2), ("interleaved", 4)):
        expected, found = arguments(parsed), arguments(parsed)
        interpret_ir(kernel, 8, expected)
        NativeKernel(kernel, order, pack, width).run([array.ctypes.data for array in found.values()], 0, 8)
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array, err_msg=f"{order}, {pack}, {name}")


def arguments(kernel: Any) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    numbers = rng.integers(-(2**40), 2**40, 48)
    types = [parameter.type for parameter in batch.lower(kernel).parameters]
    first = numbers.astype(DTYPES[types[0]])
    return {"x": first, **{f"z{n}": np.zeros(48, DTYPES[type]) for n, type in enumerate(types[1:])}}


def test_no_vector_has_narrow_lanes_but_in_memory() -> None:
    text = """__kernel void k(const char *x, uchar *z) {
        char a = x[get_global_id()];
        z[get_global_id()] = (a > 3 ? a * 5 : shuffle(a, 1)) + 1;
    }"""
    code = NativeCode(batch.lower(batch.parse_file(text, wg_size=8)["k"]), "rows", 2).text
    narrow = [line.split("= ")[-1].split()[0] for line in code.splitlines() if re.search(r"x i(8|16)>", line)]
    assert set(narrow) <= {"load", "sext", "trunc", "store"}

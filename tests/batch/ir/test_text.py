"""InfReg-IR as text: it parses back to the same, LLVM takes it, and LLVM's code of it gives what the oracle gives."""

import ctypes
import random
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from drawloom.batch import interpret, interpret_ir, lower, parse_file
from drawloom.batch.backends.native import object_code
from drawloom.batch.ir.ir import Kernel
from drawloom.batch.ir.parser import parse_kernel
from drawloom.batch.ir.printer import show_kernel
from drawloom.batch.ir.verifier import verify
from drawloom.batch.kernels import GROUP_WISE, READY, parse_ready
from drawloom.cpu.vector.machine import Loaded
from drawloom.errors import Error, ParseError
from tests.batch.cases import copied, flat, make_arguments, same
from tests.batch.random_kernels import Generator

pytest.importorskip("pycparser")

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "batch"
#: Example 1 of the paper: a solved unknown of TRSV reaches all items, which update their numbers; pairs of groups of 4.
FRAGMENT = """
__kernel void fragment(const double *mat_a, double *vec_b) {
    double t_vec_b = vec_b[get_group_id() * 4 + get_local_id()];
    double t_mat_a[4];
    for (int ix = 0; ix < 4; ix += 1)
        t_mat_a[ix] = mat_a[get_group_id() * 16 + get_local_id() * 4 + ix];
    double solved = shuffle(t_vec_b, 1);
    if (get_local_id() > 1)
        t_vec_b -= t_mat_a[1] * solved;
    vec_b[get_group_id() * 4 + get_local_id()] = t_vec_b;
}
"""


def random_kernel(seed: int) -> tuple[Kernel, Generator]:
    generator = Generator(seed)
    return lower(parse_file(generator.text, wg_size=generator.wg_size)["drawn"]), generator


def check_round_trip(kernel: Kernel, pack: int) -> Kernel:
    text = show_kernel(kernel, pack)
    module = llvm.parse_assembly(text)
    module.verify()
    again = parse_kernel(text)
    verify(again)
    assert show_kernel(again, pack) == text
    return again


def test_the_paper_s_example_1(update_golden: bool) -> None:
    text = show_kernel(lower(parse_file(FRAGMENT, wg_size=4)["fragment"]), pack=2)
    path = GOLDEN / "trsv_fragment.ll"
    if update_golden:
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", READY)
def test_ready_kernels_parse_back(name: str) -> None:
    for size, pack in ((4, 1), (4, 2), (5, 3)):
        if name != "frcg" or pack == 1:
            check_round_trip(lower(parse_ready(name, wg_size=size, real="float")), pack)


def test_random_kernels_parse_back_and_mean_the_same() -> None:
    for seed in range(20):
        kernel, generator = random_kernel(seed)
        again = check_round_trip(kernel, 1 + seed % 2)
        expected = generator.arguments()
        found = copied(expected)
        interpret_ir(kernel, generator.groups, expected)
        interpret_ir(again, generator.groups, found)
        assert same(expected, found), seed


@pytest.mark.parametrize("name", GROUP_WISE)
@pytest.mark.parametrize("pack", [1, 2])
def test_llvm_s_code_of_the_text_equals_the_oracle(name: str, pack: int) -> None:
    """The text is a program of its own: no chunks, LLVM splits the vectors."""
    source = parse_ready(name, wg_size=4)
    loaded = Loaded(object_code(show_kernel(lower(source), pack)), [name])
    arguments = make_arguments(name, 4, 2 * pack, np.float64)
    expected, found = copied(arguments), copied(arguments)
    interpret(source, 2 * pack, flat(expected), contract=True)
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(source.parameters), ctypes.c_int64)
    pointers = [found[parameter.name].ctypes.data for parameter in source.parameters]
    for group in range(0, 2 * pack, pack):
        prototype(loaded.addresses[name])(*pointers, group)
    assert same(expected, found)


def test_damaged_text_is_refused_with_its_line_or_accepted() -> None:
    refused = 0
    texts = [show_kernel(random_kernel(seed)[0]) for seed in (1, 2, 3)]
    texts.append(show_kernel(lower(parse_ready("trsv", wg_size=2))))
    for seed in range(200):
        draw = random.Random(seed)
        rows = texts[seed % len(texts)].split("\n")
        for _ in range(draw.randint(1, 2)):
            place = draw.randrange(len(rows))
            row = rows[place]
            if draw.random() < 0.3:
                del rows[place]
            elif row:
                begin = draw.randrange(len(row))
                piece = draw.choice(("", "<", "%r1", "7", ",", "i1", "!2"))
                rows[place] = row[:begin] + piece + row[begin + draw.randint(0, 4) :]
        try:
            verify(parse_kernel("\n".join(rows), file="damaged.ll"))
        except Error as refusal:
            refused += 1
            assert str(refusal)
    assert 50 < refused < 200


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fneg", "fnag", "the operation fnag is unknown"),
        ('!"wg.size", i32 4', '!"wg.size", i32 5', "is for groups of another size than 4"),
        ('!"wi.ix"', '!"wi.xx"', "lacks wi.ix"),
        ("define", "defined", "found defined\n"),
        ("!infreg", "!infrog", "the line has no metadata"),
    ],
)
def test_errors_name_the_line(old: str, new: str, message: str) -> None:
    text = (GOLDEN / "trsv_fragment.ll").read_text()
    with pytest.raises(ParseError) as refused:
        parse_kernel(text.replace(old, new), file="k.ll")
    assert message in str(refused.value)
    assert str(refused.value).startswith("k.ll:")

"""Listings of cubins: as nvdisasm prints them, and errors for files that are damaged."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile

import pytest

from drawloom.errors import Error
from drawloom.sass.assemble import assemble as assemble_ptx
from drawloom.sass.encoding import encode
from drawloom.sass.isa import load_target
from drawloom.sass.listing import list_cubin
from drawloom.sass.text import parse_instruction
from tests.sass.test_cubin import golden
from tools.isa import vendor
from tools.isa.probes import ROOT, assemble, retargeted

KERNELS = ("matmul", "histogram", "scan", "reduce", "black_scholes")
#: Of ptxas's golden files, which nvdisasm needs 2 s each for: relocations of every kind, indirect branches, labels of
#: `.nv.info`, pairs of sm_61. `python -m tests.sass.test_listing` compares all of them but for these.
SAMPLE = (
    *("barriers@12.80.rel", "control_flow@12.90.rel", "dynamic_shared@12.75.rel", "functions@13.80.rel"),
    *("variables@12.90.rel", "vote@12.75.rel", "calls.sm_61.O1@12.61.exec", "variables@12.61.rel"),
)
#: nvdisasm warns that it does not see where this branch's table comes from, and then names neither table nor exit.
TABLE_NOT_SEEN = ("generic_addresses.sm_80.O3@12.90.rel", "generic_addresses.sm_80.O3@13.90.rel")


def cubin(kernel: str, target: int) -> bytes:
    if not vendor.assembles_for(target):
        pytest.skip(f"no ptxas for sm_{target} is installed (python -m tools.isa fetch)")
    text = (ROOT / "benchmarks" / "kernels" / f"{kernel}.ptx").read_text()
    made, complaints = assemble(retargeted(text, target), target, "3")
    if not made and "Unsupported .version" in complaints:
        pytest.skip("this ptxas does not know the PTX version of the probes")
    assert made, complaints
    return made


def printed(listing: str) -> list[str]:
    """The sections, labels and instructions of a listing, blanks and the scheduling bits aside."""
    found = []
    for line in listing.splitlines():
        if re.match(r" +/\*[0-9a-f]{4,}\*/", line):
            found.append(re.sub(r"\s+", " ", re.sub(r"/\* B.*\*/$", "", line)).strip())
        elif re.match(r"[.\w$]+:", line) or line.startswith("\t.section\t.text."):
            found.append(line.strip())
    return found


def by_nvdisasm(data: bytes, target: int) -> list[str]:
    """The same of nvdisasm."""
    name = "nvdisasm-12.4" if target < 75 else "nvdisasm"
    if vendor.find(name) is None:
        pytest.skip(f"{name} is not installed (python -m tools.isa fetch)")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(data)
        file.flush()
        done = subprocess.run([vendor.tool(name), "-c", "-ndf", file.name], capture_output=True, text=True)
    return printed(done.stdout)


@pytest.mark.vendor
@pytest.mark.parametrize(
    ("kernel", "target"), [*zip(KERNELS, (75, 80, 86, 89, 90)), *((kernel, 61) for kernel in KERNELS)]
)
def test_a_listing_is_what_nvdisasm_prints(kernel: str, target: int) -> None:
    data = cubin(kernel, target)
    assert printed(list_cubin(data)) == by_nvdisasm(data, target)


@pytest.mark.vendor
@pytest.mark.parametrize("name", SAMPLE)
def test_relocations_labels_and_pairs_are_listed_as_nvdisasm_lists_them(name: str) -> None:
    data = golden()[name][0]
    assert printed(list_cubin(data)) == by_nvdisasm(data, int(name.split(".")[-2]))


@pytest.mark.vendor
@pytest.mark.parametrize("target", (61, 90))
@pytest.mark.parametrize("source", ("mandelbrot", "hello"))
def test_our_own_files_are_listed_as_nvdisasm_lists_them(source: str, target: int) -> None:
    text = (ROOT / "examples" / f"{source}.ptx").read_text()
    data = bytes(assemble_ptx(text, f"sm_{target}", relocatable=source == "hello"))
    assert printed(list_cubin(data)) == by_nvdisasm(data, target)


def test_a_relocated_operand_is_named() -> None:
    """Without any tool: what the golden files of ptxas hold, as nvdisasm was seen to print it."""
    lines = printed(list_cubin(golden()["variables@12.61.rel"][0]))
    assert "/*00a8*/ { MOV R12, c[`((cc + 0x4))] ;" in lines
    assert "/*00b0*/ STG.E.64 [R10], R2 }" in lines
    assert "/*0010*/ MOV32I R4, 32@lo(wk) ;" in lines
    lines = printed(list_cubin(golden()["functions@12.80.rel"][0]))
    assert "/*0080*/ MOV R20, 32@lo((k2 + .L_x_0@srel)) ;" in lines
    assert "/*00a0*/ CALL.ABS.NOINC `(leaf) ;" in lines
    assert "/*0020*/ BRA `(.L_x_3);" in lines


@pytest.mark.vendor
@pytest.mark.parametrize("types", ("F2F.F16.F64", "F2F.F64.F32", "F2I.S64.F64", "F2I.U16.F64", "I2F.F64.U8"))
def test_conversions_of_64_bits_keep_their_register_on_pascal(types: str) -> None:
    if vendor.find("nvdisasm-12.4") is None:
        pytest.skip("nvdisasm of CUDA 12.4 is not installed (python -m tools.isa fetch)")
    text = f"{types} R10, R6.reuse"
    made = parse_instruction(load_target(61), text)
    assert made.text() == text
    control = 2 | made.control & ~15
    (theirs,) = vendor.texts_of([encode(made) | control << 64], 61)
    assert theirs == text


@pytest.mark.vendor
def test_damaged_cubins_are_errors() -> None:
    data = cubin("histogram", 90)
    chance = random.Random(5)
    for _ in range(300):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 8)):
            broken[chance.choice((chance.randrange(64), chance.randrange(len(broken))))] = chance.randrange(256)
        cut = bytes(broken[: chance.choice((len(broken), chance.randrange(len(broken))))])
        try:
            assert list_cubin(cut)
        except Error as refusal:
            assert str(refusal)


@pytest.mark.parametrize("data", (b"", b"\x7fELF", b"MZ" * 100, b"\x7fELF\x02\x01\x01" + bytes(57)))
def test_what_is_no_cubin_is_refused(data: bytes) -> None:
    with pytest.raises(Error):
        list_cubin(data)


def main() -> int:
    """Compares all golden files, which takes five minutes, and prints those that differ."""
    differing = 0
    for name, (data, _) in sorted(golden().items()):
        theirs = by_nvdisasm(data, int(name.split(".")[-2]))
        if printed(list_cubin(data)) != theirs and theirs:
            differing += 1
            print(name, "(known)" if name in TABLE_NOT_SEEN else "")
    print(f"{len(golden())} files, {differing} differ")
    return 0


if __name__ == "__main__":
    sys.exit(main())

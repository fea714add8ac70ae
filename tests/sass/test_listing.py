"""Listings of cubins: as nvdisasm prints them, and errors for files that are damaged."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from drawloom.errors import Error
from drawloom.sass.listing import list_cubin
from tools.isa import vendor
from tools.isa.probes import ROOT, assemble, retargeted

KERNELS = ("matmul", "histogram", "scan", "reduce", "black_scholes")
INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/ +(?:\{ +)?(.*?) *(?:\(\*.*\*\))? *(?:;|\}) *(?:/\*.*\*/)?$")


def cubin(kernel: str, target: int) -> bytes:
    if not vendor.assembles_for(target):
        pytest.skip(f"no ptxas for sm_{target} is installed (python -m tools.isa fetch)")
    text = (ROOT / "benchmarks" / "kernels" / f"{kernel}.ptx").read_text()
    made, complaints = assemble(retargeted(text, target), target, "3")
    if not made and "Unsupported .version" in complaints:
        pytest.skip("this ptxas does not know the PTX version of the probes")
    assert made, complaints
    return made


def instructions(listing: str) -> list[tuple[str, str]]:
    """(address, text) of every line that holds an instruction."""
    found = [INSTRUCTION.search(line) for line in listing.splitlines()]
    return [(match[1], match[2].rstrip()) for match in found if match is not None]


@pytest.mark.vendor
@pytest.mark.parametrize("target", (75, 80, 86, 89, 90))
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_listing_is_what_nvdisasm_prints(kernel: str, target: int, tmp_path: Path) -> None:
    data = cubin(kernel, target)
    if vendor.find("nvdisasm") is None:
        pytest.skip("nvdisasm is not installed (python -m tools.isa fetch)")
    file = tmp_path / "kernel.cubin"
    file.write_bytes(data)
    done = subprocess.run([vendor.tool("nvdisasm"), "-c", "-ndf", str(file)], capture_output=True, text=True)
    ours = list_cubin(data)
    assert instructions(ours) == instructions(done.stdout)
    labels = set(re.findall(r"^(\.L_x_\d+):", ours, re.M))
    assert labels == set(re.findall(r"`\((\.L_x_\d+)\)", ours))


@pytest.mark.vendor
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_pascal_listing_has_the_addresses_and_mnemonics_of_nvdisasm(kernel: str, tmp_path: Path) -> None:
    """nvdisasm numbers the labels of sm_61 by its own analysis of the branch stack; all else is the same."""
    data = cubin(kernel, 61)
    if vendor.find("nvdisasm-12.4") is None:
        pytest.skip("nvdisasm of CUDA 12.4 is not installed (python -m tools.isa fetch)")
    file = tmp_path / "kernel.cubin"
    file.write_bytes(data)
    done = subprocess.run([vendor.tool("nvdisasm-12.4"), "-c", "-ndf", str(file)], capture_output=True, text=True)

    def unnumbered(listing: str) -> list[tuple[str, str]]:
        return [(address, re.sub(r"\.L_x_\d+", ".L_x", text)) for address, text in instructions(listing)]

    assert unnumbered(list_cubin(data)) == unnumbered(done.stdout)


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

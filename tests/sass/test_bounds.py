"""What directives ask for: registers bounded as ptxas bounds them, sizes in the file, one clear error for too much."""

import re
import subprocess
from pathlib import Path

import pytest

from drawloom import assemble
from drawloom.errors import Error, UnsupportedError, VerifyError
from drawloom.ptx import parse
from drawloom.sass.bounds import bounds_of, overriding
from drawloom.sass.cubin import read_cubin
from tools.isa.vendor import find

HEADER = ".version 8.0\n.target sm_61\n.address_size 64\n"
TARGETS = (61, 75, 80, 86, 89, 90)
#: Directives, and the bound of registers that ptxas 12.9 writes for sm_61, 75, 80, 86, 89 and 90.
PROBES = {
    "": (255, 255, 255, 255, 255, 255),
    ".maxnreg 32": (32, 32, 32, 32, 32, 32),
    ".maxnreg 1000": (255, 255, 255, 255, 255, 255),
    ".maxnreg 4": (16, 24, 24, 24, 24, 24),
    ".maxnreg 17": (17, 24, 24, 24, 24, 24),
    ".maxntid 128": (255, 255, 255, 255, 255, 255),
    ".maxntid 256, 2, 1": (128, 128, 128, 128, 128, 128),
    ".maxntid 288": (168, 168, 168, 168, 168, 168),
    ".maxntid 768": (80, 80, 80, 80, 80, 80),
    ".maxntid 992": (64, 64, 64, 64, 64, 64),
    ".maxntid 2048": (32, 255, 32, 255, 255, 32),
    ".reqntid 1024": (64, 64, 64, 64, 64, 64),
    ".reqntid 64": (255, 255, 255, 255, 255, 255),
    ".reqntid 128 .minnctapersm 4": (128, 128, 128, 128, 128, 128),
    ".maxntid 256 .minnctapersm 6": (40, 255, 40, 40, 40, 40),
    ".maxntid 256 .minnctapersm 8": (32, 255, 32, 255, 255, 32),
    ".maxntid 1024 .minnctapersm 2": (32, 64, 32, 64, 64, 32),
    ".maxntid 1024 .minnctapersm 3": (64, 64, 64, 64, 64, 64),
    ".maxntid 100 .minnctapersm 3": (168, 168, 168, 168, 168, 168),
    ".maxntid 160 .minnctapersm 5": (72, 72, 72, 72, 72, 72),
    ".maxntid 224 .minnctapersm 3": (80, 80, 80, 80, 80, 80),
    ".maxntid 65 .minnctapersm 11": (56, 255, 56, 56, 56, 56),
    ".maxntid 32 .minnctapersm 9": (168, 168, 168, 168, 168, 168),
    ".maxntid 32 .minnctapersm 17": (96, 255, 96, 255, 96, 96),
    ".maxntid 32 .minnctapersm 25": (72, 255, 72, 255, 255, 72),
    ".maxntid 32 .minnctapersm 33": (255, 255, 255, 255, 255, 255),
    ".minnctapersm 4": (255, 255, 255, 255, 255, 255),
    ".minnctapersm 2 .maxnreg 40": (40, 40, 40, 40, 40, 40),
    ".maxnreg 200 .maxntid 1024": (200, 200, 200, 200, 200, 200),
    ".maxntid 128 .minnctapersm 4 .maxnreg 32": (32, 32, 32, 32, 32, 32),
    ".maxntid 32 .maxntid 64": (255, 255, 255, 255, 255, 255),
    '.maxntid 1024 .pragma "nounroll";': (64, 64, 64, 64, 64, 64),
}
MODULE = HEADER + "\n".join(f".visible .entry k{n}(.param .u32 x) {text} {{ ret; }}" for n, text in enumerate(PROBES))


@pytest.mark.parametrize("target", TARGETS)
def test_registers_are_bounded_as_ptxas_bounds_them(target: int) -> None:
    kernels = parse(MODULE).kernels
    found = [bounds_of(kernel, target).registers for kernel in kernels]
    assert found == [row[TARGETS.index(target)] for row in PROBES.values()]


def test_the_option_counts_where_no_directive_bounds_registers() -> None:
    """Also where the bound of a directive is no less than there are; as ptxas has it."""
    for text, bound in (("", 48), (".minnctapersm 4", 48), (".maxntid 128", 255), (".maxnreg 999", 255)):
        made = assemble(HEADER + f".visible .entry k() {text} {{ ret; }}", max_registers=48)
        assert made.kernels["k"].max_registers == bound


@pytest.mark.vendor
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("option", [255, 48])
def test_the_bounds_against_ptxas(target: int, option: int, tmp_path: Path) -> None:
    ptxas = find("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    source, made = tmp_path / "k.ptx", tmp_path / "k.cubin"
    source.write_text(MODULE)
    command = [ptxas, f"-arch=sm_{target}", f"-maxrregcount={option}", source, "-o", made]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip(f"this ptxas has no sm_{target}")
    theirs = read_cubin(made.read_bytes()).functions
    for kernel in parse(MODULE).kernels:
        ours, function = bounds_of(kernel, target, option), theirs[kernel.name]
        assert ours.registers == function.max_registers, kernel.directives
        assert ours.max_threads == function.max_threads
        assert ours.required_threads == function.required_threads


@pytest.mark.vendor
@pytest.mark.parametrize("option", [255, 64, 40])
@pytest.mark.parametrize("override", [[], ["-override-directive-values"]])
def test_what_is_said_of_the_option_beside_directives_against_ptxas(
    override: list[str], option: int, tmp_path: Path
) -> None:
    ptxas = find("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    source = tmp_path / "k.ptx"
    source.write_text(MODULE)
    command = [ptxas, "-arch=sm_75", "-v", f"-maxrregcount={option}", *override, source, "-o", tmp_path / "k.cubin"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = re.findall("^ptxas info    : (Overriding .*)", done.stderr, re.M)
    assert overriding(parse(MODULE).kernels, 75, option, bool(override)) == said
    assert len(said) > 5


def test_directives_are_in_the_file_and_obeyed() -> None:
    values = 56
    body = "".join(f"ld.global.u32 %r{n}, [a+{4 * n}];\n" for n in range(values))
    body += "".join(f"st.global.u32 [a+{4 * n}], %r{values - 1 - n};\n" for n in range(values))
    text = HEADER + (
        ".visible .entry k(.param .u64 p) .maxntid 1024, 1, 1 .minnctapersm 2\n"
        f"{{ .reg .u64 a; .reg .u32 %r<{values}>;\n"
        f"ld.param.u64 a, [p];\n{body}ret; }}"
    )
    for arch, bound in (("sm_90", 32), ("sm_86", 64)):  # ptxas keeps to these, too
        kernel = assemble(text, arch).kernels["k"]
        found = read_cubin(bytes(assemble(text, arch))).functions["k"]
        assert (found.max_registers, found.max_threads) == (bound, (1024, 1, 1))
        assert kernel.registers <= bound
        assert bool(kernel.spill_stores) == (values > bound)


def test_what_cannot_be_obeyed_is_said() -> None:
    said = {
        ".maxnreg 999": ".maxnreg 999 is more than there are, it is ignored",
        ".maxnreg 4": "4 registers are too few for sm_90's ABI, 24 are used",
        ".maxntid 1024 .minnctapersm 9": "sm_90 has no room for 9 blocks of 1024, .minnctapersm is ignored",
        ".maxntid 32 .minnctapersm 33": "sm_90 has no room for 33 blocks, .minnctapersm is ignored",
        ".maxntid 4096": "4096 threads are more than sm_90's 2048, .maxntid bounds no registers",
        ".minnctapersm 9": ".minnctapersm without .maxntid or .reqntid is ignored",
    }
    for text, warning in said.items():
        assert assemble(HEADER + f".visible .entry k() {text} {{ ret; }}").warnings == [f"'k': {warning}"]


USE = "ld.param.u64 a, [p]; st.global.u32 [a], r; ret; }"
START = ".visible .entry k(.param .u64 p) { .reg .u64 a; .reg .u32 r; "
TOO_MUCH = {
    "static shared memory": (
        ".shared .b8 s[49153];\n" + START + "mov.u32 r, s; " + USE, 5,
        "kernel 'k' has 49153 bytes of static shared memory, 49152 fit",
    ),
    "local memory": (
        START + ".local .b8 d[1099511627776];\nmov.u64 a, d; cvta.local.u64 a, a; st.u32 [a], 1; ret; }", 4,
        "'k' has 1099511627776 bytes of local memory for each thread",
    ),
    "an external variable": (".extern .global .u32 x;\n" + START + "ld.global.u32 r, [x]; " + USE, 4, "'x'"),
    "an external function": (
        ".extern .func f(.param .u32 x);\n" + START + "mov.u32 r, 0;\n{ .param .u32 q; st.param.u32 [q], r;\n"
        "call f, (q); }\n" + USE, 7, "'f'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TOO_MUCH)
def test_too_much_is_one_error_with_its_line(what: str) -> None:
    text, line, message = TOO_MUCH[what]
    with pytest.raises(UnsupportedError, match=re.escape(message)) as caught:
        assemble(HEADER + text, "sm_90", filename="a.ptx")
    assert str(caught.value).startswith(f"a.ptx:{line}:"), str(caught.value)


TOO_MANY = {
    ".const .b8 c[65540];\n.visible .entry k() { ret; }": "65540 bytes in .const space",
    ".visible .entry k(.param .b8 q[4356]) { ret; }": "'k' has 4356 bytes of parameters",
}


@pytest.mark.parametrize("text", TOO_MANY)
def test_constants_and_parameters_are_counted_by_verification(text: str) -> None:
    with pytest.raises(VerifyError, match=TOO_MANY[text]) as caught:
        assemble(HEADER + text)
    assert (caught.value.line, caught.value.column) == (4, 1)


def test_large_parameters() -> None:
    text = HEADER.replace("8.0", "8.1").replace("61", "70") + ".entry k(.param .align 4 .b8 q[32764]) { ret; }"
    assert assemble(text).kernels["k"].function.parameter_bytes == 32764


def test_shared_memory_that_is_not_used_does_not_count() -> None:
    assert assemble(HEADER + ".shared .b8 s[100000];\n.visible .entry k() { ret; }").kernels["k"].shared == 0


def test_what_a_target_lacks_names_the_line() -> None:
    text = HEADER.replace("61", "80").replace("8.0", "8.6") + START + "\nredux.sync.add.u32 r, r, -1; " + USE
    with pytest.raises(Error, match=r"k\.ptx:2:1: the PTX is for sm_80 or later"):
        assemble(text, "sm_75", filename="k.ptx")

"""Cubins: ours against ptxas's, part by part; resources and reports; damaged files; what is refused."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawloom.errors import Error, UnsupportedError
from drawloom.sass.assemble import assemble
from drawloom.sass.assembly import (
    POINTS_TO,
    AssembledFunction,
    Assembly,
    LineRow,
    Parameter,
    Part,
    Relocation,
    SourceFile,
    Variable,
)
from drawloom.sass.cubin import Cubin, read_cubin, write_cubin
from drawloom.sass.cubin_layout import LAYOUTS, RELOCATIONS, parameters_at, place_variables
from drawloom.sass.elf import ElfError, read_elf
from drawloom.sass.info import ATTRIBUTES, NVAL, SVAL, Attribute, read_info, write_info
from drawloom.sass.line_table import read_line_table, write_line_table
from tests.sass.cubin_structure import differences, structure
from tools import cubins as golden_tool
from tools.isa import vendor

CORPUS = Path(__file__).resolve().parent.parent / "golden" / "corpus"

#: Where our file may differ from ptxas's, and why: (entry, difference).
KNOWN = (
    # A file does not say whether a symbol came before another one because something referred to it earlier.
    (r"(calls|calls\.sm_61\.O1)@.*\.rel", r"symbols \(order\)"),
    (r"no_kernel@.*90\.rel|generic_addresses.*\.rel|variables@", r"symbols \(order\)"),
    # ptxas lists callers in the order in which it compiled them, we by symbol.
    (r"(calls|calls\.sm_61\.O1)@.*\.rel", r"\.nv\.callgraph \(order\)"),
    # ptxas steps over a control word with an opcode of its own; the rows are the same.
    (r"lines@12\.61", r"\.(rel\.)?nv_debug_line_sass"),
)


@cache
def golden() -> dict[str, tuple[bytes, str]]:
    """ptxas's files by name: the cubin and what `ptxas -v` printed."""
    with tarfile.open(golden_tool.ARCHIVE) as archive:
        files = {name: archive.extractfile(name).read() for name in archive.getnames()}  # type: ignore[union-attr]
    return {
        name.removesuffix(".cubin"): (data, files[name.removesuffix("cubin") + "txt"].decode())
        for name, data in files.items()
        if name.endswith(".cubin")
    }


CONFIGURATIONS = [(12, target) for target in (61, 75, 80, 86, 89, 90)] + [(13, target) for target in (75, 80, 90)]


def of(cuda: int, target: int) -> dict[str, tuple[bytes, str]]:
    found = {name: entry for name, entry in golden().items() if f"@{cuda}.{target}." in name}
    assert len(found) >= 20
    return found


def remade(data: bytes) -> bytes:
    return bytes(write_cubin(read_cubin(data).assembly))


def unexplained(name: str, data: bytes) -> list[str]:
    return [
        difference
        for difference in differences(data, remade(data))
        if not any(re.search(entry, name) and re.match(what, difference) for entry, what in KNOWN)
    ]


@pytest.mark.parametrize(("cuda", "target"), CONFIGURATIONS)
def test_ours_has_every_part_of_ptxas(cuda: int, target: int) -> None:
    for name, (data, _) in of(cuda, target).items():
        assert unexplained(name, data) == [], name


@pytest.mark.parametrize(("cuda", "target"), CONFIGURATIONS)
def test_reading_what_we_wrote_gives_the_same(cuda: int, target: int) -> None:
    for name, (data, _) in of(cuda, target).items():
        ours = read_cubin(remade(data))
        again = read_cubin(bytes(write_cubin(ours.assembly)))
        assert asdict(again.assembly) == asdict(ours.assembly), name
        assert again.data == ours.data, name


@pytest.mark.parametrize(("cuda", "target"), CONFIGURATIONS)
def test_the_report_says_what_ptxas_says(cuda: int, target: int) -> None:
    """But for the order, which in theirs is that of compilation, and for what no file tells: spills, and frames,
    which ptxas counts otherwise in a file than in print wherever there are calls."""
    for name, (data, printed) in of(cuda, target).items():
        if not name.endswith(".rel"):
            assert facts(read_cubin(data).report()) == facts(printed), name


def facts(report: str) -> list[str]:
    return sorted(line for line in report.splitlines() if line.startswith("ptxas info"))


def test_no_known_difference_is_stale() -> None:
    seen = set()
    for name, (data, _) in golden().items():
        for difference in differences(data, remade(data)):
            seen |= {row for row in KNOWN if re.search(row[0], name) and re.match(row[1], difference)}
    assert seen == set(KNOWN)


def test_kernels_show_their_resources() -> None:
    cubin = read_cubin(golden()["minnctapersm@12.80.exec"][0])
    kernel = cubin.kernels["k"]
    assert (cubin.target, kernel.name, kernel.registers, kernel.barriers) == (80, "k", 9, 1)
    assert (kernel.stack, kernel.shared, kernel.constant) == (0, 0, {0: 0x168})
    assert kernel.parameters == [Parameter(0, 8)]
    assert kernel.function.max_threads == (128, 1, 1)
    assert kernel.function.reads_block_z
    assert len(kernel.code) % 128 == 0
    assert kernel.spill_stores is None


def test_pointer_parameters_are_read() -> None:
    kernel = read_cubin(golden()["pointer_parameters@12.90.exec"][0]).kernels["k"]
    found = [(p.points_to, p.align_log2) for p in kernel.parameters]
    generic, shared, memory, local = (POINTS_TO[name] for name in ("generic", "shared", "global", "local"))
    assert found == [
        (generic, 0), (generic, 3), (memory, 4), (shared, 2), (memory, 1), (local, 5), (0, 0), (0, 0), (0, 0),
        (memory, 0),
    ]  # fmt: skip
    assert [(p.offset, p.size) for p in kernel.parameters[6:]] == [(0x30, 4), (0x40, 40), (0x68, 1), (0x70, 8)]


def test_large_parameters_start_elsewhere() -> None:
    assert [parameters_at(target, 4352) for target in LAYOUTS] == [0x140, 0x160, 0x160, 0x160, 0x160, 0x210]
    assert [parameters_at(target, 4353) for target in (75, 80, 86, 89, 90)] == [0x1A80] * 4 + [0x210]
    with pytest.raises(UnsupportedError):
        parameters_at(61, 4353)


# -- files of our own --------------------------------------------------------------------------------------------


def kernel(name: str = "k", **changes: object) -> AssembledFunction:
    function = AssembledFunction(name, bytes(256), registers=10, parameters=[Parameter(0, 8)], parameter_bytes=8)
    for field, value in changes.items():
        assert hasattr(function, field)
        setattr(function, field, value)
    return function


def rich_assembly(target: int, cuda: int, is_relocatable: bool) -> Assembly:
    """One of everything."""
    address = "R_CUDA_64" if cuda == 12 or target >= 75 else "R_CUDA_32"
    first = kernel(
        barriers=2,
        frame_bytes=16,
        stack_bytes=48,
        spill_stores=8,
        spill_loads=12,
        shared_bytes=640,
        shared_align=16,
        has_shared=True,
        max_threads=(64, 2, 1),
        required_threads=(64, 2, 1),
        max_registers=128,
        offsets={
            "EXIT_INSTR_OFFSETS": [16, 48],
            "COOP_GROUP_INSTR_OFFSETS": [32],
            "COOP_GROUP_MASK_REGIDS": [2**32 - 1],
        },
        indirect_branches=[(64, [0, 128])],
        externs=["vprintf"],
        calls=["vprintf", "helper"],
        crs_stack_bytes=0,
        constants=b"\1\2\3\4\5\6\7\10",
        relocations=[Relocation(96, "R_CUDA_ABS32_LO_32", "table", 4)],
        parts=[Part("$k$inner", 128, 64, 8)],
        lines=[LineRow(0, 1, 10), LineRow(16, 2, 3), LineRow(48, 1, 11)],
        ptx_lines=[LineRow(0, 0, 4), LineRow(48, 0, 9)],
    )
    helper = AssembledFunction("helper", bytes(128), is_entry=False, linkage="local", registers=24)
    variables = [
        Variable("table", "global", 16, 8, bytes(8), "visible", [Relocation(8, "R_CUDA_G64", "zeros", 4)]),
        Variable("byte", "global", 1, 1, b"\7"),
        Variable("zeros", "global", 400, 16),
        Variable("coefficients", "const", 12, 4, b"coefficients", "weak"),
    ]
    addresses = [Relocation(8, address, "vprintf"), Relocation(0, address, "table")]
    return Assembly(
        target, 60, [first, kernel("other"), helper], variables, addresses, 16,
        files=[SourceFile("weave.cu"), SourceFile("include/loom.h", 1700000000, 12)],
        ptx_text=".version 8.0\n.target sm_60\n", is_relocatable=is_relocatable, cuda=cuda,
    )  # fmt: skip


@pytest.mark.parametrize("is_relocatable", [False, True])
@pytest.mark.parametrize(("cuda", "target"), [*CONFIGURATIONS, (13, 86), (13, 89)])
def test_a_file_of_everything_comes_back(cuda: int, target: int, is_relocatable: bool) -> None:
    assembly = rich_assembly(target, cuda, is_relocatable)
    data = bytes(write_cubin(assembly))
    found = read_cubin(data).assembly
    for function in assembly.functions:
        function.spill_stores = function.spill_loads = None
        if is_relocatable:
            function.stack_bytes = 0  # known only when everything is there
    assert [asdict(f) for f in found.functions] == [asdict(f) for f in assembly.functions]
    assert {v.name: (v.offset, v.size, v.linkage, v.space) for v in found.variables} == {
        v.name: (v.offset, v.size, v.linkage, v.space) for v in assembly.variables
    }
    assert (found.target, found.ptx_target, found.cuda, found.files) == (target, 60, cuda, assembly.files)
    assert (found.ptx_text, found.is_relocatable) == (assembly.ptx_text, is_relocatable)
    assert sorted(found.addresses, key=lambda r: r.offset) == sorted(assembly.addresses, key=lambda r: r.offset)
    parts = structure(data)
    assert parts["header"][2] == ("ET_REL" if is_relocatable else "ET_EXEC")
    assert bool(parts["segments"]) != is_relocatable


def test_the_same_assembly_gives_the_same_bytes() -> None:
    assert bytes(write_cubin(rich_assembly(90, 12, False))) == bytes(write_cubin(rich_assembly(90, 12, False)))


def test_the_report_of_our_own_kernel_has_its_spills() -> None:
    report = write_cubin(rich_assembly(80, 12, False)).report()
    assert report.splitlines()[:4] == [
        "ptxas info    : 417 bytes gmem, 12 bytes cmem[3], 16 bytes cmem[4]",
        "ptxas info    : Compiling entry function 'k' for 'sm_80'",
        "ptxas info    : Function properties for k",
        "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads",
    ]
    assert report.splitlines()[4] == (
        "ptxas info    : Used 10 registers, used 2 barriers, 48 bytes cumulative stack size, "
        "640 bytes smem, 360 bytes cmem[0], 8 bytes cmem[2]"
    )


def test_the_report_has_the_spills_of_each_function() -> None:
    """A device function that stays one, beside a kernel that spills nothing; by itself in a relocatable file."""
    values = ", ".join(f"v{n}" for n in range(32))
    loads = " ".join(f"ld.volatile.u32 v{n}, [p+{4 * n}];" for n in range(32))
    stores = " ".join(f"st.volatile.u32 [p+{4 * n}], v{31 - n};" for n in range(32))
    text = (
        ".version 8.0\n.target sm_61\n.address_size 64\n"
        f".visible .func f(.param .b64 o) {{ .reg .b32 {values}; .reg .b64 p; ld.param.u64 p, [o];"
        f" {loads} {stores} ret; }}\n"
        ".visible .entry k(.param .b64 o) { .reg .b64 p; .shared .align 4 .b8 s[40]; ld.param.u64 p, [o];"
        " st.shared.u32 [s], 1; { .param .b64 x; st.param.b64 [x], p; call f, (x); } ret; }\n"
    )
    own = r"Function properties for k\n    \d+ bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    callee = r"Function properties for f\n    \d+ bytes stack frame, [1-9]\d* bytes spill stores, [1-9]\d* bytes"
    for target in (61, 90):
        for relocatable in (False, True):
            report = assemble(text, f"sm_{target}", max_registers=24, most_copied=0, relocatable=relocatable).report()
            assert re.search(own, report), report
            assert re.search(callee, report), report
            assert ", 40 bytes smem" in report


def test_header_numbers() -> None:
    flags = {
        (12, 61): 0x3C053D, (12, 75): 0x3C054B, (12, 90): 0x3C055A, (13, 75): 0x4B04, (13, 90): 0x5A04,
    }  # fmt: skip
    for (cuda, target), expected in flags.items():
        elf = read_elf(bytes(write_cubin(Assembly(target, 60, [kernel()], cuda=cuda))))
        found = elf.flags & 0xFFFFFF if cuda == 13 else elf.flags
        assert (found, elf.os_abi, elf.abi_version) == (expected, *((0x33, 7) if cuda == 12 else (0x41, 8)))


def test_variables_are_placed_by_alignment_and_keep_the_place_they_have() -> None:
    variables = [
        Variable("a", "global", 1),
        Variable("b", "global", 8, 8),
        Variable("c", "global", 2, 2),
        Variable("d", "global", 24, 8, offset=8),
        Variable("e", "const", 4, 4),
    ]
    assert place_variables(variables) == {".nv.global": 43, ".nv.constant3": 4}
    assert [v.offset for v in variables] == [42, 32, 40, 8, 0]


REFUSED = {
    "an undefined symbol": (
        Assembly(80, functions=[kernel(relocations=[Relocation(0, "R_CUDA_32", "no")])]), "no, which"
    ),
    "an unknown relocation": (Assembly(80, functions=[kernel(relocations=[Relocation(0, "R_X", "k")])]), "R_X"),
    "two symbols of one name": (Assembly(80, functions=[kernel(), kernel()]), "k is defined twice"),
    "variables that overlap": (
        Assembly(80, variables=[Variable("a", "global", 8, offset=0), Variable("b", "global", 8, offset=4)]), "overlap"
    ),
    "a value larger than its variable": (Assembly(80, variables=[Variable("a", "global", 2, data=b"123")]), "larger"),
    "a target that there is none for": (Assembly(70, functions=[kernel()]), "sm_70"),
    "sm_61 under CUDA 13": (Assembly(61, functions=[kernel()], cuda=13), "sm_75"),
    "CUDA 11": (Assembly(80, functions=[kernel()], cuda=11), "CUDA 11"),
    "a number too large for its field": (Assembly(80, functions=[kernel(max_registers=1 << 20)]), "does not fit"),
    "parameters too large for sm_61": (Assembly(61, functions=[kernel(parameter_bytes=5000)]), "4352"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    assembly, message = REFUSED[what]
    with pytest.raises(Error, match=message):
        write_cubin(assembly)


# -- damaged files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not an ELF file"),
        (b"hello, this is not an ELF file at all, but rather a sentence that is long enough to be one", "not an ELF"),
        (b"\x7fELF\x01\x01\x01" + bytes(80), "not a 64-bit"),
    ],
)
def test_files_that_are_no_cubins(data: bytes, message: str) -> None:
    with pytest.raises(ElfError, match=message):
        read_cubin(data)


def test_an_elf_file_of_another_machine() -> None:
    data = bytearray(golden()["empty@12.80.exec"][0])
    data[18] = 62
    with pytest.raises(ElfError, match="machine 62, not a cubin"):
        read_cubin(bytes(data))


def test_every_truncation_is_refused_or_read() -> None:
    data = golden()["externs@13.90.exec"][0]
    for end in range(0, len(data), 7):
        read_or_refuse(data[:end])


def test_a_note_without_bytes_is_no_traceback() -> None:
    """Found by flipping bits: a section that says that it has bytes, and is of a kind that has none."""
    data = bytearray(golden()["empty@13.90.exec"][0])
    elf = read_elf(bytes(data))
    place = next(i for i, s in enumerate(elf.sections) if s.name == ".note.nv.cuinfo")
    headers = int.from_bytes(data[0x28:0x30], "little")
    data[headers + place * 64 + 4] = 8
    assert read_cubin(bytes(data)).assembly.ptx_target == 90


def read_or_refuse(data: bytes) -> None:
    try:
        cubin = read_cubin(data)
    except Error:
        return
    cubin.report()
    for found in cubin.kernels.values():
        assert found.constant is not None
        assert found.stack >= 0


@given(st.data())
def test_fuzz_damaged_cubins(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(golden())))
    damaged = bytearray(golden()[name][0])
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] = data.draw(st.sampled_from([0, 0xFF, damaged[place] ^ 1, damaged[place] ^ 0x80, 0x7F]))
    if data.draw(st.integers(0, 9)) == 0:
        del damaged[data.draw(st.integers(0, len(damaged))) :]
    read_or_refuse(bytes(damaged))


# -- attributes and line tables ----------------------------------------------------------------------------------

numbers = st.integers(0, 0xFFFF)
attributes = st.sampled_from(sorted(ATTRIBUTES)).flatmap(
    lambda name: (
        st.builds(lambda data: Attribute(name, 0, data), st.binary(max_size=40))
        if ATTRIBUTES[name][1] == SVAL
        else st.builds(lambda value: Attribute(name, 0 if ATTRIBUTES[name][1] == NVAL else value), numbers)
    )
)


@given(st.lists(attributes, max_size=8))
def test_attributes_come_back(found: list[Attribute]) -> None:
    assert read_info(write_info(found), ".nv.info") == found


rows = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 3), st.integers(0, 100_000)), min_size=1, max_size=20).map(
    lambda steps: make_rows(steps)
)


def make_rows(steps: list[tuple[int, int, int]]) -> list[LineRow]:
    found, offset = [], 0
    for ahead, file, line in steps:
        offset += 8 * ahead
        found.append(LineRow(offset, file, line))
    return found


@given(st.lists(rows, max_size=4))
def test_line_tables_come_back(functions: list[list[LineRow]]) -> None:
    files = [SourceFile("a.cu"), SourceFile("/x/b.h", 1 << 31, 77), SourceFile("/x/c.h")]
    data, places = write_line_table(files, [(own[-1].offset + 16, own) for own in functions])
    assert read_line_table(data) == (files, list(zip(places, functions)))


def test_the_rows_of_sm_61_are_those_of_ptxas() -> None:
    """The one table whose bytes differ from ptxas's."""
    data = golden()["lines@12.61.lines"][0]
    found = []
    for elf in (read_elf(data), read_elf(remade(data))):
        section = elf.find(".nv_debug_line_sass")
        assert section is not None
        found.append([rows for _, rows in read_line_table(section.data)[1]])
    assert found[0] == found[1]
    assert [len(rows) for rows in found[0]] == [3, 5]


# -- the vendor's tools ------------------------------------------------------------------------------------------


def tool(name: str) -> str:
    found = vendor.find(name)
    if found is None:
        pytest.skip(f"{name} is not installed: `python -m tools.isa fetch` downloads it")
    return found


def printed(*command: str) -> tuple[int, str, str]:
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


#: Files that nvdisasm, which takes a second for one, reads of each configuration.
SAMPLE = re.compile(r"function_pointers@.*exec|functions@.*rel|lines@")


@pytest.mark.vendor
@pytest.mark.parametrize(("cuda", "target"), CONFIGURATIONS)
def test_nvdisasm_reads_ours_as_it_reads_theirs(cuda: int, target: int, tmp_path: Path) -> None:
    nvdisasm = tool("nvdisasm-12.4" if target < 75 else "nvdisasm")
    options = ["-c", "-novliw"] if target < 75 else ["-c"]
    for name, (data, _) in of(cuda, target).items():
        if not SAMPLE.match(name):
            continue
        theirs, ours = tmp_path / "theirs.cubin", tmp_path / "ours.cubin"
        theirs.write_bytes(data)
        ours.write_bytes(remade(data))
        expected, found = printed(nvdisasm, *options, str(theirs)), printed(nvdisasm, *options, str(ours))
        assert found[0] == expected[0] == 0, found[2]
        code = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/.*;.*$", re.M)
        assert code.findall(found[1]) == code.findall(expected[1]) != [], name


@pytest.mark.vendor
@pytest.mark.parametrize(("cuda", "target"), CONFIGURATIONS)
def test_cuobjdump_says_the_same_of_ours(cuda: int, target: int, tmp_path: Path) -> None:
    cuobjdump = tool("cuobjdump")
    for name, (data, _) in of(cuda, target).items():
        if not SAMPLE.match(name):
            continue
        path = tmp_path / "one.cubin"
        path.write_bytes(data)
        expected = printed(cuobjdump, "-res-usage", str(path))
        path.write_bytes(remade(data))
        assert printed(cuobjdump, "-res-usage", str(path)) == expected, name
        assert printed(cuobjdump, "-elf", str(path))[0] == 0, name


def in_no_order(cubin: Cubin) -> tuple[dict[str, object], dict[str, object]]:
    """Functions and variables by name, with calls sorted."""
    functions: dict[str, object] = {}
    for name, function in cubin.functions.items():
        functions[name] = asdict(function) | {"calls": sorted(function.calls)}
    return functions, {v.name: asdict(v) for v in cubin.assembly.variables}


@pytest.mark.vendor
def test_the_vendors_linker_makes_the_same_of_ours(tmp_path: Path) -> None:
    nvlink = shutil.which("nvlink")
    if nvlink is None:
        pytest.skip("nvlink is not on PATH")
    count = 0
    for name, (data, _) in golden().items():
        target = int(name.split("@")[1].split(".")[1])
        if not name.endswith(".rel") or target < 75:
            continue
        linked: list[Cubin | int] = []
        for version in (data, remade(data)):
            source, out = tmp_path / "in.cubin", tmp_path / "out.cubin"
            source.write_bytes(version)
            code, _, _ = printed(nvlink, f"-arch=sm_{target}", str(source), "-o", str(out))
            linked.append(code or read_cubin(out.read_bytes()))
        theirs, ours = linked
        if isinstance(theirs, Cubin) and isinstance(ours, Cubin):
            assert in_no_order(theirs) == in_no_order(ours), name
            count += 1
        else:
            assert theirs == ours, name
    assert count >= 40


@pytest.mark.vendor
@pytest.mark.parametrize("target", [61, 75, 80, 86, 89, 90])
def test_the_corpus_against_ptxas(target: int) -> None:
    """What ptxas makes of the corpus, every ninth file, executable and relocatable."""
    ptxas = tool("ptxas")
    cuda = 13 if "release 13" in printed(ptxas, "--version")[1] else 12
    if cuda == 13 and target < 75:
        pytest.skip("this ptxas has no sm_61")
    count = 0
    for source in sorted((CORPUS / "clang").glob("*.ptx"))[target % 9 :: 9]:
        needs = re.search(r"\.target\s+sm_(\d+)", source.read_text())
        assert needs is not None
        if int(needs[1]) > target:
            continue
        made = golden_tool.assemble(ptxas, source, target, [])
        assert made is not None, source.name
        found = [d for d in differences(made[0], remade(made[0])) if "(order)" not in d and ".debug_" not in d]
        assert found == [], source.name
        count += 1
    assert count >= 3


def test_relocations_have_the_numbers_that_ptxas_uses() -> None:
    """As cuobjdump names them in ptxas's files."""
    expected = {
        "R_CUDA_64": 2, "R_CUDA_G64": 4, "R_CUDA_ABS32_20": 42, "R_CUDA_ABS32_LO_20": 43, "R_CUDA_ABS32_HI_20": 44,
        "R_CUDA_CONST_FIELD19_20": 50, "R_CUDA_ABS32_32": 55, "R_CUDA_ABS32_LO_32": 56, "R_CUDA_ABS32_HI_32": 57,
        "R_CUDA_ABS47_34": 58, "R_CUDA_CONST_FIELD19_40": 64, "R_CUDA_CONST_FIELD21_38": 66, "R_CUDA_ABS24_40": 74,
        "R_CUDA_ABS55_16_34": 75, "R_CUDA_G8_56": 91, "R_CUDA_UNIFIED": 102, "R_CUDA_ABS56_16_34": 114,
        "R_CUDA_CONST_FIELD22_37": 115,
    }  # fmt: skip
    assert {name: RELOCATIONS[name] for name in expected} == expected

"""Our cubins beside ptxas's for the same PTX, part by part: what differs is on a list, with the reason."""

from __future__ import annotations

import re
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from drawloom import assemble
from drawloom.errors import UnsupportedError
from drawloom.sass.assemble import SELECTED
from drawloom.sass.cubin import Cubin, read_cubin
from tests.sass.cubin_structure import structure
from tools.isa.vendor import assembles_for, find

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "golden" / "corpus"
TARGETS = (61, 75, 80, 86, 89, 90)
FILES = [
    *sorted(ROOT.glob("examples/*.ptx")),
    *sorted(ROOT.glob("benchmarks/kernels/*.ptx")),
    *sorted((ROOT / "tests" / "golden" / "sass" / "cubins").glob("*.ptx")),
    *sorted(CORPUS.glob("clang/*.ptx"))[::12],
    *sorted(CORPUS.glob("hand/*.ptx"))[::4],
    *sorted(CORPUS.glob("nvcc/*.ptx"))[::12],
]

#: Parts that may differ, and why. "field" is of a function, "section" of the file, "offsets" the number of places.
EXPLAINED = {
    "field code": "the code is ours",
    "field registers": "registers are assigned by us",
    "field frame_bytes": "frames are laid out by us",
    "field stack_bytes": "frames are laid out by us",
    "field shared_align": "of those that it drops",
    "field crs_stack_bytes": "0 where there is a BSSY: lanes that leave a kernel in its middle meet at its end in ours",
    "field parts": "their places and sizes; ptxas keeps other device functions out of line, and has some for division",
    "field lines": "PTX for a debugger (.target debug) has line tables without being asked for; ours need -lineinfo",
    "field ptx_lines": "the same",
    "field constants": "we jump by a tree of branches where ptxas has a table; pointers to functions have a table",
    "field indirect_branches": "the same",
    "field relocations": "code of ptxas's that does not go through the bank of addresses",
    "field calls": "in the order of their calls",
    "offsets EXIT_INSTR_OFFSETS": "the code is ours",
    "offsets COOP_GROUP_INSTR_OFFSETS": "ptxas unrolls loops",
    "offsets COOP_GROUP_MASK_REGIDS": "ptxas unrolls loops",
    "offsets INT_WARP_WIDE_INSTR_OFFSETS": "ptxas unrolls loops, and adds up a warp's atomics first",
    "section .text": "a device function that no kernel calls has one of its own",
    "section .nv.info": "of such a function",
    "section .nv.shared": "of dropped variables",
    "section .nv.constant2": "tables of jumps and of functions",
    "section .nv.constant4": "the addresses that code names, in the order in which it does",
    "section .rel.nv.constant4": "the same",
    "section .rela.nv.constant4": "the same",
    "section .rel.text": "code of ptxas's that does not go through the bank of addresses",
    "section .rela.text": "the same",
    "section .nv.callgraph": "functions that are put into their callers are no edges",
    "section .nv.global.init": "numbers of functions; variables stand in the file's order",
    "section .nv_debug_line_sass": "the same",
    "section .rel.nv_debug_line_sass": "the same",
    "section .rela.nv_debug_line_sass": "the same",
    "section .nv_debug_ptx_txt": "the same",
    "section .nv_debug_info_reg_sass": "the same",
    "section .nv_debug_info_reg_type": "the same",
    "section .rel.nv.global.init": "the same",
    "section .rela.nv.global.init": "the same",
    "section .debug": "of a debugger's sections only the line tables are made",
    "segments": "one for the tables of jumps",
    "field externs": "in the order of their calls",
    "offsets SYSCALL_OFFSETS": "ptxas joins calls",
    "offsets UNUSED_LOAD_BYTE_OFFSET": "which bytes of wide loads are not needed is only advice",
    "offsets ATOM16_EMUL_INSTR_REG_MAP": "halves are added atomically by a loop of ours",
    "functions": "device functions that no kernel calls have no code in ours",
}  # fmt: skip
#: ptxas writes it for functions that return several registers; docs/sass.md says so.
UNKNOWN_ABI = 2


def lowered(text: str) -> str:
    """PTX whose version the oracle knows."""
    return re.sub(r"(?m)^\.version\s+9\.\d", ".version 8.8", text)


def by_ptxas(text: str, target: int, folder: Path, *options: str) -> bytes | None:
    source, made = folder / "a.ptx", folder / "a.cubin"
    source.write_text(text)
    made.unlink(missing_ok=True)
    subprocess.run([str(find("ptxas")), f"-arch=sm_{target}", *options, source, "-o", made], capture_output=True)
    return made.read_bytes() if made.exists() else None


def section_kind(name: str) -> str:
    """A section's name without the function's."""
    found = re.match(r"\.(text|nv\.info|nv\.constant\d|nv\.shared|rela?\.text|rela?\.nv\.constant\d)", name)
    return found[0] if found else ".debug" if re.match(r"(\.rela?)?\.debug_", name) else name


def different(ours: Cubin, theirs: bytes) -> dict[str, Any]:
    """The parts that differ, with both contents."""
    found: dict[str, Any] = {}
    mine, other = structure(bytes(ours)), structure(theirs)
    for part in ("header", "segments"):
        if mine[part] != other[part] and not (part == "header" and other[part][1] == UNKNOWN_ABI):
            found[part] = (mine[part], other[part])
    for name in mine.keys() | other.keys():
        # What is in the sections of functions is compared by fields below.
        by_field = name.startswith((".text.", ".nv.info", ".nv.constant2.", ".nv.shared."))
        if name.startswith(".") and (name not in mine or name not in other):
            found["section " + section_kind(name)] = (name, mine.get(name), other.get(name))
        elif name.startswith(".") and mine[name] != other[name] and not by_field:
            found["section " + section_kind(name)] = (name, mine[name], other[name])
    first, second = read_cubin(bytes(ours)).functions, read_cubin(theirs).functions
    if first.keys() != second.keys():
        found["functions"] = (list(first), list(second))
    for name in first.keys() & second.keys():
        for field in fields(first[name]):
            one, two = getattr(first[name], field.name), getattr(second[name], field.name)
            if field.name == "offsets":
                for key in one.keys() | two.keys():
                    if len(one.get(key, [])) != len(two.get(key, [])):
                        found["offsets " + key] = (name, len(one.get(key, [])), len(two.get(key, [])))
            elif one != two:
                found["field " + field.name] = (name, one, two)
    return found


@pytest.mark.vendor
@pytest.mark.parametrize("target", TARGETS)
def test_what_differs_from_ptxas_is_explained(target: int, tmp_path: Path) -> None:
    if target not in SELECTED:
        pytest.skip(f"no code is made for sm_{target} yet")
    if find("ptxas") is None or not assembles_for(target):
        pytest.skip(f"no ptxas for sm_{target} is installed (python -m tools.isa fetch)")
    count = 0
    unexplained: dict[str, Any] = {}
    texts = [(file.name, lowered(file.read_text())) for file in FILES]
    texts = [(name, text) for name, text in texts if int(re.search(r"\.target\s+sm_(\d+)", text)[1]) <= target]
    for name, text in texts[TARGETS.index(target) :: len(texts) // 8]:
        theirs = by_ptxas(text, target, tmp_path)
        if theirs is None:
            continue  # it refuses what is not documented to need more
        try:
            ours = assemble(text, f"sm_{target}", cuda=13 if theirs[7] == 0x41 else 12)
        except UnsupportedError:
            continue  # said in its own tests
        count += 1
        for part, contents in different(ours, theirs).items():
            if part not in EXPLAINED:
                unexplained[part] = (name, *contents)
    assert unexplained == {}
    assert count >= 5


RELOCATABLE = """
.version 7.8
.target sm_61
.address_size 64
.extern .func (.param .b32 r) outside (.param .b32 a, .param .b64 p);
.visible .global .align 4 .u32 counter[4];
.global .align 4 .u32 table[4] = {1, 2, 3, 4};
.const .align 4 .u32 numbers[4] = {5, 6, 7, 8};
.shared .align 4 .b8 block[64];
.visible .func (.param .b32 r) mine (.param .b32 a)
{ .reg .b32 x; ld.param.b32 x, [a]; add.u32 x, x, 1; st.param.b32 [r], x; ret; }
.visible .entry k(.param .u64 p)
{
    .reg .u64 %a, %c; .reg .u32 %x, %y; .reg .pred %q;
    ld.param.u64 %a, [p]; ld.global.u32 %x, [%a];
M:  { .param .b32 a0; .param .b64 a1; .param .b32 r0; st.param.b32 [a0], %x; st.param.b64 [a1], %a;
    call (r0), outside, (a0, a1); ld.param.b32 %x, [r0]; }
    { .param .b32 a0; .param .b32 r0; st.param.b32 [a0], %x; call (r0), mine, (a0); ld.param.b32 %x, [r0]; }
    setp.lt.u32 %q, %x, 100; @%q bra M;
    ld.global.u32 %y, [table+4]; add.u32 %x, %x, %y; ld.const.u32 %y, [numbers+8]; add.u32 %x, %x, %y;
    st.shared.u32 [block], %x; mov.u64 %c, counter; atom.global.add.u32 %y, [%c+4], %x; st.global.u32 [%a], %y;
    ret;
}
"""


@pytest.mark.vendor
def test_a_relocatable_file_of_sm_61_is_ptxass(tmp_path: Path) -> None:
    """All attributes, sections and symbols; of relocations the kinds, since instructions stand elsewhere."""
    if find("ptxas") is None or not assembles_for(61):
        pytest.skip("no ptxas for sm_61 is installed (python -m tools.isa fetch)")
    theirs = by_ptxas(RELOCATABLE, 61, tmp_path, "-c")
    assert theirs is not None
    ours = assemble(RELOCATABLE, "sm_61", relocatable=True)
    found = different(ours, theirs)
    assert found.keys() <= EXPLAINED.keys() | {"field relocations"}
    assert not {"field prototype", "field calls", "field crs_stack_bytes"} & found.keys()
    mine, other = read_cubin(bytes(ours)), read_cubin(theirs)
    assert mine.functions.keys() == other.functions.keys()
    assert mine.assembly.extern_prototypes == other.assembly.extern_prototypes
    for symbol, kinds in (
        ("outside", {"R_CUDA_ABS32_20"}), ("mine", {"R_CUDA_ABS32_20"}), ("block", {"R_CUDA_ABS24_20"}),
        ("table", {"R_CUDA_ABS32_LO_20", "R_CUDA_ABS32_HI_20"}),
        ("counter", {"R_CUDA_ABS32_LO_20", "R_CUDA_ABS32_HI_20"}),
    ):  # fmt: skip
        for cubin in (mine, other):
            assert {r.kind for r in cubin.functions["k"].relocations if r.symbol == symbol} == kinds
    assert [r.kind for r in mine.functions["k"].relocations if r.symbol == "numbers"] == ["R_CUDA_ABS16_20"]


POINTERS = """
.version 7.0
.target sm_61
.address_size 64
.extern .func (.param .b32 r) outside(.param .b32 a);
.visible .func (.param .b32 r) twice(.param .b32 a)
{ .reg .u32 %x; ld.param.u32 %x, [a]; add.u32 %x, %x, %x; st.param.b32 [r], %x; ret; }
.global .u64 table[3] = {twice, outside, 0};
.visible .entry k(.param .u64 out, .param .u32 n)
{
    .reg .u64 %o, %f, %g; .reg .u32 %n, %x; .reg .pred %p;
    ld.param.u64 %o, [out]; ld.param.u32 %n, [n]; mov.u64 %g, outside; st.global.u64 [%o+8], %g;
    mov.u32 %x, %n; ld.global.u64 %f, [table+8]; setp.gt.u32 %p, %n, 3;
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %n;
P:  .callprototype (.param .b32 _) _ (.param .b32 _);
    @%p call (r), %f, (a), P; ld.param.b32 %x, [r]; }
    st.global.u32 [%o], %x;
    ret;
}
"""


@pytest.mark.vendor
@pytest.mark.parametrize("target", [61, 80])
def test_pointers_to_functions_in_a_relocatable_file_are_ptxass(target: int, tmp_path: Path) -> None:
    """Calls through them on sm_61 were refused; undefined functions whose address is taken had a prototype like those
    that are called by name."""
    if find("ptxas") is None or not assembles_for(target):
        pytest.skip(f"no ptxas for sm_{target} is installed (python -m tools.isa fetch)")
    text = POINTERS.replace("sm_61", f"sm_{target}")
    theirs = by_ptxas(text, target, tmp_path, "-c")
    assert theirs is not None
    ours = assemble(text, f"sm_{target}", relocatable=True, cuda=13 if theirs[7] == 0x41 else 12)
    # Ours may reach functions that only initialisers name, too.
    differs = {"field relocations", "field pointer_callees"}
    assert different(ours, theirs).keys() <= EXPLAINED.keys() | differs
    mine, other = read_cubin(bytes(ours)), read_cubin(theirs)
    assert mine.assembly.extern_addresses == other.assembly.extern_addresses == {"outside": "#ii"}
    assert mine.assembly.extern_prototypes == other.assembly.extern_prototypes == {}
    for cubin in (mine, other):
        k = cubin.functions["k"]
        assert k.pointer_calls == ["#ii"]
        assert "outside" in k.pointer_callees
        assert len(k.indirect_branches) == (target == 61)
        (table,) = [v for v in cubin.assembly.variables if v.name == "table"]
        assert {r.kind for r in table.relocations} == {"R_CUDA_32" if target == 61 else "R_CUDA_64"}

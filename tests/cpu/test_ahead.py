"""Object files of kernels that run without Python. That they run is tested with whole programs, in tests/cuda."""

import io

import pytest
from elftools.elf.elffile import ELFFile

from drawloom import ptx
from drawloom.cpu.ahead import LEVEL, Bounds, library_header, module_objects
from drawloom.errors import UnsupportedError
from drawloom.ptx.layout import GlobalsLayout

HEAD = ".version 7.8\n.target sm_80\n.address_size 64\n"
KERNEL = """
.visible .entry fill(.param .u64 out)
{
    .reg .b64 %rd<3>; .reg .b32 %r<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r1;
    ret;
}
"""


def objects(text: str, checked: bool = True) -> list[ELFFile]:
    module = ptx.parse(HEAD + text)
    made = module_objects(module, module if checked else None, "key", LEVEL, {})
    return [ELFFile(io.BytesIO(code)) for code in made]


def defined(file: ELFFile) -> set[str]:
    symbols = file.get_section_by_name(".symtab").iter_symbols()
    return {s.name for s in symbols if s.name.startswith("dl.key.") and s["st_shndx"] != "SHN_UNDEF"}


def test_registration_stands_where_every_linker_looks() -> None:
    # llvm.global_ctors became .ctors, which lld leaves out: launches of such programs did nothing.
    sections = [section.name for file in objects(KERNEL) for section in file.iter_sections()]
    assert ".init_array" in sections
    assert ".ctors" not in sections


def test_variants() -> None:
    """A row of warps optimised, any block and the checked one quickly; without checks one less."""
    seldom, often = objects(KERNEL)
    assert (len(defined(seldom)), len(defined(often))) == (2, 1)
    seldom, often = objects(KERNEL, checked=False)
    assert (len(defined(seldom)), len(defined(often))) == (1, 1)


def test_a_large_kernel_has_one_variant_of_gangs_for_all_blocks() -> None:
    large = KERNEL.replace("ret;", "st.global.u32 [%rd1], %r1; " * 501 + "ret;")
    _, often = objects(large, checked=False)
    assert len(defined(often)) == 1


def test_a_kernel_that_goes_lane_by_lane_has_one_variant() -> None:
    """Some lanes of a warp pass by a barrier."""
    barrier = "setp.lt.u32 %p1, %r1, 3; @%p1 bra PAST; bar.sync 0; PAST: st.global.u32 [%rd1], %r1; ret;"
    text = KERNEL.replace(".reg .b64", ".reg .pred %p<2>; .reg .b64").replace("ret;", barrier)
    assert [len(defined(file)) for file in objects(text, checked=False)] == [0, 1]


def test_checked_code_goes_thread_by_thread_unless_accesses_are_volatile() -> None:
    """Vectors of code that is seldom run took LLVM ten times as long as the code of single threads."""
    volatile = KERNEL.replace("st.global", "st.volatile.global")
    unchecked, by_thread, by_warp = [
        sum(section["sh_size"] for section in seldom.iter_sections() if section.name.startswith(".text"))
        for seldom in (objects(KERNEL, checked=False)[0], objects(KERNEL)[0], objects(volatile)[0])
    ]
    assert by_thread - unchecked < (by_warp - unchecked) / 2


def test_required_blocks_get_their_layout_alone() -> None:
    made = module_objects(ptx.parse(HEAD + KERNEL), None, "key", LEVEL, {"fill": Bounds((8, 8, 1))})
    assert [len(defined(ELFFile(io.BytesIO(code)))) for code in made] == [0, 1]


def test_level_that_is_none_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="expected x86-64-v2, x86-64-v3, x86-64-v4, native"):
        module_objects(ptx.parse(HEAD + KERNEL), None, "key", "i386", {})


def test_variable_of_another_file_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="'there' is defined in another file"):
        module_objects(ptx.parse(HEAD + ".extern .global .u32 there;" + KERNEL), None, "key", LEVEL, {})


def test_addresses_in_initialisers() -> None:
    text = ".global .align 8 .u32 a[3]; .global .u64 p[3] = {a, 7, generic(a)+8}; .global .u8 low = 0xFF(a);"
    layout = GlobalsLayout(ptx.parse(HEAD + text))
    at, low = layout.offsets["p"], layout.offsets["low"]
    assert layout.addresses() == [(at, 8, 0, 0), (at + 16, 8, 8, 0), (low, 1, 0, 0xFF)]


def test_header_has_the_records_in_their_order() -> None:
    header = library_header()
    assert "struct Relocation { int64_t offset; int64_t width; int64_t target; int64_t mask; };" in header
    assert "constexpr int64_t LAUNCH_WORDS = 64;" in header

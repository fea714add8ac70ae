"""Which parameters a kernel may write through: `const` pointers of the sources are read-only, others may be not."""

import re
from pathlib import Path

import pytest

from drawloom.ptx.ir import Function
from drawloom.ptx.parser import parse
from drawloom.runtime.pointers import written_parameters
from tests.runtime import programs

CORPUS = Path(__file__).parents[1] / "golden" / "corpus"


def written(text: str, kernel: str) -> list[int]:
    module = parse(text)
    found = written_parameters(module, module.functions[kernel])
    return [index for index in range(len(module.functions[kernel].params)) if found >> index & 1]


def test_a_store_writes_and_a_load_does_not() -> None:
    assert 2 in written(programs.SAXPY, "saxpy")
    assert 1 not in written(programs.SAXPY, "saxpy")


def entry(body: str, params: str = ".param .u64 a, .param .u64 b") -> str:
    registers = ".reg .b64 %rd<8>; .reg .b32 %r<4>; .reg .pred %p<2>;"
    loads = "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];" if params.count(".param .u64") == 2 else ""
    return programs.HEADER + f".visible .entry k({params})\n{{ {registers} {loads} {body} ret; }}\n"


BODIES = {
    "a load": ("ld.global.u32 %r1, [%rd1];", []),
    "an atomic": ("atom.global.add.u32 %r1, [%rd1], 1;", [0]),
    "a reduction": ("red.global.add.u32 [%rd1], 1;", [0]),
    "a generic store": ("st.u32 [%rd1], 1;", [0]),
    "a copy": ("mov.u64 %rd3, %rd1; add.s64 %rd4, %rd3, 8; st.global.u32 [%rd4], 1;", [0]),
    "either of two": ("setp.eq.u64 %p1, %rd1, 0; selp.b64 %rd3, %rd1, %rd2, %p1; st.global.u32 [%rd3], 1;", [0, 1]),
    "a comparison": ("setp.eq.u64 %p1, %rd1, %rd2; @%p1 st.global.u32 [%rd2], 1;", [1]),
    "a value loaded": ("ld.global.u64 %rd3, [%rd1]; st.global.u64 [%rd2], %rd3;", [1]),
    "its own address stored": ("st.global.u64 [%rd2], %rd1;", [0, 1]),
    "halves of an address": ("mov.b64 {%r1, %r2}, %rd1; mov.b64 %rd3, {%r1, %r2}; st.global.u32 [%rd3], 1;", [0]),
    "a cache line thrown away": ("discard.global.L2 [%rd1], 128;", [0]),
    "back along a loop": (
        "mov.u64 %rd3, %rd2; L: st.global.u32 [%rd3], 1; mov.u64 %rd3, %rd1; setp.eq.u64 %p1, %rd3, 0; @%p1 bra L;",
        [0, 1],
    ),
}


@pytest.mark.parametrize("body", BODIES)
def test_ways_to_write(body: str) -> None:
    text, expected = BODIES[body]
    source = entry(text).replace(".version 7.0", ".version 7.8").replace("sm_60", "sm_80")
    assert written(source, "k") == expected


def test_through_the_threads_own_stack() -> None:
    body = """
        .local .align 8 .b8 frame[16];
        mov.u64 %rd3, frame;
        cvta.local.u64 %rd4, %rd3;
        st.u64 [%rd4+8], %rd1;
        ld.u64 %rd5, [%rd4+8];
        st.global.u32 [%rd5], 1;
    """
    assert written(entry(body), "k") == [0]


def test_a_stack_address_that_comes_back_from_memory() -> None:
    body = """
        .local .align 8 .b8 frame[16];
        .shared .align 8 .b64 kept;
        mov.u64 %rd3, frame;
        cvta.local.u64 %rd4, %rd3;
        st.u64 [%rd4], %rd1;
        st.shared.u64 [kept], %rd4;
        ld.shared.u64 %rd5, [kept];
        add.s64 %rd5, %rd5, %rd2;
        ld.u64 %rd6, [%rd5];
        st.global.u32 [%rd6], 1;
    """
    assert 0 in written(entry(body), "k")


def test_memory_of_alloca_is_the_stack() -> None:
    body = """
        alloca.u64 %rd3, 16, 8;
        add.s64 %rd3, %rd3, %rd2;
        st.u64 [%rd3], %rd1;
        ld.u64 %rd5, [%rd3];
        st.global.u32 [%rd5], 1;
    """
    assert 0 in written(entry(body).replace(".version 7.0", ".version 7.3"), "k")


def test_what_a_function_is_handed_it_may_write() -> None:
    source = (
        programs.HEADER
        + """
.func set(.param .u64 p)
{
    .reg .b64 %rd0;
    ld.param.u64 %rd0, [p];
    st.u32 [%rd0], 1;
    ret;
}
.visible .entry k(.param .u64 a, .param .u64 b)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r0;
    ld.param.u64 %rd0, [a];
    ld.param.u64 %rd1, [b];
    ld.u32 %r0, [%rd1];
    {
    .param .b64 handed;
    st.param.b64 [handed], %rd0;
    call.uni set, (handed);
    }
    ret;
}
"""
    )
    assert written(source, "k") == [0]


def test_pointers_in_a_structure() -> None:
    body = "ld.param.u64 %rd3, [s+8]; st.global.u32 [%rd3], 1;"
    assert written(entry(body, ".param .align 8 .b8 s[16], .param .u32 n"), "k") == [0]


def calls_functions(function: Function) -> bool:
    """Whether it calls a function that may do anything with what it is handed."""
    callees = [repr(i.operands[1]) for i in function.instructions() if i.name == "call"]
    return any(callee != "vprintf" for callee in callees)


def test_parameters_read_through_their_own_address() -> None:
    register = "mov.b64 %rd3, a; ld.param.u64 %rd4, [%rd3]; st.global.u32 [%rd4], 1;"
    assert written(entry(register), "k") == [0]
    generic = "mov.b64 %rd3, a; cvta.param.u64 %rd4, %rd3; ld.u64 %rd5, [%rd4+8]; st.global.u32 [%rd5], 1;"
    source = entry(generic).replace(".version 7.0", ".version 7.7").replace("sm_60", "sm_70")
    assert 0 in written(source, "k")


def test_a_generic_load_of_data_is_no_pointer() -> None:
    assert written(entry("ld.u64 %rd3, [%rd1]; st.u64 [%rd2], %rd3;"), "k") == [1]


SOURCES = sorted((CORPUS / "src").glob("*.cu"))
SIGNATURE = re.compile(r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(([^)]*)\)')


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_stores_of_compiled_kernels_never_go_through_const_pointers(source: Path) -> None:
    """Optimised code. Unoptimised code keeps everything on its stack, where one address stands for all."""
    optimised = [path for path in CORPUS.glob(f"*/{source.stem}.*.ptx") if ".O0." not in path.name]
    for compiled in sorted(optimised):
        module = parse(compiled.read_text(), str(compiled))
        for name, parameters in SIGNATURE.findall(source.read_text()):
            if name not in module.functions or calls_functions(module.functions[name]):
                continue
            found = written_parameters(module, module.functions[name])
            for index, parameter in enumerate(parameters.split(",")):
                if "const" in parameter and "*" in parameter:
                    assert not found >> index & 1, f"{compiled.name}: {name}: {parameter.strip()}"

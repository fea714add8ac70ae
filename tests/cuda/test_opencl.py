"""OpenCL C: our built-in functions beside PoCL's, of the same source, and what is refused."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import drawloom
from drawloom.cuda import CompileError, compile_opencl
from drawloom.cuda.clang import Clang, find_clang
from drawloom.cuda.compiler import Options, opencl_arguments
from drawloom.cuda.prelude import OPENCL
from tests.opencl_platforms import POCL, usable_device

SOURCE = Path(__file__).parent / "opencl.cl"
N = 64
#: Rows of `floats` that add up several results, of which one may be near zero.
SUMS = (6, 7, 9, 10, 11)


@cache
def ours() -> drawloom.Module:
    return drawloom.load(compile_opencl(SOURCE), device="cpu")


@cache
def pocl() -> tuple[Any, Any]:
    device = usable_device(POCL)
    import pyopencl as cl

    context = cl.Context([device])
    return cl.CommandQueue(context), cl.Program(context, SOURCE.read_text()).build()


def both(kernel: str, rows: int, dtype: type, *inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The kernel's rows by ours and by PoCL."""
    import pyopencl as cl

    queue, program = pocl()
    mine = np.zeros((rows, N, 4), dtype)
    ours()[kernel][2, N // 2](mine, *inputs)
    flags = cl.mem_flags
    buffers = [cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=x) for x in inputs]
    out = cl.Buffer(queue.context, flags.WRITE_ONLY, mine.nbytes)
    getattr(program, kernel)(queue, (N,), (N // 2,), out, *buffers)
    theirs = np.zeros_like(mine)
    cl.enqueue_copy(queue, theirs, out)
    return mine, theirs


def integers(seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).integers(-(2**31), 2**31, (N, 4)).astype(np.int32)
    drawn[: N // 2] >>= np.arange(N // 2, dtype=np.int32)[:, None] % 31  # small ones, too
    drawn[:3] = [[0, 1, -1, 2], [2**31 - 1, -(2**31), 255, 256], [-(2**31)] * 4]
    return drawn


def test_integers_are_pocls() -> None:
    mine, theirs = both("integers", 31, np.int32, integers(1), integers(2), integers(3))
    wrong = [row for row in range(31) if not (mine[row] == theirs[row]).all()]
    assert not wrong, (wrong, mine[wrong[0]][:4], theirs[wrong[0]][:4])


def test_conversions_are_pocls() -> None:
    floats = np.random.default_rng(4).uniform(-30, 30, (N, 4)).astype(np.float32)
    floats[0] = [0.5, 1.5, -2.5, 29.5]
    mine, theirs = both("conversions", 18, np.int32, floats, integers(5))
    wrong = [row for row in range(18) if not (mine[row] == theirs[row]).all()]
    assert not wrong, (wrong, mine[wrong[0]][:4], theirs[wrong[0]][:4])


def test_floats_are_near_pocls() -> None:
    """Each within the sum of what OpenCL allows both sides (16 units at most; products of several functions more)."""
    seed = np.random.default_rng(6)
    x, y = seed.uniform(-4, 4, (2, N, 4)).astype(np.float32)
    mine, theirs = both("floats", 15, np.float32, x, y)
    for row in range(15):
        scale = np.maximum(np.abs(theirs[row]), 1.0 if row in SUMS else 2.0**-126)
        away = np.abs(mine[row].astype(float) - theirs[row]) / scale * 2**23
        assert (away[np.isfinite(theirs[row])] <= 32).all(), row
        assert (np.isfinite(mine[row]) == np.isfinite(theirs[row])).all(), row


def test_work_groups_meet_in_local_memory() -> None:
    values = np.random.default_rng(7).integers(-100, 100, (N, 4)).astype(np.int16)
    out, total = np.zeros((2, 4), np.int32), np.zeros(1, np.int32)
    kernel = ours()["group"]
    # Local arguments are offsets in shared memory; the kernel's own variable takes the first bytes.
    kernel[2, 32, 4 * 32 + 64](out, values, 64, total)
    parts = values[:, 1].astype(int).reshape(2, 32)
    assert out.tolist() == [[int(p.sum()), max(0, int(p.max())), k, 2] for k, p in enumerate(parts)]
    assert total[0] == parts.sum()


def test_kernels_are_one_function_and_printf_works(capfd: pytest.CaptureFixture[str]) -> None:
    source = """
    #define X(a, b) a##b
    kernel void k(global X(in, t) *p) {
      p[0] = popcount(p[1]);
      printf("%d %s %.1f\\n", p[0], "x", 0.5f);
    }
    """
    module = compile_opencl(source)
    assert [name for name in module.functions if "vprintf" not in name] == ["k"]
    array = np.array([0, 255], np.int32)
    drawloom.load(module)["k"][1, 1](array)
    assert array[0] == 8 and capfd.readouterr().out == "8 x 0.5\n"


def test_kernels_without_optimisation() -> None:
    source = "\nkernel void k(global int2 *p) { p[get_global_id(0)] = max(p[get_global_id(0)], 2); }\n"
    array = np.arange(8, dtype=np.int32)
    drawloom.load(compile_opencl(source, optimise=0))["k"][1, 4](array)
    assert array.tolist() == [2, 2, 2, 3, 4, 5, 6, 7]


SIZES = """
kernel __attribute__((reqd_work_group_size(12, 4, 1))) void plane(global int *p) { p[get_global_id(0)] = 1; }
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void line(global int *p) {
  p[get_global_id(0)] = get_local_size(0) + get_local_size(1);
}
kernel __attribute__((work_group_size_hint(4, 4, 4))) void hint(global int *p) { p[get_global_id(0)] = 1; }
kernel void none(global int *p) { plane(p); }
"""


@pytest.mark.parametrize("optimise", [0, 3])
def test_required_work_group_size_is_the_kernels(optimise: int) -> None:
    module = compile_opencl(SIZES, optimise=optimise)
    directives = {kernel.name: [f"{d.name} {d.text}" for d in kernel.directives] for kernel in module.kernels}
    assert directives["plane"] == [".reqntid 12, 4, 1"] and directives["line"] == [".reqntid 64, 1, 1"]
    assert directives["hint"] == directives["none"] == []
    kernels = drawloom.load(module)
    array = np.zeros(128, np.int32)
    kernels["line"][2, 64](array)
    assert array.tolist() == [65] * 128
    with pytest.raises(drawloom.LaunchError, match=r"requires \(64, 1, 1\)"):
        kernels["line"][1, 128](array)


def test_headers_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading them took half a second for each kernel."""
    monkeypatch.setenv("DRAWLOOM_CACHE_DIR", str(tmp_path))
    runs: list[list[str]] = []
    run = Clang.cc1

    def recorded(
        self: Clang, arguments: list[str], text: str | None = None, files: tuple[int, ...] = ()
    ) -> tuple[bytes, str]:
        runs.append([word for word in ("-emit-pch", "-include-pch", "drawloom/opencl.h") if word in arguments])
        return run(self, arguments, text, files)

    monkeypatch.setattr(Clang, "cc1", recorded)
    for value in ("1", "2"):
        compile_opencl("\nkernel void k(global int *p) { *p = V; }\n", defines=[f"V={value}"])
    assert runs == [["-emit-pch", "drawloom/opencl.h"], ["-include-pch"], [], ["-include-pch"], []]


def test_macros_of_options_mean_nothing_in_the_headers() -> None:
    """They see functions of any length, and are not seen by the headers, whose variables may have the same names."""
    source = "\nkernel void k(global float *p) { STORE(LOAD(x, p) * 2, 0, p); }\n"
    array = np.arange(8, dtype=np.float32)
    module = compile_opencl(source, defines=["LOAD=vload4", "STORE=vstore4", "x=1", "T=int"])
    drawloom.load(module)["k"][1, 1](array)
    assert array.tolist() == [8, 10, 12, 14, 4, 5, 6, 7]


def test_mistakes() -> None:
    with pytest.raises(CompileError, match=r"mine.cl:2:28: error: use of undeclared identifier 'y'"):
        compile_opencl("\nkernel void k(int x) { x = y; }\n", filename="mine.cl")
    with pytest.raises(CompileError, match=r"'read_imagei' \(images are not supported\)"):
        compile_opencl("\nkernel void f(image2d_t i, global int4 *p) { *p = read_imagei(i, (int2)(0, 0)); }\n")
    with pytest.raises(CompileError, match=r"'CLK_ADDRESS_CLAMP' \(images are not supported\)"):
        compile_opencl("\nconstant sampler_t s = CLK_ADDRESS_CLAMP;\nkernel void f(global int *p) { *p = 1; }\n")
    with pytest.raises(drawloom.UnsupportedError, match=r"'CL4\.0' is not an OpenCL C standard"):
        compile_opencl("\n", standard="CL4.0")


ROUNDED = """
kernel void in_MODE(global half *halves, global half *padded, global float *floats, global int *ints,
                    global float4 *parts) {
  float3 x = (float3)(1.00048828125f * 3, 65519.0f, 1e-8f);
  long3 big = (long3)(16777217, -16777217, 7);
  vstore_half3_MODE(x, 0, halves);
  vstorea_half3_MODE(x, 1, padded);
  vstore3(convert_float3_MODE(big), 0, floats);
  vstore3(convert_int3_sat_MODE(big * 1000), 0, ints);
  int4 power, sign;
  float4 whole, rest = modf((float4)(2.5f, -3.25f, 8.0f, 0.5f), &whole);
  parts[0] = rest + frexp(whole, &power);
  parts[1] = convert_float4(power) + vloada_half3(1, padded).xyzz;
  parts[2] = lgamma_r((float4)(-0.5f, 3.0f, -1.5f, 1.0f), &sign);
  parts[3] = convert_float4(sign);
}
"""


MODES = ("rte", "rtz", "rtp", "rtn")


@cache
def rounded() -> drawloom.Module:
    return drawloom.load(compile_opencl("".join([ROUNDED.replace("MODE", mode) for mode in MODES])), device="cpu")


@pytest.mark.parametrize("mode", MODES)
def test_halves_and_numbers_in_every_rounding_mode(mode: str) -> None:
    halves, padded = np.zeros(3, np.float16), np.zeros(8, np.float16)
    floats, ints, parts = np.zeros(3, np.float32), np.zeros(3, np.int32), np.zeros((4, 4), np.float32)
    rounded()[f"in_{mode}"][1, 1](halves, padded, floats, ints, parts)
    x = np.array([3.00146484375, 65519.0, 1e-8], np.float32)
    near = x.astype(np.float16)
    with np.errstate(over="ignore"):
        up = np.array([b if b >= a else np.nextafter(b, np.float16(np.inf)) for a, b in zip(x, near, strict=True)])
    down = np.array([b if b <= a else np.nextafter(b, np.float16(0)) for a, b in zip(x, near, strict=True)])
    expected = {"rte": near, "rtp": up, "rtz": down, "rtn": down}[mode]
    assert halves.tolist() == expected.tolist()
    assert padded[4:7].tolist() == expected.tolist() and padded[3] == padded[7] == 0
    first = {"rte": 16777216, "rtz": 16777216, "rtp": 16777218, "rtn": 16777216}[mode]
    second = {"rte": -16777216, "rtz": -16777216, "rtp": -16777216, "rtn": -16777218}[mode]
    assert floats.tolist() == [first, second, 7]
    assert ints.tolist() == [2**31 - 1, -(2**31), 7000]
    assert parts[0].tolist() == [1.0, -1.0, 0.5, 0.5]  # 0.5 + 0.5, -0.25 - 0.75, 0 + 0.5, 0.5 + 0
    assert parts[1].tolist() == [2 + expected[0], 2 + expected[1], 4 + expected[2], 0 + expected[2]]
    assert np.allclose(parts[2], [1.2655121, 0.6931472, 0.8600470, 0.0], rtol=1e-6, atol=1e-7)
    assert parts[3].tolist() == [-1, 1, 1, 1]


FLOATS = (
    "acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi erfc erf exp exp2 exp10 expm1 fabs "
    "floor lgamma log log2 log10 log1p logb rint round rsqrt sin sinh sinpi sqrt tan tanh tanpi tgamma trunc degrees "
    "radians sign",
    "atan2 atan2pi copysign fdim fmax fmin fmod hypot maxmag minmag nextafter pow powr remainder max min step",
    "fma mad mix smoothstep clamp bitselect",
)
SHORT = "cos divide exp exp2 exp10 log log2 log10 powr recip rsqrt sin sqrt tan"
RELATIONS = (
    "isfinite isinf isnan isnormal signbit",
    "isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isordered isunordered",
)
INTEGERS = (
    "abs clz popcount",
    "abs_diff add_sat hadd rhadd max min mul_hi rotate sub_sat",
    "clamp mad_hi mad_sat bitselect",
)


def calls(names: tuple[str, ...], values: str) -> str:
    """A call of each name with as many of the values as its place among the groups tells."""
    words = values.split(",")
    return " ".join(f"{name}({','.join(words[: n + 1])});" for n, group in enumerate(names) for name in group.split())


def uses(length: str) -> str:
    lines = []
    for t, whole, unsigned in (("float", "int", "uint"), ("double", "long", "ulong")):
        short = " ".join(f"{kind}_{name}({'x, y' if name in ('divide', 'powr') else 'x'});"
                         for kind in ("half", "native") for name in SHORT.split()) if t == "float" else ""  # fmt: skip
        lines.append(
            f"{{ {t}{length} x = *(global {t}{length}*)p, y = x, z; int{length} n; {calls(FLOATS, 'x,y,x')} {short} "
            f"{calls(RELATIONS, 'x,y')} select(x, y, ({whole}{length})1); select(x, y, ({unsigned}{length})1); "
            "fract(x, &z); modf(x, &z); sincos(x, &z); frexp(x, &n); lgamma_r(x, &n); remquo(x, y, &n); ldexp(x, n); "
            f"pown(x, n); rootn(x, n); n = ilogb(x); nan(({unsigned}{length})1); }}"
        )
    for t in ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"):
        more = "mad24(x, y, x); mul24(x, y);" if t in ("int", "uint") else ""
        lines.append(f"{{ {t}{length} x = *(global {t}{length}*)p, y = x; {calls(INTEGERS, 'x,y,x')} {more} }}")
        lines += [
            f"convert_{t}{length}{sat}{mode}(*(global {source}{length}*)p);"
            for source in ("uchar", "int", "long", "double")
            for sat in ("", "_sat")
            for mode in ("", "_rte", "_rtz", "_rtp", "_rtn")
        ]
    if length:
        lines.append(
            f"vstorea_half{length}_rtz(vloada_half{length}(1, h), 1, h);"
            f"vstore_half{length}_rtp((double{length})1, 0, h);"
        )
    return "\n".join(lines)


def test_every_builtin_function_of_the_standard_is_there() -> None:
    """The tables of OpenCL C 1.2, sections 6.12.2 to 6.12.7, with scalars and with vectors."""
    names = "add sub xchg min max and or xor".split()
    atomics = " ".join(f"atom_{name}((volatile global long*)p, 3);" for name in names)
    body = "\n".join([uses(""), uses("3"), uses("16"), atomics])
    source = f"kernel void k(global char *p, global half *h) {{\n{body}\n}}\n"
    arguments = [*opencl_arguments("sm_80", Options("CL1.2", 0)), *OPENCL, "-fsyntax-only", "-Wno-unused-value", "-"]
    assert find_clang().cc1(arguments, source) == (b"", "")

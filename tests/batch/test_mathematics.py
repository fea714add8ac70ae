"""Functions that kernels have as code (kernels/exponentials.cl, angles.cl, rounding.cl), and bits as other types."""

import re
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.backends.simd.isa import ISAS
from drawloom.batch.backends.simd.native import SimdKernel
from drawloom.batch.frontend.includes import find_ready
from drawloom.batch.frontend.source import BatchTypeError
from drawloom.batch.ir.parser import parse_kernel
from drawloom.batch.ir.printer import show_kernel
from drawloom.errors import ParseError
from tests.batch.backends.test_simd import is_here, load
from tests.batch.backends.test_simd import run as run_simd
from tests.batch.backends.ve_model import ModelKernel, load_on_model
from tests.batch.cases import Arguments, copied, flat, same

pytest.importorskip("pycparser")

Numbers = np.ndarray[Any, Any]
TYPES = {"float": np.float32, "double": np.float64}
WG_SIZE = 8
ONE_ARGUMENT = {
    "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
}  # fmt: skip
#: Units in the last place; docs/batch.md has what was found on more arguments.
BOUNDS = {"exp": 0.85, "log": 0.6, "pow": 0.9, "sin": 0.85, "cos": 0.85, "tan": 0.95}
EXACT = ("floor", "ceil", "trunc", "rint", "round", "copysign")
TEXT = """
__kernel void all(const real *x, const real *y, real *e, real *l, real *p, real *s, real *c, real *t, real *n,
                  real *a, real *b, real *d, real *f, real *g) {
    int i = get_global_id();
    real u = x[i], v = y[i];
    e[i] = exp(u); l[i] = log(u); p[i] = pow(u, v); s[i] = sin(u); c[i] = cos(u); t[i] = tan(u); n[i] = copysign(u, v);
    a[i] = floor(u); b[i] = ceil(u); d[i] = trunc(u); f[i] = rint(u); g[i] = round(u);
}
"""


def draw(real: str, count: int) -> Numbers:
    """Return numbers of all sizes, of usual ones, near multiples of pi / 2 and of 1 / 2, and special ones."""
    dtype, draws = TYPES[real], np.random.default_rng(1)
    bits = np.int64 if real == "double" else np.int32
    part = count // 8
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 2.5, -2.5, np.finfo(dtype).max,
               np.finfo(dtype).tiny, -np.finfo(dtype).smallest_subnormal, 2.0**22 + 0.5, 1e5]  # fmt: skip
    limits = np.iinfo(bits)
    rows = [
        draws.integers(limits.min, limits.max, 2 * part, bits).view(dtype),
        draws.standard_normal(part),
        1 + draws.standard_normal(part) / 1000,
        draws.uniform(*np.log(np.array([np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max])), part),
        np.round(draws.uniform(-1e4, 1e4, part)) * np.pi / 2,
        np.round(draws.uniform(-1e4, 1e4, part)) / 2,
        np.resize(special, part),
    ]
    return np.concatenate([np.asarray(row, dtype) for row in rows])


def arguments_of(real: str, count: int) -> Arguments:
    x = draw(real, count)
    y = np.random.default_rng(2).permutation(draw(real, count))
    y[::3] = np.round(np.random.default_rng(3).standard_normal(len(y[::3])) * 9)
    outputs = {name: np.zeros_like(x) for name in "elpsctnabdfg"}
    return {"x": x, "y": y, **outputs}


def evaluate(expression: str, real: str, x: Numbers, y: Numbers) -> Numbers:
    """Return an expression of u and v by the oracle of the syntax tree."""
    text = f"""__kernel void k(const {real} *x, const {real} *y, {real} *z) {{
        int i = get_global_id();
        {real} u = x[i], v = y[i];
        z[i] = {expression};
    }}"""
    z = np.zeros_like(x)
    kernel = batch.parse_file(text, wg_size=WG_SIZE)["k"]
    batch.interpret(kernel, len(x) // WG_SIZE, {"x": x, "y": y, "z": z}, contract=True)
    return z


def errors(found: Numbers, exact: Numbers) -> Numbers:
    """Return distances in units of the exact result's last place; infinite where only one side is special."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(found.dtype)
        distance = np.abs(found.astype(exact.dtype) - exact) / np.abs(np.spacing(rounded))
        agrees = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        return np.where(np.isfinite(distance), distance, np.where(agrees, 0, np.inf))


@pytest.mark.parametrize("real", TYPES)
@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_functions_are_near_the_exact_value(name: str, real: str) -> None:
    x = draw(real, 32_000)
    found = evaluate(f"{name}(u)", real, x, x)
    with np.errstate(all="ignore"):
        exact = ONE_ARGUMENT[name](x.astype(np.longdouble))
    assert errors(found, exact).max() <= BOUNDS.get(name, 0)
    zeros = (found == 0) & (exact == 0)
    assert (np.signbit(found[zeros]) == np.signbit(exact[zeros])).all()


@pytest.mark.parametrize("real", TYPES)
def test_powers_are_near_the_exact_value(real: str) -> None:
    arguments = arguments_of(real, 32_000)
    x, y = arguments["x"], arguments["y"]
    with np.errstate(all="ignore"):
        exact = x.astype(np.longdouble) ** y.astype(np.longdouble)
    assert errors(evaluate("pow(u, v)", real, x, y), exact).max() <= BOUNDS["pow"]


@pytest.mark.parametrize("real", TYPES)
def test_special_powers_are_those_of_c(real: str) -> None:
    """C11, F.10.4.4: every pair of special numbers, as NumPy has it; signs of zeros count."""
    special = np.array([0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 2.5, -2.5, 1e30, -1e30, np.inf, -np.inf, np.nan])
    x, y = (part.reshape(-1).astype(TYPES[real]) for part in np.meshgrid(special, special))
    x, y = np.resize(x, 296), np.resize(y, 296)
    with np.errstate(all="ignore"):
        exact = x**y
    found = evaluate("pow(u, v)", real, x, y)
    is_special = ~np.isfinite(exact) | (exact == 0) | (exact == 1)
    assert np.array_equal(found[is_special], exact[is_special], equal_nan=True)
    real_numbers = is_special & ~np.isnan(exact)
    assert (np.signbit(found) == np.signbit(exact))[real_numbers].all()


@pytest.mark.parametrize("real", TYPES)
def test_halves_are_rounded_away_from_zero(real: str) -> None:
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, -0.0, -0.3], TYPES[real])
    found = evaluate("round(u)", real, x, x)
    assert found.tolist() == [1, -1, 2, 3, -3, 0, 0, 0]
    assert np.signbit(found).tolist() == np.signbit(x).tolist()


@pytest.fixture(scope="module", params=TYPES)
def expected(request: pytest.FixtureRequest) -> tuple[Any, Arguments, Arguments]:
    """Return a kernel of every function, arguments, and the results of both oracles."""
    kernel = batch.parse_file(TEXT, wg_size=WG_SIZE, defines={"real": request.param})["all"]
    arguments = arguments_of(request.param, 1024)
    one, other = copied(arguments), copied(arguments)
    batch.interpret(kernel, 128, flat(one), contract=True)
    batch.interpret_ir(batch.lower(kernel), 128, flat(other))
    assert same(one, other)
    return kernel, arguments, one


@pytest.mark.parametrize("order", ["rows", "columns", "interleaved"])
def test_machine_code_gives_the_same_bits(expected: tuple[Any, Arguments, Arguments], order: str) -> None:
    kernel, arguments, wanted = expected
    real = kernel.parameters[0].type.name
    found = {name: value.reshape(128, WG_SIZE) for name, value in copied(arguments).items()}
    native = batch.kernel(TEXT, wg_size=WG_SIZE, defines={"real": real}, order=order, pack=2)
    native(*found.values())
    assert same({name: value.reshape(-1) for name, value in found.items()}, wanted)


@pytest.mark.parametrize("backend", ["avx2", "avx512", "avx2 model", "avx512 model"])
def test_c_with_intrinsics_gives_the_same_bits(expected: tuple[Any, Arguments, Arguments], backend: str) -> None:
    kernel, arguments, wanted = expected
    isa = ISAS[backend.removesuffix(" model")]
    if not backend.endswith("model") and not is_here(isa):
        pytest.skip(f"this CPU lacks {backend}")
    native = SimdKernel(batch.lower(kernel), isa, "rows", 2)
    load([native], by_model=backend.endswith("model"))
    assert same(run_simd(native, arguments, 128), wanted)


@pytest.mark.parametrize("packed", [False, True])
def test_c_for_sx_aurora_gives_the_same_bits(expected: tuple[Any, Arguments, Arguments], packed: bool) -> None:
    kernel, arguments, wanted = expected
    if packed and kernel.parameters[0].type.name == "double":
        pytest.skip("only floats are packed")
    native = ModelKernel(batch.lower(kernel), "interleaved", 32, packed=packed)
    load_on_model([native])
    found = copied(arguments)
    native.run([value.ctypes.data for value in found.values()], 0, 128)
    assert same(found, wanted)


def test_cuda_gives_the_same_bits(expected: tuple[Any, Arguments, Arguments], clang: Any) -> None:
    kernel, arguments, wanted = expected
    real = kernel.parameters[0].type.name
    found = copied(arguments)
    batch.kernel(TEXT, wg_size=WG_SIZE, defines={"real": real}, device="cpu")(*found.values(), groups=128)
    assert same(found, wanted)


def test_polynomials_are_those_of_the_device_headers() -> None:
    """`tools/minimax.py` makes those."""
    number = re.compile(r"\bp(?: = |, u, )(-?0x[0-9a-f.]+p[-+]?\d+)")
    header = files("drawloom.cuda") / "include" / "drawloom" / "polynomials.h"
    known = {float.fromhex(text) for text in number.findall(header.read_text(encoding="utf-8"))}
    for name in ("exponentials", "angles"):
        terms = [
            part
            for part in (find_ready(f"{name}.cl") or "").split("static inline ")
            if "_terms_" in part.partition("(")[0]
        ]
        found = [float.fromhex(text) for part in terms for text in number.findall(part)]
        assert len(found) > 20
        assert set(found) <= known


# Bits as another type.

BITS = """
__kernel void bits(const float *f, const double *d, const int *i, const long *l,
                   int *fi, uint *fu, long *dl, ulong *du, float *nf, double *nd) {
    int k = get_global_id();
    fi[k] = as_int(f[k]); fu[k] = as_uint(f[k]); dl[k] = as_long(d[k]); du[k] = as_ulong(d[k]);
    nf[k] = as_float(i[k]); nd[k] = as_double(as_ulong(l[k]));
}
"""


def test_bits_are_kept_and_those_of_nan_are_always_the_same() -> None:
    text = batch.parse_file(BITS, wg_size=8)["bits"]
    f = np.array([0.0, -0.0, 1.5, -np.inf, np.nan, -np.nan, 1e-45, -3e38], np.float32)
    d = f.astype(np.float64)
    arguments: Arguments = {
        "f": f, "d": d, "i": f.view(np.int32), "l": d.view(np.int64), "fi": np.zeros(8, np.int32),
        "fu": np.zeros(8, np.uint32), "dl": np.zeros(8, np.int64), "du": np.zeros(8, np.uint64),
        "nf": np.zeros(8, np.float32), "nd": np.zeros(8),
    }  # fmt: skip
    one, other = copied(arguments), copied(arguments)
    batch.interpret(text, 1, flat(one))
    batch.interpret_ir(batch.lower(text), 1, flat(other))
    assert same(one, other)
    assert [hex(bits) for bits in one["fu"][[1, 2, 4, 5]]] == ["0x80000000", "0x3fc00000", "0x7fc00000", "0x7fc00000"]
    assert one["du"][5] == 0x7FF8000000000000
    assert np.array_equal(one["nf"], f, equal_nan=True)
    assert np.array_equal(one["nd"], d, equal_nan=True)
    native = copied(arguments)
    batch.kernel(BITS, wg_size=8)(*[value.reshape(1, 8) for value in native.values()])
    assert same(native, one)


def test_bits_as_another_type_survive_the_text_of_infreg_ir() -> None:
    kernel = batch.lower(batch.parse_file(BITS, wg_size=8)["bits"])
    text = show_kernel(kernel)
    assert "bitcast <8 x float> %r" in text
    assert show_kernel(parse_kernel(text)) == text


@pytest.mark.parametrize("damage", [(" to <8 x i32>", ""), ("bitcast <8 x float>", "bitcast"), (" to <8", " too <8")])
def test_damaged_bits_in_infreg_ir_are_refused_with_their_place(damage: tuple[str, str]) -> None:
    text = show_kernel(batch.lower(batch.parse_file(BITS, wg_size=8)["bits"]))
    damaged = text.replace(*damage)
    assert damaged != text
    with pytest.raises(ParseError, match=r"k\.ll:\d+:"):
        parse_kernel(damaged, file="k.ll")


@pytest.mark.parametrize(
    ("expression", "message"),
    [("as_int(1.0)", "as_int of double, which has 64 bits"), ("as_double(1.0f)", "as_double of float"),
     ("as_float((short)1)", "as_float of short, which has 16 bits"), ("as_int(1.0f, 2)", "as_int takes 1 arguments")],
)  # fmt: skip
def test_bits_of_another_size_are_refused(expression: str, message: str) -> None:
    with pytest.raises(BatchTypeError, match=message):
        batch.parse_file(f"__kernel void k(float *p) {{ p[0] = {expression}; }}", wg_size=4)


def test_the_text_of_a_function_has_no_macros_of_the_kernel() -> None:
    """Nor do its names meet those of the kernel."""
    text = """
    #define INTEGERS 7
    #define square cube
    struct pair { float high; };
    static double reduce(double x) { return x + INTEGERS; }
    __kernel void k(double *p) { p[get_global_id()] = sin(p[get_global_id()]) + reduce(1); }
    """
    p = np.linspace(-3, 3, 8)
    found = p.copy()
    batch.interpret(batch.parse_file(text, wg_size=8)["k"], 1, {"p": found})
    assert np.allclose(found, np.sin(p) + 8, rtol=1e-15)


def test_a_variable_may_have_the_name_of_a_function() -> None:
    body = "int round = 3, exp = 4; { double floor = 2.5; round += (int)floor; } p[0] = round * exp;"
    text = f"__kernel void k(int *p) {{ {body} }}"
    p = np.zeros(1, np.int32)
    batch.interpret(batch.parse_file(text, wg_size=1)["k"], 1, {"p": p})
    assert p[0] == 20

"""What a vector instruction set lacks: C expressions for single lanes, and functions that are printed where used.

The functions are defined for every operand, because a register's lanes that nothing reads hold arbitrary numbers.
"""

from __future__ import annotations

from typing import Final

#: Operation and carriers of the operand and the result -> expression of one lane.
EXPRESSIONS: Final[dict[tuple[str, str, str], str]] = {
    **{
        (op, f"i{bits}", f"i{bits}"): f"lane_{op}_i{bits}({{0}}, {{1}})"
        for op in ("sdiv", "srem", "udiv", "urem")
        for bits in (32, 64)
    },
    **{
        ("uitofp", f"i{bits}", carrier): f"({real})(uint{bits}_t){{0}}"
        for bits in (32, 64)
        for carrier, real in (("f32", "float"), ("f64", "double"))
    },
    **{
        ("sitofp", "i64", carrier): f"({real}){{0}}"
        for carrier, real in (("f32", "float"), ("f64", "double"))
    },
}


def saturating_conversion(op: str, bits: int) -> str:
    """Return the expression that converts a lane to an integer of some bits; NaN becomes 0."""
    return f"lane_to_{'i' if op == 'fptosi' else 'u'}{bits}({{0}})"


def conversion_functions() -> dict[str, str]:
    """Floating-point numbers as integers, kept as a carrier keeps them: narrow and unsigned ones sign-extended.

    Every float is a double, so one function takes both.
    """
    functions = {}
    for bits in (8, 16, 32, 64):
        result = f"int{max(bits, 32)}_t"
        bound, unsigned_bound = f"0x1p{bits - 1}", f"0x1p{bits}"
        functions[f"lane_to_i{bits}"] = f"""static inline {result} lane_to_i{bits}(double x)
{{
    return x != x ? 0 : x >= {bound} ? INT{bits}_MAX : x < -{bound} ? INT{bits}_MIN : (int{bits}_t)x;
}}"""
        functions[f"lane_to_u{bits}"] = f"""static inline {result} lane_to_u{bits}(double x)
{{
    return (int{bits}_t)(!(x > 0) ? 0 : x >= {unsigned_bound} ? UINT{bits}_MAX : (uint{bits}_t)x);
}}"""
    return functions


def division_functions() -> dict[str, str]:
    functions = {}
    for bits in (32, 64):
        signed, unsigned = f"int{bits}_t", f"uint{bits}_t"
        for op, sign, zero, minus_one in (
            ("sdiv", "/", "a", f"({signed})(0 - ({unsigned})a)"), ("srem", "%", "0", "0"),
        ):  # fmt: skip
            functions[f"lane_{op}_i{bits}"] = f"""static inline {signed} lane_{op}_i{bits}({signed} a, {signed} b)
{{
    return b == 0 ? {zero} : b == -1 ? {minus_one} : a {sign} b;
}}"""
        for op, sign, zero in (("udiv", "/", "a"), ("urem", "%", "0")):
            functions[f"lane_{op}_i{bits}"] = f"""static inline {signed} lane_{op}_i{bits}({signed} a, {signed} b)
{{
    return b == 0 ? {zero} : ({signed})(({unsigned})a {sign} ({unsigned})b);
}}"""
    return functions


FUNCTIONS: Final[dict[str, str]] = {**conversion_functions(), **division_functions()}

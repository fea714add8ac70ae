"""An expression and numbers for its leaves to a number: how the rules are tested, and how a lane distance is guessed
before it is proved."""

from __future__ import annotations

from drawloom.shuffle.expressions import SUM, Expressions, divided, signed


def evaluate(x: Expressions, e: int, values: dict[int, int]) -> int:
    """The pattern of ``e``; ``values`` has the patterns of leaves and keeps what was found. A leaf without one, and an
    uninterpreted function, is some number that depends on its name, its arguments and ``values[-1]`` (0 if absent)."""
    known = values.get(e)
    if known is not None:
        return known
    width = x.widths[e]
    mask = (1 << width) - 1
    args = x.args[e]
    if x.names[e] == SUM:
        out = args[0]
        for k in range(1, len(args), 2):
            product = args[k + 1]
            for atom in x.monomials[args[k]]:
                product *= evaluate(x, atom, values)
            out += product
        out &= mask
    else:
        out = _operation(x, e, [evaluate(x, arg, values) for arg in args], values.get(-1, 0)) & mask
    values[e] = out
    return out


def _operation(x: Expressions, e: int, v: list[int], salt: int) -> int:
    name = x.names[e]
    if not v:
        low, high = x.unsigned_range(e)
        return low + _scrambled(f"{name}{x.payloads[e]}", v, salt) % (high - low + 1)
    bits = x.widths[x.args[e][0]]
    a = v[0]
    b = v[1] if len(v) > 1 else 0
    if name in ("zext", "trunc"):
        return a
    if name == "sext":
        return signed(a, bits)
    if name == "mul":
        return a * b
    if name == "and":
        return a & b
    if name == "or":
        return a | b
    if name == "xor":
        return a ^ b
    if name == "shl":
        return a << b if b < bits else 0
    if name == "lshr":
        return a >> b if b < bits else 0
    if name == "ashr":
        return signed(a, bits) >> min(b, bits)
    if name in ("udiv", "urem", "sdiv", "srem"):
        return divided(name, a, b, bits)
    if name == "zero":
        return 1 if a == 0 else 0
    if name == "ult":
        return 1 if a < b else 0
    if name == "slt":
        return 1 if signed(a, bits) < signed(b, bits) else 0
    if name == "select":
        return b if a else v[2]
    return _scrambled(f"{name}{x.payloads[e]}", v, salt)


def _scrambled(name: str, v: list[int], salt: int) -> int:
    """A number without a pattern, the same one every time (FNV-1a over the name and the arguments)."""
    out = 0xCBF29CE484222325 ^ salt
    for letter in name:
        out = (out ^ ord(letter)) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    for value in v:
        for part in (value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF):
            out = (out ^ part) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    out ^= out >> 29
    return out * 0xBF58476D1CE4E5B9 >> 7

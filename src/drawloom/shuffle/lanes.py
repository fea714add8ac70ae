"""An expression of one lane into what it is in another, and with some of its atoms replaced."""

from __future__ import annotations

from collections.abc import Callable

from drawloom.shuffle.expressions import OPAQUE, SUM, Expressions


def shifted(x: Expressions, e: int, delta: int, done: dict[int, int]) -> int:
    """What ``e`` is in the lane ``delta`` further on, in terms of this one; ``done`` keeps what was found."""
    varies = x.varies[e]
    if not varies:
        return e
    known = done.get(e)
    if known is not None:
        return known
    name = x.names[e]
    width = x.widths[e]
    if e == x.lane:
        out = x.scale(e, 1, delta)
    elif name == "zext" and x.args[e][0] == x.lane:
        out = x.scale(e, 1, delta)  # both lanes are in 0 .. 31
    elif name == SUM:
        out = x.of_atoms(e, width, lambda atom: shifted(x, atom, delta, done))
    elif not x.args[e]:
        out = x.leaf(name, width, f"{x.payloads[e]}@{delta:+d}", x.low[e], x.high[e], OPAQUE)
    else:
        inner = tuple([shifted(x, arg, delta, done) for arg in x.args[e]])
        out = rebuilt(x, e, inner, delta)
    done[e] = out
    return out


def replaced(x: Expressions, e: int, what: dict[int, int], change: Callable[[int], int] | None = None) -> int:
    """``e`` with some of its atoms replaced, those in ``what`` and those for which ``change`` gives something else;
    ``what`` also keeps what was found."""
    known = what.get(e)
    if known is not None:
        return known
    name = x.names[e]
    width = x.widths[e]
    if name == SUM:
        out = x.of_atoms(e, width, lambda atom: replaced(x, atom, what, change))
    else:
        out = e if change is None else change(e)
        if out == e and x.args[e]:
            inner = tuple([replaced(x, arg, what, change) for arg in x.args[e]])
            if inner != x.args[e]:
                out = rebuilt(x, e, inner, 0)
    what[e] = out
    return out


def rebuilt(x: Expressions, e: int, args: tuple[int, ...], delta: int) -> int:
    """The operation of ``e`` on other arguments, simplified again."""
    name = x.names[e]
    width = x.widths[e]
    if name == "zext" or name == "sext":
        return x.extend(args[0], width, name == "sext")
    if name == "trunc":
        return x.truncate(args[0], width)
    if name == "mul":
        return x.mul(args[0], args[1])
    if name in ("and", "or", "xor"):
        return x.logic(name, args[0], args[1])
    if name == "shl":
        return x.shift_left(args[0], args[1])
    if name in ("lshr", "ashr"):
        return x.shift_right(args[0], args[1], name == "ashr")
    if name in ("udiv", "sdiv", "urem", "srem"):
        return x.divide(name, args[0], args[1])
    if name == "zero":
        return x.equal(args[0], x.constant(0, x.widths[args[0]]))
    if name in ("slt", "ult"):
        return x.less(args[0], args[1], name == "slt")
    if name == "select":
        return x.select(args[0], args[1], args[2])
    varies = x.varies[e] & OPAQUE if delta else 0
    payload = x.payloads[e]
    if varies and name == "opaque":
        payload = f"{payload}@{delta:+d}"
    return x.atom(name, width, args, payload, x.low[e], x.high[e], varies)

"""Expressions to text, as in the paper's listing 5: ``load(in) + 4 * sext(%ctaid.x * %ntid.x + %tid.x)``."""

from __future__ import annotations

from typing import Final

from drawloom.shuffle.expressions import SUM, WARP, Expressions, signed

_INFIX: Final[dict[str, str]] = {
    "and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>", "ashr": ">>", "udiv": "/", "sdiv": "/", "urem": "%",
    "srem": "%", "ult": "<", "slt": "<", "mul": "*",
}  # fmt: skip
_LANE: Final = "%laneid"
_WARP: Final = "(%tid.x/32)"
_NAMED: Final[dict[str, str]] = {"warp": _WARP, "lane": _LANE}
#: Text longer than this ends in "...".
_LONGEST: Final = 400


def show(x: Expressions, e: int) -> str:
    """An expression as text; what is too long is cut off."""
    text = _text(x, e, 0)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} {_CUT}"


_DEEPEST: Final = 12
_CUT: Final = "..."
#: What stands between two operands: then their text needs parentheses beside another operator.
_BETWEEN: Final = " */"


def _text(x: Expressions, e: int, depth: int) -> str:
    if depth > _DEEPEST:
        return _CUT
    name = x.names[e]
    if name == SUM:
        return _sum(x, e, depth)
    args = x.args[e]
    if not args:
        payload = x.payloads[e]
        if name in _NAMED and not payload:
            return _NAMED[name]
        if name in ("special", "symbol", "volatile"):
            return payload
        return f"{name}({payload})"
    if name == "zero":
        return f"{_operand(x, args[0], depth)} == 0"
    if name in _INFIX:
        return f"{_operand(x, args[0], depth)} {_INFIX[name]} {_operand(x, args[1], depth)}"
    inner = ", ".join([_text(x, arg, depth + 1) for arg in args])
    if name == "f":
        return f"{x.payloads[e]}({inner})"
    if name == "load":
        return f"load.{x.payloads[e].partition(' ')[0]}({inner})"
    return f"{name}({inner})"


def _operand(x: Expressions, e: int, depth: int) -> str:
    """What stands beside an operator: in parentheses if it has one itself."""
    return _enclosed(_text(x, e, depth + 1))


def _enclosed(text: str) -> str:
    depth = 0
    for character in text:
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        elif depth == 0 and character in _BETWEEN:
            return f"({text})"
    return text


def _sum(x: Expressions, e: int, depth: int) -> str:
    args = x.args[e]
    width = x.widths[e]
    if width == 1:
        return _parity(x, args, depth)
    order = sorted(args[1::2], key=lambda m: _rank(x, m))
    numbers = {args[k]: signed(args[k + 1], width) for k in range(1, len(args), 2)}
    factors = {_product(x, m, depth): numbers[m] for m in order}
    for text in [text for text in factors if _LANE in text]:
        # 32 * warp + lane is how %tid.x is kept.
        warp = text.replace(_LANE, _WARP)
        if factors.get(warp) == WARP * factors[text]:
            del factors[warp]
            factors[text.replace(_LANE, "%tid.x")] = factors.pop(text)
    parts: list[str] = []
    for text, factor in factors.items():
        parts.append(_signed(text if abs(factor) == 1 else f"{abs(factor)}*{text}", factor, parts))
    constant = signed(args[0], width)
    if constant or not parts:
        parts.append(_signed(str(abs(constant)), constant, parts))
    return " ".join(parts)


def _parity(x: Expressions, args: tuple[int, ...], depth: int) -> str:
    """A sum of one bit: products are conjunctions, and one more is a negation."""
    terms: list[str] = []
    for k in range(1, len(args), 2):
        atoms = x.monomials[args[k]]
        terms.append(
            _text(x, atoms[0], depth) if len(atoms) == 1 else " & ".join([_operand(x, a, depth) for a in atoms])
        )
    if not terms:
        return str(args[0])
    text = terms[0] if len(terms) == 1 else " ^ ".join([_enclosed(term) for term in terms])
    return f"!{_enclosed(text)}" if args[0] else text


def _rank(x: Expressions, m: int) -> tuple[int, int]:
    """Pointers first, the lane last."""
    atoms = x.monomials[m]
    names = [x.names[a] for a in atoms]
    lane = any(x.varies[a] for a in atoms)
    pointer = len(atoms) == 1 and names[0] in ("param", "symbol")
    return (0 if pointer else 2 if lane else 1, m)


def _product(x: Expressions, m: int, depth: int) -> str:
    """What counts threads comes last, so that the terms of warp and lane differ in nothing else."""
    texts = [_operand(x, atom, depth) for atom in x.monomials[m]]
    texts.sort(key=lambda text: _LANE in text or _WARP in text)
    return "*".join(texts)


def _signed(text: str, value: int, before: list[str]) -> str:
    if value < 0:
        return f"- {text}" if before else f"-{text}"
    return f"+ {text}" if before else text

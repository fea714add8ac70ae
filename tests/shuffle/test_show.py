"""Expressions as text: read back as one of Python, it is the number that the expression is."""

from __future__ import annotations

import random
from types import CodeType

from drawloom.shuffle.evaluate import evaluate
from drawloom.shuffle.expressions import Expressions
from drawloom.shuffle.show import show

WIDTH = 64


def read_back(text: str) -> CodeType:
    """What Python makes of it. Numbers here are small, so that nothing wraps and division is that of Python."""
    return compile(text.replace("/", "//"), text, "eval")


def generated(x: Expressions, leaves: list[int], pick: random.Random, depth: int) -> int:
    if depth == 0 or pick.random() < 0.2:
        return pick.choice(leaves) if pick.random() < 0.7 else x.constant(pick.randrange(1, 9), WIDTH)
    a, b = generated(x, leaves, pick, depth - 1), generated(x, leaves, pick, depth - 1)
    name = pick.choice(["add", "mul", "and", "or", "xor", "right", "left", "divide"])
    if name == "add":
        return x.add(a, b)
    if name == "mul":
        return x.mul(a, b)
    if name in ("and", "or", "xor"):
        return x.logic(name, a, b)
    if name == "divide":
        return x.divide("udiv", a, x.constant(pick.choice([3, 5, 7]), WIDTH))
    amount = x.constant(pick.randrange(1, 4), WIDTH)
    return x.shift_right(a, amount, False) if name == "right" else x.shift_left(a, amount)


def test_text_is_read_as_what_the_expression_is() -> None:
    pick = random.Random(7)
    compared = 0
    for _ in range(400):
        x = Expressions()
        names = {letter: pick.randrange(1, 6) for letter in "abcd"}
        leaves = [x.leaf("symbol", WIDTH, letter, 0, 7) for letter in names]
        made = generated(x, leaves, pick, 3)
        text = show(x, made)
        if "..." in text:
            continue
        compared += 1
        values = dict(zip(leaves, names.values(), strict=True))
        assert eval(read_back(text), {}, names) == evaluate(x, made, values), text
    assert compared > 300


def test_a_mask_of_a_widened_value_has_parentheses() -> None:
    """``sext(a) >> 23 & 255 - 128`` is another number than ``((sext(a) >> 23) & 255) - 128``."""
    x = Expressions()
    wide = x.extend(x.leaf("symbol", 32, "a"), WIDTH, True)
    exponent = x.logic("and", x.shift_right(wide, x.constant(23, WIDTH), True), x.constant(255, WIDTH))
    assert show(x, x.shift_right(x.scale(exponent, 1, -128), x.constant(5, WIDTH), True)) == (
        "(((sext(a) >> 23) & 255) - 128) >> 5"
    )


def test_a_product_beside_an_operator_has_parentheses() -> None:
    x = Expressions()
    a, b = x.leaf("symbol", WIDTH, "a"), x.leaf("symbol", WIDTH, "b")
    assert show(x, x.divide("urem", a, x.mul(b, x.constant(3, WIDTH)))) == "a % (3*b)"
    assert show(x, x.shift_right(x.mul(a, b), x.constant(1, WIDTH), False)) == "(a*b) >> 1"


def test_the_thread_is_put_together_in_products_too() -> None:
    x = Expressions()
    thread = x.add(x.scale(x.leaf("warp", 32, "", 0, 31), 32), x.lane)
    for first in ("later", "sooner"):
        rows = x.leaf("param", 32, first)
        assert show(x, x.mul(thread, rows)) == f"param({first})*%tid.x"


def test_conditions_are_conjunctions_and_negations() -> None:
    x = Expressions()
    a, b = (x.less(x.leaf("symbol", 32, letter), x.leaf("symbol", 32, "n"), False) for letter in "ab")
    assert show(x, x.negate(a)) == "!(a < n)"
    assert show(x, x.negate(x.logic("and", a, b))) in ("!((a < n) & (b < n))", "!((b < n) & (a < n))")

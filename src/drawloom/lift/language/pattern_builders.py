"""A Python function for each pattern; the patterns without slots are functions already, such as ``join``.

Names are the thesis's in Python's spelling: ``mapSeq`` is ``map_seq``. Several have the names of Python's built-ins,
as NumPy's have: import them one by one, or write ``lift.map``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drawloom.lift.arithmetic import ArithmeticRefusal, Nat, ceil_div
from drawloom.lift.language.builders import (
    FunctionLike,
    Length,
    as_expression,
    as_function,
    as_lambda_or_function,
    call,
    require_int,
    require_length,
)
from drawloom.lift.language.errors import ill_typed
from drawloom.lift.language.index_functions import LENGTH, BoundaryFunction, IndexFunction, index_function
from drawloom.lift.language.ir import Expression, Lambda
from drawloom.lift.language.patterns import algorithmic, layout
from drawloom.lift.language.patterns.base import DefinedPattern
from drawloom.lift.language.positions import caller

id: Final = algorithmic.Id()
join: Final = layout.Join()
transpose: Final = layout.Transpose()
zip: Final = layout.Zip()
unzip: Final = layout.Unzip()
head: Final = layout.Head()
concat: Final = layout.Concat()
lookup: Final = layout.Lookup()


# Algorithmic patterns


def map(function: FunctionLike, *arguments: Any) -> Any:
    """Apply a function to every element: ``map : ((T → U), [T]n) → [U]n``.

    Args:
        function: A Lift function, or a Python function of one expression.
        arguments: The array, or nothing.

    Returns:
        The mapped array if the array is given, otherwise a function of it. So do all builders of patterns.

    Example:
        >>> map(lambda x: x * 2.0)
        map(λ x . mult(x, 2.0))
    """
    return mapped(algorithmic.Map, (), function, arguments)


def mapped(
    pattern: type[DefinedPattern], statics: tuple[int, ...], function: FunctionLike, arguments: tuple[Any, ...]
) -> Any:
    return call(pattern, statics, (as_function(function, caller(), 1, pattern.keyword),), arguments)


def fold(
    pattern: type[DefinedPattern],
    statics: tuple[Nat, ...],
    initial: Any,
    function: FunctionLike,
    arguments: tuple[Any, ...],
) -> Any:
    position = caller()
    made = as_function(function, position, 2, pattern.keyword)
    return call(pattern, statics, (made,), (as_expression(initial, position), *arguments))


def reduce(initial: Any, function: FunctionLike, *arguments: Any) -> Any:
    """Combine all elements in any order: ``reduce : (T, (T, T) → T, [T]n) → [T]1``.

    Args:
        initial: The value that the reduction begins with.
        function: A user function declared associative, commutative and with a neutral element, or a function that
            applies one pairwise to the elements of two arrays.
        arguments: The array, or nothing.

    Example:
        >>> from drawloom.lift import add
        >>> reduce(0, add)
        reduce(0, add)
    """
    return fold(algorithmic.Reduce, (), initial, function, arguments)


def reduce_seq(initial: Any, function: FunctionLike, *arguments: Any) -> Any:
    """Combine all elements from left to right: ``reduceSeq : (U, (U, T) → U, [T]n) → [U]1``.

    Example:
        >>> reduce_seq(0.0, lambda acc, x: acc + x * x)
        reduceSeq(0.0, λ (acc, x) . add(acc, mult(x, x)))
    """
    return fold(algorithmic.ReduceSeq, (), initial, function, arguments)


def partial_reduce(results: Length, initial: Any, function: FunctionLike, *arguments: Any) -> Any:
    """Reduce ``n`` elements to ``results``, each of ``n / results`` consecutive ones: ``[T]n → [T]m``.

    Example:
        >>> from drawloom.lift import add
        >>> partial_reduce(4, 0, add)
        partialReduce(4, 0, add)
    """
    return fold(algorithmic.PartialReduce, (require_length("partialReduce", results),), initial, function, arguments)


def scan(initial: Any, function: FunctionLike, *arguments: Any) -> Any:
    """Return all results of an ordered reduction, the last included: ``(T, (T, T) → T, [T]n) → [T]n``.

    Example:
        >>> from drawloom.lift import add
        >>> scan(0, add)
        scan(0, add)
    """
    return fold(algorithmic.Scan, (), initial, function, arguments)


def scan_exclusive(initial: Any, function: FunctionLike, *arguments: Any) -> Any:
    """Return all results of an ordered reduction from the initial value on, without the last.

    Example:
        >>> from drawloom.lift import add
        >>> scan_exclusive(0, add)
        scanExclusive(0, add)
    """
    return fold(algorithmic.ScanExclusive, (), initial, function, arguments)


def scan_seq(initial: Any, function: FunctionLike, *arguments: Any) -> Any:
    """Scan from left to right in one work-item; the function needs no properties.

    Example:
        >>> from drawloom.lift import add
        >>> scan_seq(0, add)
        scanSeq(0, add)
    """
    return fold(algorithmic.ScanSeq, (), initial, function, arguments)


def scan_exclusive_seq(initial: Any, function: FunctionLike, *arguments: Any) -> Any:
    """Scan from left to right in one work-item, beginning with the initial value.

    Example:
        >>> from drawloom.lift import add
        >>> scan_exclusive_seq(0, add)
        scanExclusiveSeq(0, add)
    """
    return fold(algorithmic.ScanExclusiveSeq, (), initial, function, arguments)


def iterate(times: Length, function: FunctionLike, *arguments: Any) -> Any:
    """Apply a function to an array ``times`` times, each time to the last result.

    Example:
        >>> from drawloom.lift import add
        >>> iterate(6, split(2) >> map(reduce(0, add)) >> join)
        iterate(6, join ∘ map(reduce(0, add)) ∘ split(2))
    """
    made = as_function(function, caller(), 1, "iterate")
    return call(algorithmic.Iterate, (require_length("iterate", times),), (made,), arguments)


def filter(predicate: FunctionLike, rest: Any, *arguments: Any) -> Any:
    """Move the elements that fulfil a predicate to the front: ``[T]n → ([T]n, int)``; the int is their number.

    Args:
        predicate: A function from an element to bool or an integer.
        rest: What follows the kept elements, up to the array's length.
        arguments: The array, or nothing.

    Example:
        >>> from drawloom.lift import user_function
        >>> filter(user_function("bool positive(float x) { return x > 0.0f; }"), 0)
        filter(positive, 0)
    """
    position = caller()
    made = as_function(predicate, position, 1, "filter")
    return call(algorithmic.Filter, (), (made,), (as_expression(rest, position), *arguments))


def filter_seq(predicate: FunctionLike, rest: Any, *arguments: Any) -> Any:
    """Move the elements that fulfil a predicate to the front, one after the other in one work-item; see `filter`.

    Example:
        >>> from drawloom.lift import user_function
        >>> filter_seq(user_function("bool positive(float x) { return x > 0.0f; }"), 0)
        filterSeq(positive, 0)
    """
    position = caller()
    made = as_function(predicate, position, 1, "filterSeq")
    return call(algorithmic.FilterSeq, (), (made,), (as_expression(rest, position), *arguments))


def map_atomic(update: FunctionLike, combine: FunctionLike, *arguments: Any) -> Any:
    """Combine into element ``i`` of an array what an update says: ``([T]m, [X]n) → [T]m``.

    Args:
        update: A function from an element to a pair of an index and a value.
        combine: A user function from an element of the array and a value to an element, declared associative and
            commutative.
        arguments: The array and the elements, or nothing.

    Example:
        >>> from drawloom.lift import add
        >>> map_atomic(lambda x: (x, 1), add)
        mapAtomic(λ x . (x, 1), add)
    """
    return atomic(algorithmic.MapAtomic, (), update, combine, arguments)


def atomic(
    pattern: type[DefinedPattern],
    statics: tuple[int, ...],
    update: FunctionLike,
    combine: FunctionLike,
    arguments: tuple[Any, ...],
) -> Any:
    position = caller()
    functions = (as_function(update, position, 1, pattern.keyword), as_function(combine, position, 2, pattern.keyword))
    return call(pattern, statics, functions, arguments)


# Data layout patterns


def split(chunk: Length, *arguments: Any) -> Any:
    """Cut an array into chunks whose length divides it: ``split(m) : [T]n → [[T]m](n/m)``.

    Example:
        >>> split(128)
        split(128)
    """
    return call(layout.Split, (positive_length("split", chunk),), (), arguments)


def split_guarded(chunk: Length, *arguments: Any) -> Any:
    """Cut an array of any length into chunks, of which the last may be shorter: ``[T]n → [[T]≤m]n``.

    Example:
        >>> split_guarded(128)
        splitGuarded(128)
    """
    return call(layout.SplitGuarded, (positive_length("splitGuarded", chunk),), (), arguments)


def split_padded(chunk: Length, value: Any, length: Length) -> Lambda:
    """Cut an array of any length into chunks, filling the last one up: a composition of padValue and split.

    Args:
        chunk: The length of a chunk.
        value: What the last chunk is filled up with, such as a reduction's neutral element.
        length: The length of the array.

    Returns:
        A function of type ``[T]n → [[T]m]⌈n/m⌉``; ``take(n)`` after ``join`` cuts the padding off again.

    Example:
        >>> split_padded(128, 0, 1000)
        split(128) ∘ padValue(0, 24, 0)
    """
    size = positive_length("split_padded", chunk)
    total = require_length("split_padded", length)
    padding = ceil_div(total, size) * size - total
    padded: Lambda = pad_value(0, padding, value) >> split(size)
    return padded


def with_epilogue(chunk: Length, main: FunctionLike, rest: FunctionLike, length: Length) -> Lambda:
    """Apply one function to the part of an array that whole chunks cover, and another to what is left.

    Args:
        chunk: The length of a chunk.
        main: A function of the first ``n / m * m`` elements.
        rest: A function of the last ``n mod m`` elements.
        length: The length of the array.

    Returns:
        A function whose result is the two results, one after the other.

    Example:
        >>> from drawloom.lift import map_glb, map_seq
        >>> with_epilogue(4, map_glb(id), map_seq(id), 10)
        λ x . concat(mapGlb(0)(id) ∘ take(8, x), mapSeq(id) ∘ drop(8, x))
    """
    position = caller()
    size = positive_length("with_epilogue", chunk)
    whole = require_length("with_epilogue", length) // size * size
    first, second = as_lambda_or_function(main, position), as_lambda_or_function(rest, position)

    def halves(x: Expression) -> Any:
        return concat(first(take(whole, x)), second(drop(whole, x)))

    return as_function(halves, position, 1, "with_epilogue")


def positive_length(what: str, value: Any) -> Nat:
    length = require_length(what, value)
    if isinstance(value, int) and value < 1:
        raise ill_typed(f"{what}: chunks of {value} elements", caller(), "1 or more")
    return length


def gather(function: IndexFunction | Callable[..., Any], *arguments: Any) -> Any:
    """Read element ``f(i)`` as element ``i``: ``gather(f) : [T]n → [T]n``.

    Args:
        function: `reverse`, or a Python function of the index, or of the index and the array's length, to the new
            index as an arithmetic expression. It must be a permutation.
        arguments: The array, or nothing.

    Example:
        >>> gather(lambda i, n: (i + 1) % n)
        gather((i, n) → (i + 1) mod n)
    """
    return call(layout.Gather, (require_index("gather", function),), (), arguments)


def scatter(function: IndexFunction | Callable[..., Any], *arguments: Any) -> Any:
    """Write element ``i`` as element ``f(i)``: ``scatter(f) : [T]n → [T]n``.

    Example:
        >>> from drawloom.lift import reverse
        >>> scatter(reverse)
        scatter((i, n) → n - i - 1)
    """
    return call(layout.Scatter, (require_index("scatter", function),), (), arguments)


def require_index(what: str, function: Any, kind: type[IndexFunction] = IndexFunction) -> IndexFunction:
    if isinstance(function, IndexFunction):
        return function if type(function) is kind else kind(function.at(kind.index, LENGTH))
    try:
        return index_function(function, kind)
    except ArithmeticRefusal as refusal:
        raise ill_typed(f"{what}: its index function: {refusal}", caller()) from None
    except (TypeError, AttributeError):
        raise ill_typed(
            f"{what}: {function!r} is not an index function", caller(), "a Python function of an index"
        ) from None


def get(index: int, *arguments: Any) -> Any:
    """Return a component of a tuple, counted from 0: ``get(i) : (T0, T1, ...) → Ti``; ``t[i]`` is the same.

    Example:
        >>> get(1)
        get(1)
    """
    return call(layout.Get, (require_int("get", index, 0),), (), arguments)


def slide(size: Length, step: Length, *arguments: Any) -> Any:
    """Return windows of ``size`` elements that begin every ``step``: ``[T]n → [[T]size]((n - size + step)/step)``.

    Example:
        >>> slide(3, 1)
        slide(3, 1)
    """
    return call(layout.Slide, (positive_length("slide", size), positive_length("slide", step)), (), arguments)


def pad(left: Length, right: Length, boundary: str | IndexFunction | Callable[..., Any], *arguments: Any) -> Any:
    """Extend an array at both ends by its own elements: ``pad(l, r, h) : [T]n → [T](l + n + r)``.

    Args:
        left: How many elements come before the array.
        right: How many come after it.
        boundary: ``"clamp"`` repeats the end, ``"mirror"`` reflects the array, ``"wrap"`` continues it cyclically. A
            Python function of an index outside the array, or of it and the array's length, returns the index of the
            element that stands there.
        arguments: The array, or nothing.

    Example:
        >>> pad(1, 1, "clamp")
        pad(1, 1, clamp)
        >>> pad(2, 0, lambda i: -i)
        padIndex(2, 0, i → -i)
    """
    statics = (require_length("pad", left), require_length("pad", right))
    if isinstance(boundary, IndexFunction) or callable(boundary):
        return call(layout.PadIndex, (*statics, require_index("pad", boundary, BoundaryFunction)), (), arguments)
    if str(boundary) not in layout.BOUNDARIES:
        raise ill_typed(
            f"pad: found {boundary!r}", caller(), "clamp, mirror, wrap or a function; pad_value pads with a value"
        )
    return call(layout.Pad, (*statics, boundary), (), arguments)


def pad_value(left: Length, right: Length, value: Any, *arguments: Any) -> Any:
    """Extend an array at both ends by copies of a value: ``[T]n → [T](l + n + r)``.

    Example:
        >>> pad_value(1, 1, 0.0)
        padValue(1, 1, 0.0)
    """
    position = caller()
    statics = (require_length("padValue", left), require_length("padValue", right))
    return call(layout.PadValue, statics, (), (as_expression(value, position), *arguments))


def take(count: Length, *arguments: Any) -> Any:
    """Return the first elements: ``take(m) : [T]n → [T]m``.

    Example:
        >>> take(8)
        take(8)
    """
    return call(layout.Take, (require_length("take", count),), (), arguments)


def drop(count: Length, *arguments: Any) -> Any:
    """Return all but the first elements: ``drop(m) : [T]n → [T](n - m)``.

    Example:
        >>> drop(8)
        drop(8)
    """
    return call(layout.Drop, (require_length("drop", count),), (), arguments)


def at(index: Length, *arguments: Any) -> Any:
    """Return one element of an array, a composition of drop and head: ``at(i) : [T]n → T``.

    Example:
        >>> at(2)
        head ∘ drop(2)
    """
    composed = drop(index) >> head
    return composed(*arguments) if arguments else composed


def replicate(count: Length, *arguments: Any) -> Any:
    """Return an array of copies of a value: ``replicate(n) : T → [T]n``.

    Example:
        >>> replicate(4, 0.0)
        replicate(4, 0.0)
    """
    return call(layout.Replicate, (require_length("replicate", count),), (), arguments)


def make_2d_array(rows: Length, columns: Length, value: Any) -> Any:
    """Return a matrix of copies of a value, the thesis's ``make2DArray``.

    Example:
        >>> make_2d_array(2, 3, 0.0)
        replicate(2) ∘ replicate(3, 0.0)
    """
    return replicate(rows, replicate(columns, value))


def iota(count: Length) -> Any:
    """Return the array 0, 1, ..., n - 1: ``iota(n) : [int]n``.

    Example:
        >>> iota(8)
        iota(8)
    """
    return call(layout.Iota, (require_length("iota", count),), (), ())


# Compositions


def transpose_by_gather(rows: Length, columns: Length) -> Lambda:
    """Return transposition as a composition of layout patterns (listing 4.4), of ``[[T]columns]rows``.

    Example:
        >>> from drawloom.lift import size
        >>> transpose_by_gather(size("N"), size("M"))
        split(N) ∘ gather(i → M*(i mod N) + i/N) ∘ join
    """
    n, m = require_length("transpose_by_gather", rows), require_length("transpose_by_gather", columns)
    composed: Lambda = join >> gather(lambda i: i // n + (i % n) * m) >> split(n)
    return composed


def tile(rows: Length, columns: Length, *arguments: Any) -> Any:
    """Cut a matrix into tiles of ``rows`` × ``columns`` (listing 5.23): ``[[T]M]N → [[[[T]columns]rows]..]..``.

    Example:
        >>> tile(2, 4)
        map(transpose) ∘ map(map(split(4))) ∘ split(2)
    """
    composed = split(rows) >> map(map(split(columns))) >> map(transpose)
    return composed(*arguments) if arguments else composed


def make_untile() -> Lambda:
    composed: Lambda = map(transpose) >> map(map(join)) >> join
    return composed


#: Undoes `tile`: from a matrix of tiles to the matrix.
untile: Final = make_untile()

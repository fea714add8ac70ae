"""Python's operators on expressions: those that Lift has a meaning for, and a refusal with advice for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from drawloom.lift.language.embedding import embedding
from drawloom.lift.language.errors import LiftTypeError, ill_typed
from drawloom.lift.language.positions import caller

if TYPE_CHECKING:
    from drawloom.lift.language.ir import Expression

#: The user functions of the library that NumPy's functions stand for, as in ``np.float32(2) * x``.
UFUNCS: Final = {
    "add": "add", "subtract": "sub", "multiply": "mult", "divide": "div", "true_divide": "div", "negative": "neg",
}  # fmt: skip
BY_FUNCTION: Final = 'a user function, such as user_function("float power(float x) { return x * x; }")'
BY_CONDITION: Final = 'a user function, such as user_function("float clip(float x) { return x < 0 ? 0 : x; }")'
BY_PATTERNS: Final = "a pattern for arrays, such as map or reduce; pair[0], pair[1] for the components of a tuple"


def refuse(what: str, instead: str) -> LiftTypeError:
    return ill_typed(f"{what} has no meaning for a Lift expression", caller(), instead)


class PythonOperators:
    """The operators of an expression."""

    def __add__(self, other: Any) -> Expression:
        return embedding().operate("add", self, other)

    def __radd__(self, other: Any) -> Expression:
        return embedding().operate("add", other, self)

    def __sub__(self, other: Any) -> Expression:
        return embedding().operate("sub", self, other)

    def __rsub__(self, other: Any) -> Expression:
        return embedding().operate("sub", other, self)

    def __mul__(self, other: Any) -> Expression:
        return embedding().operate("mult", self, other)

    def __rmul__(self, other: Any) -> Expression:
        return embedding().operate("mult", other, self)

    def __truediv__(self, other: Any) -> Expression:
        return embedding().operate("div", self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return embedding().operate("div", other, self)

    def __neg__(self) -> Expression:
        return embedding().operate("neg", self)

    def __rshift__(self, function: Any) -> Any:
        """Apply a function: ``x >> f`` is ``f(x)``, and ``x >> f >> g`` is ``g(f(x))``."""
        return embedding().pipe(self, function)

    def __getitem__(self, index: Any) -> Expression:
        """Return a component of a tuple: ``pair[0]`` is ``get(0, pair)``."""
        return embedding().component(self, index)

    # What NumPy asks

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Expression:
        operator = UFUNCS.get(function.__name__)
        if operator is None or method != "__call__" or options:
            raise refuse(f"np.{function.__name__}", BY_FUNCTION if method == "__call__" else BY_PATTERNS)
        return embedding().operate(operator, *operands)

    def __array_function__(self, function: Any, *arguments: Any) -> NoReturn:
        raise refuse(f"np.{function.__name__}", BY_PATTERNS)

    def __array__(self, *arguments: Any, **options: Any) -> NoReturn:
        raise refuse("np.array", "an array type of a parameter; interpret and compile take arrays")

    # What has no meaning

    def __bool__(self) -> bool:
        raise refuse("a condition of Python", BY_CONDITION)

    def __iter__(self) -> NoReturn:
        raise refuse("a loop of Python", BY_PATTERNS)

    def __contains__(self, element: Any) -> NoReturn:
        raise refuse("in", BY_PATTERNS)

    def __len__(self) -> int:
        raise refuse("len", 'the size of its type, such as size("N")')

    def __pow__(self, other: Any) -> NoReturn:
        raise refuse("**", BY_FUNCTION)

    def __rpow__(self, other: Any) -> NoReturn:
        raise refuse("**", BY_FUNCTION)

    def __mod__(self, other: Any) -> NoReturn:
        raise refuse("%", BY_FUNCTION)

    def __rmod__(self, other: Any) -> NoReturn:
        raise refuse("%", BY_FUNCTION)

    def __floordiv__(self, other: Any) -> NoReturn:
        raise refuse("//", "/, or " + BY_FUNCTION)

    def __rfloordiv__(self, other: Any) -> NoReturn:
        raise refuse("//", "/, or " + BY_FUNCTION)

    def __matmul__(self, other: Any) -> NoReturn:
        raise refuse("@", BY_PATTERNS)

    def __rmatmul__(self, other: Any) -> NoReturn:
        raise refuse("@", BY_PATTERNS)

    def __lshift__(self, other: Any) -> NoReturn:
        raise refuse("<<", "x >> f to apply a function")

    def __and__(self, other: Any) -> NoReturn:
        raise refuse("&", BY_FUNCTION)

    def __rand__(self, other: Any) -> NoReturn:
        raise refuse("&", BY_FUNCTION)

    def __or__(self, other: Any) -> NoReturn:
        raise refuse("|", BY_FUNCTION)

    def __ror__(self, other: Any) -> NoReturn:
        raise refuse("|", BY_FUNCTION)

    def __xor__(self, other: Any) -> NoReturn:
        raise refuse("^", BY_FUNCTION)

    def __rxor__(self, other: Any) -> NoReturn:
        raise refuse("^", BY_FUNCTION)

    def __lt__(self, other: Any) -> NoReturn:
        raise refuse("<", BY_CONDITION)

    def __le__(self, other: Any) -> NoReturn:
        raise refuse("<=", BY_CONDITION)

    def __gt__(self, other: Any) -> NoReturn:
        raise refuse(">", BY_CONDITION)

    def __ge__(self, other: Any) -> NoReturn:
        raise refuse(">=", BY_CONDITION)

    def __pos__(self) -> NoReturn:
        raise refuse("+ before it", "the expression itself")

    def __invert__(self) -> NoReturn:
        raise refuse("~", BY_FUNCTION)

    def __abs__(self) -> NoReturn:
        raise refuse("abs", BY_FUNCTION)

    def __round__(self, digits: Any = None) -> NoReturn:
        raise refuse("round", BY_FUNCTION)

    def __trunc__(self) -> NoReturn:
        raise refuse("trunc", BY_FUNCTION)

    def __floor__(self) -> NoReturn:
        raise refuse("floor", BY_FUNCTION)

    def __ceil__(self) -> NoReturn:
        raise refuse("ceil", BY_FUNCTION)

    def __float__(self) -> NoReturn:
        raise refuse("a number of Python", BY_FUNCTION)

    def __int__(self) -> NoReturn:
        raise refuse("a number of Python", BY_FUNCTION)

    def __complex__(self) -> NoReturn:
        raise refuse("a number of Python", BY_FUNCTION)

    def __index__(self) -> int:
        raise refuse("a number of Python", 'a length such as size("N"), or lookup for an index that is computed')

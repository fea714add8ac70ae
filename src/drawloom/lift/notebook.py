"""How programs show themselves in a notebook: their text, their type, and the OpenCL C of those that are kernels."""

from __future__ import annotations

from drawloom.errors import Error
from drawloom.lift.compile import compile
from drawloom.lift.language.infer import infer_types
from drawloom.lift.language.ir import Lambda, Node
from drawloom.lift.language.printer import show_program
from drawloom.lift.language.well_formed import is_low_level


def to_markdown(node: Node) -> str:
    """Return Markdown for an expression, a function or a program.

    A program whose parameters have types shows its type, or why it has none, and its OpenCL C if it is a kernel.

    Example:
        >>> from drawloom.lift import array, float32, fun, map, neg, size
        >>> print(to_markdown(fun(array(float32, size("N")), lambda x: map(neg, x), name="negated")))
        ```
        negated(x: [float]N) = map(neg, x)
        ```
        `negated : [float]N → [float]N`
    """
    if not isinstance(node, Lambda) or not node.parameters or any(one.declared is None for one in node.parameters):
        return block(str(node))
    parts = [block(show_program(node))]
    try:
        typed = infer_types(node)
        arguments = ", ".join([str(one.typed) for one in typed.parameters])
        arguments = arguments if typed.arity == 1 else f"({arguments})"
        parts.append(f"`{typed.name or 'λ'} : {arguments} → {typed.body.typed}`")
        if is_low_level(typed):
            parts.append(block(compile(node).opencl, "c"))
    except Error as refusal:
        parts.append(block(f"{refusal.__class__.__name__}: {refusal}"))
    return "\n".join(parts)


def block(text: str, language: str = "") -> str:
    return f"```{language}\n{text.rstrip()}\n```"

"""What IR objects ask so that they can be written and shown in Python: the IR must not import the builders and the
printer, which import it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from drawloom.lift.language.ir import Expression, Function, Lambda, Node


class Embedding(Protocol):
    """What `builders.py` gives IR objects."""

    def call(self, function: Function, arguments: tuple[Any, ...]) -> Expression | Lambda: ...
    def compose(self, outer: Any, inner: Any) -> Lambda: ...
    def pipe(self, argument: Any, function: Any) -> Expression | Lambda: ...
    def operate(self, operator: str, *operands: Any) -> Expression: ...
    def component(self, expression: Any, index: Any) -> Expression: ...
    def show(self, node: Node) -> str: ...
    def show_markdown(self, node: Node) -> str: ...


class Hook:
    """Holds the embedding."""

    embedding: ClassVar[Embedding | None] = None


def embedding() -> Embedding:
    """Return the installed embedding; `drawloom.lift` installs it when it is imported."""
    assert Hook.embedding is not None, "drawloom.lift.language.builders has not been imported"
    return Hook.embedding

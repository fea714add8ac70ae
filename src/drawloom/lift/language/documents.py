"""Breaking long programs into lines: a group of pieces stands on one line if it fits, or breaks at all its lines."""

from __future__ import annotations

WIDTH = 100


class Line:
    """A place where a group may break; `flat` is what stands there if it does not."""

    def __init__(self, flat: str) -> None:
        self.flat = flat


class Group:
    """Pieces of text, lines and groups; where it breaks, its lines are indented by `indent` more."""

    def __init__(self, pieces: list[str | Line | Group], indent: int = 2) -> None:
        self.pieces = pieces
        self.indent = indent
        self.width = sum([width_of(piece) for piece in pieces])


Document = str | Line | Group

SPACE = Line(" ")
NOTHING = Line("")


def width_of(piece: Document) -> int:
    if isinstance(piece, str):
        return len(piece)
    return len(piece.flat) if isinstance(piece, Line) else piece.width


def render(document: Document, width: int = WIDTH) -> str:
    """Return the text of a document with no line longer than `width` where that can be."""
    pieces: list[str] = []
    place(document, 0, 0, width, 0, pieces)
    return "".join(pieces)


def place(document: Document, column: int, indent: int, width: int, after: int, out: list[str]) -> int:
    """Append a document's text, and return the column after it; `after` characters follow on its last line."""
    if isinstance(document, str):
        out.append(document)
        return column + len(document)
    if isinstance(document, Line):
        out.append(document.flat)
        return column + len(document.flat)
    fits = column + document.width + after <= width
    inner = indent + document.indent
    pieces = document.pieces
    for at, piece in enumerate(pieces):
        if isinstance(piece, Line) and not fits:
            out.append("\n" + " " * inner)
            column = inner
        else:
            rest = 0
            for follower in pieces[at + 1 :]:
                if isinstance(follower, Line) and not fits:
                    break
                rest += width_of(follower)
            else:
                rest += after
            column = place(piece, column, inner if not fits else indent, width, rest, out)
    return column

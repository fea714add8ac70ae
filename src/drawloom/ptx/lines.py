"""From places in PTX to lines of the source that it was made of, by its ``.file`` and ``.loc`` directives."""

from __future__ import annotations

from bisect import bisect_right

from drawloom.ptx.ir import Directive, Module


def source_lines(module: Module, hidden: str) -> tuple[list[str], list[tuple[int, int, int]]]:
    """The files that ``.file`` names, and (position in the PTX, place of the file, line) wherever a new line begins.

    Code before the first ``.loc`` of a function, and PTX without any, has line 0. Lines of files in the folder
    ``hidden``, a compiler's own, count to the line before them.
    """
    files: list[str] = []
    numbers: dict[str, int] = {}
    rows: list[tuple[int, int, int]] = []
    for item in module.items:
        if isinstance(item, Directive) and item.name == ".file":
            words = item.text.split('"')  # number, folder and name, or number and path
            numbers[words[0].strip()] = len(files)
            files.append("/".join(words[1::2]))
    for function in module.functions.values():
        if not function.has_body:
            continue
        rows.append((function.pos, 0, 0))
        for statement in function.body:
            if isinstance(statement, Directive) and statement.name == ".loc":
                words = statement.text.replace(",", " ").split()
                place = numbers.get(words[0], -1)
                if place >= 0 and int(words[1]) and not (hidden and files[place].startswith(hidden)):
                    rows.append((statement.pos, place, int(words[1])))
    return files, sorted(rows)


def source_line(module: Module, position: int) -> str:
    """``file:line`` of the source for a position in the PTX; empty where the PTX does not say."""
    files, rows = source_lines(module, "")
    at = bisect_right(rows, position, key=lambda row: row[0]) - 1
    return f"{files[rows[at][1]]}:{rows[at][2]}" if at >= 0 and rows[at][2] else ""

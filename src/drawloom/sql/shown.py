"""Tables as text: aligned columns, numbers to the right, as wide as there is room for."""

from __future__ import annotations

import shutil
from typing import Any, Final

import pyarrow as pa

#: Between two columns; in the place of columns, and of the end of a value, that there is no room for.
_GAP: Final = "  "
_CUT: Final = "…"
#: What would move what stands behind it, or below.
_ESCAPES: Final = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
#: Values are not cut shorter than this: there are fewer columns rather.
_LEAST_WIDTH: Final = 8


def as_text(
    names: list[str], types: list[pa.DataType], rows: list[tuple[Any, ...]], footer: str, width: int = 0
) -> str:
    """A line of names, one of dashes, a line a row, and the footer. Lines are at most ``width`` characters, where that
    is not 0: the widest values are cut first, then columns from the middle are left out."""
    cells = [names, *[[shown(v) for v in row] for row in rows]]
    cells = [[cell.translate(_ESCAPES) for cell in line] for line in cells]
    widths = [max([len(line[i]) for line in cells]) for i in range(len(names))]
    right = [is_number(type) for type in types]
    kept = list(range(len(names)))
    if width:
        kept = _fitting(widths, width)
    lines: list[str] = []
    for number, line in enumerate([cells[0], ["-" * w for w in widths], *cells[1:]]):
        parts: list[str] = []
        for i in kept:
            if i < 0:
                parts.append(_CUT if number != 1 else "-")
                continue
            cell = line[i] if len(line[i]) <= widths[i] else line[i][: widths[i] - 1] + (_CUT if number != 1 else "-")
            parts.append(cell.rjust(widths[i]) if right[i] else cell.ljust(widths[i]))
        lines.append(_GAP.join(parts).rstrip())
    return "\n".join([*lines, footer, ""])


def terminal_width() -> int:
    return shutil.get_terminal_size((120, 24)).columns


def _fitting(widths: list[int], width: int) -> list[int]:
    """The columns that there is room for, -1 for those left out; narrows ``widths`` to what there is room for."""
    kept = list(range(len(widths)))
    left_out = False
    while True:
        room = width - len(_GAP) * (len(kept) - 1 + left_out) - left_out
        wide = [i for i in kept if widths[i] > _LEAST_WIDTH]
        least = sum([min(widths[i], _LEAST_WIDTH) for i in kept])
        if least <= room or len(kept) <= 2:
            break
        kept.pop(len(kept) // 2)
        left_out = True
    while wide and sum([widths[i] for i in kept]) > room:
        widest = max(wide, key=lambda i: widths[i])
        widths[widest] -= 1
        wide = [i for i in kept if widths[i] > _LEAST_WIDTH]
    if left_out:
        kept.insert(len(kept) // 2 + len(kept) % 2, -1)
    return kept


def is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type))


def shown(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)

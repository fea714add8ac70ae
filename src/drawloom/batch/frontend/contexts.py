"""Where an expression is evaluated: the register format of what it is assigned to, and the turns that lie in its lanes.

A statement whose turns run at once has turn t in the lanes (wi, positions[t]) of its target's register. So a loop
variable is a constant there: `for (ix = 0; ix < 4; ix++) a[ix] = 2 * ix` sees ix as <0, 1, 2, 3> for every item.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.frontend.syntax import Variable
from drawloom.batch.ir.ir import Format, Lanes


class Turns(NamedTuple):
    """Turns that run at once: for each loop variable its value in every turn."""

    number: int
    values: tuple[tuple[Variable, NDArray[Any]], ...]

    def select(self, chosen: Sequence[int]) -> Turns:
        rows = list(chosen)
        return Turns(len(rows), tuple((variable, values[rows]) for variable, values in self.values))


#: A statement outside of loops that run several turns at once.
ONCE = Turns(1, ())


class Context:
    """The format that values have, and which of its lanes count.

    ``lanes`` has the shape of the format; lanes outside hold arbitrary numbers. ``bound`` gives variables constant
    lanes in place of their registers.
    """

    def __init__(self, format: Format, turns: Turns, positions: Lanes) -> None:
        self.format = format
        columns = np.zeros(format.extent, bool)
        columns[positions] = True
        self.lanes = np.broadcast_to(columns, format)
        self.is_full = bool(columns.all())
        self.bound: dict[Variable, Lanes] = {}
        for variable, values in turns.values:
            row = np.zeros(format.extent, variable.type.dtype)
            row[positions] = values
            self.bound[variable] = np.broadcast_to(row, format)
        self.items = np.broadcast_to(np.arange(format.items, dtype=np.int64)[:, None], format)
        self.columns = np.broadcast_to(np.arange(format.extent, dtype=np.int64)[None, :], format)

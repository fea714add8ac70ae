"""The work-item functions of a kernel as variables: known numbers of work-items make loops ``if`` or nothing."""

from __future__ import annotations

from typing import Final

from drawloom.lift.arithmetic import Nat, Variable, as_nat, simplify, variable

GLB, WRG, LCL, SEQ, REDUCE = "glb", "wrg", "lcl", "seq", "reduce"

Triple = tuple[int | None, int | None, int | None]
UNKNOWN: Final[Triple] = (None, None, None)

NAMES: Final = {GLB: "g_id", WRG: "wg_id", LCL: "l_id"}
CALLS: Final = {GLB: "get_global_id", WRG: "get_group_id", LCL: "get_local_id"}
COUNT_NAMES: Final = {GLB: "g_size", WRG: "wg_count", LCL: "l_size"}
COUNT_CALLS: Final = {GLB: "get_global_size", WRG: "get_num_groups", LCL: "get_local_size"}


class Threads:
    """The ids and counts of work-items.

    Args:
        local_size: Work-items of a group in each dimension, None where unknown.
        num_groups: Groups in each dimension, None where unknown.
    """

    def __init__(self, local_size: Triple = UNKNOWN, num_groups: Triple = UNKNOWN) -> None:
        self.local_size = local_size
        self.num_groups = num_groups
        self.calls: dict[str, str] = {}  # the C expression of every name
        self.counts: dict[tuple[str, int], Nat] = {}
        self.ids: dict[tuple[str, int], Variable] = {}
        for dimension in range(3):
            for kind in (LCL, WRG, GLB):
                self.add(kind, dimension)

    def add(self, kind: str, dimension: int) -> None:
        name, count_name = f"{NAMES[kind]}_{dimension}", f"{COUNT_NAMES[kind]}_{dimension}"
        self.calls[name] = f"{CALLS[kind]}({dimension})"
        self.calls[count_name] = f"{COUNT_CALLS[kind]}({dimension})"
        count: Nat
        if kind == GLB:
            local, groups = self.local_size[dimension], self.num_groups[dimension]
            known = None if local is None or groups is None else local * groups
        else:
            known = self.local_size[dimension] if kind == LCL else self.num_groups[dimension]
        count = as_nat(known) if known is not None else variable(count_name)
        self.counts[kind, dimension] = simplify(count)
        self.ids[kind, dimension] = variable(name, 0, count)

    def id(self, kind: str, dimension: int) -> Variable:
        return self.ids[kind, dimension]

    def count(self, kind: str, dimension: int) -> Nat:
        return self.counts[kind, dimension]

    def bounded_id(self, kind: str, dimension: int, length: Nat) -> Variable:
        """Return the id, known to be below a length."""
        return variable(f"{NAMES[kind]}_{dimension}", 0, length)

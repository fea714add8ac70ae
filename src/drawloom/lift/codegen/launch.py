"""The work-item functions of a kernel as variables: known numbers of work-items make loops ``if`` or nothing."""

from __future__ import annotations

from typing import Final

from drawloom.lift.arithmetic import Nat, Variable, as_nat, is_at_most, simplify, variable

GLB, WRG, LCL, WARP, LANE, SEQ, REDUCE = "glb", "wrg", "lcl", "warp", "lane", "seq", "reduce"

#: The kinds of loops whose iterations the work-items of a group share.
GROUP_KINDS: Final = (LCL, WARP, LANE)
#: The work-items of a warp: what `mapLane` distributes over.
WARP_SIZE: Final = 32

Triple = tuple[int | None, int | None, int | None]
#: Numbers of groups, which may be expressions of the program's sizes.
Groups = tuple[Nat | int | None, Nat | int | None, Nat | int | None]
UNKNOWN: Final[Triple] = (None, None, None)

NAMES: Final = {GLB: "g_id", WRG: "wg_id", LCL: "l_id", WARP: "warp_id", LANE: "lane_id"}
CALLS: Final = {GLB: "get_global_id", WRG: "get_group_id", LCL: "get_local_id"}
#: The names of ids that differ between the work-items of a group.
WORK_ITEM_IDS: Final = frozenset(
    f"{NAMES[kind]}_{dimension}" for kind in (GLB, LCL, WARP, LANE) for dimension in range(3)
)
COUNT_NAMES: Final = {GLB: "g_size", WRG: "wg_count", LCL: "l_size"}
COUNT_CALLS: Final = {GLB: "get_global_size", WRG: "get_num_groups", LCL: "get_local_size"}


class Threads:
    """The ids and counts of work-items. A warp is 32 work-items with consecutive ids in one dimension.

    Args:
        local_size: Work-items of a group in each dimension, None where unknown.
        num_groups: Groups in each dimension, None where unknown.
        sub_groups: The device's sub-groups are the warps, so that a warp can have barriers of its own.
    """

    def __init__(self, local_size: Triple = UNKNOWN, num_groups: Groups = UNKNOWN, sub_groups: bool = False) -> None:
        self.local_size = local_size
        self.num_groups = num_groups
        self.sub_groups = sub_groups
        self.calls: dict[str, str] = {}  # the C expression of every name
        self.counts: dict[tuple[str, int], Nat] = {}
        self.ids: dict[tuple[str, int], Variable] = {}
        for dimension in range(3):
            for kind in (LCL, WRG, GLB):
                self.add(kind, dimension)
            self.add_warps(dimension)

    def add(self, kind: str, dimension: int) -> None:
        name, count_name = f"{NAMES[kind]}_{dimension}", f"{COUNT_NAMES[kind]}_{dimension}"
        self.calls[name] = self.global_id(dimension) if kind == GLB else f"{CALLS[kind]}({dimension})"
        self.calls[count_name] = f"{COUNT_CALLS[kind]}({dimension})"
        count: Nat
        if kind == GLB:
            local, groups = self.local_size[dimension], self.num_groups[dimension]
            known: Nat | int | None = None if local is None or groups is None else local * groups
        else:
            known = self.local_size[dimension] if kind == LCL else self.num_groups[dimension]
        count = as_nat(known) if known is not None else variable(count_name)
        self.counts[kind, dimension] = simplify(count)
        self.ids[kind, dimension] = variable(name, 0, count)

    def global_id(self, dimension: int) -> str:
        """Return the C expression of a global id, from `int`s: compilers for CPUs then see that those of neighbouring
        work-items are consecutive. Of a narrowed ``get_global_id`` they do not."""
        local = self.local_size[dimension]
        if local is None:
            return f"get_global_id({dimension})"
        if local == 1:
            return f"get_group_id({dimension})"
        return f"(int)get_group_id({dimension}) * {local} + (int)get_local_id({dimension})"

    def add_warps(self, dimension: int) -> None:
        local = self.local_size[dimension]
        warps, name = f"{NAMES[WARP]}_{dimension}", f"{NAMES[LANE]}_{dimension}"
        self.calls[warps] = f"get_local_id({dimension}) / {WARP_SIZE}"
        self.calls[name] = f"get_local_id({dimension}) % {WARP_SIZE}"
        self.counts[LANE, dimension] = as_nat(WARP_SIZE)
        self.ids[LANE, dimension] = variable(name, 0, WARP_SIZE)
        if local is not None and local % WARP_SIZE == 0:
            count = as_nat(local // WARP_SIZE)
            self.counts[WARP, dimension] = count
            self.ids[WARP, dimension] = variable(warps, 0, count)

    def id(self, kind: str, dimension: int) -> Variable:
        return self.ids[kind, dimension]

    def count(self, kind: str, dimension: int) -> Nat:
        return self.counts[kind, dimension]

    def bounded_id(self, kind: str, dimension: int, length: Nat) -> Variable:
        """Return the id, known to be below a length."""
        return variable(f"{NAMES[kind]}_{dimension}", 0, length)

    def covers(self, kind: str, dimension: int, length: Nat) -> bool:
        """Return True when a parallel map of a length has at most one element for a work-item or group."""
        if kind in (GLB, WRG) and isinstance(self.num_groups[dimension], Nat):
            return True  # the launch has groups for the longest map of its dimension
        return is_at_most(length, self.counts[kind, dimension])

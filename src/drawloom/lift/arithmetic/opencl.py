"""The OpenCL work-item functions as variables with their ranges (thesis section 4.3.3)."""

from __future__ import annotations

from typing import Final

from drawloom.lift.arithmetic.expression import Nat, Variable, as_nat, call_variable
from drawloom.lift.arithmetic.simplify import simplify

DIMENSIONS: Final = 3

_LOCAL_SIZE: Final = [call_variable(f"get_local_size({n})", 1, None) for n in range(DIMENSIONS)]
_NUM_GROUPS: Final = [call_variable(f"get_num_groups({n})", 1, None) for n in range(DIMENSIONS)]
_GLOBAL_SIZE: Final = [call_variable(f"get_global_size({n})", 1, None) for n in range(DIMENSIONS)]


class Launch:
    """The work-item functions of one kernel: variables, or constants where the numbers of threads are known.

    Args:
        local_size: work-items of a group in each dimension, None where unknown.
        num_groups: work-groups in each dimension, None where unknown.

    Example:
        >>> launch = Launch(local_size=(64, 1, 1), num_groups=(None, None, None))
        >>> print(launch.local_size(0), launch.local_id(0), launch.local_id(0) // launch.local_size(0))
        64 get_local_id(0) 0
    """

    def __init__(
        self,
        local_size: tuple[int | None, int | None, int | None] = (None, None, None),
        num_groups: tuple[int | None, int | None, int | None] = (None, None, None),
    ) -> None:
        self._local_size: list[Nat] = []
        self._num_groups: list[Nat] = []
        self._global_size: list[Nat] = []
        self._local_id: list[Variable] = []
        self._group_id: list[Variable] = []
        self._global_id: list[Variable] = []
        for n in range(DIMENSIONS):
            local, groups = local_size[n], num_groups[n]
            local_count: Nat = _LOCAL_SIZE[n] if local is None else as_nat(local)
            group_count: Nat = _NUM_GROUPS[n] if groups is None else as_nat(groups)
            known = local is not None or groups is not None
            global_count = simplify(local_count * group_count) if known else _GLOBAL_SIZE[n]
            self._local_size.append(local_count)
            self._num_groups.append(group_count)
            self._global_size.append(global_count)
            self._local_id.append(call_variable(f"get_local_id({n})", 0, local_count))
            self._group_id.append(call_variable(f"get_group_id({n})", 0, group_count))
            self._global_id.append(call_variable(f"get_global_id({n})", 0, global_count))

    def local_size(self, dimension: int) -> Nat:
        return self._local_size[dimension]

    def num_groups(self, dimension: int) -> Nat:
        return self._num_groups[dimension]

    def global_size(self, dimension: int) -> Nat:
        return self._global_size[dimension]

    def local_id(self, dimension: int) -> Variable:
        return self._local_id[dimension]

    def group_id(self, dimension: int) -> Variable:
        return self._group_id[dimension]

    def global_id(self, dimension: int) -> Variable:
        return self._global_id[dimension]

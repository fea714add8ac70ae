"""The values of special registers (PTX ISA 9.0 chapter 10) for a thread of a block of a launch.

The machine has one multiprocessor that runs a grid of one-block clusters; time is counted in executed steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from drawloom.ptx.specials import SPECIALS

if TYPE_CHECKING:
    from drawloom.reference.threads import Thread

Read = Callable[["Thread"], int]

_MASK32: Final = 0xFFFFFFFF


def _vector(name: str, read: Callable[[Thread], tuple[int, int, int]]) -> dict[str, Read]:
    """``name.x`` to ``name.w`` (``.r .g .b .a`` too); the fourth component is always 0, as for all of these."""

    def component(index: int) -> Read:
        return (lambda t: read(t)[index]) if index < 3 else lambda t: 0

    return {f"{name}.{letter}": component(i % 4) for i, letter in enumerate("xyzwrgba")}


def _zero(t: Thread) -> int:
    return 0


def _one(t: Thread) -> int:
    return 1


#: Registers whose value a thread never sees change.
CONSTANT_SPECIALS: Final[dict[str, Read]] = {
    **_vector("%tid", lambda t: t.tid),
    **_vector("%ntid", lambda t: t.block.launch.block),
    **_vector("%ctaid", lambda t: t.block.ctaid),
    **_vector("%nctaid", lambda t: t.block.launch.grid),
    **_vector("%clusterid", lambda t: t.block.ctaid),
    **_vector("%nclusterid", lambda t: t.block.launch.grid),
    **_vector("%cluster_ctaid", lambda t: (0, 0, 0)),
    **_vector("%cluster_nctaid", lambda t: (1, 1, 1)),
    "%cluster_ctarank": _zero,
    "%cluster_nctarank": _one,
    "%is_explicit_cluster": _zero,
    "%laneid": lambda t: t.lane,
    "%warpid": lambda t: t.warp.index,
    "%nwarpid": lambda t: len(t.block.warps),
    "%smid": _zero,
    "%nsmid": _one,
    "%gridid": _zero,
    "%lanemask_eq": lambda t: 1 << t.lane,
    "%lanemask_le": lambda t: (2 << t.lane) - 1,
    "%lanemask_lt": lambda t: (1 << t.lane) - 1,
    "%lanemask_ge": lambda t: _MASK32 << t.lane & _MASK32,
    "%lanemask_gt": lambda t: _MASK32 << t.lane + 1 & _MASK32,
    "%dynamic_smem_size": lambda t: t.block.launch.dynamic_shared,
    "%total_smem_size": lambda t: t.block.launch.shared_size,
    "%aggr_smem_size": lambda t: t.block.launch.shared_size,
    "%current_graph_exec": _zero,
    **{name: _zero for name in SPECIALS if name.startswith(("%envreg", "%reserved_smem_offset"))},
}

#: Registers that are read anew each time; times only grow.
VOLATILE_SPECIALS: Final[dict[str, Read]] = {
    "%clock": lambda t: t.block.launch.tick() & _MASK32,
    "%clock_hi": lambda t: t.block.launch.tick() >> 32 & _MASK32,
    "%clock64": lambda t: t.block.launch.tick(),
    "%globaltimer": lambda t: t.block.launch.tick(),
    "%globaltimer_lo": lambda t: t.block.launch.tick() & _MASK32,
    "%globaltimer_hi": lambda t: t.block.launch.tick() >> 32 & _MASK32,
    **{name: _zero for name in SPECIALS if name.startswith("%pm")},
}

"""What a launch needs to know of a generated kernel: parameters, how columns lie in memory, accumulators, results."""

from __future__ import annotations

from drawloom.errors import DataError
from drawloom.horse.accumulate import Accumulator
from drawloom.horse.elementwise import TextParam
from drawloom.horse.ir import Pos
from drawloom.horse.kernels.rows import Tile
from drawloom.horse.types import VectorType
from drawloom.ptx.ir import Module


class Storage:
    """How a column parameter lies in memory: ``name`` is its PTX type (``s8`` to ``s64``, ``f32``, ``f64``, ``u8``);
    where it ``is_padded``, a whole tile may be read behind its last row's."""

    def __init__(self, name: str, bytes: int, is_padded: bool = False) -> None:
        self.name = name
        self.bytes = bytes
        self.is_padded = is_padded


class GroupKey:
    """One key of a kernel's groups: number = sum of (value - low) * stride, each value within low .. low + size - 1."""

    def __init__(self, name: str, type: VectorType, low: int, size: int, stride: int, column: str) -> None:
        self.name = name
        self.type = type
        self.low = low
        self.size = size
        self.stride = stride
        self.column = column


class Output:
    """One result of a kernel, of vector type ``type``; by ``kind``

    - "reduce": ``function`` of accumulators ``value`` and ``count`` (indexes, -1 for none), one or one a group;
    - "key": key number ``value`` of the groups;
    - "rows": the rows of buffer ``value``, as many as counter ``count`` says (-1: all), of each warp or, where the
      plan has a ``tile``, in all; text codes of ``column``.
    """

    def __init__(self, kind: str, type: VectorType, function: str, value: int, count: int, column: str = "") -> None:
        self.kind = kind
        self.type = type
        self.function = function
        self.value = value
        self.count = count
        self.column = column


class KernelError(DataError):
    """What a kernel reports, and the place in the program's text of the statement that it computed."""

    def __init__(self, message: str, pos: Pos) -> None:
        super().__init__(message)
        self.pos = pos


class KernelPlan:
    """A generated kernel and all that a launch needs to know.

    ``columns``, ``scalars`` and ``text_params`` are parameters by name, ``lengths`` the columns whose lengths are so,
    too, ``storage`` how the columns lie in memory, and
    ``linear`` the columns that have the kernel's rows (from others rows are only picked): ``most_rows`` at most, and
    ``is_stored`` says that they are a stored table's. ``only_picks`` says that nothing is computed from them.

    ``cells`` is the column that is a list, over whose cells the kernel is; "" for a kernel over rows. ``is_flat`` says
    that these are the elements of lists.

    ``row_buffers`` are the register kinds of its row results, ``counters`` by how many masks these are selected, and
    with a ``tile`` by look-back over such; ``errors`` by error code, from 1, what to say and of which place in the
    program's text. ``space`` says where groups
    are accumulated, ``groups`` how many there can be, ``exists`` which accumulator counts or marks their rows.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = Module()
        self.columns: list[str] = []
        self.linear: list[str] = []
        self.cells = ""
        self.is_flat = False
        self.most_rows = 0
        self.is_stored = False
        self.only_picks = False
        self.storage: dict[str, Storage] = {}
        self.scalars: list[str] = []
        self.text_params: list[TextParam] = []
        self.lengths: list[str] = []
        self.row_buffers: list[str] = []
        self.counters = 0
        self.tile: Tile | None = None
        self.accumulators: list[Accumulator] = []
        self.groups = 1
        self.keys: list[GroupKey] = []
        self.exists = -1
        self.space = "register"
        self.reduces_lanes = True
        self.outputs: list[Output] = []
        self.errors: list[tuple[str, Pos]] = []

    def check(self, error: int) -> None:
        """Raises KernelError for an error code that a kernel reported."""
        if error:
            raise KernelError(*self.errors[error - 1])

    @property
    def slots(self) -> int:
        return sum([a.slots for a in self.accumulators])

    @property
    def marks(self) -> int:
        """Bytes behind a table of groups, which say which of these there are."""
        return self.groups if self.exists >= 0 and self.accumulators[self.exists].kind == "mark" else 0


def parameter(variable: str) -> str:
    """The PTX parameter of a HorseIR variable: no name of an instruction, and none of the kernel's own."""
    return "p_" + variable


def length_parameter(variable: str) -> str:
    """The PTX parameter that says how many elements a column has."""
    return "n_" + variable

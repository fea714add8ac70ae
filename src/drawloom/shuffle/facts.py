"""What the emulator finds out about a kernel, as plain data: from a function to its memory accesses, to the loads whose
value another lane has loaded already, and to what has to hold for that.

    Report     ::= Access* Candidate* Refusal*     -- of one function
    Candidate  ::= load source N Assumption*       -- B(lane) of the load is A(lane + N) of the source

Instructions are named by their index in ``function.body``. Expressions are numbers of one ``Expressions`` table, which
the report holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from drawloom.ptx.ir import Function, Instruction, Register

if TYPE_CHECKING:
    from drawloom.shuffle.expressions import Expressions
    from drawloom.shuffle.meetings import Meeting
    from drawloom.shuffle.overlaps import Overlap
    from drawloom.shuffle.threads import Threads

LOAD: Final = "load"
STORE: Final = "store"
ATOMIC: Final = "atomic"

#: An index that is extended to the address's width must not wrap by the way from one lane to the other.
NO_WRAP: Final = "no-wrap"
#: Lanes count along ``%tid.x``: ``%ntid.x`` is a multiple of 32, or ``%ntid.y`` and ``%ntid.z`` are 1.
LANES_ALONG_X: Final = "lanes-along-x"
ALONG_X: Final = "%ntid.x is a multiple of 32, or %ntid.y and %ntid.z are 1"
#: Lanes that run an instruction of a loop together are in the same iteration, although they may have parted before.
LOCKSTEP: Final = "lockstep"
#: Two kernel parameters do not point to the same memory: the caller's promise, or tested at the entry of the kernel.
DISTINCT: Final = "distinct-parameters"


#: Line and column, from 1; (0, 0) where an instruction has none.
Place = tuple[int, int]


def in_words(place: Place) -> str:
    """A place in words."""
    return f"line {place[0]}:{place[1]}" if place[0] else "no line"


class Options:
    """What an analysis may take for granted, and how much it may do.

    ``assume_no_wrap`` takes ``NO_WRAP`` as given, ``distinct_parameters`` that no two pointer parameters overlap;
    ``shared`` looks at loads from shared memory, too; ``flows`` is how many flows may come to one block before they
    are merged; ``solver_steps`` is how much the solver may do for one kernel (0: it is not asked), where a step of it
    takes a tenth of a millisecond or less.
    """

    def __init__(
        self, assume_no_wrap: bool = False, distinct_parameters: bool = False, shared: bool = False, flows: int = 16,
        solver_steps: int = 5000,
    ) -> None:  # fmt: skip
        self.assume_no_wrap = assume_no_wrap
        self.distinct_parameters = distinct_parameters
        self.shared = shared
        self.flows = flows
        self.solver_steps = solver_steps


class Assumption:
    """A condition that a candidate rests on and that is not proved.

    Of ``NO_WRAP`` it is ``low <= register <= high``, as signed or unsigned numbers of ``bits`` bits, for the lane that
    would take the value, tested right before ``function.body[at]``; that instruction is run before the load, in the
    same iteration. ``at`` is -1 where no instruction will do: then only ``--assume-no-wrap`` lets it hold. ``at`` is
    -1 for the other kinds, too: ``LANES_ALONG_X`` can be tested at the entry of the kernel. ``is_narrow`` is that the
    index has less than 32 bits: a program may mean it to wrap, so ``--assume-no-wrap`` is not about it.

    Where ``second`` is given, the condition of ``NO_WRAP`` is ``register - second == low`` instead, tested before the
    load ``function.body[at]``. ``meeting`` is where ``LOCKSTEP`` is tested, ``overlaps`` what is tested for
    ``DISTINCT`` at the entry of the kernel.
    """

    def __init__(
        self, kind: str, text: str, at: int = -1, register: Register | None = None, bits: int = 0,
        is_signed: bool = False, low: int = 0, high: int = 0, is_narrow: bool = False,
        second: Register | None = None, meeting: Meeting | None = None, overlaps: tuple[Overlap, ...] = (),
    ) -> None:  # fmt: skip
        self.kind = kind
        self.text = text
        self.at = at
        self.register = register
        self.bits = bits
        self.is_signed = is_signed
        self.low = low
        self.high = high
        self.is_narrow = is_narrow
        self.second = second
        self.meeting = meeting
        self.overlaps = overlaps

    @property
    def testable(self) -> bool:
        """Whether a few instructions can find out at run time if it holds."""
        if self.kind == LOCKSTEP:
            return self.meeting is not None
        if self.kind == DISTINCT:
            return bool(self.overlaps)
        return self.kind == LANES_ALONG_X or self.at >= 0

    def key(self) -> tuple[object, ...]:
        """Equal for equal conditions."""
        register = -1 if self.register is None else self.register.id
        second = -1 if self.second is None else self.second.id
        return (self.kind, self.text, self.at, register, second, self.low, self.high)

    def __repr__(self) -> str:
        return f"{self.kind}: {self.text}"


class Access:
    """One access of the trace: an instruction as one flow comes to it.

    ``address`` and ``guard`` are expressions (``guard`` is -1 where it is always done); ``order`` numbers the accesses
    of the trace; ``version`` says which writes to the memory came before; ``space`` is empty for generic addressing of
    an unknown space; ``bytes`` is the size for one lane; ``element_bytes`` that of one element of a vector;
    ``read_only`` says that nobody writes there while the kernel runs (``.nc``, ``.const``, ``.param``).
    """

    def __init__(
        self, kind: str, at: int, instruction: Instruction, space: str, bytes: int, element_bytes: int, address: int,
        guard: int, order: int, version: int, block: int, depth: int, read_only: bool,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.at = at
        self.instruction = instruction
        self.space = space
        self.bytes = bytes
        self.element_bytes = element_bytes
        self.address = address
        self.guard = guard
        self.order = order
        self.version = version
        self.block = block
        self.depth = depth
        self.read_only = read_only


class Candidate:
    """``load`` at ``lane`` reads what ``source`` read at ``lane + delta``, -31 <= delta <= 31, in all ``flows``.

    Element ``k`` of the destination is element ``k + element`` of the source's (0 where neither is a vector). The
    source is run before the load whenever the load is, in the same iteration, and what it read has not been written
    since. Both are weak loads of one element type. ``dominated`` is that all paths of the CFG to the load go through
    the source: else threads for which an assumption or the load's guard is false may come there without it.
    """

    def __init__(
        self, load: int, source: int, delta: int, element: int, assumptions: list[Assumption], flows: int,
        dominated: bool,
    ) -> None:  # fmt: skip
        self.load = load
        self.source = source
        self.delta = delta
        self.element = element
        self.assumptions = assumptions
        self.flows = flows
        self.dominated = dominated

    def __repr__(self) -> str:
        return f"<load {self.load} from {self.source}, lane{self.delta:+d}>"


class Refusal:
    """A load or a whole region that was not analysed, and why; ``at`` is -1 for the whole function."""

    def __init__(self, at: int, reason: str) -> None:
        self.at = at
        self.reason = reason


def no_candidates(at: int, excluded: set[int]) -> Iterator[Candidate]:
    """What there is for every load of a function that was not analysed."""
    return iter(())


def not_looked_at(at: int) -> str:
    """Why loads of such a function have no candidate."""
    return "it was not looked at"


def nothing_missing() -> str:
    """The shortfall of a function for which no solver is asked."""
    return ""


class Report:
    """What was found in one function.

    ``trace`` has each access once for each address, guard and memory version that flows come to it with.
    ``find(at, excluded)`` goes through the candidates of the load ``function.body[at]`` with no source among
    ``excluded``, the smallest ``|delta|`` first, each worked out when it is asked for; ``why(at)`` says why it has
    none, and ``shortfall()``, behind them, why some may be missing. ``threads`` says what depends on ``%tid``, None
    of a function that has no CFG. ``divergent`` are the accesses before which lanes may have parted and not met again.
    ``merged`` counts the flows that were joined because there were too many.
    """

    def __init__(self, function: Function, expressions: Expressions) -> None:
        self.function = function
        self.expressions = expressions
        self.trace: list[Access] = []
        self.loads: list[int] = []
        self.find: Callable[[int, set[int]], Iterator[Candidate]] = no_candidates
        self.why: Callable[[int], str] = not_looked_at
        self.shortfall: Callable[[], str] = nothing_missing
        self.threads: Threads | None = None
        self.divergent: set[int] = set()
        self.refusals: list[Refusal] = []
        self.flows = 0
        self.merged = 0
        self.seconds = 0.0

"""The memory trace of all flows of a function: accesses, and which earlier loads a load may take its value from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.ir import Function, Module, Register
from drawloom.ptx.types import Type
from drawloom.shuffle.corners import Corners
from drawloom.shuffle.decide import Decider
from drawloom.shuffle.execute import elements
from drawloom.shuffle.expressions import Expressions
from drawloom.shuffle.facts import Access, Options
from drawloom.shuffle.loops import Rounds
from drawloom.shuffle.memory import Aliases
from drawloom.shuffle.overlaps import FARTHEST, Overlap
from drawloom.shuffle.state import ENTERED, GUARDED, LEFT, VISIBLE, WRITTEN, Ending, Place, State

#: Loads of one place that are kept, and loads with addresses of no known form that one is compared with.
_MOST_ALIKE: Final = 8
_MOST_FORMLESS: Final = 48


class Source:
    """A load that another may take its value from: ``delta`` lanes further on, from ``element`` of its vector."""

    def __init__(self, access: Access, element: int, delta: int) -> None:
        self.access = access
        self.element = element
        self.delta = delta
        #: What has to be tested because of stores since then.
        self.tests: tuple[Overlap, ...] = ()


class Instance:
    """A load as one flow comes to it, the sources that hold there, the conditions of the flow, and, where there is no
    source, what ended the last one."""

    def __init__(
        self, access: Access, sources: list[Source], conditions: dict[int, bool], ending: Ending | None
    ) -> None:
        self.access = access
        self.sources = sources
        self.conditions = conditions
        self.ending = ending

    def source(self, at: int, element: int, delta: int) -> Source | None:
        """The source that the load ``function.body[at]`` is here; None where it is none."""
        for found in self.sources:
            if (found.access.at, found.element, found.delta) == (at, element, delta):
                return found
        return None


class Trail:
    """``instances[at]`` are the ways to come to a load, ``idle[at]`` those on which its guard is false, ``refused[at]``
    why one was not looked at, ``sites[e]`` where index ``e`` is widened, in which register."""

    def __init__(
        self, x: Expressions, module: Module, function: Function, options: Options, decider: Decider, rounds: Rounds,
        corners: Corners,
    ) -> None:  # fmt: skip
        self.x = x
        self.module = module
        self.function = function
        self.options = options
        self.decider = decider
        self.rounds = rounds
        self.corners = corners
        pointers = frozenset([p.name for p in function.params if p.is_pointer])
        variables = [*module.variables.values(), *function.variables]
        pools = frozenset([v.name for v in variables if v.space == "shared" and v.size == 0])
        self.aliases = Aliases(x, options.distinct_parameters, pointers, pools, function.is_entry)
        self.spaces = {v.name: v.space for v in [*variables, *function.params]}
        self.accesses: list[Access] = []
        self.instances: dict[int, list[Instance]] = {}
        self.idle: dict[int, list[Instance]] = {}
        self.refused: dict[int, str] = {}
        self.sites: dict[int, list[tuple[int, Register]]] = {}
        self._known: dict[tuple[int, int, int, int], int] = {}
        self._widened: dict[tuple[int, int], int] = {}
        self._widths: dict[int, int] = {}

    def start_again(self) -> None:
        """Forget what was found, not what was decided."""
        self.accesses = []
        self.instances = {}
        self.idle = {}
        self.refused = {}
        self.sites = {}
        self._known = {}
        self._widened = {}
        self.aliases.start_again()

    def depth(self, block: int) -> int:
        return self.rounds.depth(block)

    def symbol_space(self, name: str) -> str:
        """The space that a variable is in."""
        return self.spaces.get(name, "")

    def widened(self, wide: int, at: int, register: Register) -> None:
        """What fills a register was widened."""
        known = self._widened.get((at, register.id))
        if known is None:
            self._widened[(at, register.id)] = wide
            self.sites.setdefault(wide, []).append((at, register))
        elif known != wide and known >= 0:
            # Another flow widens another index there: a test could be of either.
            self._widened[(at, register.id)] = -1
            self.sites[known].remove((at, register))

    def number(self, access: Access) -> int:
        """The place of an access in the trace; equal ones have one."""
        key = (access.at, access.address, access.guard, access.version)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = access.order = len(self.accesses)
            self.accesses.append(access)
        return known

    # -- what a write ends -------------------------------------------------------------------------------

    def write(self, state: State, access: Access) -> None:
        """A store or an atomic: loads that it may hit hold no longer."""
        number = self.number(access)
        if access.space in ("local", "param"):
            return
        state.version = access.at + 1
        self.keep(state, lambda read: self.outlasts(state, access, read), WRITTEN, number)

    def outlasts(self, state: State, write: Access, read: Access) -> bool:
        """Return whether what was read still holds after a write, by a test where it needs one."""
        if not self.aliases.may_hit(write, read):
            return True
        test = self.aliases.test(write, read)
        if test is None:
            return False
        known = state.tests.get(read.order, ())
        if test not in known:
            state.tests[read.order] = (*known, test)
        return True

    def forget(self, state: State, at: int) -> None:
        """Somebody else's writes become visible."""
        state.version = at + 1
        self.keep(state, lambda read: read.read_only, VISIBLE, at)

    def enter(self, state: State, is_regular: bool) -> None:
        """A cycle is entered that writes to memory, or one at any of several places."""
        self.keep(state, lambda read: is_regular and read.read_only, ENTERED)

    def leave(self, state: State, blocks: frozenset[int]) -> None:
        """A loop is left: its loads were those of one iteration."""
        self.keep(state, lambda read: read.block not in blocks, LEFT)

    def keep(self, state: State, holds: Callable[[Access], bool], kind: int, by: int = -1) -> None:
        kept: dict[int, bool] = {}
        for place, found in list(state.available.items()):
            left: list[tuple[int, int]] = []
            for number, element in found:
                if number not in kept:
                    kept[number] = holds(self.accesses[number])
                if kept[number]:
                    left.append((number, element))
                else:
                    state.end(Ending(place, number, element, kind, by))
            if not left:
                del state.available[place]
            elif len(left) < len(found):
                state.available[place] = tuple(left)

    # -- what a load can take ----------------------------------------------------------------------------

    def read(self, state: State, access: Access, ordered: bool) -> None:
        """A load: its sources, and itself as a source of others."""
        number = self.number(access)
        access = self.accesses[number]
        reason = self.refusal(access, ordered)
        if reason:
            self.refused[access.at] = reason
            return
        instance = self.instance(state, access)
        state.tests.pop(number, None)
        if access.instruction.guard is not None and self.is_corner(instance):
            self.refused[access.at] = "it is done for the lanes to which a shuffle or a copy gives nothing"
            return
        self.instances.setdefault(access.at, []).append(instance)
        is_some = access.guard >= 0 and self.x.varies[access.guard] != 0
        type = access.instruction.opcode.type
        assert type is not None
        kind = "r" if access.read_only else access.space
        for _, element in elements(access.instruction):
            address = self.x.scale(access.address, 1, element * type.bytes)
            rest, strides = self.decider.place(address)
            places = [(kind, type.bits, rest, strides)]
            if rest < 0:
                places.append((kind, type.bits, address, 0))  # for what is there again, however many others there are
            for place in places:
                if is_some:
                    state.end(Ending(place, number, element, GUARDED))
                    continue
                found = state.available.get(place, ())
                most = _MOST_ALIKE if place[2] >= 0 else _MOST_FORMLESS
                if (number, element) not in found:
                    state.available[place] = (*found[: most - 1], (number, element))

    def pass_by(self, state: State, access: Access) -> None:
        """A load whose guard is false in this flow: its lanes take nothing, but they give others what they have."""
        self.idle.setdefault(access.at, []).append(self.instance(state, access))

    def instance(self, state: State, access: Access) -> Instance:
        """A load as this flow comes to it, with its sources."""
        type = access.instruction.opcode.type
        assert type is not None
        rest, strides = self.decider.place(access.address)
        sources: list[Source] = []
        for kind in ("r", access.space):
            self.look(state, access, kind, type, rest, strides, sources)
        for source in sources:
            source.tests = state.tests.get(source.access.order, ())
        ending = None if sources else self.ended(state, access, type, rest, strides)
        return Instance(access, sources, dict(state.conditions), ending)

    def is_corner(self, instance: Instance) -> bool:
        """Whether a load replaces what a shuffle has given, or what was loaded from the same address."""
        is_shuffled, loads = self.corners.replaced(instance.access.at)
        if is_shuffled or any(s.delta == 0 and s.access.at in loads for s in instance.sources):
            return True
        address = instance.access.address
        for copied in [one.access for at in loads for one in self.instances.get(at, [])]:
            if self.x.distance(address, copied.address) in range(copied.bytes):
                return True  # under a guard of its own
        return False

    def ended(self, state: State, access: Access, type: Type, rest: int, strides: int) -> Ending | None:
        """What ended the last source that a load would have had."""
        for ending in reversed(state.endings):
            kind, bits, other, apart = ending.place
            if other == rest and bits == type.bits and abs(strides - apart) <= FARTHEST and kind in ("r", access.space):
                source = self.accesses[ending.number]
                if (rest >= 0 or source.address == access.address) and self.alike(access, source, ending.element):
                    return ending
        return None

    def refusal(self, access: Access, ordered: bool) -> str:
        """Why a load is not looked at; empty where it is."""
        if ordered:
            return "others may write what it reads at any time, as it says itself"
        if access.block in self.rounds.irregular:
            return "it is in a cycle that can be entered at several places"
        if access.space == "shared" and not self.options.shared:
            return "it loads from shared memory"
        if access.space not in ("global", "shared"):
            return f"it loads from {access.space} memory" if access.space else "its address may be in any space"
        if access.instruction.opcode.name == "ldu":
            return "ldu is the same for all lanes"
        return ""

    def look(
        self, state: State, access: Access, kind: str, type: Type, rest: int, strides: int, out: list[Source]
    ) -> None:
        """The sources of one kind of memory."""
        available = state.available
        for number, element in self.formless(available, kind, type.bits, rest):
            source = self.accesses[number]
            if self.fits(access, source, element):
                offset = element * source.element_bytes
                for delta in self.decider.guesses(source.address, access.address, offset):
                    out.append(Source(source, element, delta))
        farthest = FARTHEST
        if rest < 0:
            farthest, rest = 0, access.address
        for strides_apart in range(-farthest, farthest + 1):
            found = available.get((kind, type.bits, rest, strides - strides_apart))
            if found is not None:
                for number, element in found:
                    source = self.accesses[number]
                    if self.fits(access, source, element):
                        out.append(Source(source, element, strides_apart))

    def formless(
        self, available: dict[Place, tuple[tuple[int, int], ...]], kind: str, bits: int, rest: int
    ) -> list[tuple[int, int]]:
        """What a load has to be compared with one by one: where it is linear, what is not; else everything."""
        if rest >= 0:
            return list(available.get((kind, bits, -1, 0), ()))
        out: list[tuple[int, int]] = []
        for place, found in available.items():
            is_listed = place[2] >= 0 and self.decider.place(place[2])[0] < 0  # at the place of the formless, too
            if place[0] == kind and place[1] == bits and not is_listed:
                out.extend(found)
        return out[-_MOST_FORMLESS:]

    def fits(self, load: Access, source: Access, element: int) -> bool:
        """Whether a source has loaded wherever the load is done, and ``alike``."""
        return (source.guard < 0 or source.guard == load.guard) and self.alike(load, source, element)

    def alike(self, load: Access, source: Access, element: int) -> bool:
        """Whether what a source's registers hold can be made what the load's shall hold, one for one: of one type, or
        filling both registers."""
        first, second = load.instruction.opcode, source.instruction.opcode
        if element + first.vector > second.vector:
            return False
        mine, other = self.width(load), self.width(source)
        if first.types[0] is second.types[0]:
            return mine > 0 and other > 0
        return mine == other == first.types[0].bits

    def width(self, load: Access) -> int:
        """The bits of a load's destination register; 0 where it has none."""
        known = self._widths.get(load.at, -1)
        if known < 0:
            found = elements(load.instruction)
            known = self._widths[load.at] = found[0][0].type.bits if found else 0
        return known

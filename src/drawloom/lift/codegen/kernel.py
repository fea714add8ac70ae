"""One kernel: from a typed lambda to OpenCL C with its signature, and how it is launched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from drawloom.lift.arithmetic import (
    ONE,
    ZERO,
    ArithmeticRefusal,
    Constant,
    Nat,
    Variable,
    evaluate,
    free_variables,
    maximum,
    simplify,
    substitute,
    unsimplified,
    upper_bound,
    variable,
)
from drawloom.lift.codegen.branches import decide_branches
from drawloom.lift.codegen.divisors import find_divisors
from drawloom.lift.codegen.errors import DivergentBarrier, not_compiled
from drawloom.lift.codegen.generator import Generator, Switches
from drawloom.lift.codegen.hoist import hoist_loads
from drawloom.lift.codegen.launch import GLB, LANE, LCL, UNKNOWN, WARP, WARP_SIZE, WRG, Groups, Threads, Triple
from drawloom.lift.codegen.printer import CodePrinter
from drawloom.lift.codegen.scope import Scope
from drawloom.lift.codegen.starts import find_start
from drawloom.lift.codegen.strides import count_in_strides
from drawloom.lift.codegen.syntax import Access, Apply, Assign, SetPointer, Statement, Text, body_of, loads_of
from drawloom.lift.codegen.unroll import find_registers, unroll
from drawloom.lift.codegen.user_functions import FunctionTable
from drawloom.lift.codegen.vector_buffers import VectorIndices, find_vector_buffers
from drawloom.lift.language.arguments import values_by_size
from drawloom.lift.language.errors import SizeError
from drawloom.lift.language.index_functions import IndexFunction
from drawloom.lift.language.ir import Call, Expression, Function, Lambda, Parameter, Pattern
from drawloom.lift.language.patterns.opencl import (
    MapAtomicGlb,
    MapAtomicLcl,
    MapGlb,
    MapLane,
    MapLcl,
    MapWarp,
    MapWrg,
    ParallelMap,
)
from drawloom.lift.language.positions import Position
from drawloom.lift.language.types import (
    ArrayType,
    RaggedType,
    ScalarType,
    TupleType,
    Type,
    VectorType,
    boolean,
    lengths_of,
    uint8,
)
from drawloom.lift.memory.barriers import BarrierInsertion
from drawloom.lift.memory.buffers import GLOBAL, LOCAL, PRIVATE, Buffer
from drawloom.lift.memory.duplicates import leave_to_first
from drawloom.lift.memory.exchanges import refuse_exchanges
from drawloom.lift.memory.ragged import chunk_view, stored_type
from drawloom.lift.memory.reuse import share_memory
from drawloom.lift.views.views import ConstantView, UnsupportedView, View, ZipView

#: The work-items of a group where the program leaves them open, by the number of dimensions of mapGlb.
GLOBAL_GROUPS: dict[int, tuple[int, ...]] = {0: (1, 1, 1), 1: (128, 1, 1), 2: (16, 8, 1), 3: (16, 4, 2)}
MOST_WORK_ITEMS = 256
DEFAULT_LOCAL = 64
MOST_GROUPS = 65535
MOST_GROUPS_OF_X = (1 << 31) - 1
#: What every device of the runtime has: work-items of a group, and bytes of local memory that a kernel declares.
MOST_DEVICE_WORK_ITEMS = 1024
MOST_DEVICE_LOCAL = 49152


class KernelParameter:
    """A parameter of a kernel.

    Args:
        name: In C.
        role: ``"input"``, ``"value"`` (an input that is a scalar or vector), ``"output"``, ``"temporary"``,
            ``"size"`` or ``"fault"`` (what checked accesses report).
        buffer: The memory of a pointer.
        type: Of a scalar or vector.
        size: The size variable.
    """

    def __init__(
        self,
        name: str,
        role: str,
        buffer: Buffer | None = None,
        type: ScalarType | VectorType | None = None,
        size: Variable | None = None,
    ) -> None:
        self.name = name
        self.role = role
        self.buffer = buffer
        self.type = type
        self.size = size


class Kernel:
    """A compiled kernel.

    Attributes:
        name: Of the kernel in the text.
        text: Its OpenCL C, without the user functions that the program's kernels share.
        parameters: In the order of the signature: inputs, outputs, temporary buffers, sizes.
        local_size: Work-items of a group; the text requires it.
        start: Computes what is in the results' buffers before the launch, from the kernel's inputs; None for nothing.
        views: What each load and store went through, as text.
        position: The Python line of the program.
        renamed: Sizes that have another name in the kernel, and what they are there.
        accesses: The checked accesses: the place and the pattern of each.
    """

    def __init__(
        self,
        name: str,
        text: str,
        parameters: list[KernelParameter],
        local_size: tuple[int, int, int],
        num_groups: list[list[Nat]],
        result: Type,
        buffers: list[Buffer],
        views: list[str],
        start: Lambda | None,
        position: Position,
        renamed: dict[Variable, Variable],
        accesses: list[str],
    ) -> None:
        self.accesses = accesses
        self.position = position
        self.renamed = renamed
        self.start = start
        self.is_exact = False
        self.known_groups: Triple = UNKNOWN
        self.name = name
        self.views = views
        self.text = text
        self.parameters = parameters
        self.local_size = local_size
        self.group_extents = num_groups
        self.result = result
        self.buffers = buffers

    def known(self, sizes: Mapping[Any, int]) -> dict[Variable, int]:
        """Return the values of the kernel's sizes, which are given by size or by name, beside others.

        Raises:
            SizeError: One has no value, or none that is a whole number.
        """
        own = {parameter.size.name: parameter.size for parameter in self.parameters if parameter.size is not None}
        found = values_by_size(own, {key: sizes[key] for key in sizes if isinstance(key, Variable) or key in own})
        for size in own.values():
            if size not in found:
                raise SizeError(f"kernel {self.name}: size {size} has no value, expected one")
        return found

    def own_sizes(self, sizes: Mapping[Variable, int]) -> dict[Variable, int]:
        """Return the values of sizes, also by what they are called in the kernel."""
        return {**sizes, **{own: sizes[size] for size, own in self.renamed.items() if size in sizes}}

    def bytes_in(self, space: str) -> Nat:
        """Return the bytes that the kernel allocates in an address space."""
        total = simplify(Constant(0))
        for buffer in self.buffers:
            if buffer.space == space and buffer.role == "temporary":
                total = total + buffer.size_bytes
        return simplify(total)

    def count_divisions(self) -> int:
        """Return how many divisions and remainders the kernel's indices and bounds have left."""
        return self.text.count(" / ") + self.text.count(" % ")

    def __repr__(self) -> str:
        names = ", ".join([parameter.name for parameter in self.parameters])
        return f"kernel {self.name}({names}), local size {self.local_size}"

    def check_work_items(self) -> None:
        """Refuse work-groups of more work-items than our devices have."""
        work_items = self.local_size[0] * self.local_size[1] * self.local_size[2]
        if work_items > MOST_DEVICE_WORK_ITEMS:
            raise SizeError(
                f"{self.position}: kernel {self.name}: work-groups of {work_items} work-items, expected at most "
                f"{MOST_DEVICE_WORK_ITEMS}"
            )

    def check_device(self, sizes: Mapping[Variable, int]) -> None:
        """Refuse a kernel that takes more local memory than our devices have.

        Raises:
            SizeError: With the pattern that the largest local array is for.
        """
        sizes = self.own_sizes(sizes)
        local = [one for one in self.buffers if one.space == LOCAL and one.role == "temporary"]
        total = sum([evaluate(one.size_bytes, sizes) for one in local])
        if total > MOST_DEVICE_LOCAL:
            largest = max(local, key=lambda one: evaluate(one.size_bytes, sizes))
            raise SizeError(
                f"{largest.origin}: kernel {self.name} needs {total} bytes of local memory, most of them for "
                f"{largest.name} with {largest.capacity} elements; expected at most {MOST_DEVICE_LOCAL}"
            )

    def refuse_fault(self, report: Any) -> None:
        """Refuse a launch whose checked accesses have reported an index outside its array."""
        access, index, length = [int(one) for one in report]
        if access:
            raise SizeError(f"{self.accesses[access - 1]}: index {index} is outside the array of {length} elements")

    def num_groups(self, sizes: Mapping[Any, int]) -> tuple[int, int, int]:
        """Return the launch's groups: those that the code knows, or enough for every parallel map and at most 65535.

        Args:
            sizes: The values of the kernel's sizes, by size or by name.

        Raises:
            SizeError: A size has no value; or the kernel needs exactly as many groups as its maps have elements, and
                that is too many.
        """
        counts: list[int] = []
        if None in self.known_groups:
            sizes = self.own_sizes(self.known(sizes))
        for extents, known in zip(self.group_extents, self.known_groups):
            if known is not None:
                counts.append(known)
                continue
            most = 1
            for extent in extents:
                try:
                    most = max(most, evaluate(extent, sizes))
                except ArithmeticRefusal:
                    continue
            allowed = MOST_GROUPS_OF_X if self.is_exact and not counts else MOST_GROUPS
            if self.is_exact and most > allowed:
                raise SizeError(
                    f"kernel {self.name}: {most} work-groups in dimension {len(counts)}, expected at most {allowed}\n"
                    "  without exact_groups, work-groups take turns"
                )
            counts.append(min(most, allowed))
        return counts[0], counts[1], counts[2]


class KernelOptions:
    """What a user may choose of a kernel.

    Args:
        sizes: Known sizes, which become constants.
        local_size: Work-items of a group, or None for the program's lengths.
        num_groups: Known numbers of groups, or None.
        switches: The optimisations.
        sub_groups: The device's sub-groups are warps of 32 work-items.
        exact_groups: A launch has exactly the groups that `Kernel.num_groups` returns.
        check_indices: Kernels check the indices that are data.
    """

    def __init__(
        self,
        sizes: Mapping[Variable, int],
        local_size: tuple[int, int, int] | None,
        num_groups: Triple,
        switches: Switches,
        sub_groups: bool = False,
        exact_groups: bool = False,
        check_indices: bool = False,
    ) -> None:
        self.exact_groups = exact_groups
        self.check_indices = check_indices
        self.sizes = sizes
        self.local_size = local_size
        self.num_groups = num_groups
        self.switches = switches
        self.sub_groups = sub_groups


def make_kernel(function: Lambda, name: str, options: KernelOptions, functions: FunctionTable) -> Kernel:
    """Compile a typed, well-formed lambda that is one kernel.

    Args:
        function: The lambda.
        name: Of the kernel.
        options: What the user has chosen.
        functions: Of the program; those that the kernel calls are added.
    """
    name = functions.global_name(name)
    try:
        return build_kernel(function, name, options, functions, True)
    except DivergentBarrier:
        # Memory that is used again may need barriers that the program itself does not.
        return build_kernel(function, name, options, functions, False)


def build_kernel(function: Lambda, name: str, options: KernelOptions, functions: FunctionTable, reuse: bool) -> Kernel:
    known: dict[Variable, Nat] = {size: simplify(Constant(value)) for size, value in options.sizes.items()}
    functions.begin_kernel(Threads().calls)
    sizes = [size for size in sizes_of(function) if size not in known]
    renamed = rename_sizes(sizes, functions)
    known.update(renamed)
    extents = find_extents(function, known)
    local_size = options.local_size or choose_local_size(extents)
    check_threads(function, extents, local_size, options.num_groups)
    groups = [group_extents(extents, dimension, local_size) for dimension in range(3)]
    own_sizes = [renamed.get(size, size) for size in sizes]
    num_groups = exact_groups(groups, own_sizes) if options.exact_groups else options.num_groups
    threads = Threads(local_size, num_groups, options.sub_groups)
    generator = Generator(threads, options.switches, functions)
    if options.check_indices:
        generator.fault = generator.fresh("fault")
    parameters: list[KernelParameter] = []
    scope = Scope({}, known)
    for parameter in function.parameters:
        scope = scope.bind(parameter, bind_parameter(generator, parameter, scope, parameters))
    result = scope.type(function.body.typed)
    # The whole program is one place for errors of what no call owns.
    generator.current = outermost_call(function)
    statements, outputs = generate(generator, function, result, scope)
    statements = decide_branches(statements)
    if reuse:
        share_memory(statements, generator.memory.buffers, (GLOBAL, LOCAL))
    statements = BarrierInsertion(threads, options.switches.barriers).run(statements)
    shared = shared_ids(extents, local_size, options.num_groups)
    statements = leave_to_first(statements, threads, shared)
    refuse_exchanges(statements, shared)
    statements = hoist_loads(decide_branches(unroll(statements)), generator.memory.variable)
    find_registers(statements)
    share_memory(statements, generator.memory.buffers, (PRIVATE,))
    divisors = find_divisors(function, sizes)
    own_divisors = {renamed.get(size, size): divisor for size, divisor in divisors.items()}
    vectors = VectorIndices(own_divisors, generator.fresh)
    if options.switches.array_access:
        find_vector_buffers(statements, vectors)
        statements = count_in_strides(statements, vectors)
    used = {buffer.memory for buffer in used_buffers(statements)}
    buffers = [buffer for buffer in generator.memory.buffers if buffer.role in ("input", "output") or buffer in used]
    parameters += [KernelParameter(buffer.name, "output", buffer) for buffer in outputs]
    parameters += [
        KernelParameter(buffer.name, "temporary", buffer)
        for buffer in buffers
        if buffer.space == GLOBAL and buffer.role == "temporary"
    ]
    parameters += [KernelParameter(renamed.get(size, size).name, "size", None, None, size) for size in sizes]
    if generator.accesses:
        parameters.append(KernelParameter(generator.fault, "fault"))
    try:
        printer = CodePrinter(generator.functions, vectors)
        text = print_kernel(printer, generator, name, parameters, buffers, statements, local_size)
    except (UnsupportedView, ArithmeticRefusal) as refusal:
        assert generator.current is not None
        raise not_compiled(str(refusal), generator.current.position) from None
    kernel = Kernel(
        name,
        text,
        parameters,
        local_size,
        groups,
        function.body.typed,
        buffers,
        generator.views,
        find_start(function),
        function.position,
        renamed,
        generator.accesses,
    )
    kernel.is_exact = options.exact_groups
    kernel.known_groups = UNKNOWN if options.exact_groups else options.num_groups
    return kernel


def rename_sizes(sizes: list[Variable], functions: FunctionTable) -> dict[Variable, Variable]:
    """Return other variables for the sizes whose names mean something else in OpenCL C."""
    renamed: dict[Variable, Variable] = {}
    for size in sizes:
        name = functions.fresh_name(size.name)
        if name != size.name:
            renamed[size] = variable(name, size.range.start, size.range.stop, size.range.step)
    return renamed


def generate(
    generator: Generator, function: Lambda, result: Type, scope: Scope
) -> tuple[list[Statement], list[Buffer]]:
    """Return the kernel's statements and the buffers of its result."""
    base = generator.fresh("out")
    try:
        with nullcontext() if generator.switches.array_access else unsimplified():
            target = generator.memory.allocate(stored_type(result), GLOBAL, [], base, "output")
            generator.into(function.body, chunk_view(target, result), scope)
    except (UnsupportedView, ArithmeticRefusal) as refusal:  # of what no call inside owns
        raise generator.refuse(str(refusal)) from None
    return generator.statements, target.forest.buffers()


def outermost_call(function: Lambda) -> Call:
    body = function.body
    if isinstance(body, Call):
        return body
    raise not_compiled("the program computes nothing", function.position, "a parallel map")


def bind_parameter(generator: Generator, parameter: Parameter, scope: Scope, parameters: list[KernelParameter]) -> View:
    """Return the view of a kernel's input, and add the parameters that hold it."""
    type = scope.type(parameter.typed)
    base = generator.fresh(parameter.name)
    if isinstance(type, ArrayType | RaggedType):
        view = generator.memory.allocate(stored_type(type), GLOBAL, [], base, "input")
        parameters.extend([KernelParameter(buffer.name, "input", buffer) for buffer in view.forest.buffers()])
        return chunk_view(view, type)
    return bind_scalar(type, base, parameter, generator, parameters)


def bind_scalar(
    type: Type, name: str, parameter: Parameter, generator: Generator, parameters: list[KernelParameter]
) -> View:
    if isinstance(type, TupleType):
        parts: list[View] = []
        for at, element in enumerate(type.elements):
            if isinstance(element, ArrayType | RaggedType):
                view = generator.memory.allocate(stored_type(element), GLOBAL, [], f"{name}_{at}", "input")
                parameters.extend([KernelParameter(one.name, "input", one) for one in view.forest.buffers()])
                parts.append(chunk_view(view, element))
            else:
                parts.append(bind_scalar(element, f"{name}_{at}", parameter, generator, parameters))
        return ZipView(parts)
    assert isinstance(type, ScalarType | VectorType)
    parameters.append(KernelParameter(name, "value", None, type))
    if type == boolean:
        return ConstantView(Apply("(", [Text(name)], " != 0)"))
    return ConstantView(Access(Buffer(name, PRIVATE, type, [], role="value"), ZERO))


# Lengths and launches


class Extents:
    """The lengths of a kernel's parallel maps, by kind and dimension."""

    def __init__(self) -> None:
        self.lengths: dict[tuple[str, int], list[Nat]] = {}

    def add(self, kind: str, dimension: int, length: Nat) -> None:
        self.lengths.setdefault((kind, dimension), []).append(length)

    def of(self, kind: str, dimension: int) -> list[Nat]:
        return self.lengths.get((kind, dimension), [])


KIND_OF = {
    MapGlb: GLB, MapWrg: WRG, MapLcl: LCL, MapWarp: WARP, MapLane: LANE, MapAtomicGlb: GLB, MapAtomicLcl: LCL
}  # fmt: skip
KEYWORD_OF = {GLB: "mapGlb", WRG: "mapWrg", LCL: "mapLcl", WARP: "mapWarp"}


def find_extents(function: Lambda, known: dict[Variable, Nat]) -> Extents:
    extents = Extents()
    for call in calls_of(function):
        pattern = call.function
        if isinstance(pattern, ParallelMap | MapAtomicGlb):
            type = call.arguments[-1].typed
            length = type.length if isinstance(type, ArrayType) else None
            if isinstance(type, RaggedType):
                length = (type.total + type.chunk - 1) // type.chunk
            kind = KIND_OF.get(pattern.__class__)
            if length is not None and kind is not None:
                extents.add(kind, pattern.dimension, simplify(substitute(length, known)))
    return extents


def calls_of(node: Expression | Function) -> Iterator[Call]:
    """Yield every call in a program, outermost first."""
    if isinstance(node, Call):
        yield node
        yield from calls_of(node.function)
        for argument in node.arguments:
            yield from calls_of(argument)
    elif isinstance(node, Lambda):
        yield from calls_of(node.body)
    elif isinstance(node, Pattern):
        for inner in node.functions:
            yield from calls_of(inner)


def choose_local_size(extents: Extents) -> tuple[int, int, int]:
    """Return a group with a work-item for each element of the longest mapLcl, as far as 256 work-items go.

    A dimension of mapWarp has a whole warp for each element.
    """
    global_dimensions = [dimension for dimension in range(3) if extents.of(GLB, dimension)]
    if not any(extents.of(kind, dimension) for kind in (LCL, WARP) for dimension in range(3)):
        sizes = [1, 1, 1]
        for at, dimension in enumerate(global_dimensions):
            sizes[dimension] = GLOBAL_GROUPS[len(global_dimensions)][at]
        return sizes[0], sizes[1], sizes[2]
    sizes, left = [1, 1, 1], MOST_WORK_ITEMS
    for dimension in range(3):
        longest = longest_extent(extents, LCL, dimension, DEFAULT_LOCAL)
        if extents.of(WARP, dimension):
            warps = longest_extent(extents, WARP, dimension, DEFAULT_LOCAL // WARP_SIZE)
            longest = max(longest, warps * WARP_SIZE)
            longest += -longest % WARP_SIZE
            left = max(left - left % WARP_SIZE, WARP_SIZE)
        sizes[dimension] = min(longest, left)
        left //= sizes[dimension]
    return sizes[0], sizes[1], sizes[2]


def longest_extent(extents: Extents, kind: str, dimension: int, unknown: int) -> int:
    """Return the longest parallel map of a kind and dimension, with a number in place of lengths without a bound."""
    longest = 1
    for length in extents.of(kind, dimension):
        bound = upper_bound(length)
        longest = max(longest, bound.value if isinstance(bound, Constant) else unknown)
    return longest


def check_threads(function: Lambda, extents: Extents, local_size: tuple[int, int, int], num_groups: Triple) -> None:
    """Refuse work-items of a dimension that no map shares: they would all compute, and write, the same."""
    check_warps(function, local_size)
    for dimension in range(3):
        groups = num_groups[dimension]
        for number, kinds, what in (
            (local_size[dimension], (LCL, WARP, GLB), "work-items"),
            (groups, (WRG, GLB), "work-groups"),
        ):
            if number is not None and number > 1 and not any(extents.of(kind, dimension) for kind in kinds):
                names = " or ".join([KEYWORD_OF[kind] for kind in kinds])
                raise not_compiled(
                    f"{number} {what} in dimension {dimension}, over which the program has no {names}",
                    function.position,
                    "1 in this dimension",
                )


def check_warps(function: Lambda, local_size: tuple[int, int, int]) -> None:
    """Refuse work-groups that are not whole warps in a dimension of mapWarp."""
    for call in calls_of(function):
        pattern = call.function
        if isinstance(pattern, MapWarp) and local_size[pattern.dimension] % WARP_SIZE:
            raise not_compiled(
                f"mapWarp: work-groups of {local_size[pattern.dimension]} work-items in dimension {pattern.dimension}",
                call.position,
                f"a multiple of {WARP_SIZE}, the work-items of a warp",
            )


def shared_ids(extents: Extents, local_size: tuple[int, int, int], num_groups: Triple) -> list[tuple[str, int]]:
    """Return the ids of work-items and groups, by kind and dimension, of which there may be more than one."""
    items = [(LCL, dimension) for dimension in range(3) if local_size[dimension] > 1]
    groups = [
        (WRG, dimension)
        for dimension in range(3)
        if num_groups[dimension] != 1 and (extents.of(WRG, dimension) or extents.of(GLB, dimension))
    ]
    return [*items, *groups]


def group_extents(extents: Extents, dimension: int, local_size: tuple[int, int, int]) -> list[Nat]:
    """Return expressions of which the greatest is the number of groups in a dimension."""
    local = local_size[dimension]
    return [
        *extents.of(WRG, dimension),
        *[(length + local - 1) // local for length in extents.of(GLB, dimension)],
    ]


def exact_groups(extents: list[list[Nat]], sizes: list[Variable]) -> Groups:
    """Return the groups of a launch that has one for each element of the longest map; None where that is not known."""
    counts: list[Nat | None] = []
    for lengths in extents:
        is_known = all(variable in sizes for length in lengths for variable in free_variables(length))
        counts.append(simplify(maximum(ONE, *lengths)) if is_known else None)
    return counts[0], counts[1], counts[2]


def sizes_of(function: Lambda) -> list[Variable]:
    """Return the sizes that the types of a kernel and its patterns name, in the order of their occurrence."""
    found: dict[Variable, None] = {}
    bound: set[Variable] = set()
    for parameter in function.parameters:
        note(parameter.typed, found)
    note(function.body.typed, found)
    for call in calls_of(function):
        if isinstance(call.function, Pattern):
            given = dict(found)
            for argument in call.arguments:
                note(argument.typed, given)
            for inner in call.function.functions:
                for parameter in inner.parameters:
                    type = parameter.typed
                    if isinstance(type, ArrayType) and isinstance(type.length, Variable):
                        if type.length not in given:
                            bound.add(type.length)
            for static in call.function.statics:
                if isinstance(static, Nat):
                    found.update(dict.fromkeys(free_variables(static)))
                elif isinstance(static, IndexFunction):
                    found.update(dict.fromkeys(static.sizes))
    return [size for size in found if size not in bound]


def note(type: Type, found: dict[Variable, None]) -> None:
    for length in lengths_of(type):
        found.update(dict.fromkeys(free_variables(length)))


# Text


def used_buffers(statements: list[Statement]) -> set[Buffer]:
    found: set[Buffer] = set()
    for statement in statements:
        for access in loads_of(statement):
            found.update([access.buffer, *access.buffer.aliases])
        if isinstance(statement, Assign):
            buffer = statement.place.buffer
            found.update([buffer, *buffer.aliases])
        if isinstance(statement, SetPointer):
            found.update(statement.pointer.aliases)
        body = body_of(statement)
        if body is not None:
            found |= used_buffers(body)
    return found


def print_kernel(
    printer: CodePrinter,
    generator: Generator,
    name: str,
    parameters: list[KernelParameter],
    buffers: list[Buffer],
    statements: list[Statement],
    local_size: tuple[int, int, int],
) -> str:
    for buffer in buffers:
        if buffer.space == LOCAL and buffer.role == "temporary":
            printer.lines.append("  " + printer.declaration(buffer))
    for buffer in buffers:
        if buffer.space == PRIVATE and buffer.role == "temporary":
            printer.lines.append("  " + printer.declaration(buffer))
    declarations, printer.lines = printer.lines, []
    printer.statements(statements, "  ")
    words = set(re.findall(r"\w+", "\n".join(printer.lines)))
    calls = {**generator.threads.calls, **printer.vectors.quotients}
    ids = [f"  int {one} = {call};" for one, call in calls.items() if one in words]
    signature = ",\n    ".join([print_parameter(printer, parameter) for parameter in parameters])
    sizes = ", ".join(map(str, local_size))
    kernel = [
        f"__attribute__((reqd_work_group_size({sizes})))",
        f"kernel void {name}(\n    {signature}) {{",
        *declarations,
        *ids,
        *printer.lines,
        "}",
    ]
    return "\n".join(kernel) + "\n"


def print_parameter(printer: CodePrinter, parameter: KernelParameter) -> str:
    if parameter.role == "size":
        return f"int {parameter.name}"
    if parameter.role == "fault":
        return f"volatile global int *{parameter.name}"
    if parameter.role == "value":
        # A kernel has no arguments of type bool (OpenCL C 1.2, section 6.9).
        assert parameter.type is not None
        return (
            f"{printer.functions.spell_type(uint8 if parameter.type == boolean else parameter.type)} {parameter.name}"
        )
    assert parameter.buffer is not None
    const = "const " if parameter.role == "input" else ""
    return f"{const}global {printer.element_type(parameter.buffer)} *restrict {parameter.name}"

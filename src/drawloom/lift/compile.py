"""Compiles a low-level Lift program: one kernel, or several with the host program that runs them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from drawloom.errors import DataError
from drawloom.lift.arithmetic import Nat, Variable, evaluate
from drawloom.lift.codegen.data_indices import REPORT_LENGTH
from drawloom.lift.codegen.errors import not_compiled
from drawloom.lift.codegen.generator import Switches
from drawloom.lift.codegen.kernel import Kernel, KernelOptions, calls_of, make_kernel
from drawloom.lift.codegen.launch import UNKNOWN
from drawloom.lift.codegen.user_functions import FunctionTable
from drawloom.lift.codegen.vector_buffers import MOST_BYTES
from drawloom.lift.language.arguments import bind_arguments, name_sizes
from drawloom.lift.language.depth import room_for_depth
from drawloom.lift.language.errors import SizeError
from drawloom.lift.language.infer import infer_types
from drawloom.lift.language.interpreter import Interpreter
from drawloom.lift.language.ir import Call, Lambda
from drawloom.lift.language.lengths import MOST_ELEMENTS, check_lengths
from drawloom.lift.language.patterns.base import Value, each_leaf
from drawloom.lift.language.patterns.opencl import KernelCall
from drawloom.lift.language.types import ArrayType, RaggedType, ScalarType, TupleType, Type, VectorType, float16
from drawloom.lift.language.well_formed import check_well_formed, is_low_level
from drawloom.lift.memory.buffers import GLOBAL, LOCAL, PRIVATE


@room_for_depth()
def compile(
    program: Lambda,
    sizes: Mapping[Any, int] | None = None,
    *,
    local_size: int | tuple[int, ...] | None = None,
    num_groups: int | tuple[int, ...] | None = None,
    sub_groups: bool = False,
    exact_groups: bool = False,
    check_indices: bool = False,
    array_access: bool = True,
    barriers: bool = True,
    control_flow: bool = True,
) -> Compiled:
    """Compile a low-level program to OpenCL C.

    Args:
        program: A lambda whose parallel maps say which work-items compute what.
        sizes: Known sizes, by size or by name, which become constants of the code.
        local_size: Work-items of a work-group in up to three dimensions. None takes the lengths of the program's
            mapLcl, at most 256 work-items together.
        num_groups: Work-groups in up to three dimensions, where they are known: more loops become ``if`` or nothing.
            None launches a group for each element of a mapWrg, and work-items for each element of a mapGlb. Launches by
            others than `Compiled` must have this number, too.
        sub_groups: The device's sub-groups are warps of 32 work-items, as with `drawloom.devices()`: lanes of a mapWarp
            wait for each other with ``sub_group_barrier`` in place of a barrier of the whole work-group.
        exact_groups: Launches have exactly the work-groups of ``kernel.num_groups(sizes)``, one for each element of the
            longest mapWrg of a dimension, or work-items for each element of a mapGlb: no loops over them are needed.
            Not together with `num_groups`.
        check_indices: Kernels check the indices of ``lookup`` and atomic maps, which are data, and a call with one
            outside its array raises SizeError. Without it such an index reads or writes outside the array.
        array_access: Simplify the indices of accesses.
        barriers: Leave out barriers that order nothing.
        control_flow: Make ``if`` or straight-line code of loops that run at most once.

    Returns:
        An object that is called with NumPy arrays; ``opencl`` is its text.

    Raises:
        LiftTypeError: The program is ill-typed.
        WellFormednessError: No kernel can run the program.
        LiftCompileError: The code generator does not compile a pattern where it stands; the error names the pattern
            and the Python line.
        SizeError: A known size does not fit a pattern.

    Example:
        >>> import numpy as np
        >>> from drawloom.lift import array, compile, float32, fun, map_glb, size, user_function
        >>> square = user_function("float square(float x) { return x * x; }")
        >>> squares = compile(fun(array(float32, size("N")), lambda x: map_glb(square, x)))
        >>> squares(np.float32([1, 2, 3]))
        array([1., 4., 9.], dtype=float32)
    """
    if not isinstance(program, Lambda):
        found = type(program).__name__  # type: ignore[unreachable]
        raise DataError(f"compile: {found} is not a program\n  expected what fun or parse_program returns")
    if exact_groups and num_groups is not None:
        raise SizeError(f"num_groups is {num_groups!r}, expected None with exact_groups, which chooses them")
    typed = infer_types(program)
    if not is_low_level(typed):
        raise not_compiled(
            "the program does not say which work-items compute what", program.position, "parallel maps, such as mapGlb"
        )
    check_well_formed(typed)
    options = KernelOptions(
        known_sizes(typed, sizes or {}),
        None if local_size is None else triple(local_size, "local_size"),
        UNKNOWN if num_groups is None else triple(num_groups, "num_groups"),
        Switches(array_access, barriers, control_flow),
        sub_groups,
        exact_groups,
        check_indices,
    )
    check_lengths(typed, options.sizes)
    compiled = compile_kernels(typed, options)
    for kernel in compiled.kernels:
        kernel.check_work_items()
    return compiled


def compile_kernels(typed: Lambda, options: KernelOptions) -> Compiled:
    """Compile a typed, well-formed program: itself, or each kernel that it calls."""
    name = typed.name or "lift_kernel"
    calls = [call for call in calls_of(typed) if isinstance(call.function, KernelCall)]
    kernels: dict[KernelCall, Kernel] = {}
    functions = FunctionTable()
    if not calls:
        return Compiled(typed, [make_kernel(typed, name, options, functions)], kernels, options.sizes, functions)
    calls.reverse()
    made: list[Kernel] = []
    for at, call in enumerate(calls):
        assert isinstance(call.function, KernelCall)
        own = f"{name}_{at + 1}" if len(calls) > 1 else name
        kernel = make_kernel(call.function.function, own, options, functions)
        kernels[call.function] = kernel
        made.append(kernel)
    return Compiled(typed, made, kernels, options.sizes, functions)


def triple(numbers: int | tuple[int, ...], what: str) -> tuple[int, int, int]:
    given: tuple[Any, ...] = numbers if isinstance(numbers, tuple | list) else (numbers,)
    if not 1 <= len(given) <= 3 or any(isinstance(one, bool) or not isinstance(one, int) or one < 1 for one in given):
        raise SizeError(f"{what} is {numbers!r}, expected one to three positive whole numbers")
    padded = (*given, 1, 1)
    return padded[0], padded[1], padded[2]


def known_sizes(program: Lambda, sizes: Mapping[Any, int]) -> dict[Variable, int]:
    """Return known sizes by their variables."""
    found = name_sizes(program, sizes)
    if found:
        check_lengths(program, found)
    return found


class Compiled:
    """A compiled program. Call it with NumPy arrays, one for each parameter of the program.

    Attributes:
        program: The typed program.
        kernels: Its kernels, in the order in which they run.
        functions: What the kernels share.
    """

    def __init__(
        self,
        program: Lambda,
        kernels: list[Kernel],
        calls: dict[KernelCall, Kernel],
        sizes: Mapping[Variable, int],
        functions: FunctionTable,
    ) -> None:
        self.program = program
        self.kernels = kernels
        self.calls = calls
        self.sizes = dict(sizes)
        self.functions = functions
        self.loaded: dict[str, Any] = {}
        self.checked: set[frozenset[tuple[Variable, int]]] = set()

    @property
    def opencl(self) -> str:
        """OpenCL C 1.2 of all kernels. Arguments: inputs in their order, results, temporary buffers, sizes."""
        return self.functions.definitions() + "\n".join([kernel.text for kernel in self.kernels])

    def __repr__(self) -> str:
        """Return the program's type, and the signature and local size of each kernel."""
        program = self.program
        parameters = ", ".join([f"{one.name}: {one.typed}" for one in program.parameters])
        known = "".join([f", {size} = {value}" for size, value in self.sizes.items()])
        lines = [f"Compiled {program.name or 'λ'}({parameters}) → {program.body.typed}{known}"]
        return "\n  ".join([*lines, *map(repr, self.kernels)])

    def _repr_markdown_(self) -> str:
        """Show the OpenCL C in a notebook."""
        return f"```c\n{self.opencl.rstrip()}\n```"

    @property
    def views(self) -> str:
        """What each load and store of all kernels went through, and the access that it became."""
        return "\n".join([view for kernel in self.kernels for view in kernel.views]) + "\n"

    @property
    def ptx(self) -> str:
        """PTX of all kernels."""
        return str(self.module)

    @cached_property
    def module(self) -> Any:
        """The PTX module of all kernels."""
        from drawloom.cuda import compile_opencl

        return compile_opencl(self.opencl)

    def bytes_in(self, space: str) -> list[Nat]:
        """Return the bytes that each kernel allocates in ``"global"``, ``"local"`` or ``"private"`` memory."""
        assert space in (GLOBAL, LOCAL, PRIVATE)
        return [kernel.bytes_in(space) for kernel in self.kernels]

    @room_for_depth()
    def __call__(self, *arguments: Any, sizes: Mapping[Any, int] | None = None, device: str | None = None) -> Any:
        """Run the program.

        Args:
            arguments: As `interpret` takes them.
            sizes: Values of sizes that the arrays' shapes do not decide, by size or by name.
            device: A device of `drawloom.devices()`; None takes the default, ``cpu``.

        Raises:
            SizeError: The arrays do not fit the program.
        """
        program = self.program
        given = {**self.sizes, **(known_sizes(program, sizes) if sizes else {})}
        values, bound = bind_arguments(program, arguments, given)
        self.check(bound)
        if not self.calls:
            return self.run(self.kernels[0], values, bound, device)
        result = Host(self, bound, device).call(program, values)
        return each_leaf(result, np.array)

    def check(self, sizes: dict[Variable, int]) -> None:
        """Refuse sizes that do not fit the program or the device, once for each combination."""
        key = frozenset(sizes.items())
        if key in self.checked:
            return
        check_lengths(self.program, sizes)
        for kernel in self.kernels:
            kernel.check_device(sizes)
        self.checked.add(key)

    def run(self, kernel: Kernel, values: list[Value], sizes: dict[Variable, int], device: str | None) -> Value:
        """Launch a kernel and return its result."""
        starts: list[Any] = []
        if kernel.start is not None:
            starts = leaves(Interpreter(dict(sizes)).call(kernel.start, values))
        shapes = leaf_shapes(kernel.result, [], sizes)
        inputs = [leaf for value in values for leaf in leaves(value)]
        outputs: list[Any] = []
        arguments: list[Any] = []
        report = np.zeros(REPORT_LENGTH, np.int32)
        for parameter in kernel.parameters:
            if parameter.role == "size":
                assert parameter.size is not None
                if parameter.size not in sizes:
                    raise SizeError(f"size {parameter.size} is not known: give sizes={{...}}")
                arguments.append(sizes[parameter.size])
            elif parameter.role == "fault":
                arguments.append(report)
            elif parameter.role == "value":
                arguments.append(value_argument(parameter.type, inputs.pop(0)))
            elif parameter.role == "input":
                array = inputs.pop(0)
                check_length(array.size, parameter.name)
                array = aligned(np.ascontiguousarray(array))
                arguments.append(array.view(np.uint8) if array.dtype == bool else array)
            else:
                assert parameter.buffer is not None
                length = evaluate(parameter.buffer.count, kernel.own_sizes(sizes))
                check_length(length, parameter.name)
                element = parameter.buffer.element
                assert isinstance(element, ScalarType)
                array = aligned(np.empty(length, element.dtype))
                if parameter.role == "output":
                    shape = shapes[len(outputs)]
                    if starts:
                        array.reshape(shape)[...] = starts.pop(0)
                    outputs.append(array)
                arguments.append(array)
        launch = self.load(device)[kernel.name]
        launch[kernel.num_groups(sizes), kernel.local_size](*arguments)
        kernel.refuse_fault(report)
        return shaped(kernel.result, outputs, [], sizes)

    def load(self, device: str | None) -> Any:
        """Return the kernels on a device, by name."""
        from drawloom.runtime import load

        key = device or ""
        if key not in self.loaded:
            self.loaded[key] = load(self.module, device=device)
        return self.loaded[key]


class Host(Interpreter):
    """Runs a program of several kernels: kernels on a device, and what rearranges data between them with NumPy."""

    def __init__(self, compiled: Compiled, sizes: dict[Variable, int], device: str | None) -> None:
        super().__init__(sizes)
        self.compiled = compiled
        self.device = device

    def call_expression(self, call: Call) -> Value:
        function = call.function
        kernel = None
        if isinstance(function, KernelCall):
            kernel = next((made for one, made in self.compiled.calls.items() if one is function), None)
        if kernel is None:
            return super().call_expression(call)
        arguments = [self.expression(argument) for argument in call.arguments]
        return self.compiled.run(kernel, arguments, self.sizes, self.device)


def leaves(value: Value) -> list[Any]:
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [np.asarray(value)]


def value_argument(type: ScalarType | VectorType | None, value: Any) -> Any:
    """Return a scalar or vector as a launch takes it: a vector of 3 has the size of one of 4 (OpenCL C 1.2, 6.1.5)."""
    if not isinstance(type, VectorType):
        return value.tobytes() if type == float16 else value.item()
    components = np.zeros(4 if type.width == 3 else type.width, value.dtype)
    components[: type.width] = value
    return components.tobytes()


def aligned(array: Any) -> Any:
    """Return an array, or a copy of it, at an address that kernels may read vectors from."""
    if array.ctypes.data % MOST_BYTES == 0:
        return array
    memory = np.empty(array.nbytes + MOST_BYTES, np.uint8)
    first = -memory.ctypes.data % MOST_BYTES
    moved = memory[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def check_length(length: int, name: str) -> None:
    if length > MOST_ELEMENTS:
        raise SizeError(f"{name} has {length} elements, expected at most {MOST_ELEMENTS}")


def shaped(type: Type, arrays: list[Any], lengths: list[Nat], sizes: Mapping[Variable, int]) -> Value:
    """Return a kernel's result from its buffers, which are taken from the list in their order."""
    shapes = leaf_shapes(type, lengths, sizes)
    return shaped_value(type, [array.reshape(shape) for array, shape in zip(arrays, shapes)])


def leaf_shapes(type: Type, lengths: list[Nat], sizes: Mapping[Variable, int]) -> list[list[int]]:
    """Return the shape of each array of a value, in the order of its buffers."""
    if isinstance(type, ArrayType):
        return leaf_shapes(type.element, [*lengths, type.length], sizes)
    if isinstance(type, RaggedType):
        return leaf_shapes(type.element, [*lengths, type.total], sizes)
    if isinstance(type, TupleType):
        return [shape for element in type.elements for shape in leaf_shapes(element, lengths, sizes)]
    shape = [evaluate(length, sizes) for length in lengths]
    return [[*shape, type.width] if isinstance(type, VectorType) else shape]


def shaped_value(type: Type, arrays: list[Any]) -> Value:
    """Return a value from its arrays, which are taken from the list in their order."""
    if isinstance(type, ArrayType | RaggedType):
        return shaped_value(type.element, arrays)
    if isinstance(type, TupleType):
        return tuple([shaped_value(element, arrays) for element in type.elements])
    array = arrays.pop(0)
    return array.view(np.bool_) if isinstance(type, ScalarType) and type.kind == "bool" else array

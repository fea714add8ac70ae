"""Runs the OpenCL C of compiled programs through pyopencl, on any platform that is installed."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from drawloom.lift import Compiled
from drawloom.lift.arithmetic import Variable, evaluate
from drawloom.lift.codegen.data_indices import REPORT_LENGTH
from drawloom.lift.codegen.kernel import Kernel
from drawloom.lift.compile import Host, leaf_shapes, leaves, shaped, value_argument
from drawloom.lift.language.arguments import bind_arguments
from drawloom.lift.language.interpreter import Interpreter
from drawloom.lift.language.types import VectorType
from tests.opencl_platforms import OCLGRIND, UnusablePlatform, find_cpu, find_device


def run(
    compiled: Compiled,
    device: Any,
    *arguments: Any,
    sizes: Mapping[Variable, int] | None = None,
    most_groups: int = 0,
    build_options: str = "",
) -> Any:
    """Run a program as its text says: the arguments of a kernel are inputs, results, temporary buffers, sizes.

    Args:
        compiled: The program.
        device: A device of pyopencl.
        arguments: As `interpret` takes them.
        sizes: Values of sizes that the arguments do not decide.
        most_groups: Launch at most so many work-groups in each dimension; 0 launches as many as the program wants.
        build_options: Of the OpenCL compiler.
    """
    values, bound = bind_arguments(compiled.program, arguments, {**compiled.sizes, **(sizes or {})})
    platform = Platform(compiled, device, most_groups, build_options)
    if not compiled.calls:
        return platform.run(compiled.kernels[0], values, bound)
    return Host(platform, bound, None).call(compiled.program, values)  # type: ignore[arg-type]


def find_build_error(text: str) -> str:
    """Return why no OpenCL platform builds a text; "" for a valid one, or where no platform is installed."""
    import warnings

    context = find_context()
    if context is None:
        return ""
    import pyopencl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyopencl warns of what the compiler says, also of unused variables
        try:
            pyopencl.Program(context, text).build("-cl-opt-disable")
        except pyopencl.RuntimeError as error:
            return str(error)
    return ""


@cache
def find_context() -> Any:
    """Return a context that builds programs: a CPU's, or Oclgrind's; None without a platform."""
    for find in (find_cpu, lambda: find_device(OCLGRIND)):
        try:
            device = find()
        except UnusablePlatform:
            continue
        import pyopencl

        return pyopencl.Context([device])
    return None


class Platform:
    """A device of pyopencl as the part of `Compiled` that runs a program's kernels one after the other."""

    def __init__(self, compiled: Compiled, device: Any, most_groups: int, build_options: str) -> None:
        import pyopencl

        self.calls = compiled.calls
        self.most_groups = most_groups
        self.context = pyopencl.Context([device])
        self.queue = pyopencl.CommandQueue(self.context)
        self.program = pyopencl.Program(self.context, compiled.opencl).build(build_options)

    def run(self, kernel: Kernel, values: list[Any], sizes: dict[Variable, int], device: str | None = None) -> Any:
        """Launch a kernel and return its result."""
        import pyopencl

        inputs = [leaf for value in values for leaf in leaves(value)]
        starts = [] if kernel.start is None else leaves(Interpreter(dict(sizes)).call(kernel.start, values))
        shapes = leaf_shapes(kernel.result, [], sizes)
        given: list[Any] = []
        report = np.zeros(REPORT_LENGTH, np.int32)
        outputs: list[tuple[Any, Any]] = []
        for parameter in kernel.parameters:
            if parameter.role == "size":
                assert parameter.size is not None
                given.append(np.int32(sizes[parameter.size]))
            elif parameter.role == "fault":
                given.append(self.buffer(report))
            elif parameter.role == "value":
                given.append(value_of(parameter.type, inputs.pop(0)))
            elif parameter.role == "input":
                given.append(self.buffer(inputs.pop(0)))
            else:
                assert parameter.buffer is not None
                element: Any = parameter.buffer.element
                data = np.empty(evaluate(parameter.buffer.count, kernel.own_sizes(sizes)), element.dtype)
                if parameter.role == "output" and starts:
                    data.reshape(shapes[len(outputs)])[...] = starts.pop(0)
                    given.append(self.buffer(data))
                else:
                    given.append(pyopencl.Buffer(self.context, pyopencl.mem_flags.READ_WRITE, max(data.nbytes, 1)))
                if parameter.role == "output":
                    outputs.append((data, given[-1]))
        groups = kernel.num_groups(sizes)
        if self.most_groups:
            groups = tuple([min(count, self.most_groups) for count in groups])  # type: ignore[assignment]
        work_items = [group * local for group, local in zip(groups, kernel.local_size, strict=True)]
        getattr(self.program, kernel.name)(self.queue, work_items, kernel.local_size, *given)
        if kernel.accesses:
            pyopencl.enqueue_copy(self.queue, report, given[-1])
            kernel.refuse_fault(report)
        for data, buffer in outputs:
            if data.size:
                pyopencl.enqueue_copy(self.queue, data, buffer)
        return shaped(kernel.result, [data for data, _ in outputs], [], sizes)

    def buffer(self, array: Any) -> Any:
        """Return a buffer of the size of an array, with its elements; of a byte where there are none."""
        import pyopencl

        flags = pyopencl.mem_flags
        if not array.size:
            return pyopencl.Buffer(self.context, flags.READ_WRITE, 1)
        return pyopencl.Buffer(
            self.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=np.array(array, order="C", copy=True)
        )


def value_of(type: Any, value: Any) -> Any:
    """Return a scalar or vector as pyopencl takes it: the bytes of a vector, which has the size of 4 where it has 3."""
    return np.frombuffer(value_argument(type, value), np.uint8) if isinstance(type, VectorType) else value[()]

"""Runs the OpenCL C of compiled programs through pyopencl, on any platform that is installed."""

from typing import Any

import numpy as np

from drawloom.lift import Compiled
from drawloom.lift.arithmetic import evaluate
from drawloom.lift.compile import leaves, shaped
from drawloom.lift.language.interpreter import Binder


def run(compiled: Compiled, device: Any, *arguments: Any) -> Any:
    """Run a program of one kernel, as its text says: inputs, results, temporary buffers, sizes."""
    import pyopencl

    context = pyopencl.Context([device])
    queue = pyopencl.CommandQueue(context)
    (kernel,) = compiled.kernels
    binder = Binder(dict(compiled.sizes))
    values = [binder.argument(one, value) for one, value in zip(compiled.program.parameters, arguments, strict=True)]
    binder.check()
    inputs = [leaf for value in values for leaf in leaves(value)]
    flags = pyopencl.mem_flags
    given: list[Any] = []
    outputs: list[tuple[Any, Any]] = []
    for parameter in kernel.parameters:
        if parameter.role == "size":
            assert parameter.size is not None
            given.append(np.int32(binder.sizes[parameter.size]))
        elif parameter.role == "value":
            given.append(inputs.pop(0)[()])
        elif parameter.role == "input":
            data = np.ascontiguousarray(inputs.pop(0))
            given.append(pyopencl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=data))
        else:
            assert parameter.buffer is not None
            data = np.empty(evaluate(parameter.buffer.count, binder.sizes), parameter.buffer.element.dtype)  # type: ignore[attr-defined]
            given.append(pyopencl.Buffer(context, flags.READ_WRITE, data.nbytes))
            if parameter.role == "output":
                outputs.append((data, given[-1]))
    program = pyopencl.Program(context, compiled.opencl).build()
    groups = kernel.num_groups(binder.sizes)
    work_items = [group * local for group, local in zip(groups, kernel.local_size, strict=True)]
    getattr(program, kernel.name)(queue, work_items, kernel.local_size, *given)
    for data, buffer in outputs:
        pyopencl.enqueue_copy(queue, data, buffer)
    return shaped(kernel.result, [data for data, _ in outputs], [], binder.sizes)

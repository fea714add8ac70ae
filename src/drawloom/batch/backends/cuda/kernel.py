"""A kernel as CUDA C++ on a device of the runtime: `batch.kernel(..., device="cuda:0")`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from drawloom.batch.arguments import check_launch
from drawloom.batch.backends.cuda.emit import emit_cuda
from drawloom.batch.frontend import syntax
from drawloom.batch.frontend.lower import lower
from drawloom.batch.ir.ir import Kernel as LoweredKernel
from drawloom.batch.signature import signature_of
from drawloom.batch.staging import is_contiguous
from drawloom.cuda.compiler import compile_cuda
from drawloom.cuda.loading import architecture
from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Module as PtxModule
from drawloom.ptx.printer import print_module
from drawloom.runtime.machine import Device
from drawloom.runtime.machine import device as find_device
from drawloom.runtime.module import Kernel as LoadedKernel
from drawloom.runtime.module import load


class DeviceKernel:
    """A kernel for a device. `source` is its syntax tree, `lowered` its InfReg-IR, `text` its CUDA C++.

    What is compiled from `text` is made when it is first needed: `ptx`, and machine code with the first call.
    """

    def __init__(self, source: syntax.Kernel, device: str | Device, *, contract: bool) -> None:
        self.source = source
        self.name = source.name
        self.device = find_device(device)
        self.lowered: LoweredKernel = lower(source, contract=contract)
        self.signature = signature_of(source, self.lowered)
        self.cuda = emit_cuda(self.lowered)

    def __repr__(self) -> str:
        return str(self.signature).removesuffix(">") + f", on {self.device.name}>"

    @property
    def text(self) -> str:
        """The kernel as CUDA C++."""
        return self.cuda.text

    @cached_property
    def module(self) -> PtxModule:
        """The kernel as a PTX module. Raises UnsupportedError without clang."""
        return compile_cuda(self.text, architecture(self.device), filename=f"{self.name}.cu")

    @property
    def ptx(self) -> str:
        """The kernel as PTX. Raises UnsupportedError without clang."""
        return print_module(self.module)

    @cached_property
    def loaded(self) -> LoadedKernel:
        # Arguments are checked here; clang reads half of a number where half of it is used.
        return load(self.module, self.device, reinterpret=True)[self.cuda.entry]

    def __call__(self, *arguments: Any, groups: int | None = None) -> None:
        """Run the kernel; arrays that it writes to are changed in place. Arguments and errors as of `batch.Kernel`.

        Raises:
            LaunchError: Arguments do not fit; nothing was written.
            UnsupportedError: There is no clang, or an argument is packed.
        """
        launch = check_launch(self.signature, arguments, groups)
        if launch.lanes:
            raise UnsupportedError(f"{self.name}: packed arrays are for vectors of the CPU\n  unpack them for a device")
        if not launch.groups:
            return
        blocks = -(-launch.groups // self.cuda.groups_per_block)
        copies = [
            np.array(value, order="C") if isinstance(value, np.ndarray) and not is_contiguous(value) else value
            for value in launch.values
        ]
        self.loaded[blocks, self.cuda.threads](*copies, launch.groups)
        for parameter, value, copy in zip(self.signature.parameters, launch.values, copies):
            if parameter.is_written and copy is not value:
                value[...] = copy

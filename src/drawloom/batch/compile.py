"""`batch.kernel`: a kernel's text to something that is called with NumPy arrays."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, overload

import numpy as np

from drawloom.batch.arguments import Launch, check_launch, is_split_by_group
from drawloom.batch.backends.entry import job_words
from drawloom.batch.backends.layout import ORDERS
from drawloom.batch.backends.native import LoadedKernel, NativeCode, default_width
from drawloom.batch.backends.simd.emit import emit_file
from drawloom.batch.backends.simd.isa import Isa
from drawloom.batch.backends.simd.native import SimdKernel, find_isa, load_kernels, vector_width
from drawloom.batch.backends.ve import kernel as ve
from drawloom.batch.call_plans import MOST_PLANS, CallPlan, Key, call_key, make_plan
from drawloom.batch.frontend import syntax
from drawloom.batch.frontend.includes import find_beside, find_ready, included_texts, read_file
from drawloom.batch.frontend.lower import lower
from drawloom.batch.frontend.parser import parse_file
from drawloom.batch.ir.ir import Kernel as LoweredKernel
from drawloom.batch.options import as_macros, as_whole_number, check_text
from drawloom.batch.packed import Packed
from drawloom.batch.signature import Signature, signature_of
from drawloom.batch.staging import Operands, Staged, run_staged
from drawloom.batch.stored import stored
from drawloom.batch.tuning.choose import Choice, choose_layout, layouts_to_measure
from drawloom.batch.tuning.measure import Candidate, find_fastest
from drawloom.cpu.vector.machine import host, last_cache_bytes, vector_bits, vector_registers
from drawloom.errors import DataError, UnsupportedError
from drawloom.runtime.ranges import available_cores, run_ranges
from drawloom.runtime.team import team

if TYPE_CHECKING:
    from drawloom.batch.backends.cuda.kernel import DeviceKernel
    from drawloom.runtime.machine import Device

LARGEST_PACK: Final = 64
#: The target that C is printed for, and that no machine here runs.
VE: Final = "ve"
#: Estimated cycles that are worth a thread: some microseconds of work.
THREAD_CYCLES: Final = 20_000
#: Packs that are worth a thread where the layout was chosen by the caller, without an estimate.
LEAST_PACKS: Final = 256
#: How many times the work that is worth a thread takes milliseconds.
LONG_CALL: Final = 1000
#: Groups of a call that layouts are measured with, and how many are too few for that.
MOST_MEASURED_GROUPS: Final = 4096
LEAST_MEASURED: Final = 256
#: What is computed once for a layout.
OF_LAYOUT: Final = ("code", "streaming_code", "single_code", "least_packs", "most_packs")


class Recipe(NamedTuple):
    """Everything that a kernel's code depends on, but for the machine. `defines` are pairs of a macro and its text."""

    text: str
    file: str
    name: str | None
    wg_size: int
    defines: tuple[tuple[str, str], ...]
    order: str | None
    pack: int | None
    contract: bool
    target: str | None
    streaming: bool | None
    measure: bool
    #: Names and texts of the files that `text` includes.
    included: tuple[tuple[str, str], ...]

    def parse(self) -> syntax.Kernel:
        kernels = parse_file(
            self.text, wg_size=self.wg_size, defines=dict(self.defines), file=self.file,
            include=dict(self.included).get,
        )  # fmt: skip
        return choose(kernels, self.name, self.file)


class Plan(NamedTuple):
    """What a launch needs to know beside the machine code."""

    signature: Signature
    choice: Choice


class Kernel:
    """A compiled kernel. `pack` groups run together in vectors whose lanes have the order `order`."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.isa = None if recipe.target in (None, VE) else find_isa(recipe.target)
        plan = read_plan(stored(self.make_plan, "plan", repr(recipe)))
        self.signature = plan.signature
        self.take(plan.choice)
        self.plans: dict[Key, CallPlan] = {}
        self.is_measured = not recipe.measure
        self.measuring = threading.Lock()
        #: The numbers of arguments that may be stored around the caches.
        self.only_written = [n for n, p in enumerate(self.signature.parameters) if p.is_only_written]
        self.words = job_words(self.signature)

    def __reduce__(self) -> tuple[type[Kernel], tuple[Recipe]]:
        """Copy and pickle the recipe: machine code is in the kernel cache, or is compiled again."""
        return Kernel, (self.recipe,)

    @property
    def name(self) -> str:
        return self.signature.name

    @cached_property
    def source(self) -> syntax.Kernel:
        """The kernel's syntax tree."""
        return self.recipe.parse()

    @cached_property
    def lowered(self) -> LoweredKernel:
        """The kernel as InfReg-IR."""
        return lower(self.source, contract=self.recipe.contract)

    def __repr__(self) -> str:
        return str(self.signature)

    def take(self, choice: Choice) -> None:
        """Use a layout from now on."""
        self.order, self.pack, self.depth_first, self.cycles = choice[:4]
        self.compiled: dict[Layout, LoadedKernel | SimdKernel] = {}
        for name in OF_LAYOUT:
            self.__dict__.pop(name, None)

    def with_layout(self, choice: Choice) -> Kernel:
        """Return this kernel in another layout."""
        other = object.__new__(Kernel)
        other.__dict__.update(self.__dict__)
        other.take(choice)
        return other

    def make_plan(self) -> bytes:
        recipe = self.recipe
        if recipe.pack is not None or recipe.order is not None:
            choice = Choice(recipe.order or "rows", recipe.pack or 1, False, 0.0)
        elif recipe.target == VE:
            choice = Choice(*ve.choose_layout(self.lowered), True, 0.0)
        else:
            choice = choose_layout(self.lowered, *self.vectors())
        return json.dumps([signature_of(self.source, self.lowered).to_json(), choice]).encode()

    def width(self) -> int:
        return default_width(self.lowered) if self.isa is None else vector_width(self.lowered, self.isa)

    def vectors(self) -> tuple[int, int, int]:
        """Return the lanes of a chunk, the bits of a register, and how many registers there are."""
        if self.isa is None:
            return self.width(), vector_bits(), vector_registers()
        return self.width(), 8 * self.isa.bytes, self.isa.registers

    def native(self, layout: Layout) -> LoadedKernel | SimdKernel:
        """Return the machine code for a layout, from memory, from disk or compiled.

        Raises:
            UnsupportedError: The kernel is for another machine, or this CPU or its C compiler is not enough.
        """
        if self.recipe.target == VE:
            raise UnsupportedError(f"{self.name}: kernels for SX-Aurora do not run here\n  expected a call of show_ve")
        if layout not in self.compiled:
            if self.isa is not None:
                made = self.make_simd(self.isa, layout)
                load_kernels([made])
                self.compiled[layout] = made
            else:
                ordered = repr((layout._replace(packed=frozenset()), self.depth_first)), *sorted(layout.packed)
                code = stored(lambda: self.make_native(layout).compile(), "code", repr(self.recipe), *ordered)
                types = ["ptr" if p.is_pointer else p.llvm_type for p in self.signature.parameters]
                self.compiled[layout] = LoadedKernel(code, self.name, types)
        return self.compiled[layout]

    def layout(self, pack: int) -> Layout:
        return Layout(self.order, pack)

    def make_native(self, layout: Layout) -> NativeCode:
        return NativeCode(
            self.lowered, layout.order, layout.pack, depth_first=self.depth_first, packed=layout.packed,
            streaming=layout.streaming,
        )  # fmt: skip

    def make_simd(self, isa: Isa, layout: Layout) -> SimdKernel:
        name = f"batch_{self.name}" if layout.pack == self.pack else f"batch_{self.name}_{layout.pack}"
        return SimdKernel(
            self.lowered, isa, layout.order, layout.pack, depth_first=self.depth_first,
            streaming=bool(self.recipe.streaming), name=name, packed=layout.packed,
        )  # fmt: skip

    def show_llvm(self) -> str:
        """Return the kernel as LLVM IR for this CPU."""
        return self.make_native(self.layout(self.pack)).text

    def show_c(self, isa: Isa) -> str:
        """Return the kernel as C with an instruction set's intrinsics."""
        packs = sorted({self.pack, 1}, reverse=True)
        return emit_file([self.make_simd(isa, self.layout(pack)).emitted for pack in packs], isa)

    def show_ve(self) -> str:
        """Return the kernel as C with SX-Aurora's intrinsics."""
        made = ve.make_kernels(self.lowered, self.order, self.pack, streaming=bool(self.recipe.streaming))
        return ve.emit_file([kernel.emitted for kernel in made.values()])

    def __call__(self, *arguments: Any, groups: int | None = None) -> None:
        """Run the kernel; arrays that it writes to are changed in place.

        Args:
            arguments: For each pointer parameter an array of NumPy or of a library that speaks DLPack, whose elements
                in row-major order are what the pointer points to, or a `Packed`; for each other parameter a number.
            groups: The number of work-groups; without it, the length that all arrays with several dimensions begin
                with.

        Raises:
            LaunchError: Arguments do not fit; nothing was written.
        """
        key = call_key(arguments, groups)
        plan = self.plans.get(key)
        passed = None if plan is None else plan.pass_arguments(arguments)
        if plan is None or passed is None:
            self.run_checked(arguments, groups, key)
        else:
            self.run_contiguous(passed, plan.groups, self.is_streaming(passed, plan.touched_bytes))

    def run_checked(self, arguments: tuple[Any, ...], groups: int | None, key: Key) -> None:
        """Check a call and run the kernel; keep the plan of further calls of this key."""
        launch = check_launch(self.signature, arguments, groups)
        if not launch.groups:
            return
        if not self.is_measured and not launch.lanes and launch.groups >= LEAST_MEASURED:
            self.measure(launch)
        plan = make_plan(self.signature, arguments, groups, launch)
        if plan is not None:
            if len(self.plans) >= MOST_PLANS:
                self.plans.clear()
            self.plans[key] = plan
        operands = Operands(self.signature, launch.values, launch.groups, is_padded=launch.lanes > 0)
        if launch.lanes:
            self.run_packed(operands, launch)
        elif operands.staged:
            self.run_strided(operands, launch)
        else:
            touched_bytes = sum(value.nbytes for value in launch.values if isinstance(value, np.ndarray))
            self.run_contiguous(operands.passed, launch.groups, self.is_streaming(operands.passed, touched_bytes))
        operands.put_back()

    def measure(self, launch: Launch) -> None:
        """Take the layout that is the fastest on copies of a call's arrays, or was so in an earlier process."""
        with self.measuring:
            if self.is_measured:
                return
            found = stored(lambda: json.dumps(self.find_fastest(launch)).encode(), "measured", repr(self.recipe))
            self.take(Choice(*json.loads(found)))
            self.is_measured = True

    def find_fastest(self, launch: Launch) -> Choice:
        """Return the fastest layout for some groups of a call, on copies of their arrays."""
        groups = min(launch.groups, MOST_MEASURED_GROUPS)
        values = [
            value[:groups] if p.is_pointer and is_split_by_group(p, value, launch.groups) else value
            for p, value in zip(self.signature.parameters, launch.values)
        ]
        copies = [np.array(value, order="C") if isinstance(value, np.ndarray) else value for value in values]
        passed = Operands(self.signature, copies, groups, is_padded=False).passed
        written = [number for number, p in enumerate(self.signature.parameters) if p.is_written]

        def restore() -> None:
            for number in written:
                np.copyto(copies[number], values[number])

        candidates: list[Candidate] = []
        for choice in layouts_to_measure(self.lowered, *self.vectors()):
            trial = self.with_layout(choice)
            whole = groups - groups % choice.pack
            candidates.append(Candidate(choice, restore, partial(trial.code.run, passed, 0, whole)))
        return find_fastest(candidates)

    def run_contiguous(self, passed: list[Any], groups: int, streaming: bool) -> None:
        """Run groups by addresses and numbers: whole packs, then the groups that fill no pack."""
        whole = groups - groups % self.pack
        if whole:
            self.run_machine_code(self.streaming_code if streaming else self.code, self.pack, passed, 0, whole)
        if whole < groups:
            self.run_machine_code(self.single_code, 1, passed, whole, groups)

    @cached_property
    def code(self) -> LoadedKernel | SimdKernel:
        """The machine code of a pack."""
        return self.native(self.layout(self.pack))

    @cached_property
    def streaming_code(self) -> LoadedKernel | SimdKernel:
        """The machine code of a pack that stores around the caches."""
        return self.native(self.layout(self.pack)._replace(streaming=True))

    @cached_property
    def single_code(self) -> LoadedKernel | SimdKernel:
        """The machine code of one group."""
        return self.native(self.layout(1))

    def run_strided(self, operands: Operands, launch: Launch) -> None:
        """Run groups on copies of what is not contiguous."""
        whole = launch.groups - launch.groups % self.pack
        if whole:
            self.run_groups(self.layout(self.pack), operands.passed, operands.staged, 0, whole)
        if whole < launch.groups:
            self.run_groups(self.layout(1), operands.passed, operands.staged, whole, launch.groups)

    def is_streaming(self, passed: list[Any], touched_bytes: int) -> bool:
        """Return whether to store around the caches what is not read: a call would drive it out, or that is asked for.

        Args:
            passed: Addresses and numbers.
            touched_bytes: The size of all arrays.
        """
        asked = self.recipe.streaming
        if (touched_bytes < last_cache_bytes() and not asked) or not self.only_written:
            return False
        if asked is False or self.isa is not None or not host().is_x86:
            return False
        return all(passed[number] % (vector_bits() // 8) == 0 for number in self.only_written)

    def run_packed(self, operands: Operands, launch: Launch) -> None:
        """Run whole packs. In the last one, arrays that are not packed are copied: it may go beyond their end."""
        names = [p.name for p, value in zip(self.signature.parameters, launch.values) if isinstance(value, Packed)]
        layout = Layout("interleaved", launch.lanes, frozenset(names))
        whole = launch.groups - launch.groups % launch.lanes
        if whole:
            self.run_groups(layout, operands.passed, operands.staged, 0, whole)
        if whole < launch.groups:
            self.run_groups(layout, operands.passed, operands.split, whole, launch.groups)

    def run_groups(self, layout: Layout, passed: list[Any], staged: list[Staged], first: int, last: int) -> None:
        """Run a range of groups, on all cores where it is large enough."""
        native = self.native(layout)
        if last - first < layout.pack:
            run_staged(native.run, passed, staged, first, last, layout.pack)
        elif staged:
            run_ranges(
                lambda begin, end: run_staged(native.run, passed, staged, begin, end, layout.pack),
                first, last, layout.pack, LEAST_PACKS,
            )  # fmt: skip
        else:
            self.run_machine_code(native, layout.pack, passed, first, last)

    def run_machine_code(
        self, native: LoadedKernel | SimdKernel, pack: int, passed: list[Any], first: int, last: int
    ) -> None:
        """Run a range of whole packs, on all cores where it is large enough."""
        steps = (last - first) // pack
        if steps < 2 * self.least_packs or (workers := min(available_cores(), steps // self.least_packs)) < 2:
            native.function(*passed, first, last)
        elif isinstance(native, LoadedKernel) and self.words is not None and steps < self.most_packs:
            team().run_parts(native.entry, first, last, pack, workers, self.words, passed)
        else:
            run_ranges(lambda begin, end: native.run(passed, begin, end), first, last, pack, self.least_packs)

    @cached_property
    def least_packs(self) -> int:
        """How many packs are worth a thread."""
        return math.ceil(THREAD_CYCLES / (self.cycles * self.pack)) if self.cycles else LEAST_PACKS

    @cached_property
    def most_packs(self) -> int:
        """How many packs are too long to wait for without sleep, and without looking for KeyboardInterrupt."""
        return self.least_packs * LONG_CALL


class Layout(NamedTuple):
    """A way to lay groups out: the order of lanes, how many groups run together, which arrays are packed, and whether
    stores go around the caches."""

    order: str
    pack: int
    packed: frozenset[str] = frozenset()
    streaming: bool = False


def read_plan(text: bytes) -> Plan:
    signature, choice = json.loads(text)
    return Plan(Signature.from_json(signature), Choice(*choice))


@overload
def kernel(
    source: str | os.PathLike[str],
    *,
    wg_size: int,
    name: str | None = None,
    defines: Mapping[str, str | float] | None = None,
    pack: int | None = None,
    order: str | None = None,
    contract: bool = True,
    device: None = None,
    target: str | None = None,
    streaming: bool | None = None,
    measure: bool = False,
) -> Kernel: ...
@overload
def kernel(
    source: str | os.PathLike[str],
    *,
    wg_size: int,
    name: str | None = None,
    defines: Mapping[str, str | float] | None = None,
    pack: int | None = None,
    order: str | None = None,
    contract: bool = True,
    device: str | Device,
    target: None = None,
    streaming: bool | None = None,
    measure: bool = False,
) -> DeviceKernel: ...
def kernel(
    source: str | os.PathLike[str],
    *,
    wg_size: int,
    name: str | None = None,
    defines: Mapping[str, str | float] | None = None,
    pack: int | None = None,
    order: str | None = None,
    contract: bool = True,
    device: str | Device | None = None,
    target: str | None = None,
    streaming: bool | None = None,
    measure: bool = False,
) -> Kernel | DeviceKernel:
    """Compile a kernel in the collective register cache idiom, for this CPU or as CUDA C++ for a device.

    Args:
        source: OpenCL C with `shuffle`, as text or as the path of a .cl file.
        wg_size: The work-items of a group, which `get_local_size()` gives.
        name: The kernel to take where the text has several.
        defines: Macros that are defined before the text begins: a text or a number for each name.
        pack: How many groups share vectors.
        order: How lanes lie in vectors: "rows", "columns" or "interleaved". Without `pack` and `order`, an estimate
            of the cost chooses both.
        contract: Round a product and the sum that takes it once.
        device: A device of `drawloom.load` that runs the kernel as CUDA C++, a thread for each work-item: "cuda:0", or
            "cpu", which runs the same code without a GPU. Without a device, vectors of this CPU run the kernel.
        target: "avx512" or "avx2" for C with intrinsics that a C compiler translates, instead of LLVM in process; "ve"
            for C for NEC SX-Aurora, which is printed (`show_ve`) and does not run here.
        streaming: Store around the caches what the kernel does not read. Without a target, calls decide by the size of
            what they write if it is None.
        measure: Choose `order` and `pack` at the first call: layouts whose estimates are near the lowest run on copies
            of its arrays, on one core, and the fastest is kept, on disk too. Compiling them takes some seconds.

    Raises:
        BatchParseError: The text is not in the language; the error names line and column.
        BatchTypeError: Types, sizes or indices do not fit.
        DataError: The file cannot be read, there is no such kernel, or an option is unknown or not for a device.
        DeviceError: There is no such device.
        UnsupportedError: A group for a device has more than 32 work-items; or, at the first call, this CPU lacks the
            target's instructions, or there is no C compiler; or the target is "ve".

    Example:
        >>> import numpy as np
        >>> twice = kernel("__kernel void twice(double *x) { x[get_global_id()] *= 2; }", wg_size=4)
        >>> x = np.ones((3, 4))
        >>> twice(x)
        >>> x.sum()
        np.float64(24.0)
    """
    wg_size = as_whole_number("wg_size", wg_size)
    pack = None if pack is None else as_whole_number("pack", pack)
    for option, value in (("name", name), ("order", order), ("target", target)):
        if value is not None:
            check_text(option, value)
    if order is not None and order not in ORDERS:
        raise DataError(f"order is {order!r}\n  expected {', '.join(ORDERS)}")
    if pack is not None and not 1 <= pack <= LARGEST_PACK:
        raise DataError(f"pack is {pack!r}\n  expected 1 to {LARGEST_PACK}")
    if device is not None and (order is not None or pack is not None):
        raise DataError("order and pack are for vectors of the CPU\n  expected neither with a device")
    if device is not None and target is not None:
        raise DataError("target is for vectors of the CPU\n  expected none with a device")
    if streaming is not None and device is not None:
        raise DataError("streaming is for vectors of the CPU\n  expected none with a device")
    if measure and (order is not None or pack is not None or device is not None or target == VE):
        raise DataError(f"measure chooses order and pack for this CPU\n  expected no order, pack, device or {VE!r}")
    text, file, folder = read_source(source)
    macros = tuple(sorted(as_macros(defines).items()))
    included = included_texts(text, find_ready if folder is None else find_beside(folder))
    recipe = Recipe(text, file, name, wg_size, macros, order, pack, contract, target, streaming, measure, included)
    if device is None:
        return Kernel(recipe)
    from drawloom.batch.backends.cuda.kernel import DeviceKernel

    return DeviceKernel(recipe.parse(), device, contract=contract)


def choose(kernels: dict[str, syntax.Kernel], name: str | None, file: str) -> syntax.Kernel:
    """Return the kernel of a name, or the only one."""
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name not in kernels:
        names = ", ".join(kernels)
        if name is None:
            how = f"name={next(iter(kernels))!r} or --kernel {next(iter(kernels))}"
            raise DataError(f"{file}: several kernels, and none was chosen\n  expected one of {names}, by {how}")
        raise DataError(f"{file}: no kernel {name}\n  expected one of {names}")
    return kernels[name]


def read_source(source: Any) -> tuple[str, str, Path | None]:
    """Return a kernel's text, what errors call it, and the folder of its file."""
    if not isinstance(source, str | os.PathLike):
        found = type(source).__name__
        raise DataError(f"the source of a kernel is of type {found}\n  expected text, or the path of a .cl file")
    if isinstance(source, str) and not source.endswith(".cl"):
        return source, "<text>", None
    path = os.fspath(source)
    try:
        return read_file(Path(path), path), path, Path(path).parent
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or failure
        raise DataError(f"{path}: cannot be read as text: {reason}") from None

"""What a kernel's directives ask for: registers bounded so that enough threads fit, sizes that a launch must have.

`.maxnreg` is a bound itself; `.maxntid` or `.reqntid` with `.minnctapersm` leave as many registers as the warps of so
many blocks share out. The rules and the limits of each target are those that ptxas 12.9 was seen to apply; the limits
are also in the CUDA programming guide (technical specifications per compute capability).
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import UnsupportedError, VerifyError
from drawloom.ptx.declarations import sm_number
from drawloom.ptx.ir import Function, Module
from drawloom.sass.assembly import AssembledFunction

#: The most registers that a thread can have.
MOST_REGISTERS: Final = 255
#: The fewest that the ABI works with.
FEWEST_REGISTERS: Final[dict[int, int]] = {61: 16, 75: 24, 80: 24, 86: 24, 89: 24, 90: 24}
#: Registers of a multiprocessor, and threads and blocks that fit on it.
REGISTERS: Final = 65536
THREADS: Final[dict[int, int]] = {61: 2048, 75: 1024, 80: 2048, 86: 1536, 89: 1536, 90: 2048}
BLOCKS: Final[dict[int, int]] = {61: 32, 75: 16, 80: 32, 86: 16, 89: 24, 90: 32}
#: Registers are given to warps by eights, to so many warps at once.
_REGISTER_UNIT: Final = 8
_WARP_UNIT: Final = 4
_LANES: Final = 32
#: Bytes of shared memory that a kernel may have without asking the driver for more.
_MOST_LOCAL: Final = (1 << 32) - 1
STATIC_SHARED: Final = 48 * 1024
#: Where a bound comes from.
BY_REGISTERS: Final = "of .maxnreg"
BY_THREADS: Final = "computed using thread count"
Extents = tuple[int, int, int]


class Bounds:
    """The directives of a kernel. `registers` is the bound of its general registers, with those that the system
    takes; `is_own` whether directives give it, `reason` which, where ptxas says so; `warnings` says which directives
    cannot be obeyed."""

    def __init__(self) -> None:
        self.registers = MOST_REGISTERS
        self.is_own = False
        self.reason = ""
        self.max_threads: Extents | None = None
        self.required_threads: Extents | None = None
        self.cluster: Extents | None = None
        self.explicit_cluster = False
        self.max_cluster_rank = 0
        self.warnings: list[str] = []

    def note(self, out: AssembledFunction) -> None:
        """Put what the file says of it into the assembled kernel."""
        out.max_registers = self.registers
        out.max_threads = self.max_threads
        out.required_threads = self.required_threads
        out.cluster = self.cluster
        out.explicit_cluster = self.explicit_cluster
        out.max_cluster_rank = self.max_cluster_rank


def bounds_of(function: Function, target: int, option: int = MOST_REGISTERS) -> Bounds:
    """The bounds of a kernel; ``option`` (``--maxrregcount``) counts where no directive bounds its registers."""
    out = Bounds()
    numbers = {d.name: [int(word) for word in d.text.replace(",", " ").split()] for d in function.directives
               if d.name != ".pragma"}  # fmt: skip
    out.max_threads = extents(numbers.get(".maxntid"))
    out.required_threads = extents(numbers.get(".reqntid"))
    cluster = numbers.get(".reqnctapercluster")
    out.cluster = extents(cluster or None)
    out.explicit_cluster = ".explicitcluster" in numbers or cluster is not None
    out.max_cluster_rank = numbers.get(".maxclusterrank", [0])[0]
    threads = out.max_threads or out.required_threads
    least = numbers.get(".minnctapersm", [0])[0]
    bound = numbers.get(".maxnreg", [0])[0]
    if bound > MOST_REGISTERS:
        out.warnings.append(f"'{function.name}': .maxnreg {bound} is more than there are, it is ignored")
        bound = MOST_REGISTERS
    if threads is None and least:
        out.warnings.append(f"'{function.name}': .minnctapersm without .maxntid or .reqntid is ignored")
    if bound:
        out.reason = BY_REGISTERS
    elif threads is not None:
        count = threads[0] * threads[1] * threads[2]
        least = possible_blocks(function.name, count, least, target, out.warnings)
        bound = shared_out(function.name, count, least, target, out.warnings)
        out.reason = BY_THREADS if least else ""
    out.is_own = bound > 0
    out.registers = at_least(bound, target, function.name, out.warnings) if bound else option
    return out


def overriding(kernels: list[Function], target: int, option: int, override: bool) -> list[str]:
    """What `ptxas -v` says of ``--maxrregcount`` beside directives, the last kernel first; ``override`` has the option
    count before them."""
    lines = []
    for kernel in reversed(kernels):
        bounds = bounds_of(kernel, target)
        by_registers = bounds.reason == BY_REGISTERS
        if bounds.reason and not (by_registers and override) and bounds.registers != option:
            own = f"entry-specific value {bounds.registers} {bounds.reason}"
            lines.append(f"Overriding global maxrregcount {option} with {own}")
        limit = bounds.registers if by_registers else MOST_REGISTERS + 1
        if (override or not bounds.is_own) and limit != option:
            lines.append(
                f"Overriding maximum register limit {limit} for '{kernel.name}' with  {option} of maxrregcount option"
            )
    return lines


def extents(numbers: list[int] | None) -> Extents | None:
    """One to three numbers as (x, y, z)."""
    if numbers is None:
        return None
    x, y, z = [*numbers, 1, 1][:3]
    return (x, y, z)


def possible_blocks(name: str, threads: int, least: int, target: int, warnings: list[str]) -> int:
    """``.minnctapersm``, 0 where there is no room for so many blocks of so many threads."""
    if least > BLOCKS[target]:
        warnings.append(f"'{name}': sm_{target} has no room for {least} blocks, .minnctapersm is ignored")
        return 0
    if -(-threads // _LANES) * _LANES * least > THREADS[target]:
        warnings.append(f"'{name}': sm_{target} has no room for {least} blocks of {threads}, .minnctapersm is ignored")
        return 0
    return least


def shared_out(name: str, threads: int, least: int, target: int, warnings: list[str]) -> int:
    """The registers of a thread when ``least`` (0: one) blocks of so many threads share a multiprocessor's; 0 where
    they do not fit on one."""
    warps = -(-threads // _LANES)
    most = THREADS[target]
    if warps * _LANES > most:
        warnings.append(f"'{name}': {threads} threads are more than sm_{target}'s {most}, .maxntid bounds no registers")
        return 0
    warps = -(-warps * max(least, 1) // _WARP_UNIT) * _WARP_UNIT
    return min(REGISTERS // (warps * _LANES) // _REGISTER_UNIT * _REGISTER_UNIT, MOST_REGISTERS)


def at_least(bound: int, target: int, what: str, warnings: list[str]) -> int:
    """A bound, raised to what the ABI needs."""
    fewest = FEWEST_REGISTERS[target]
    if bound < fewest:
        warnings.append(f"'{what}': {bound} registers are too few for sm_{target}'s ABI, {fewest} are used")
        return fewest
    return bound


def check_target(module: Module, arch: str) -> None:
    """Raise UnsupportedError if the module's ``.target`` asks for more than the architecture, real or virtual, or for
    another one."""
    asked = module.arch
    real = arch.replace("compute_", "sm_")
    place = max(module.source.find(".target"), 0)
    if sm_number(asked) > sm_number(real):
        refuse(module, place, f"the PTX is for {asked} or later, it cannot be assembled for {arch}")
    if asked != real and asked[-1:] in ("a", "f"):
        refuse(module, place, f"the PTX is for {asked} only, it cannot be assembled for {arch}")


def check_shared(module: Module, function: Function, shared: int) -> None:
    """Raise UnsupportedError for a kernel with more static shared memory (bytes) than there is room. (How many
    parameters and constants there may be, verification sees to.)"""
    if shared > STATIC_SHARED:
        refuse(
            module, function.pos,
            f"kernel '{function.name}' has {shared} bytes of static shared memory, {STATIC_SHARED} fit",
            "an unsized .extern array and dynamic shared memory for more",
        )  # fmt: skip


def check_local(module: Module, function: Function, local: int) -> None:
    """Raise UnsupportedError for a function with more local memory (bytes) than the cubin has a field for."""
    if local > _MOST_LOCAL:
        refuse(
            module, function.pos, f"'{function.name}' has {local} bytes of local memory for each thread",
            f"at most {_MOST_LOCAL}, which 32 bits hold",
        )  # fmt: skip


def refuse(module: Module, pos: int, message: str, expected: str = "") -> None:
    raise UnsupportedError(str(module.error(VerifyError, pos, message, expected)))

"""What a cubin is made of, as plain data: the assembler fills it in, `cubin.write_cubin` turns it into a file.

    Assembly      one file: target, functions, variables, the bank of addresses
      AssembledFunction  one .text section: code, resources, parameters, where which instructions stand, relocations
        Part      a function that stands inside another one's section
        Parameter
        LineRow   code offset -> source line
      Variable    one .global, .const or .shared variable
      Relocation  a place that the loader or linker fills in

All offsets and sizes are in bytes. Names of attributes are those of `info.ATTRIBUTES`, names of relocations those
of `cubin_layout.RELOCATIONS`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# Linkage of functions and variables: `.visible`/`.extern` definitions, `.weak`/`.common`, and the rest.
VISIBLE = "visible"
WEAK = "weak"
LOCAL = "local"
# Spaces of variables.
GLOBAL = "global"
CONST = "const"
SHARED = "shared"
# Spaces that a pointer parameter may point into, as KPARAM_INFO numbers them (probed with `.ptr`; `.const` is
# numbered like `.global` on sm_90, and 3 before). 0 is no pointer, or a pointer of which nothing is known.
POINTS_TO = {"": 0, "local": 1, "shared": 2, "global": 4, "const": 4, "generic": 5}


@dataclass(slots=True)
class Relocation:
    """`symbol` + `addend` goes into the field that `kind` names at `offset` of the section that holds this."""

    offset: int
    kind: str
    symbol: str
    addend: int = 0


@dataclass(slots=True)
class Parameter:
    """One kernel parameter. `points_to` is a number of POINTS_TO, `align_log2` of what it points to (`.ptr`)."""

    offset: int
    size: int
    points_to: int = 0
    align_log2: int = 0


@dataclass(slots=True)
class Part:
    """A device function whose code stands inside another function's section, `offset` to `offset + size`."""

    name: str
    offset: int
    size: int
    frame_bytes: int = 0
    linkage: str = VISIBLE
    spill_stores: int | None = None  # bytes; None where unknown, as a file does not tell
    spill_loads: int | None = None


@dataclass(slots=True)
class BankSymbol:
    """A name for a place in a function's constant bank (0 or 2), for relocations of relocatable files."""

    name: str
    bank: int
    offset: int
    size: int


@dataclass(slots=True)
class SourceFile:
    """A file that line tables name, with what PTX's `.file` says of it."""

    path: str
    time: int = 0
    size: int = 0


@dataclass(slots=True)
class LineRow:
    """From `offset` of the code on, instructions come from this line of this file (both count from 1)."""

    offset: int
    file: int
    line: int


@dataclass(slots=True)
class Variable:
    """One variable. `data` is its initial value, b"" if it has none (zeros); relocations count from its start.

    `offset` is its place in its section: -1 until `cubin_layout.place_variables` has given it one. An undefined
    (`.extern`) variable has `is_defined` false. Shared variables are for relocatable files only, where the linker
    places them: `owner` is the function that they belong to, "" if they are the file's. In other files the
    assembler itself gives them offsets, and AssembledFunction.shared_bytes says how much they take.
    """

    name: str
    space: str
    size: int
    align: int = 1
    data: bytes = b""
    linkage: str = LOCAL
    relocations: list[Relocation] = field(default_factory=list)
    offset: int = -1
    is_defined: bool = True
    is_managed: bool = False
    owner: str = ""


@dataclass(slots=True)
class AssembledFunction:
    """One kernel or device function with a .text section of its own.

    `offsets` holds lists of 32-bit numbers by attribute name, an empty list leaving the attribute out:
    EXIT_INSTR_OFFSETS, COOP_GROUP_INSTR_OFFSETS (warp-synchronous instructions) with COOP_GROUP_MASK_REGIDS
    (their mask registers, 0xffffffff for none), S2RCTAID_INSTR_OFFSETS (sm_61), INT_WARP_WIDE_INSTR_OFFSETS,
    ATOM_SYS_INSTR_OFFSETS, SYSCALL_OFFSETS (calls of `externs`), ATOM16_EMUL_INSTR_REG_MAP,
    UNUSED_LOAD_BYTE_OFFSET.
    """

    name: str
    code: bytes
    is_entry: bool = True
    linkage: str = VISIBLE
    registers: int = 0  # per thread, with those that the architecture reserves
    max_registers: int = 255  # what .maxnreg, .minnctapersm or --maxrregcount left
    barriers: int = 0  # named barriers used, 0-16
    frame_bytes: int = 0  # of this function alone
    stack_bytes: int = 0  # with everything that it calls; its own where recursion leaves that open
    crs_stack_bytes: int | None = None  # sm_61: divergence stack; later 0 if the function can diverge; None: not said
    spill_stores: int | None = 0  # bytes, with those of its parts; None where unknown, as a file does not tell
    spill_loads: int | None = 0
    shared_bytes: int = 0  # static, without what the architecture reserves at its start; 0 where a linker places it
    linked_shared_bytes: int = 0  # relocatable files: of the variables that the kernel declares
    shared_align: int = 4
    has_shared: bool = False  # also where it has dynamic shared memory only
    parameters: list[Parameter] = field(default_factory=list)
    parameter_bytes: int = 0
    max_threads: tuple[int, int, int] | None = None  # .maxntid
    required_threads: tuple[int, int, int] | None = None  # .reqntid
    cluster: tuple[int, int, int] | None = None  # .reqnctapercluster
    explicit_cluster: bool = False  # .explicitcluster
    max_cluster_rank: int = 0  # .maxclusterrank
    reads_block_z: bool = False  # %ctaid.z is used (up to sm_89)
    offsets: dict[str, list[int]] = field(default_factory=dict)
    indirect_branches: list[tuple[int, list[int]]] = field(default_factory=list)  # (offset, target offsets)
    externs: list[str] = field(default_factory=list)  # undefined functions that it calls
    calls: list[str] = field(default_factory=list)  # functions with sections of their own, and externs
    # Relocatable files tell the linker how calls through pointers may go. A prototype is text: "#" and a letter
    # for each type, such as "#ili".
    prototype: str = ""
    is_address_taken: bool = False
    pointer_calls: list[str] = field(default_factory=list)  # prototypes of calls through pointers
    pointer_callees: list[str] = field(default_factory=list)  # functions that these may reach
    relocations: list[Relocation] = field(default_factory=list)  # in the code
    constants: bytes = b""  # constant bank 2: literals and tables
    constants_align: int = 4
    constant_relocations: list[Relocation] = field(default_factory=list)
    bank_symbols: list[BankSymbol] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    lines: list[LineRow] = field(default_factory=list)  # of the source, as `.loc` says
    ptx_lines: list[LineRow] = field(default_factory=list)  # of the PTX; their file is 0


@dataclass(slots=True)
class Assembly:
    """One file. `target` is the architecture (61 ... 90), `ptx_target` the one that the PTX was written for."""

    target: int
    ptx_target: int = 0  # 0: the same as target
    functions: list[AssembledFunction] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    addresses: list[Relocation] = field(default_factory=list)  # constant bank 4: an address in every 8 bytes
    address_bytes: int = 0
    extern_prototypes: dict[str, str] = field(default_factory=dict)  # of undefined functions; relocatable files
    extern_addresses: dict[str, str] = field(default_factory=dict)  # of those whose address is taken, the prototypes
    files: list[SourceFile] = field(default_factory=list)  # of the line tables
    ptx_text: str = ""  # what `ptx_lines` of functions count lines of; it goes into the file
    is_relocatable: bool = False  # `-c`: for a linker, not for the driver
    cuda: int = 12  # layout of the file: 12 or 13
    is_specific: bool = False  # made for sm_90a; only CUDA 12's layout says so

"""A PTX module to an object file that runs without Python: its kernels for the layouts that blocks may have, and the
tables that a runtime library launches them by.

    Image = what dl_register_image is called with when the program starts; IMAGE, KERNEL, VARIANT ... give its fields
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from drawloom.build_info import VERSION
from drawloom.cpu import abi, races
from drawloom.cpu.compile import KernelCode, compile_kernel
from drawloom.cpu.engine import FULL, LARGE, QUICK, Host, optimise
from drawloom.cpu.faults import available, native
from drawloom.cpu.gangs import gang_for, is_large, only_gang_for
from drawloom.cpu.layouts import GANGS, GENERAL, LINEAR, gains_at_once, layout_of
from drawloom.cpu.scheduler import support
from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Function, Instruction, Module, SpecialRegister
from drawloom.ptx.layout import GlobalsLayout, param_layout, reachable_functions, shared_layout
from drawloom.ptx.lines import source_lines

#: The level of x86-64 that object code asks for unless told otherwise; ``NATIVE`` is all that this machine has.
LEVEL: Final = "x86-64-v3"
NATIVE: Final = "native"
#: Kernels have no code for CPUs.
NO_CODE: Final = "none"

GANG: Final = "gang"
#: The symbol of the tables in a library of code that checks accesses.
CHECKED_IMAGE: Final = "dl_checked_image"
#: Layouts by the number that a variant names them with; 0 is a variant for blocks of just one shape. Gangs of any width
#: have one number.
LAYOUTS: Final = {"linear": 1, "rows32": 2, "rows16": 3, "rows8": 4, GENERAL: 5, GANG: 6}
#: What the records consist of, all words of 8 bytes; a name that ends in ``*`` is a pointer. The library's header is
#: made of these.
RECORDS: Final[dict[str, str]] = {
    "Variant": (
        "layout x y z checked worker* kernel* resolve* frame_bytes local_bytes thread_bytes shared_bytes "
        "resumable spins lanes alike gang"
    ),
    "Kernel": (
        "name* parameter_bytes parameter_count parameters* variants* variant_count required_x required_y required_z "
        "most_threads shared_bytes"
    ),
    "Variable": "name* offset size constant",
    "Relocation": "offset width target mask",
    "Line": "position file line",
    "Image": (
        "next* key* level* kernels* kernel_count variables* variable_count bytes* size align relocations* "
        "relocation_count lines* line_count files* file_count"
    ),
}

#: Blocks that a kernel with barriers is most often launched with, and that are worth a variant each.
_SHAPES_1D: Final = ((64, 1, 1), (128, 1, 1), (256, 1, 1))
_SHAPES_2D: Final = ((16, 16, 1), (8, 8, 1), (32, 8, 1))
_ROWS: Final = ("%tid.y", "%tid.z", "%ntid.y", "%ntid.z")


class Bounds:
    """What a kernel asks of its blocks: their shape (0, 0, 0: any) and how many threads (0: any)."""

    def __init__(self, required: tuple[int, int, int] = (0, 0, 0), most: int = 0) -> None:
        self.required = required
        self.most = most


def target_of(level: str) -> Host:
    """The machine that code for a level of x86-64, or for ``NATIVE``, runs on; with ``NO_CODE`` for kernels, the
    one that the rest of the program runs on. Raises UnsupportedError."""
    from drawloom.cpu.engine import LEVELS

    if level == NATIVE:
        return Host()
    if level == NO_CODE:
        return Host(next(iter(LEVELS)))
    if level not in LEVELS:
        raise UnsupportedError(f"-march={level}: expected {', '.join([*LEVELS, NATIVE, NO_CODE])}")
    return Host(level)


def support_object(level: str) -> bytes:
    """The object code of what all kernels share: reports, checks, the scheduler, and the guard against signals."""
    target = target_of(level)
    module = optimise(support(target.is_x86), target)
    if available():
        module.link_in(optimise(native(), target))
    _hide_functions(module)
    return _emitted(module, target, FULL)


def module_objects(
    module: Module, checked: Module | None, key: str, level: str, bounds: dict[str, Bounds], hidden: str = ""
) -> list[bytes]:
    """The object code of a module's kernels, registered under ``key`` when the program that it is linked to starts: an
    object file of what is optimised, and one of tables and of code that is seldom run.

    ``checked`` is the module that variants which check accesses are made of, None for no such variants; errors do not
    name lines of files in the folder ``hidden``. For the level ``NO_CODE`` there are tables and no variants, and the
    program runs no kernel on CPUs. Raises UnsupportedError for what the cpu device lacks, and for variables and
    functions that another file defines.
    """
    kind = _Tables if level == NO_CODE else _Object
    return kind(module, checked, key, target_of(level), level, hidden).build(bounds)


def checked_objects(module: Module, level: str, hidden: str = "") -> list[bytes]:
    """The object code of a shared library whose ``CHECKED_IMAGE`` has the kernels of a module with nothing but the
    variants that check accesses, for a program that was built without them.

    ``hidden`` and errors are those of ``module_objects``.
    """
    return _CheckedLibrary(module, target_of(level), level, hidden).build({})


def _emitted(module: Any, target: Host, level: int) -> bytes:
    code: bytes = target.machine(level).emit_object(module)
    return code


class _Object:
    """Collects the code of the variants, and the text of the tables about them."""

    def __init__(self, module: Module, checked: Module | None, key: str, target: Host, level: str, hidden: str) -> None:
        self.module = module
        self.checked = checked
        self.key = key
        self.target = target
        self.level = level
        self.hidden = hidden
        self.code: dict[int, Any] = {}  # by the optimiser's level
        self.lines: list[str] = []
        self.strings: dict[str, str] = {}
        self.count = 0

    def build(self, bounds: dict[str, Bounds]) -> list[bytes]:
        layout = GlobalsLayout(self.module)
        if layout.unresolved:
            raise UnsupportedError(
                f"variable '{layout.unresolved[0]}' is defined in another file: device code is not linked over files"
            )
        kernels = self.module.kernels
        variants = [self.variants_of(k, bounds.get(k.name, Bounds())) for k in kernels]
        rows = [self.kernel_row(k, v, bounds.get(k.name, Bounds())) for k, v in zip(kernels, variants, strict=True)]
        tables = self.tables(layout, rows)
        self.add(optimise("\n".join([*self.lines, tables]), self.target, QUICK), QUICK)
        return [_emitted(code, self.target, level) for level, code in sorted(self.code.items())]

    def add(self, code: Any, level: int) -> None:
        known = self.code.get(level)
        if known is None:
            self.code[level] = code
        else:
            known.link_in(code)

    # -- code --------------------------------------------------------------------------------------------

    def variants_of(self, kernel: Function, bounds: Bounds) -> list[str]:
        """The rows of a kernel's variants, the most special ones first."""
        rows: list[str] = []
        made: dict[str, list[str]] = {}  # where a layout makes no difference, one code serves for several
        for shape in self.shapes(kernel, bounds):
            x, y, z = shape
            code = self.compiled(self.module, kernel, f"{x}x{y}x{z}")
            if code.lanes == x * y * z:
                rows.append(_variant_row(code, self.functions_of(code, FULL), 0, shape, False))
        for name, level in self.layouts(kernel, bounds):
            by_lane = level == QUICK and name == GENERAL and not self.is_volatile(kernel)
            code = self.compiled(self.module, kernel, name, by_lane=by_lane)
            last = code.lanes == 1 and not by_lane
            if last and name != GENERAL:  # lane by lane, no layout is better than the one for all blocks
                name, code = GENERAL, self.compiled(self.module, kernel, GENERAL, by_lane=True)
            if code.text not in made:
                made[code.text] = self.functions_of(code, level)
            number = LAYOUTS[GANG if name in GANGS else name]
            rows.append(_variant_row(code, made[code.text], number, (0, 0, 0), False))
            if last:
                break
        if self.checked is not None:
            rows.append(self.checked_variant_of(kernel, self.checked))
        return rows

    def checked_variant_of(self, kernel: Function, module: Module) -> str:
        """The row of the variant that checks accesses, for all blocks."""
        by_lane = not self.is_volatile(kernel)
        code = self.compiled(module, kernel, GENERAL, check=True, by_lane=by_lane)
        return _variant_row(code, self.functions_of(code, QUICK), LAYOUTS[GENERAL], (0, 0, 0), True)

    def shapes(self, kernel: Function, bounds: Bounds) -> list[tuple[int, int, int]]:
        """The shapes of blocks that are worth code that runs them at once."""
        if "avx512f" not in self.target.features or not gains_at_once(kernel):
            return []  # a block of 64 threads and more fills the registers of lesser CPUs
        if bounds.required[0]:
            x, y, z = bounds.required
            return [bounds.required] if x * y * z in (64, 128, 256) else []
        shapes = _SHAPES_2D if self.has_rows(kernel) else _SHAPES_1D
        return [s for s in shapes if not bounds.most or s[0] * s[1] * s[2] <= bounds.most]

    def layouts(self, kernel: Function, bounds: Bounds) -> list[tuple[str, int]]:
        """The layouts that a kernel gets code for, and how well it is optimised. The last one takes all blocks."""
        module, features = self.module, self.target.features
        level = LARGE if is_large(module, kernel) else FULL
        only = only_gang_for(module, kernel, features)
        if only:
            return [(only, level)]
        gang = gang_for(module, kernel, features)
        if bounds.required[0]:
            first = layout_of(bounds.required)
            return [(gang if gang and first == GENERAL else first, level)]
        if self.has_rows(kernel):
            return [("rows32", level), ("rows16", level), (gang or GENERAL, level)]
        return [(LINEAR, level), (gang or GENERAL, QUICK)]

    def has_rows(self, kernel: Function) -> bool:
        """Whether a kernel asks for more than the first dimension of its blocks."""
        for instruction in self.instructions(kernel):
            for operand in instruction.operands:
                if isinstance(operand, SpecialRegister) and operand.name in _ROWS:
                    return True
        return False

    def is_volatile(self, kernel: Function) -> bool:
        """Whether a kernel has volatile accesses, by which lanes of a warp tell each other something without waiting
        where they go in step."""
        return any(instruction.opcode.order == "volatile" for instruction in self.instructions(kernel))

    def instructions(self, kernel: Function) -> list[Instruction]:
        """The instructions of a kernel and of what it may call."""
        functions = reachable_functions(self.module, kernel)
        return [statement for f in functions for statement in f.body if isinstance(statement, Instruction)]

    def compiled(
        self, module: Module, kernel: Function, layout: str, check: bool = False, by_lane: bool = False
    ) -> KernelCode:
        """A variant's code. Code that is seldom run goes lane by lane: to emit code for vectors takes LLVM ten times as
        long."""
        return compile_kernel(module, kernel.name, layout, check, self.target.features, self.target.is_x86, by_lane)

    def functions_of(self, code: KernelCode, level: int) -> list[str]:
        """Compiles a variant; the names of its worker, its kernel and what completes its warp operations, or null."""
        try:
            module = optimise(code.text, self.target, level)
        except RuntimeError as refusal:
            raise UnsupportedError(f"kernel '{code.name}': LLVM fails on its code: {refusal}") from refusal
        names = {"dl_worker": "null", "kernel": "null", "dl_resolve": "null"}
        for symbol in code.symbols:
            function = module.get_function(symbol)
            self.count += 1
            function.name = f"dl.{self.key}.{self.count}"
            function.visibility = "hidden"
            names[symbol] = f'@"{function.name}"'
            self.lines.append(f"declare void {names[symbol]}()")
        self.add(module, level)
        return [names[symbol] for symbol in ("dl_worker", "kernel", "dl_resolve")]

    # -- tables ------------------------------------------------------------------------------------------

    def kernel_row(self, kernel: Function, variants: list[str], bounds: Bounds) -> str:
        places, size = param_layout(kernel)
        parameters = [_row(offset, width) for offset, width, _ in places]
        return _row(
            self.string(kernel.name), size, len(places), self.array("parameters", parameters, 2),
            self.array("variants", variants, _width("Variant")), len(variants), *bounds.required, bounds.most,
            shared_layout(self.module, kernel)[1],
        )  # fmt: skip

    def tables(self, layout: GlobalsLayout, kernels: list[str]) -> str:
        variables = [
            _row(self.string(name), offset, size, int(offset >= layout.const_begin))
            for name, offset, size in layout.ranges
        ]
        relocations = [_row(*address) for address in layout.addresses()]
        files, lines = source_lines(self.module, self.hidden)
        image = layout.build(0)
        body = "".join([f"\\{byte:02X}" for byte in image])
        self.lines.append(f'@dl.bytes = internal constant [{max(len(image), 1)} x i8] c"{body or chr(92) + "00"}"')
        row = _row(
            "null", self.string(self.key), self.string(self.level),
            self.array("kernels", kernels, _width("Kernel")), len(kernels),
            self.array("variables", variables, _width("Variable")), len(variables), "@dl.bytes", layout.size,
            layout.align, self.array("relocations", relocations, 4), len(relocations),
            self.array("lines", [_row(*line) for line in lines], 3), len(lines),
            self.array("files", [_row(self.string(file)) for file in files], 1), len(files),
        )  # fmt: skip
        return "\n".join([f"@dl.image = internal global {row}", *self.entry()])

    def entry(self) -> list[str]:
        """What the program finds the tables by."""
        return [
            "declare void @dl_register_image(ptr)",
            "define internal void @dl.register() {\n  call void @dl_register_image(ptr @dl.image)\n  ret void\n}",
            # A section by its own name: llvm.global_ctors becomes .ctors here, which some linkers leave out.
            '@dl.entry = internal constant ptr @dl.register, section ".init_array", align 8',
            '@llvm.used = appending global [1 x ptr] [ptr @dl.entry], section "llvm.metadata"',
        ]  # fmt: skip

    def string(self, text: str) -> str:
        """The name of a constant with the bytes of ``text`` and a NUL."""
        known = self.strings.get(text)
        if known is None:
            data = text.encode("utf-8", "surrogateescape") + b"\0"
            known = self.strings[text] = f"@dl.text{len(self.strings)}"
            body = "".join([f"\\{byte:02X}" for byte in data])
            self.lines.append(f'{known} = internal constant [{len(data)} x i8] c"{body}"')
        return known

    def array(self, stem: str, rows: list[str], width: int) -> str:
        """The name of a constant array of rows, ``null`` for none."""
        if not rows:
            return "null"
        self.count += 1
        name = f"@dl.{stem}{self.count}"
        kinds = [row[: row.index("}") + 1] for row in rows]
        assert all(kind.count(",") + 1 == width for kind in kinds)
        self.lines.append(f"{name} = internal constant {{ {', '.join(kinds)} }} {{ {', '.join(rows)} }}")
        return name


class _Tables(_Object):
    """The tables of kernels that only GPUs have code for."""

    def variants_of(self, kernel: Function, bounds: Bounds) -> list[str]:
        return []


class _CheckedLibrary(_Object):
    """The code of the variants that check accesses, alone, with what they call: a library that a program loads."""

    def __init__(self, module: Module, target: Host, level: str, hidden: str) -> None:
        super().__init__(module, module, "checked", target, level, hidden)
        calls = optimise(support(target.is_x86), target, FULL)
        _hide_functions(calls)
        self.add(calls, FULL)

    def variants_of(self, kernel: Function, bounds: Bounds) -> list[str]:
        return [self.checked_variant_of(kernel, self.module)]

    def entry(self) -> list[str]:
        return [f"@{CHECKED_IMAGE} = alias i8, ptr @dl.image"]


def _hide_functions(module: Any) -> None:
    """Keep what a module defines inside the program or library that it becomes part of."""
    for function in module.functions:
        if function.linkage.name == "external" and not function.is_declaration:
            function.visibility = "hidden"


def _variant_row(
    code: KernelCode, functions: list[str], layout: int, shape: tuple[int, int, int], checked: bool
) -> str:
    return _row(
        layout, *shape, int(checked), *functions, code.frame_bytes, code.local_bytes, code.thread_bytes,
        code.shared_bytes, int(code.resumable), int(code.spins), code.lanes,
        int(code.alike), int(code.gang),
    )  # fmt: skip


def _width(record: str) -> int:
    return len(RECORDS[record].split())


def _row(*fields: str | int) -> str:
    """A structure of words: numbers, and names of what they point to."""
    kinds = ", ".join(["i64" if isinstance(field, int) else "ptr" for field in fields])
    values = ", ".join([f"i64 {field}" if isinstance(field, int) else f"ptr {field}" for field in fields])
    return f"{{ {kinds} }} {{ {values} }}"


def library_header() -> str:
    """The C++ header of the records, and of the numbers of ``abi``, that the runtime library is compiled with.

    Its ``INTERFACE`` names all of them: code that is compiled later must be for the same ones.
    """
    out = _declarations()
    out.append(f'constexpr char INTERFACE[] = "{interface()}";')
    return "\n".join(
        ["#pragma once", "#include <cstdint>", "namespace drawloom {", *out, "}  // namespace drawloom", ""]
    )


def interface() -> str:
    """What names the records and numbers that object code and the runtime library share, in this version of ours."""
    return hashlib.sha256("\n".join([VERSION, *_declarations()]).encode()).hexdigest()


def _declarations() -> list[str]:
    out = [f'constexpr char CHECKED_IMAGE[] = "{CHECKED_IMAGE}";']
    for name, value in vars(abi).items():
        if name.isupper() and isinstance(value, int):
            out.append(f"constexpr int64_t {name} = {value};")
    out.append(f"constexpr int64_t RACE_BLOCK_BYTES = {races.BLOCK_BYTES}, RACE_CELL_BYTES = {races.CELL_BYTES};")
    for name, number in LAYOUTS.items():
        out.append(f"constexpr int64_t LAYOUT_{name} = {number};")
    for record, fields in RECORDS.items():
        kinds = [f"const void *{f[:-1]};" if f.endswith("*") else f"int64_t {f};" for f in fields.split()]
        out.append(f"struct {record} {{ {' '.join(kinds)} }};")
    return out

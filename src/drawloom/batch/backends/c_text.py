"""What every back end that prints C shares: lines, names, parameters and the addresses of arrays.

    before: place a, 64 * group + 5        after: const double *const base1 = arg_a + (INT64_C(64) * group); base1 + 5
"""

from __future__ import annotations

from typing import Any, Final

from drawloom.batch.backends.chunk_ir import Chunk, ChunkProgram, Place, flatten, places_in
from drawloom.batch.ir.ir import Kernel, Parameter

LOADS: Final = ("load", "broadcast", "gather")
#: C's types of what pointers point to and of scalar parameters.
C_TYPES: Final = {
    "float": "float", "double": "double", "i1": "bool", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t",
    "i64": "int64_t",
}  # fmt: skip


class FunctionText:
    """The lines of a C function, and the pointers that its turns compute once."""

    def __init__(self, kernel: Kernel, program: ChunkProgram, pack: int) -> None:
        self.kernel = kernel
        self.program = program
        self.width = program.width
        self.pack = pack
        self.lines: list[str] = []
        self.depth = 2
        self.temporaries = 0
        self.bases: dict[tuple[str, Any], str] = {}
        self.hidden: dict[tuple[str, int], str] = {}

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def temporary(self, prefix: str = "t") -> str:
        self.temporaries += 1
        return f"{prefix}{self.temporaries}"

    def name_bases(self) -> None:
        """Compute every pointer's run-time part once for a pack."""
        for place in places_in(self.program.block):
            key = (place.pointer, place.terms)
            if key in self.bases:
                continue
            if not place.terms:
                self.bases[key] = f"arg_{place.pointer}"
                continue
            name = self.bases[key] = self.temporary("base")
            terms = []
            for factors, coefficient in place.terms:
                numbers = [factor if factor == "group" else f"(int64_t)arg_{factor}" for factor in factors]
                terms.append(" * ".join([f"INT64_C({coefficient})", *numbers]))
            self.line(f"{self.pointer_type(place.pointer)}const {name} = arg_{place.pointer} + ({' + '.join(terms)});")

    def pointer_type(self, name: str) -> str:
        parameter = self.kernel.parameter(name)
        return f"{'' if parameter.is_written else 'const '}{C_TYPES[parameter.type]} *"

    def address(self, place: Place, lane: int = 0) -> str:
        base = self.bases[place.pointer, place.terms]
        if place.phase:
            base = self.hidden_base(base, place)
        offset = place.offset + lane
        return base if offset == 0 else f"{base} + {offset}" if offset > 0 else f"{base} - {-offset}"

    def hidden_base(self, base: str, place: Place) -> str:
        """Return a pointer that equals another one without the compiler's knowing (`reloads.py`)."""
        key = (base, place.phase)
        if key not in self.hidden:
            name = self.hidden[key] = self.temporary("again")
            self.line(f"{self.pointer_type(place.pointer)}{name} = {base};")
            self.line(f'__asm__ volatile("" : "+r"({name}));')
        return self.hidden[key]

    def streamed_pointers(self, streaming: bool) -> set[str]:
        """Return the pointers that stores around the caches go through: those that the kernel does not read."""
        if not streaming:
            return set()
        return {p.name for p in self.kernel.parameters if p.is_pointer} - read_pointers(self.program.block)


def parameter_text(parameter: Parameter) -> str:
    type = C_TYPES[parameter.type]
    if not parameter.is_pointer:
        return f"{type} arg_{parameter.name}"
    return f"{'' if parameter.is_written else 'const '}{type} *restrict arg_{parameter.name}"


def read_pointers(chunks: list[Chunk]) -> set[str]:
    """Return the pointers that are loaded through."""
    return {chunk.detail.pointer for chunk in flatten(chunks) if chunk.op in LOADS}

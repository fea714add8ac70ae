"""Line tables of an assembled kernel: the PTX positions of its instructions to rows (code offset, file, line).

`.file` and `.loc` of the PTX name the source; PTX without any is its own source. The lines of the PTX itself are
listed besides, as ptxas does.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from drawloom.ptx.ir import Directive, Module
from drawloom.sass.assembly import AssembledFunction, Assembly, LineRow, SourceFile
from drawloom.sass.describe import instructions_of
from drawloom.sass.encoding import address_of
from drawloom.sass.isa import Target
from drawloom.sass.machine import MachineFunction

_NO_PLACE: Final = (0, 0)


class Lines:
    """Where in the source the instructions of a module come from. `files` is the list for the file."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.files: list[SourceFile] = []
        self.numbers: dict[int, int] = {}  # of a file in PTX -> its place in `files`, from 1
        places: list[tuple[int, tuple[int, int]]] = []  # position in the PTX -> (file, line) from there on
        for item in module.items:
            if isinstance(item, Directive) and item.name == ".file":
                self.add_file(item.text)
        for function in module.functions.values():
            if not function.has_body:
                continue
            header = len(places)
            places.append((function.pos, _NO_PLACE))
            for statement in function.body:
                if isinstance(statement, Directive) and statement.name == ".file":
                    self.add_file(statement.text)
                elif isinstance(statement, Directive) and statement.name == ".loc":
                    places.append((statement.pos, self.place(statement.text)))
                    if places[header][1] == _NO_PLACE:  # what comes before the first one belongs to it
                        places[header] = (function.pos, places[-1][1])
        self.has_source = any(place != _NO_PLACE for _, place in places)
        if not self.has_source:
            self.files = [SourceFile(module.filename or "<text>")]
        places.sort()
        self.starts = [start for start, _ in places]
        self.places = [place for _, place in places]

    def add_file(self, text: str) -> None:
        """`1 "/home/a.cu", 1700000000, 4096`: a number, a path, its time and its size in bytes. Clang writes a folder
        and a name in place of the path (`1 "/home" "a.cu"`)."""
        number, *parts = text.split('"')
        if len(parts) < 2 or not number.strip().isdigit():
            return
        path = "/".join(parts[0::2][: len(parts) // 2])
        sizes = [int(word) for word in parts[-1].replace(",", " ").split() if word.isdigit()] + [0, 0]
        self.files.append(SourceFile(path, sizes[0], sizes[1]))
        self.numbers[int(number)] = len(self.files)

    def place(self, text: str) -> tuple[int, int]:
        """The file and line of a `.loc`; line 0 and files that are not declared have no place."""
        words = text.replace(",", " ").split()
        if len(words) < 2 or not words[0].isdigit() or not words[1].isdigit():
            return _NO_PLACE
        file, line = self.numbers.get(int(words[0]), 0), int(words[1])
        return (file, line) if file and line else _NO_PLACE

    def of(self, pos: int) -> tuple[int, int]:
        """The file and line that the PTX at this position comes from; (0, 0) if that is not known."""
        if not self.has_source:
            line = self.module.position(pos)[0]
            return (1, line) if line else _NO_PLACE
        at = bisect_right(self.starts, pos) - 1
        return self.places[at] if at >= 0 else _NO_PLACE

    def note(self, out: AssembledFunction, code: MachineFunction, tables: Target) -> None:
        """The rows of a kernel, one wherever the line changes; the first one stands at its beginning."""
        source, own = (0, 0), (0, 0)
        for index, instruction in enumerate(instructions_of(code)):
            if instruction.pos < 0:
                continue
            offset = address_of(tables, index)
            found = self.of(instruction.pos)
            if found not in (_NO_PLACE, source):
                out.lines.append(LineRow(offset if out.lines else 0, *found))
                source = found
            found = (0, self.module.position(instruction.pos)[0])
            if found not in (_NO_PLACE, own):
                out.ptx_lines.append(LineRow(offset if out.ptx_lines else 0, *found))
                own = found

    def finish(self, assembly: Assembly) -> None:
        """What the file says once: the names of the sources, and the text of the PTX."""
        assembly.files = self.files
        assembly.ptx_text = self.module.source

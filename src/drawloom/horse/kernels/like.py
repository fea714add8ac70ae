"""``@like`` by one kernel for all patterns (thesis section 4.3.4): a word a thread, and the pattern as data.

The words of a dictionary lie in one buffer of bytes, the string pad, with where each begins beside it; a device that
does not read the host's memory keeps a copy with the words. A pattern is a row of tokens: bytes of UTF-8, one
character, any characters, any characters to the end, and the end. A thread goes on from the last place that "any
characters" may still have covered, and never has to go back to an earlier one. All other tokens take one character or
a byte of one, so a part that meets the end of its word fits nowhere behind either. A last part that is bytes alone
stands at the end or nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import as_strided

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels.device import DeviceKernels, LibraryCalls
from drawloom.horse.kernels.gather import gathered
from drawloom.horse.kernels.rows import Rounds, RowKernel, stored
from drawloom.horse.kernels.workspace import Memory, Workspace
from drawloom.horse.types import BOOL, I64
from drawloom.horse.values import Array, RawText, SpelledText, Value, Vector, as_vector, strings
from drawloom.horse.words import Strings, Words
from drawloom.ptx.ir import Address, Register

#: Tokens above the bytes.
ONE: Final = 256
MANY: Final = 257
REST: Final = 258
END: Final = 259
#: Plus a number of bytes: any characters up to so many from the end.
TAIL: Final = 1 << 16
#: Bytes that a thread looks for one in at a time, and such words with a one, and the highest bit, in every byte.
_STEP: Final = 8
_ONES: Final = 0x0101010101010101
_HIGHS: Final = 0x8080808080808080


def tokens(pattern: str) -> Array:
    """A pattern (``%``, ``_``, escape ``\\``) as the kernel reads it, u32."""
    made: list[int] = []
    place = 0
    while place < len(pattern):
        character = pattern[place]
        if character == "\\" and place + 1 < len(pattern):
            place += 1
            made += pattern[place].encode()
        elif character == "_":
            made.append(ONE)
        elif character != "%":
            made += character.encode()
        elif made[-1:] != [MANY]:
            made.append(MANY)
        place += 1
    if made[-1:] == [MANY]:
        return np.array([*made[:-1], REST], dtype=np.uint32)
    last = len(made) - made[::-1].index(MANY) if MANY in made else 0
    if last and ONE not in made[last:]:
        made[last - 1] = TAIL + len(made) - last
    return np.array([*made, END], dtype=np.uint32)


class StringPad:
    """The bytes of all words one behind the other, and of each word the first byte's place, with the end behind."""

    def __init__(self, workspace: Workspace, starts: Array, bytes: Array) -> None:
        self.workspace = workspace
        self.starts = workspace.put(starts)
        self.bytes = workspace.put(bytes)

    def serves(self, workspace: Workspace) -> bool:
        """Whether it is still there, for work in this order."""
        return self.workspace is workspace and workspace.has(self.starts) and workspace.has(self.bytes)


def string_pad(kernels: DeviceKernels, words: Words) -> StringPad:
    """The words where the device reads them."""
    known = words.copies.get(kernels.device.name)
    if isinstance(known, StringPad) and known.serves(kernels.workspace):
        return known
    pad = words.copies[kernels.device.name] = pad_of(kernels, words.arrow)
    return pad


def pad_of(kernels: DeviceKernels, array: Strings, read_only: bool = False) -> StringPad:
    """The strings where the device reads them; ``read_only`` for a kernel of which that can be proved."""
    _, ends, data = array.buffers()
    starts = np.frombuffer(ends, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    low, high = int(starts[0]), int(starts[-1])
    starts = starts - low if low else starts
    text = np.frombuffer(data, dtype=np.uint8)[low:high] if high > low else np.zeros(1, dtype=np.uint8)
    return StringPad(kernels.workspace, starts, _whole_words(text, read_only and kernels.device.kind == "cpu"))


def pads_of_rows(kernels: DeviceKernels, text: RawText) -> Iterator[tuple[StringPad, int]]:
    """Pads for strings of rows one behind the other, with the rows of each: on a device apart one, which stays there;
    on the host those of each piece, as they are asked for."""
    strings = text.strings
    chunks = strings.chunks if isinstance(strings, pa.ChunkedArray) else [strings]
    if kernels.device.is_host:
        for chunk in chunks:
            if len(chunk):
                yield pad_of(kernels, chunk, read_only=True), len(chunk)
        return
    known = text.copies.get(kernels.device.name)
    if not isinstance(known, StringPad) or not known.serves(kernels.workspace):
        known = text.copies[kernels.device.name] = pad_of(kernels, pa.concat_arrays(chunks))
    yield known, len(strings)


def _whole_words(text: Array, in_place: bool) -> Array:
    """The bytes so that all words of 64 bits that have one of them lie inside: ``in_place`` where they are, since the
    last word is in the page of its first byte."""
    if text.ctypes.data % _STEP == 0:
        if len(text) % _STEP == 0 and (in_place or text.flags.writeable):
            return text
        if in_place:
            return as_strided(text, (-(-len(text) // _STEP) * _STEP,), writeable=False)
    made = np.zeros(-(-len(text) // _STEP), dtype=np.uint64).view(np.uint8)
    made[: len(text)] = text
    return made


def like(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    """``@like(text, pattern)``: of each word once, or of each row where there are fewer."""
    text, pattern = as_vector(arguments[0]), as_vector(arguments[1])
    storage = stored(text)
    if storage is None or len(pattern) != 1:
        return None
    asked = kernels.workspace.put(tokens(strings(pattern)[0]))
    if isinstance(text.deferred, RawText):
        hits, start = kernels.workspace.empty(len(text), np.bool_), 0
        for pad, rows in pads_of_rows(kernels, text.deferred):
            Like("").run(kernels, "like", [pad.starts, pad.bytes, asked, hits[start:] if start else hits], rows)
            start += rows
        return kernels.workspace.vector(BOOL, hits, len(text))
    if isinstance(text.deferred, SpelledText):
        return _of_places(kernels, text.deferred, asked)
    pad = string_pad(kernels, text.words)
    codes = kernels.workspace.column(text, text.dtype)
    if len(text) < len(text.words):
        hits = kernels.workspace.empty(len(text), np.bool_)
        Like(storage).run(kernels, f"like_{storage}", [pad.starts, pad.bytes, asked, hits, codes], len(text))
        return kernels.workspace.vector(BOOL, hits, len(text))
    hits = kernels.workspace.empty(len(text.words), np.bool_)
    Like("").run(kernels, "like", [pad.starts, pad.bytes, asked, hits], len(text.words))
    by_word = kernels.workspace.vector(BOOL, hits, len(text.words))
    return gathered(kernels, by_word, text)


def _of_places(kernels: DeviceKernels, text: SpelledText, asked: Memory) -> Vector | None:
    """Of text that has no words yet."""
    strings, workspace = text.strings, kernels.workspace
    pad, hits = pad_of(kernels, strings, read_only=True), workspace.empty(len(strings), np.bool_)
    Like("").run(kernels, "like", [pad.starts, pad.bytes, asked, hits], len(strings))
    return gathered(kernels, workspace.vector(BOOL, hits, len(strings)), Vector(I64, text.places))


#: Builtins by kernels.
CALLS: Final[LibraryCalls] = {"like": like}


class Like(RowKernel):
    """Whether words match: those that codes of ``storage`` name, or ("") every one."""

    def __init__(self, storage: str) -> None:
        super().__init__(["starts", "bytes", "tokens", "hits", *(["codes"] if storage else [])])
        self.storage = storage

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        starts, text, tokens, hits = bases[:4]
        with emitter.when(at.inside):
            word = emitter.load(self.storage, bases[4], at.row) if self.storage else at.row
            if word.type.bits == 64:
                word = emitter.calc("cvt.u32.u64", word)
            start = emitter.load("u64", starts, word)
            end = emitter.load("u64", starts, emitter.calc("add.u32", word, 1))
            length = emitter.calc("cvt.u32.u64", emitter.calc("sub.s64", end, start))
            match = self.matched(emitter, emitter.calc("add.s64", text, start), length, tokens)
            emitter.store("u8", hits, at.row, match)

    def matched(self, emitter: Emitter, text: Register, length: Register, tokens: Register) -> Register:
        """1 where the word matches, else 0."""
        match, place, token_place = [emitter.calc("mov.u32", 0) for _ in range(3)]
        # The token behind the last "any characters" (0: there was none), and where what it covers may end.
        resume, covered = emitter.calc("mov.u32", 0), emitter.calc("mov.u32", 0)
        with emitter.loop() as further:
            token = emitter.load("u32", tokens, token_place)
            inside = emitter.calc("setp.lt.u32", place, length)
            byte = emitter.load("u8", text, place, inside)
            ended = emitter.calc("setp.eq.and.u32", token, END, emitter.negated(inside))
            found = emitter.either(ended, emitter.calc("setp.eq.u32", token, REST))
            emitter.put("mov.u32", match, 1, guard=found)
            further.leave(found)
            many = emitter.calc("setp.eq.u32", token, MANY)
            fits, width = self.taken(emitter, token, byte, inside)
            follows = emitter.calc("add.u32", token_place, 1)
            tail = emitter.calc("setp.ge.u32", token, TAIL)
            left = emitter.calc("sub.s32", length, emitter.calc("sub.u32", token, TAIL))
            reached = emitter.calc("setp.ge.and.s32", left, place, tail)
            emitter.put("mov.u32", resume, follows, guard=many)
            emitter.put("mov.u32", resume, 0, guard=tail)
            lost = emitter.negated(emitter.either(emitter.either(many, reached), fits))
            hopeless = emitter.calc("setp.eq.u32", resume, 0)
            further.leave(emitter.both(lost, emitter.either(hopeless, emitter.negated(inside))))
            emitter.put("add.u32", place, place, width, guard=fits)
            emitter.put("mov.u32", place, left, guard=reached)
            emitter.put("add.u32", place, covered, 1, guard=lost)
            emitter.put("mov.u32", token_place, follows)
            emitter.put("mov.u32", token_place, resume, guard=lost)
            with emitter.when(emitter.either(many, lost)):
                self.seek(emitter, text, length, emitter.load("u32", tokens, resume), place)
                emitter.put("mov.u32", covered, place)
        return match

    def seek(self, emitter: Emitter, text: Register, length: Register, token: Register, place: Register) -> None:
        """Goes to where the token may fit: the next such byte, or the word's end, where it is a byte.

        Eight bytes are compared at a time: the lowest byte of ``(x - 0x01..) & ~x & 0x80..`` that is not zero is the
        lowest byte of ``x`` that is.
        """
        wanted = emitter.calc("mul.lo.s64", emitter.calc("cvt.u64.u32", token), _ONES)
        with emitter.loop() as further:
            further.leave(emitter.either(
                emitter.calc("setp.ge.u32", place, length), emitter.calc("setp.ge.u32", token, ONE)
            ))  # fmt: skip
            address = emitter.calc("add.s64", text, emitter.calc("cvt.u64.u32", place))
            within = emitter.calc("and.b32", emitter.calc("cvt.u32.u64", address), _STEP - 1)
            eight = emitter.calc("ld.global.u64", Address(emitter.calc("and.b64", address, -_STEP)))
            unlike = emitter.calc("xor.b64", eight, wanted)
            unlike = emitter.calc("shr.u64", unlike, emitter.calc("shl.b32", within, 3))
            zeros = emitter.calc("and.b64", emitter.calc("sub.s64", unlike, _ONES), emitter.calc("not.b64", unlike))
            zeros = emitter.calc("and.b64", zeros, _HIGHS)
            ahead = emitter.calc("shr.u32", emitter.calc("clz.b64", emitter.calc("brev.b64", zeros)), 3)
            loaded = emitter.calc("sub.u32", _STEP, within)
            emitter.put("add.u32", place, place, emitter.calc("min.u32", ahead, loaded))
            further.leave(emitter.calc("setp.lt.u32", ahead, loaded))
        emitter.put("min.u32", place, place, length)

    def taken(self, emitter: Emitter, token: Register, byte: Register, inside: Register) -> tuple[Register, Register]:
        """Whether the token takes what begins at a byte, and how many bytes."""
        literal = emitter.calc("setp.eq.and.u32", token, byte, inside)
        # One character begins at any byte but those that continue one: its length is in the first.
        begins = emitter.calc("setp.ne.and.u32", emitter.calc("and.b32", byte, 0xC0), 0x80, inside)
        one = emitter.calc("setp.eq.and.u32", token, ONE, begins)
        width = emitter.calc("mov.u32", 1)
        for least in (0xC0, 0xE0, 0xF0):
            longer = emitter.calc("setp.ge.and.u32", byte, least, one)
            emitter.put("add.u32", width, width, 1, guard=longer)
        return emitter.either(literal, one), width

"""Few 64-bit words in ascending order: Batcher's bitonic mergesort (thesis section 4.3.4, figure 4.26).

Each block sorts ``SEGMENT`` words in shared memory, neighbours in opposite directions. Longer sequences are merged in
global memory while their halves are a segment or more apart, and within segments in shared memory again. What is no
power of two is padded with the largest word.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.rows import tile_for
from drawloom.horse.kernels.workspace import Memory
from drawloom.ptx.ir import Address, Module, Register
from drawloom.ptx.types import U32, U64
from drawloom.runtime.machine import Device

#: Words that a block sorts: 16 KiB of shared memory.
SEGMENT: Final = 2048
#: Most rows that a GPU sorts so: beyond, a radix sort has fewer launches and reads less.
_MOST_ROWS: Final = 1 << 14
_MOST: Final = (1 << 64) - 1


def few_rows(device: Device) -> int:
    """The most rows that are sorted so: a CPU, whose launches cost little beside the work, sorts a segment."""
    return _MOST_ROWS if device.kind == "cuda" else SEGMENT


def padded(rows: int) -> int:
    """How many words ``bitonic_sort`` needs memory for."""
    return 1 << max(rows - 1, 1).bit_length()


def bitonic_sort(kernels: DeviceKernels, words: Memory, rows: int) -> None:
    """Sorts the first ``rows`` of the u64 ``words``, whose memory holds ``padded(rows)``, in place."""
    threads = tile_for(kernels.device).threads
    size = padded(rows)
    segment = min(size, SEGMENT)
    blocks = size // segment
    merge = kernels.kernel("bitonic_segments", lambda name: segments_module(name, threads))
    merge[blocks, threads](words, rows, segment, 2, segment)
    if blocks == 1:
        return
    step = kernels.kernel("bitonic_step", lambda name: step_module(name, threads))
    length = 2 * segment
    while length <= size:
        distance = length // 2
        while distance >= segment:
            step[size // (2 * threads), threads](words, length, distance)
            distance //= 2
        merge[blocks, threads](words, size, segment, length, length)
        length *= 2


def segments_module(name: str, threads: int) -> Module:
    """Each block brings its segment of ``segment`` words through the merges of sequences of ``least`` to ``most``
    words, as far as they are within the segment. Words from ``rows`` on are the largest."""
    emitter = Emitter(name)
    emitter.pointer_param("words")
    for scalar in ("rows", "segment", "least", "most"):
        emitter.scalar_param(scalar, U32)
    words = emitter.pointer("words")
    rows, segment, length, most = [emitter.param(s, U32) for s in ("rows", "segment", "least", "most")]
    held = emitter.shared_array("held", U64, SEGMENT)
    thread = emitter.special("%tid.x")
    start = emitter.calc("mul.lo.u32", emitter.special("%ctaid.x"), segment)

    at = emitter.calc("mov.u32", thread)
    with emitter.loop() as loop:
        loop.leave(emitter.calc("setp.ge.u32", at, segment))
        row = emitter.calc("add.u32", start, at)
        word = emitter.calc("mov.u64", _MOST)
        there = emitter.calc("setp.lt.u32", row, rows)
        emitter.put("ld.global.u64", word, emitter.element(words, row, 8), guard=there)
        emitter.put("st.shared.u64", emitter.shared_element(held, at, 8), word)
        emitter.put("add.u32", at, at, threads)

    half = emitter.calc("shr.u32", segment, 1)
    with emitter.loop() as merges:
        merges.leave(emitter.calc("setp.gt.u32", length, most), True)
        distance = emitter.calc("min.u32", emitter.calc("shr.u32", length, 1), half)
        with emitter.loop() as steps:
            steps.leave(emitter.calc("setp.eq.u32", distance, 0), True)
            emitter.put("bar.sync", 0)
            pair = emitter.calc("mov.u32", thread)
            with emitter.loop() as pairs:
                pairs.leave(emitter.calc("setp.ge.u32", pair, half))
                low = _low_place(emitter, pair, distance)
                left = emitter.calc("mad.lo.u32", low, 8, held)
                right = emitter.calc("mad.lo.u32", distance, 8, left)
                _exchange(emitter, "shared", left, right, emitter.calc("add.u32", start, low), length)
                emitter.put("add.u32", pair, pair, threads)
            emitter.put("shr.u32", distance, distance, 1)
        emitter.put("shl.b32", length, length, 1)
    emitter.put("bar.sync", 0)

    emitter.put("mov.u32", at, thread)
    with emitter.loop() as loop:
        loop.leave(emitter.calc("setp.ge.u32", at, segment))
        word = emitter.calc("ld.shared.u64", emitter.shared_element(held, at, 8))
        emitter.store("u64", words, emitter.calc("add.u32", start, at), word)
        emitter.put("add.u32", at, at, threads)
    emitter.op("ret", [])
    return emitter.module()


def step_module(name: str, threads: int) -> Module:
    """One step of a merge of sequences of ``length`` words: a thread compares two that are ``distance`` apart."""
    emitter = Emitter(name)
    emitter.pointer_param("words")
    emitter.scalar_param("length", U32)
    emitter.scalar_param("distance", U32)
    words = emitter.pointer("words")
    length, distance = emitter.param("length", U32), emitter.param("distance", U32)
    pair = emitter.calc("mad.lo.u32", emitter.special("%ctaid.x"), threads, emitter.special("%tid.x"))
    low = _low_place(emitter, pair, distance)
    left = emitter.calc("mad.wide.u32", low, 8, words)
    right = emitter.calc("mad.wide.u32", distance, 8, left)
    _exchange(emitter, "global", left, right, low, length)
    emitter.op("ret", [])
    return emitter.module()


def _low_place(emitter: Emitter, pair: Register, distance: Register) -> Register:
    """The lower of the two places of a pair: the pair's number with a zero put in at the bit of the distance."""
    below = emitter.calc("and.b32", pair, emitter.calc("sub.u32", distance, 1))
    return emitter.calc("sub.u32", emitter.calc("shl.b32", pair, 1), below)


def _exchange(emitter: Emitter, space: str, left: Register, right: Register, place: Register, length: Register) -> None:
    """Puts two words into the order of the sequence that they are in: every other one descends."""
    a = emitter.calc(f"ld.{space}.u64", Address(left))
    b = emitter.calc(f"ld.{space}.u64", Address(right))
    falls = emitter.calc("setp.ne.u32", emitter.calc("and.b32", place, length), 0)
    least, greatest = emitter.calc("min.u64", a, b), emitter.calc("max.u64", a, b)
    emitter.put(f"st.{space}.u64", Address(left), emitter.calc("selp.b64", greatest, least, falls))
    emitter.put(f"st.{space}.u64", Address(right), emitter.calc("selp.b64", least, greatest, falls))

"""Warp operations against one loop over lanes written from the manual's pseudo-code."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from drawloom.cpu.emitter import Emitter, Value, int_const
from drawloom.cpu.ops.warp import emit_activemask, emit_elect, emit_match, emit_redux, emit_shfl, emit_vote
from drawloom.ptx.isa import decode
from tests.cpu.jit import TARGETS, compile_function, features_of, load, looped, store, supported

Rows = list[np.ndarray]


class Warp:
    """A warp operation compiled over arrays of warps; ``scalars`` arguments are one value for each warp."""

    def __init__(
        self, target: str, arguments: list[tuple[str, int]], body: Callable[[Emitter, list[Value]], list[Value]]
    ) -> None:
        e = Emitter(features_of(target))
        values = [load(e, f"%ap{i}", elem, lanes) for i, (elem, lanes) in enumerate(arguments)]
        out = body(e, values)
        self.results = [v.elem for v in out]
        for i, value in enumerate(out):
            store(e, f"%rp{i}", e.splat(value, 32))
        text = looped(e, "\n".join(e.lines), self.results, [elem for elem, _ in arguments], 32)
        self.arguments = arguments
        address = compile_function(text, target)
        count = len(out) + len(arguments)
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * count)(address)

    def __call__(self, *arrays: np.ndarray) -> Rows:
        """Each array has shape (warps, 32)."""
        kinds = {"i1": np.uint8, "i32": np.uint32, "i64": np.uint64, "float": np.float32}
        ins = [np.ascontiguousarray(a, kinds[elem]) for a, (elem, _) in zip(arrays, self.arguments, strict=True)]
        outs = [np.zeros(ins[0].shape, kinds[elem]) for elem in self.results]
        self.function(ins[0].size, *[a.ctypes.data for a in (*outs, *ins)])
        return outs


def needs(target: str) -> None:
    if not supported(target):
        pytest.skip(f"this machine does not have every feature of {target}")


def active_masks(count: int, seed: int) -> np.ndarray:
    """Some full, some empty but one, most of them partial."""
    rng = np.random.default_rng(seed)
    masks = rng.integers(0, 2, (count, 32)).astype(bool)
    masks[: count // 4] = True
    masks[count // 4 : count // 3] = False
    masks[np.arange(count), rng.integers(0, 32, count)] = True
    return masks


def bits_of(mask: np.ndarray) -> int:
    return sum(1 << i for i in range(32) if mask[i])


def shuffled(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    bval, cval, segmask = b & 31, c & 31, c >> 8 & 31
    max_lane = lane & segmask | cval & ~segmask & 31
    min_lane = lane & segmask
    j = {"up": lane - bval, "down": lane + bval, "bfly": lane ^ bval, "idx": min_lane | bval & ~segmask & 31}[mode]
    inside = j >= max_lane if mode == "up" else j <= max_lane
    return (j if inside else lane), inside


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("scalars", [False, True])
def test_shuffle(mode: str, target: str, scalars: bool) -> None:
    needs(target)
    op = decode(f"shfl.sync.{mode}.b32")
    lanes = 0 if scalars else 32
    kinds = [("i32", 32), ("i32", lanes), ("i32", lanes), ("i1", 32)]
    warp = Warp(target, kinds, lambda e, v: list(emit_shfl(e, op, *v)))
    rng = np.random.default_rng(1)
    count = 96
    a = rng.integers(0, 1 << 32, (count, 32))
    b = rng.integers(0, 64, (count, 32))
    segments = np.array([0, 16, 24, 28, 30, 31])
    c = rng.choice(segments, (count, 32)) << 8 | rng.choice([0, 31, 15, 7, 3, 63], (count, 32))
    if scalars:
        b, c = np.repeat(b[:, :1], 32, 1), np.repeat(c[:, :1], 32, 1)
    value, predicate = warp(a, b, c, active_masks(count, 2))
    for w in range(count):
        for lane in range(32):
            source, inside = shuffled(mode, lane, int(b[w, lane]), int(c[w, lane]))
            assert (value[w, lane], bool(predicate[w, lane])) == (a[w, source], inside), (mode, w, lane)


@pytest.mark.parametrize("target", TARGETS)
def test_shuffle_by_constants(target: str) -> None:
    needs(target)
    a = np.random.default_rng(3).integers(0, 1 << 32, (2, 32))
    on = np.ones((2, 32), bool)
    for mode, b, c in (("up", 1, 0), ("up", 3, 0x1800), ("down", 16, 31), ("down", 5, 0x1807), ("bfly", 1, 31),
                       ("bfly", 24, 0x0F), ("idx", 40, 31), ("idx", 9, 0x1803), ("idx", 0, 31)):  # fmt: skip
        op = decode(f"shfl.sync.{mode}.b32")
        constants = [int_const("i32", b), int_const("i32", c)]
        warp = Warp(target, [("i32", 32), ("i1", 32)], lambda e, v: list(emit_shfl(e, op, v[0], *constants, v[1])))  # noqa: B023
        value, predicate = warp(a, on)
        for lane in range(32):
            source, inside = shuffled(mode, lane, b, c)
            assert (value[1, lane], bool(predicate[1, lane])) == (a[1, source], inside), (mode, b, c, lane)


def participants(w: int, lane: int, members: np.ndarray, active: np.ndarray) -> list[int]:
    return [i for i in range(32) if active[w, i] and int(members[w, lane]) >> i & 1]


@cache
def member_rows(scalars: bool) -> tuple[np.ndarray, np.ndarray]:
    """(active, members): member masks wider than the active mask and narrower ones."""
    rng = np.random.default_rng(4)
    active = active_masks(64, 5)
    members = rng.integers(0, 1 << 32, (64, 32))
    members[::3] = 0xFFFFFFFF
    if scalars:
        members = np.repeat(members[:, :1], 32, 1)
    return active, members


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scalars", [False, True])
@pytest.mark.parametrize("mode", ["all", "any", "uni", "ballot"])
def test_vote(mode: str, target: str, scalars: bool) -> None:
    needs(target)
    op = decode(f"vote.sync.{mode}.{'b32' if mode == 'ballot' else 'pred'}")
    kinds = [("i1", 32), ("i32", 0 if scalars else 32), ("i1", 32)]
    warp = Warp(target, kinds, lambda e, v: [emit_vote(e, op, *v)])
    active, members = member_rows(scalars)
    source = np.random.default_rng(6).integers(0, 2, (64, 32)).astype(bool)
    source[::5] = True
    source[1::5] = False
    (out,) = warp(source, members, active)
    for w in range(64):
        for lane in range(32):
            votes = {i: bool(source[w, i]) for i in participants(w, lane, members, active)}
            want = {
                "all": all(votes.values()), "any": any(votes.values()), "uni": len(set(votes.values())) <= 1,
                "ballot": sum(1 << i for i, v in votes.items() if v),
            }[mode]  # fmt: skip
            assert out[w, lane] == want, (mode, w, lane)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scalars", [False, True])
@pytest.mark.parametrize("bits", [32, 64])
def test_match(bits: int, target: str, scalars: bool) -> None:
    needs(target)
    active, members = member_rows(scalars)
    rng = np.random.default_rng(7)
    a = rng.choice(rng.integers(0, 1 << bits, 5, dtype=np.uint64), (64, 32))
    a[::4] = a[::4, :1]
    kinds = [(f"i{bits}", 32), ("i32", 0 if scalars else 32), ("i1", 32)]
    any_op, all_op = decode(f"match.any.sync.b{bits}"), decode(f"match.all.sync.b{bits}")
    (some,) = Warp(target, kinds, lambda e, v: emit_match(e, any_op, *v))(a, members, active)
    every, same = Warp(target, kinds, lambda e, v: emit_match(e, all_op, *v))(a, members, active)
    for w in range(64):
        for lane in range(32):
            group = participants(w, lane, members, active)
            # A lane outside its own mask is undefined behaviour; inactive lanes have no result.
            if lane not in group:
                continue
            equal = [i for i in group if a[w, i] == a[w, lane]]
            assert some[w, lane] == sum(1 << i for i in equal)
            assert bool(same[w, lane]) == (equal == group)
            assert every[w, lane] == (sum(1 << i for i in group) if equal == group else 0)


def signed(v: int) -> int:
    return v - (1 << 32) if v >> 31 else v


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scalars", [False, True])
def test_integer_reductions(target: str, scalars: bool) -> None:
    needs(target)
    active, members = member_rows(scalars)
    a = np.random.default_rng(8).integers(0, 1 << 32, (64, 32))
    kinds = [("i32", 32), ("i32", 0 if scalars else 32), ("i1", 32)]
    functions: dict[str, Callable[[list[int]], int]] = {
        "add.u32": sum, "add.s32": sum, "min.u32": min, "max.u32": max,
        "min.s32": lambda v: min(v, key=signed), "max.s32": lambda v: max(v, key=signed),
        "and.b32": lambda v: int(np.bitwise_and.reduce(v)), "or.b32": lambda v: int(np.bitwise_or.reduce(v)),
        "xor.b32": lambda v: int(np.bitwise_xor.reduce(v)),
    }  # fmt: skip
    for text, function in functions.items():
        op = decode(f"redux.sync.{text}")
        (out,) = Warp(target, kinds, lambda e, v, op=op: [emit_redux(e, op, *v)])(a, members, active)
        for w in range(64):
            for lane in range(32):
                values = [int(a[w, i]) for i in participants(w, lane, members, active)]
                if values:
                    assert out[w, lane] == function(values) & 0xFFFFFFFF, (text, w, lane)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scalars", [False, True])
def test_float_reductions(target: str, scalars: bool) -> None:
    needs(target)
    active, members = member_rows(scalars)
    rng = np.random.default_rng(9)
    pool = np.array([0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, 1e-40, -3e38, *rng.normal(size=8)], np.float32)
    a = rng.choice(pool, (64, 32))
    a[rng.integers(0, 8, a.shape) == 0] = np.nan
    a[5:9] = np.nan
    a[20:40] = rng.choice(pool, (20, 32))
    kinds = [("float", 32), ("i32", 0 if scalars else 32), ("i1", 32)]
    for name, choose in (("min", min), ("max", max)):
        for modifiers in ("", ".abs", ".NaN", ".abs.NaN"):
            op = decode(f"redux.sync.{name}{modifiers}.f32")
            (out,) = Warp(target, kinds, lambda e, v, op=op: [emit_redux(e, op, *v)])(a, members, active)
            for w in range(64):
                for lane in range(32):
                    values = [float(a[w, i]) for i in participants(w, lane, members, active)]
                    if not values:
                        continue
                    values = [abs(v) for v in values] if ".abs" in modifiers else values
                    numbers = [v for v in values if not math.isnan(v)]
                    got = float(out[w, lane])
                    if not numbers or (".NaN" in modifiers and len(numbers) < len(values)):
                        assert out[w, lane].view(np.uint32) == 0x7FFFFFFF
                    else:
                        want = choose(numbers, key=lambda v: (v, math.copysign(1, v)))
                        assert (got, math.copysign(1, got)) == (want, math.copysign(1, want))


@pytest.mark.parametrize("target", TARGETS)
def test_activemask_and_elect(target: str) -> None:
    needs(target)
    active, members = member_rows(True)
    warp = Warp(target, [("i32", 0), ("i1", 32)], lambda e, v: [emit_activemask(e, v[1]), *emit_elect(e, *v)])
    mask, leader, elected = warp(members, active)
    for w in range(64):
        group = participants(w, 0, members, active)
        assert np.all(mask[w] == bits_of(active[w]))
        if group:
            assert np.all(leader[w] == group[0])
            assert [bool(x) for x in elected[w]] == [i == group[0] for i in range(32)]

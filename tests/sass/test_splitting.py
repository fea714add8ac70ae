"""Kernels that need more registers than there are: what they compute, what they keep in memory, and how much work that
is to find out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

from drawloom.build_info import is_compiled
from drawloom.sass.assemble import SELECTED, assemble
from drawloom.sass.decoder import unpack_section
from drawloom.sass.effects import effects
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import load_target
from drawloom.sass.machine import GENERAL, Machine, MachineFunction, virtual_id
from drawloom.sass.registers import Allocation
from drawloom.sass.spill import OutOfRegisters, Slots, keep_elsewhere
from drawloom.sass.syntax import NO_GUARD
from drawloom.sass.verify import verify
from tests.sass.meaning import agree, lowered

HEADER = (
    ".version 8.0\n.target sm_61\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n"
    "{{ .reg .u64 %a, %o, %w; .reg .u32 %n, %t, %j, %i<{count}>; .reg .f32 %s, %v<{count}>; .reg .f64 %d<{count}>;\n"
    ".reg .pred %q, %p<{count}>;\n"
    "ld.param.u64 %a, [p]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o;\n"
    "mov.f32 %s, 0f3F800000;\n"
)


def kernel(count: int, lines: list[str]) -> str:
    return HEADER.format(count=count) + "\n".join(lines) + "\nst.global.f32 [%a], %s; ret; }"


def loads(count: int) -> list[str]:
    return [f"ld.global.f32 %v{n}, [%a+{128 * n}];" for n in range(count)]


def straight(count: int, name: str) -> list[str]:
    """All live at once, the first one longest."""
    return loads(count) + [f"fma.rn.f32 %s, %s, %v{n}, %v{count - 1 - n};" for n in range(count)]


def branches(count: int, name: str) -> list[str]:
    """All live over branches that lanes take apart."""
    lines = loads(count)
    for n in range(count):
        lines.append(
            f"ld.global.u32 %i{n}, [%a+{128 * n}]; setp.lt.u32 %q, %i{n}, 1065353216; @%q bra {name}{n};\n"
            f"mul.f32 %s, %v{n}, %s; st.global.f32 [%a+{128 * n}], %s; mul.f32 %s, %s, 0f3F400000;\n"
            f"add.f32 %s, %s, %v0; sub.f32 %s, %v{n}, %s; mul.f32 %s, %s, 0f3F000000; add.f32 %s, %v{n}, %s;\n"
            f"{name}{n}: fma.rn.f32 %s, %v{count - 1 - n}, %s, %s;"
        )
    return lines


def loops(count: int, name: str) -> list[str]:
    """All live over loops that read one of them each."""
    lines = loads(count)
    for n in range(count):
        lines.append(
            f"mov.u32 %i{n}, 0;\n{name}{n}: fma.rn.f32 %s, %v{count - 1 - n}, %s, %v{n}; mul.f32 %s, %s, 0f3F000000;\n"
            f"add.u32 %i{n}, %i{n}, 1; setp.lt.u32 %q, %i{n}, %n; @%q bra {name}{n};"
        )
    return lines


def nested(count: int, name: str) -> list[str]:
    """Values that change in an outer loop, of which inner loops read all."""
    lines = [*loads(count), f"mov.u32 %j, 0;\n{name}:"]
    for n in range(count):
        lines.append(f"fma.rn.f32 %v{n}, %s, 0f3F000000, %v{n}; mov.u32 %i{n}, 0;\n{name}{n}:")
        lines.append(f"fma.rn.f32 %s, %v{count - 1 - n}, 0f3E800000, %s; add.u32 %i{n}, %i{n}, 1;")
        lines.append("setp.gt.f32 %q, %s, 0f41200000; @%q mul.f32 %s, %s, 0f3D800000;")
        lines.append(f"setp.lt.u32 %q, %i{n}, %n; @%q bra {name}{n};")
    lines.append(f"add.u32 %j, %j, 1; setp.lt.u32 %q, %j, 3; @%q bra {name};")
    return lines + [f"add.f32 %s, %s, %v{n};" for n in range(count)]


def doubles(count: int, name: str) -> list[str]:
    """Pairs, some of them written word by word, some under guards."""
    lines = [f"ld.global.f32 %v{n}, [%a+{128 * n}]; cvt.f64.f32 %d{n}, %v{n};" for n in range(count)]
    for n in range(count):
        lines.append(f"setp.gt.f32 %p{n}, %v{n}, 0f3F000000; @%p{n} fma.rn.f64 %d{n}, %d{count - 1 - n}, %d{n}, %d{n};")
        if n % 3 == 0:
            lines.append(
                f"mov.b64 %w, %d{n}; mov.b64 {{%i{n}, %j}}, %w; add.u32 %j, %j, {n}; mov.b64 %d{n}, {{%i{n}, %j}};"
            )
    lines += [f"cvt.rn.f32.f64 %v{n}, %d{n}; add.f32 %s, %s, %v{n};" for n in range(count)]
    return lines


SHAPES: dict[str, Callable[[int, str], list[str]]] = {
    "straight": straight, "branches": branches, "loops": loops, "nested": nested, "doubles": doubles,
}  # fmt: skip


def text_of(shape: str, count: int, times: int = 1) -> str:
    """A kernel of a shape with so many values, several times one behind the other."""
    return kernel(count, [line for n in range(times) for line in SHAPES[shape](count, f"L{n}_")])


@pytest.mark.parametrize("target", SELECTED)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_kept_in_memory_comes_back(shape: str, target: int) -> None:
    text = text_of(shape, 24)
    most = 24 if target == 61 else 22
    cubin = assemble(lowered(text, target), f"sm_{target}", max_registers=most)
    found = cubin.kernels["k"]
    assert found.registers <= most
    assert found.spill_loads
    assert verify(load_target(target), unpack_section(load_target(target), found.code)) == []
    given = np.random.default_rng(7).random(32 * 24, np.float32) + np.float32(0.5)
    agree(text, "k", 1, 32, given, 3, target=target, max_registers=most)


@pytest.mark.parametrize("target", SELECTED)
def test_predicates_that_guard_each_other_are_kept_together(target: int) -> None:
    """Where the predicate that an instruction writes and its guard were both kept in general registers, what kept the
    first was left under a guard that nobody wrote."""
    count = 14
    lines = [*loads(count), *[f"setp.gt.f32 %p{n}, %v{n}, 0f3F{40 + n}0000;" for n in range(count)]]
    lines += [f"@%p{n} setp.lt.f32 %p{(n + 5) % count}, %v{n}, %v{(n + 3) % count};" for n in range(count)]
    lines += [f"@!%p{n} setp.lt.f32 %p{(n + 3) % count}, %v{n}, %v{(n + 1) % count};" for n in range(count)]
    lines += [f"@%p{n} fma.rn.f32 %s, %s, 0f3F100000, %v{n};" for n in range(count)]
    given = np.random.default_rng(5).random(32 * count, np.float32)
    agree(kernel(count, lines), "k", 1, 32, given, 1, target=target)


def test_a_constant_in_the_place_of_another_value_is_stored_also_where_it_is_made_anew() -> None:
    """One way writes a constant, another something else, and both are loaded where they meet: the store of the constant
    was left out with its register."""
    function = MachineFunction("k", 80, True)
    target = load_target(80)
    value = function.register(GENERAL)
    slots = Slots(function, Allocation())
    stores = slots.stores(virtual_id(value), value, 1, NO_GUARD, -1)
    function.block().instructions = [Machine(target.opcode("MOV", "R,I"), [value, 7]), *stores]
    keep_elsewhere(function, OutOfRegisters([virtual_id(value)], GENERAL), slots)
    move, store = function.blocks[0].instructions
    assert (move.opcode.mnemonic, store.opcode.mnemonic) == ("MOV", "STL")
    assert move.values[0] == store.values[-1] != value


def in_loops(code: list[Instruction]) -> list[Instruction]:
    """The instructions from the target of a backward branch on up to it."""
    out: list[Instruction] = []
    for at, instruction in enumerate(code):
        effect = effects(instruction.opcode)
        if effect.flow == "jump" and instruction.guard != 7 and instruction.values[effect.label] < 0:
            out += code[at + 1 + instruction.values[effect.label] // 16 : at]
    return out


def test_loops_do_not_load_what_they_use_in_every_round() -> None:
    """Values that all loops use stay; what only lives through a loop leaves before it."""
    target = load_target(80)
    found = assemble(lowered(text_of("loops", 40), 80), "sm_80", max_registers=32).kernels["k"]
    assert found.spill_stores
    inside = in_loops(unpack_section(target, found.code))
    assert len(inside) >= 40 * 4
    assert [str(i) for i in inside if effects(i.opcode).base in ("LDL", "STL")] == []


def test_a_load_serves_all_uses_that_follow_while_there_is_room() -> None:
    """Each use of what was kept in memory used to load it again."""
    count = 40
    lines = loads(count) + [f"fma.rn.f32 %s, %s, %v{n}, %v{n};" for n in range(count) for _ in range(5)]
    found = assemble(lowered(kernel(count, lines), 80), "sm_80", max_registers=24).kernels["k"]
    assert found.spill_loads is not None and found.spill_stores is not None
    assert 0 < found.spill_loads <= 4 * count
    assert found.spill_stores <= 4 * count


def test_a_value_of_a_short_branch_does_not_live_before_it() -> None:
    """Both sides write it, under opposite guards: it used to live from the entry on, in a register of its own."""
    count = 300
    lines = [
        f"ld.global.u32 %i{n}, [%a+{128 * (n % 8)}]; setp.lt.u32 %q, %i{n}, 1060000000; @%q bra L{n};\n"
        f"ld.global.f32 %v{n}, [%a+128]; bra M{n};\nL{n}: add.f32 %v{n}, %s, 0f3F800000;\n"
        f"M{n}: fma.rn.f32 %s, %v{n}, 0f3F000000, %s; st.global.f32 [%a+256], %s;"
        for n in range(count)
    ]
    text = kernel(count, lines)
    for target in SELECTED:
        assert assemble(lowered(text, target), f"sm_{target}").kernels["k"].registers <= 32
    agree(text, "k", 1, 32, np.random.default_rng(3).random(32 * 8, np.float32), 3, target=80, max_registers=24)


def executed_lines(run: Callable[[], object]) -> int:
    """How many lines of this package a call executes."""
    count = 0

    def of_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return of_line

    def of_call(frame: FrameType, event: str, argument: Any) -> Any:
        return of_line if "drawloom" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(of_call)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.skipif(is_compiled(), reason="compiled code has no lines to count")
@pytest.mark.parametrize(
    "shape, sizes",
    [
        ("straight", [(100, 1), (200, 1)]),
        ("doubles", [(60, 1), (120, 1)]),
        ("branches", [(40, 2), (40, 4)]),
        ("loops", [(40, 2), (40, 4)]),
        ("nested", [(40, 1), (40, 2)]),
    ],
)
def test_work_grows_with_the_instructions_however_much_is_spilled(shape: str, sizes: list[tuple[int, int]]) -> None:
    """Each register that was kept in memory cost a scan of the whole kernel: minutes for kernels with hundreds."""
    small, large = [
        executed_lines(partial(assemble, lowered(text_of(shape, *size), 80), "sm_80", max_registers=32))
        for size in sizes
    ]
    assert large <= 2.2 * small

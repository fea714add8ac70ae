"""Linking machine code into the process: wherever there is room, and without a trace once it is dropped."""

import ctypes
import math
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

from drawloom.cpu import engine

#: A function that reads a table of its own, calls the C library and calls what it is given.
IR = """
@table = private constant [2 x double] [double 2.0, double 0.5]
declare double @exp(double)
declare i64 @given(i64)
define double @power(i64 %index) {
  %place = getelementptr [2 x double], ptr @table, i64 0, i64 %index
  %value = load volatile double, ptr %place
  %power = call double @exp(double %value)
  ret double %power
}
define i64 @asks(i64 %x) {
  %y = call i64 @given(i64 %x)
  ret i64 %y
}
"""
GIVEN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: x * 3)


def linked(code: bytes) -> engine.Loaded:
    return engine.Loaded(code, ["power", "asks"], {"given": ctypes.cast(GIVEN, ctypes.c_void_p).value or 0})


def works(loaded: engine.Loaded) -> bool:
    power = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(loaded.addresses["power"])
    asks = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded.addresses["asks"])
    return [power(0), power(1), asks(1 << 40)] == [math.exp(2.0), math.exp(0.5), 3 << 40]


#: Leaves room for one page near the top of the address space, and then for nothing in the 8 GiB below.
ONE_PAGE_OF_ROOM = """
import ctypes
from tests.cpu.test_engine import IR, engine, linked, works

code = engine.object_code(IR)
assert works(linked(code))
c = ctypes.CDLL(None)
c.mmap.restype = ctypes.c_void_p
c.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
c.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
PAGE, WALL, PRIVATE_ANONYMOUS_UNRESERVED = 4096, 8 << 30, 0x4022

def reserve(size):
    return c.mmap(None, size, 0, PRIVATE_ANONYMOUS_UNRESERVED, -1, 0)

wall = reserve(WALL)
while reserve(PAGE) > wall:
    pass
c.munmap(wall + WALL - 16 * PAGE, PAGE)
assert works(linked(code))
"""


def test_code_and_its_constants_lie_together_in_a_full_address_space() -> None:
    """The process ended in the linker: it had put them more than 2 GiB apart."""
    root = Path(__file__).resolve().parents[2]
    run = subprocess.run([sys.executable, "-c", ONE_PAGE_OF_ROOM], capture_output=True, text=True, cwd=root)
    assert run.returncode == 0, run.stderr


def test_linking_sessions_go_with_their_libraries() -> None:
    """Every library ever linked cost 10 KB for good, and time in all links after it."""
    code = engine.object_code(IR)

    def a_later_session() -> weakref.ref[Any]:
        for _ in range(100):
            last = linked(code)
        return weakref.ref(last.jit)

    kept = linked(code)
    sessions = [a_later_session() for _ in range(3)]
    assert [session() for session in sessions[:-1]] == [None, None]
    assert works(kept)

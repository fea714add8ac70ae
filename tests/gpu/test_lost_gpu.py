"""A kernel that faults on a real GPU, each in a process of its own: the fault names the kernel and what happened, and
everything after it says that the driver does nothing more for this process."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

BEGIN = """
import sys
import numpy as np, drawloom
from drawloom import DeviceError, KernelFault
from tests.runtime import programs
device = sys.argv[1]
kept = drawloom.Buffer.alloc(16, np.uint8, device)
saxpy = drawloom.load(programs.SAXPY, device)["saxpy"]
y = np.ones(4, np.float32)
saxpy[1, 4](1.0, y, y, 4)
try:
    {}
except KernelFault as fault:
    print(fault)
for use in (kept.to_array, lambda: saxpy[1, 4](1.0, y, y, 4), lambda: drawloom.Buffer.alloc(4, np.uint8, device)):
    try:
        use()
    except DeviceError as refusal:
        print(refusal)
print(drawloom.load(programs.SAXPY, "cpu")["saxpy"][1, 4](1.0, y, y, 4).done, y[0])
"""

FAULTS = {
    "address": (
        'drawloom.load(programs.STORE_AT, device)["store_at"][1, 1](kept, 2**31)',
        "kernel store_at: .*address",
    ),
    "trap": ('drawloom.load(programs.TRAP, device)["stop"][1, 1]()', "kernel stop: "),
    "stream": (
        'drawloom.load(programs.TRAP, device)["stop"][1, 1, (s := drawloom.Stream(device))](); s.synchronize()',
        "kernel stop: ",
    ),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_ends_the_gpu_for_the_process_and_nothing_else(kind: str, device: str) -> None:
    statement, wanted = FAULTS[kind]
    done = subprocess.run(
        [sys.executable, "-c", BEGIN.replace("{}", statement), device],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert re.match(wanted, said[0]), done.stdout
    assert len(said) == 5, done.stdout
    assert all("lost" in line or "start a new process" in line for line in said[1:4]), done.stdout
    assert said[4] == "True 4.0"

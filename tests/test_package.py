"""The package's face: every public name loads when it is first used, and not before."""

import subprocess
import sys

import pytest

import drawloom


@pytest.mark.parametrize("name", sorted([*drawloom.LAZY_NAMES, *drawloom.LAZY_ROOMS]))
def test_lazy_name_loads(name: str) -> None:
    assert name in dir(drawloom)
    value = getattr(drawloom, name)
    assert vars(drawloom)[name] is value


def test_import_loads_no_room() -> None:
    code = "import sys, drawloom; print(sorted(m for m in sys.modules if m.startswith('drawloom')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['drawloom', 'drawloom.build_info', 'drawloom.errors']"

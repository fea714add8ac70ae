"""The package's face: every public name loads when it is first used, and not before."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import drawloom

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", sorted([*drawloom.LAZY_NAMES, *drawloom.LAZY_ROOMS]))
def test_lazy_name_loads(name: str) -> None:
    assert name in dir(drawloom)
    value = getattr(drawloom, name)
    assert vars(drawloom)[name] is value


def test_import_loads_no_room() -> None:
    code = "import sys, drawloom; print(sorted(m for m in sys.modules if m.startswith('drawloom')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['drawloom', 'drawloom.build_info', 'drawloom.errors']"


def test_plain_classes_inherit_from_compiled_ones_that_allow_it() -> None:
    """mypyc refuses an interpreted subclass when it is made, so that only a compiled install shows it."""
    setup = ast.parse((ROOT / "setup.py").read_text())
    (folders,) = [
        node.value
        for node in setup.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMPILED_FOLDERS"
    ]
    rooms = {str(n.value) for n in ast.walk(folders) if isinstance(n, ast.Constant)} - {"src/drawloom/"}
    assert "horse" in rooms
    allowed: set[tuple[str, str]] = set()
    inherited: list[tuple[str, str, str]] = []
    for path in (ROOT / "src" / "drawloom").rglob("*.py"):
        parts = path.relative_to(ROOT / "src").with_suffix("").parts
        tree = ast.parse(path.read_text())
        imported = {
            alias.asname or alias.name: node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            if any("allow_interpreted_subclasses" in ast.unparse(d) for d in node.decorator_list):
                allowed.add((".".join(parts), node.name))
            for base in node.bases:
                module = imported.get(ast.unparse(base), "")
                if parts[1] not in rooms and module.startswith("drawloom.") and module.split(".")[1] in rooms:
                    inherited.append((f"{path.relative_to(ROOT)}: {node.name}", module, ast.unparse(base)))
    assert inherited
    assert [one for one in inherited if one[1:] not in allowed] == []


def test_a_star_import_brings_what_programs_are_written_with() -> None:
    names: dict[str, object] = {}
    exec("from drawloom import *", names)
    assert {"load", "connect", "devices", "assemble", "optimize", "shuffle", "Error"} <= names.keys()
    assert not {"ptx", "cpu", "horse", "sys", "annotations"} & names.keys()


@pytest.mark.parametrize("function", ["assemble", "optimize", "shuffle"])
def test_a_path_in_the_place_of_text_is_told(function: str) -> None:
    with pytest.raises(drawloom.ParseError, match=r"'saxpy\.ptx' is a path, expected .*; drawloom\.load takes paths"):
        getattr(drawloom, function)("saxpy.ptx")
    with pytest.raises(TypeError, match=r"PosixPath"):
        getattr(drawloom, function)(Path("saxpy.ptx"))

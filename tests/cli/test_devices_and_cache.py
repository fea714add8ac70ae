"""`drawloom devices`, `drawloom cache`, and what it costs to start."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drawloom.runtime import cache, machine
from drawloom.runtime.cache import DiskCache
from drawloom.runtime.driver import Probe, probe
from tests.cli.conftest import Command


def test_the_table_of_devices(drawloom: Command) -> None:
    result = drawloom("devices")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["name", "device", "cores", "memory", "details"]
    assert lines[1].startswith("cpu ")
    assert f"{machine.device('cpu').vector_bits}-bit vectors" in lines[1]
    assert any(line.startswith("reference") for line in lines)
    if probe().reason:
        assert lines[-1] == f"no GPU: {probe().reason}"


def test_devices_as_json(drawloom: Command) -> None:
    listing = json.loads(drawloom("devices", "--json").stdout)
    assert listing["devices"][0] == machine.device("cpu").as_dict()
    assert listing["devices"][-1] == machine.device("reference").as_dict()
    assert [each["name"] for each in listing["devices"]] == [*[d.name for d in machine.devices()], "reference"]
    assert listing["no_gpu_because"] == probe().reason


def test_a_gpu_in_the_table(drawloom: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from drawloom.runtime import driver

    gpu = machine.Device("cuda:0", "cuda", "Some GPU", 84, 24 << 30, compute=(8, 6))
    monkeypatch.setattr(driver, "_probed", Probe(None, [gpu], ""))
    lines = drawloom("devices").stdout.splitlines()
    assert lines[2].split("  ")[0] == "cuda:0"
    assert "Some GPU" in lines[2]
    assert "24 GiB" in lines[2]
    assert "compute 8.6" in lines[2]
    assert not any(line.startswith("no GPU") for line in lines)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DRAWLOOM_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(cache, "_warned", False)
    return tmp_path / "kernels"


def test_showing_and_clearing_the_cache(drawloom: Command, folder: Path) -> None:
    assert "entries  0\n" in drawloom("cache").stdout
    store = DiskCache(str(folder))
    store.put("a", bytes(1000))
    store.put("b", bytes(1000))
    shown = drawloom("cache")
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[:2] == [f"folder   {folder}", "entries  2"]
    assert "of 1 GiB" in shown.stdout
    listing = json.loads(drawloom("cache", "--json").stdout)
    size = sum(entry.stat().st_size for entry in folder.iterdir())
    assert listing == {"folder": str(folder), "entries": 2, "bytes": size, "limit_bytes": 1 << 30, "on": True}
    cleared = drawloom("cache", "clear")
    assert cleared.exit_code == 0
    assert cleared.stdout.startswith("removed 2 kernels, ")
    assert os.listdir(folder) == []
    assert drawloom("cache", "clear").stdout.startswith("removed 0 kernels")


def test_a_cache_that_is_off_says_so(drawloom: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_CACHE", "off")
    assert "off      by DRAWLOOM_CACHE" in drawloom("cache").stdout


@pytest.mark.parametrize("name, value", [("DRAWLOOM_CACHE", "maybe"), ("DRAWLOOM_CACHE_LIMIT", "lots")])
def test_wrong_settings_of_the_cache(
    drawloom: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    result = drawloom("cache")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {name}={value}: expected ")


def test_a_cache_that_cannot_be_cleared(drawloom: Command, folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    result = drawloom("cache", "clear")
    assert result.exit_code == 1
    assert result.stderr == f"error: cannot list {folder}: Not a directory\n"


def test_unknown_commands_exit_2(drawloom: Command) -> None:
    for words in (["nonsense"], ["cache", "nonsense"], ["devices", "--nonsense"], ["--nonsense"]):
        result = drawloom(*words)
        assert result.exit_code == 2
        assert "Traceback" not in result.output


def best_seconds(*words: str) -> float:
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "drawloom", *words], capture_output=True, text=True, timeout=60)
        seconds.append(time.perf_counter() - start)
        assert done.returncode == 0, done.stderr
    return min(seconds)


def test_starting_is_quick() -> None:
    """The bound is 0.15 s on an idle machine; the bare interpreter's own time here stands for how busy it is."""
    bare = min(time_of([sys.executable, "-c", "import click"]) for _ in range(5))
    assert best_seconds("--version") < max(0.15, 2 * bare + 0.05)


def time_of(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, timeout=60)
    return time.perf_counter() - start


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["run", "--help"], ["cache"]])
def test_starting_loads_nothing_heavy(words: list[str]) -> None:
    program = (
        "import sys\nsys.argv = ['drawloom', *sys.argv[1:]]\nfrom drawloom.cli.main import main\n"
        "try:\n    main()\nfinally:\n"
        "    heavy = {'numpy', 'pyarrow', 'llvmlite', 'rich', 'datafusion', 'drawloom.ptx'} & set(sys.modules)\n"
        "    print('loaded', sorted(heavy), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=60)
    assert done.stderr == "loaded []\n"

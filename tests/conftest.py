"""What every test shares: the `--update-golden` flag, hypothesis profiles, and tools that may be absent."""

import gc
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).resolve().parent

# `ci` draws the same examples on every run, so that a red run can be repeated; `fuzz` looks for new ones.
settings.register_profile(
    "ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile(
    "fuzz", deadline=None, max_examples=5_000, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


# Scripts start programs in the background with Ctrl-C ignored, which those would inherit that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests begin first, so that no process works on one alone while the others have ended."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the tests produce into tests/golden instead of comparing with it",
    )
    parser.addoption(
        "--cpu-features",
        help="compile kernels for these features of the CPU: sse4.2, avx2, avx512 or host (make test-features: each)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose the CPU features that kernels are compiled for. The processes of a run each come here."""
    wanted = config.getoption("--cpu-features")
    if wanted:
        os.environ["DRAWLOOM_CPU_FEATURES"] = str(wanted)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture
def golden(update_golden: bool) -> Callable[[str, str], None]:
    """`golden("ptx/saxpy.ptx", text)` compares `text` with that file below tests/golden, or writes it."""

    def compare(name: str, produced: str) -> None:
        path = TESTS / "golden" / name
        if update_golden:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(produced, encoding="utf-8")
            return
        assert path.is_file(), f"no {path}; run pytest --update-golden to write it"
        assert produced == path.read_text(encoding="utf-8"), f"differs from {path}; see --update-golden"

    return compare


@pytest.fixture(autouse=True)
def interruptible() -> None:
    """Have Ctrl-C end waits in the main thread: z3 puts the handler back so that the system goes on with them."""
    signal.siginterrupt(signal.SIGINT, True)


@pytest.fixture(autouse=True, scope="module")
def settled_heap() -> Iterator[None]:
    """Leave what a file's tests keep out of later garbage collections, which would take seconds each in a long run."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The kernel cache of a test run is its own, so that no test reads what an earlier version compiled. All processes
    of the run share it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")


def find_tool(name: str, *folders: str) -> str:
    """The path of a program on PATH or in one of `folders`. Skips the test when it is in neither."""
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        pytest.skip(f"{name} is not installed (looked on PATH{''.join(f', in {f}' for f in folders)})")
    return found


@pytest.fixture(scope="session")
def nvcc() -> str:
    """The CUDA compiler; skips without one."""
    return find_tool("nvcc", "/usr/local/cuda/bin")


@pytest.fixture(scope="session")
def ptxas() -> str:
    """The vendor's assembler; skips without one."""
    return find_tool("ptxas", "/usr/local/cuda/bin")


@pytest.fixture(scope="session")
def clang() -> list[str]:
    """The command that starts clang: the one on PATH, else the one in the ziglang package; skips without."""
    found = shutil.which("clang")
    if found is not None:
        return [found]
    import importlib.util
    import sys

    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("no clang on PATH, and the ziglang package is not installed")
    return [sys.executable, "-m", "ziglang", "clang"]

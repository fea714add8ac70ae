"""Tests that need an NVIDIA driver and a GPU. Without them every test here skips, with the reason."""

import pytest

from drawloom.runtime.driver import probe


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After a kernel's fault a real driver refuses the process everything, a stand-in makes a new context: what faults
    runs on the one, tests/gpu/test_lost_gpu.py on the other."""
    stand_in = config.pluginmanager.hasplugin("tests.runtime.stand_in_driver")
    own = [item for item in items if "tests/gpu/" in item.path.as_posix()]
    for item in own:
        item.add_marker(pytest.mark.gpu)
    left_out = [i for i in own if (i.path.name == "test_lost_gpu.py" if stand_in else i.get_closest_marker("faults"))]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture
def device() -> str:
    """The first GPU."""
    found = probe()
    if not found.devices:
        pytest.skip(f"no GPU: {found.reason}")
    return found.devices[0].name

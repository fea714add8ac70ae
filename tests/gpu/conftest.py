"""Tests that need an NVIDIA driver and a GPU. Without them every test here skips, with the reason."""

import pytest

from drawloom.runtime.driver import probe


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/gpu/" in item.path.as_posix():
            item.add_marker(pytest.mark.gpu)


@pytest.fixture
def device() -> str:
    """The first GPU."""
    found = probe()
    if not found.devices:
        pytest.skip(f"no GPU: {found.reason}")
    return found.devices[0].name

"""The devices that the runtime's tests run on."""

import pytest


@pytest.fixture(params=["cpu", "reference"])
def device(request: pytest.FixtureRequest) -> str:
    """Each host device in turn."""
    name: str = request.param
    return name

"""The ways in which the cpu device runs a kernel."""

import pytest


@pytest.fixture(params=["default", "warps", "gangs", "lanes", "block"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """All ways in which the cpu device runs a kernel."""
    lanes = {"default": "", "warps": "32", "gangs": "8", "lanes": "1", "block": "block"}
    monkeypatch.setenv("DRAWLOOM_LANES", lanes[request.param])
    return str(request.param)

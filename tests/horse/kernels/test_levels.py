"""How much is optimised of generated kernels."""

import pytest

from drawloom.horse.kernels.device import level_for
from drawloom.runtime.machine import Device, device


def test_generated_kernels_are_optimised_for_gpus_unless_the_environment_says_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = [device("cpu"), device("reference"), Device("cuda:0", "cuda", "a GPU", 1, 0, compute=(9, 0))]
    monkeypatch.delenv("DRAWLOOM_OPT", raising=False)
    assert [level_for(place) for place in places] == [0, 0, 2]
    monkeypatch.setenv("DRAWLOOM_OPT", "1")
    assert [level_for(place) for place in places] == [1, 1, 1]

"""What directives say of a launch, for every stage that asks."""

from __future__ import annotations

import pytest

from drawloom.ptx import parse
from drawloom.ptx.launch_bounds import LaunchBounds


def bounds(directives: str, kind: str = ".entry") -> LaunchBounds:
    module = parse(f".version 8.0\n.target sm_80\n.address_size 64\n{kind} k() {directives}\n{{ ret; }}\n")
    return LaunchBounds(module.functions["k"])


@pytest.mark.parametrize(
    ("directives", "required", "threads"),
    [
        ("", None, 1024),
        (".maxntid 64, 4", None, 256),
        (".maxntid 2048", None, 1024),
        (".reqntid 0x20", (32, 1, 1), 32),
        (".reqntid 16, 2, 3", (16, 2, 3), 96),
    ],
)
def test_directives_say_the_shape_of_a_block(
    directives: str, required: tuple[int, int, int] | None, threads: int
) -> None:
    found = bounds(directives)
    assert (found.required, found.threads) == (required, threads)


def test_special_registers_are_bounded_by_the_product_of_extents() -> None:
    specials = bounds(".maxntid 8, 4").specials()
    assert specials["%tid.x"] == specials["%tid.y"] == (0, 31)  # 32 threads in any shape
    assert specials["%ntid.z"] == (1, 32)
    specials = bounds(".reqntid 8, 4").specials()
    assert (specials["%tid.x"], specials["%ntid.y"], specials["%tid.z"]) == ((0, 7), (4, 4), (0, 0))
    assert bounds("", ".func").specials()["%ntid.z"] == (1, 64)

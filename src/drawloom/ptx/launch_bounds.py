"""What a kernel's directives and the hardware say of the blocks and grids that it is launched with: from a function to
the bounds of special registers (PTX ISA 9.0, section 11.4; CUDA programming guide, technical specifications)."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Directive, Function

MOST_THREADS: Final = 1024
#: The largest extents of a block, and of a grid.
LARGEST_BLOCK: Final = (1024, 1024, 64)
LARGEST_GRID: Final = ((1 << 31) - 1, 65535, 65535)
_COMPONENTS: Final = "xyz"


def block_extents(directive: Directive) -> tuple[int, int, int]:
    """What ``.reqntid`` or ``.maxntid`` says, 1 where it says nothing."""
    sizes = [int(word, 0) for word in directive.text.replace(",", " ").split()]
    while len(sizes) < 3:
        sizes.append(1)
    return sizes[0], sizes[1], sizes[2]


class LaunchBounds:
    """``required`` are the extents of a block by ``.reqntid``, None without one; ``threads`` the most that it may have.
    A function that is no kernel has no bounds but the hardware's."""

    def __init__(self, function: Function) -> None:
        self.required: tuple[int, int, int] | None = None
        self.threads = MOST_THREADS
        for directive in function.directives if function.is_entry else []:
            if directive.text and directive.name in (".maxntid", ".reqntid"):
                sizes = block_extents(directive)
                # Both bound the product of the extents, so each of them.
                self.threads = min(self.threads, sizes[0] * sizes[1] * sizes[2])
                if directive.name == ".reqntid":
                    self.required = sizes

    def specials(self) -> dict[str, tuple[int, int]]:
        """The least and largest values of special registers, by their names."""
        out = {"%laneid": (0, 31)}
        for k in range(3):
            component = _COMPONENTS[k]
            least, most = 1, min(LARGEST_BLOCK[k], self.threads)
            if self.required is not None:
                least = most = self.required[k]
            out[f"%tid.{component}"] = (0, most - 1)
            out[f"%ntid.{component}"] = (least, most)
            out[f"%ctaid.{component}"] = (0, LARGEST_GRID[k] - 1)
            out[f"%nctaid.{component}"] = (1, LARGEST_GRID[k])
        return out

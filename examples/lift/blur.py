"""A stencil over an image of any size: every pixel becomes the mean of the nine around it.

    python examples/lift/blur.py

prints the program, and compares its result with NumPy's.
"""

import numpy as np

from drawloom.lift import (
    array,
    check_well_formed,
    float32,
    fun,
    head,
    infer_types,
    interpret,
    join,
    map,
    map_glb,
    pad,
    reduce_seq,
    size,
    slide,
    to_global,
    transpose,
    user_function,
)

add_ninth = user_function("float addNinth(float sum, float x) { return sum + x / 9.0f; }")


def windows(image):
    """Return the 3 × 3 pixels around each pixel, as arrays of nine; pixels outside the image repeat its border."""
    bordered = image >> pad(1, 1, "clamp") >> map(pad(1, 1, "clamp"))
    return bordered >> slide(3, 1) >> map(transpose >> slide(3, 1)) >> map(map(join))


blur = fun(
    array(float32, size("rows"), size("columns")),
    lambda image: windows(image) >> map_glb(map_glb(to_global(reduce_seq(0, add_ninth)) >> head, dim=0), dim=1),
    name="blur",
)


def main() -> None:
    typed = infer_types(blur)
    check_well_formed(typed)
    print(blur)
    print(typed.body.type)
    image = np.random.default_rng(1).random((31, 17), dtype=np.float32)
    bordered = np.pad(image, 1, "edge")
    expected = np.lib.stride_tricks.sliding_window_view(bordered, (3, 3)).mean(axis=(2, 3))
    print("largest difference from NumPy:", np.abs(interpret(typed, image) - expected).max())


if __name__ == "__main__":
    main()

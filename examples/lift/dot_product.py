"""The dot product, from what is computed to which work-item computes it (thesis listing 4.5).

    python examples/lift/dot_product.py

prints both programs, the types of the second and the results of both.
"""

import numpy as np

from drawloom.lift import (
    add,
    array,
    check_well_formed,
    float32,
    fun,
    id,
    infer_types,
    interpret,
    iterate,
    join,
    map,
    map_lcl,
    map_seq,
    map_wrg,
    mult,
    mult_and_sum_up,
    reduce,
    reduce_seq,
    show_types,
    size,
    split,
    to_global,
    to_local,
    zip,
)

n = size("N")
vectors = array(float32, n), array(float32, n)

# What is computed: products of pairs, added up in any order.
dot = fun(*vectors, lambda x, y: zip(x, y) >> map(mult) >> reduce(0, add), name="dot")


# How: a work-group takes 128 pairs. Each of its 64 work-items adds two products; then half of the work-items add two
# sums each, six times. The sums pass from one work-item to the other through local memory.
def group(chunk):
    copy = to_local(map_seq(id))
    sums = chunk >> split(2) >> map_lcl(reduce_seq(0, mult_and_sum_up) >> copy) >> join
    total = sums >> iterate(6, split(2) >> map_lcl(reduce_seq(0, add) >> copy) >> join)
    return total >> split(1) >> to_global(map_lcl(map_seq(id))) >> join


partial_dot = fun(*vectors, lambda x, y: zip(x, y) >> split(128) >> map_wrg(group) >> join, name="partialDot")


def main() -> None:
    print(dot, partial_dot, sep="\n\n")
    typed = infer_types(partial_dot)
    check_well_formed(typed)
    print("\n" + show_types(typed))
    x = np.linspace(0, 1, 1024, dtype=np.float32)
    sums = interpret(typed, x, x)
    print("\nhigh-level:", interpret(dot, x, x)[0])
    print(f"low-level, the sum of {len(sums)} work-groups:", sums.sum())
    print("NumPy:", x @ x)


if __name__ == "__main__":
    main()

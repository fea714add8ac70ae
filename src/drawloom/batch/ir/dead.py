"""Remove values that nothing uses: neither a store nor a loop that changes what is used."""

from __future__ import annotations

from drawloom.batch.ir.ir import Block, Kernel, Loop, Value


def remove_dead_values(kernel: Kernel) -> None:
    """Delete unused values from every block, and unused carried values from loops.

        before: %3 = fadd %1, %2    store p, %1        after: store p, %1
    """
    live: set[int] = set()
    while True:
        before = len(live)
        mark_block(kernel.body, live)
        if len(live) == before:
            break
    sweep_block(kernel.body, live)


def mark_block(block: Block, live: set[int]) -> None:
    """Add to `live` what the block's live values use, last ones first."""
    for value in reversed(block.values):
        if value.op == "loop":
            mark_loop(value, live)
        elif value.op in ("store", "scatter") or value.number in live:
            live.add(value.number)
            if value.op == "result":
                live.add(value.detail.number)
            live.update(operand.number for operand in value.operands)


def mark_loop(value: Value, live: set[int]) -> None:
    loop: Loop = value.detail
    if value.number not in live and not has_stores(loop):
        return
    live.add(value.number)
    live.add(loop.condition.number)
    while True:
        before = len(live)
        mark_block(loop.body, live)
        mark_block(loop.header, live)
        for carried, initial, following in zip(loop.carried, value.operands, loop.next_values):
            if carried.number in live:
                live.add(initial.number)
                live.add(following.number)
        if len(live) == before:
            return


def has_stores(loop: Loop) -> bool:
    return any(
        value.op in ("store", "scatter") or (value.op == "loop" and has_stores(value.detail))
        for block in (loop.header, loop.body)
        for value in block.values
    )


def sweep_block(block: Block, live: set[int]) -> None:
    block.values = [value for value in block.values if value.number in live]
    for value in block.values:
        if value.op == "loop":
            sweep_loop(value, live)


def sweep_loop(value: Value, live: set[int]) -> None:
    loop: Loop = value.detail
    kept = [number for number, carried in enumerate(loop.carried) if carried.number in live]
    value.operands = tuple(value.operands[number] for number in kept)
    loop.carried = [loop.carried[number] for number in kept]
    loop.next_values = [loop.next_values[number] for number in kept]
    sweep_block(loop.header, live)
    sweep_block(loop.body, live)

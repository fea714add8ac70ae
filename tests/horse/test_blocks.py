"""Work on all cores: results in order, the first failure, nobody at work afterwards, calls within calls."""

import os
import threading
import time

import pytest

from drawloom.horse.blocks import go_on, in_blocks, on_all_cores, while_wanted

PATIENCE = 20.0  # seconds; what should be over at once takes a second at most


def test_results_are_in_the_order_of_the_items() -> None:
    assert on_all_cores([], lambda item: item) == []
    assert on_all_cores(range(1000), lambda item: item * item) == [n * n for n in range(1000)]
    assert in_blocks(10, 4, lambda start: start) == [0, 4, 8]
    assert in_blocks(0, 4, lambda start: start) == [0]


def test_calls_within_calls() -> None:
    def outer(item: int) -> list[int]:
        return on_all_cores(range(50), lambda other: sum(on_all_cores(range(3), lambda n: n + other + item)))

    assert on_all_cores(range(20), outer) == [[3 + 3 * (o + i) for o in range(50)] for i in range(20)]


def test_the_failure_of_the_first_item_is_raised_whoever_fails_sooner() -> None:
    def work(item: int) -> int:
        if item == 1:
            time.sleep(0.05)
        if item >= 1:
            raise ValueError(item)
        return item

    for _ in range(5):
        with pytest.raises(ValueError, match="1"):
            on_all_cores(range(10), work)
    assert on_all_cores(range(3), str) == ["0", "1", "2"]


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, SystemExit])
def test_items_behind_a_failure_are_given_up(problem: type[BaseException]) -> None:
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        if item == 1:
            raise problem("no")
        for _ in while_wanted(range(100_000 if item > 1 else 1)):
            time.sleep(0.001)
        return item

    start = time.monotonic()
    with pytest.raises(problem):
        on_all_cores(range(100), work)
    assert time.monotonic() - start < PATIENCE and len(begun) < 100


def test_nobody_works_any_more_after_an_interrupt() -> None:
    busy: set[int] = set()
    helper_began = threading.Event()

    def work(item: int) -> None:
        if threading.current_thread() is threading.main_thread():
            helper_began.wait(PATIENCE)
            raise KeyboardInterrupt
        busy.add(item)
        helper_began.set()
        try:
            while True:
                go_on()
                time.sleep(0.001)
        finally:
            time.sleep(0.05)
            busy.discard(item)

    if (os.cpu_count() or 1) < 2:
        pytest.skip("there is no second core, and so nobody else who works")
    with pytest.raises(KeyboardInterrupt):
        on_all_cores(range(10), work)
    assert busy == set()


def test_a_failure_in_a_call_within_ends_the_calls_beside_it() -> None:
    def outer(item: int) -> list[int]:
        def inner(other: int) -> int:
            if item == 0 and other == 1:
                raise ValueError("inner")
            for _ in while_wanted(range(100_000 if item else 1)):
                time.sleep(0.001)
            return other

        return on_all_cores(range(4), inner)

    start = time.monotonic()
    with pytest.raises(ValueError, match="inner"):
        on_all_cores(range(4), outer)
    assert time.monotonic() - start < PATIENCE


def test_what_was_worked_on_is_not_kept() -> None:
    class Item:
        alive = 0

        def __init__(self) -> None:
            Item.alive += 1

        def __del__(self) -> None:
            Item.alive -= 1

    for _ in range(3):
        on_all_cores([Item() for _ in range(8)], lambda item: None)
    until = time.monotonic() + PATIENCE
    while Item.alive and time.monotonic() < until:
        time.sleep(0.001)
    assert Item.alive == 0


def test_a_forked_child_has_helpers_of_its_own() -> None:
    on_all_cores(range(10), str)
    child = os.fork()
    if child == 0:
        os._exit(0 if on_all_cores(range(100), str) == [str(n) for n in range(100)] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

"""Work on all cores: results in order, the first failure, nobody at work afterwards, calls within calls."""

import ctypes
import os
import signal
import threading
import time

import pytest

from drawloom.horse.blocks import aside, go_on, in_blocks, on_all_cores, while_wanted

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


# Beside the main thread


def interrupted_after(seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    return timer


def test_work_beside_the_main_thread_gives_its_value_or_raises() -> None:
    main = threading.get_ident()
    assert aside(threading.get_ident) != main
    with pytest.raises(ValueError, match="no"):
        aside(lambda: [].index("no"))  # type: ignore[arg-type]
    assert on_all_cores([1, 2], lambda item: aside(lambda: item + 1)) == [2, 3]


def test_an_interrupt_is_raised_in_the_work() -> None:
    seen: list[str] = []

    def work() -> None:
        try:
            while True:
                time.sleep(0.001)
        except KeyboardInterrupt:
            seen.append("interrupted")
            raise

    timer = interrupted_after(0.05)
    with pytest.raises(KeyboardInterrupt):
        aside(work)
    timer.join()
    assert seen == ["interrupted"] and aside(lambda: 7) == 7


def test_an_interrupt_does_not_wait_for_a_call_that_does_not_hear_of_it() -> None:
    seen: list[str] = []

    def work() -> None:
        ctypes.CDLL(None).usleep(700_000)
        seen.append("the call came back")
        go_on()
        seen.append("went on")

    timer = interrupted_after(0.05)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        aside(work)
    assert time.monotonic() - start < 0.5 and seen == []
    timer.join()
    # What comes next waits for it.
    assert aside(lambda: list(seen)) in ([], ["the call came back"])
    assert time.monotonic() - start >= 0.7


def test_helpers_of_interrupted_work_give_up() -> None:
    begun: list[int] = []

    def item(number: int) -> None:
        begun.append(number)
        for _ in while_wanted(range(100_000)):
            time.sleep(0.001)

    timer = interrupted_after(0.1)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        aside(lambda: on_all_cores(range(50), item))
    timer.join()
    assert aside(lambda: len(begun)) < 50 and time.monotonic() - start < PATIENCE
